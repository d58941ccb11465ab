//! Connections to the page: how many, and for how long.

use std::{convert::Infallible, future::ready, sync::Arc, time::Duration};

use http::{HeaderValue, Request, StatusCode, header};
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{host, writing::Writing};
use crate::{
    AdminService,
    respond::{self, Answer},
};

/// Connections at a time; further ones wait in the system's queue.
const MAX_CONNECTIONS: usize = 64;
/// Places below which connections are not kept for a next request, so that they come free for others.
const FEW_PLACES: usize = MAX_CONNECTIONS / 2;
/// How long a client may take to send the head of a request, the time before its first byte included.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a client may take to read an answer.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection lasts at most; a browser makes a new one.
const MAX_CONNECTION_TIME: Duration = Duration::from_secs(600);
/// Bytes of a request's head.
const MAX_HEAD: usize = 16 * 1024;
/// Pause after a failure to accept, such as too many open files, which would otherwise come back at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Serves the connections of a listener until it is dropped; they are dropped with it.
pub(super) async fn accept(listener: TcpListener, service: AdminService, allow_remote: bool) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        // Never closed, so this does not fail.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, _)) => {
                let places = Arc::clone(&places);
                connections.spawn(serve(stream, service.clone(), allow_remote, places, place));
            }
            Err(error) => {
                tracing::debug!(%error, "the admin page could not accept a connection");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn serve(
    stream: TcpStream,
    service: AdminService,
    allow_remote: bool,
    places: Arc<Semaphore>,
    _place: OwnedSemaphorePermit,
) {
    let answer = service_fn(move |request| {
        let mut answer = answer_to(&service, allow_remote, &request);
        if places.available_permits() < FEW_PLACES {
            let close = HeaderValue::from_static("close");
            answer.headers_mut().insert(header::CONNECTION, close);
        }
        ready(Ok::<_, Infallible>(answer))
    });
    let stream = Writing::new(stream, WRITE_TIMEOUT);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), answer);
    match timeout(MAX_CONNECTION_TIME, connection).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a connection to the admin page failed"),
        Err(_) => tracing::debug!("a connection to the admin page lasted too long"),
    }
}

fn answer_to<B>(service: &AdminService, allow_remote: bool, request: &Request<B>) -> Answer {
    if allow_remote || host::is_local(request.uri(), request.headers()) {
        return service.answer(request);
    }
    let hint = Some("ask for it as localhost or by a loopback address");
    respond::problem(
        StatusCode::FORBIDDEN,
        "the page is not served by that name",
        hint,
    )
}
