//! Serving a connection, request by request.

use std::{
    io,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use h2::Reason;
use http::{HeaderValue, Request, Response, Version};
use http_body::Body;
use http_body_util::BodyExt;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{rt::TokioIo, server::conn::auto};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};

use super::{
    Answer, Behaviour, OnConnect,
    body::ScriptedBody,
    end::{Connection, End},
    goaway,
    record::Recorded,
    socket::Socket,
    state::{InFlight, Shared},
};

/// Serves one connection to its end.
pub(super) async fn run(stream: TcpStream, mut connection: Connection, shared: Arc<Shared>) {
    // Failing to set it costs only latency.
    let _ = stream.set_nodelay(true);
    let (stream, reset) = Socket::new(stream);
    let behaviour = shared.next_connection();
    match behaviour {
        OnConnect::Close => return,
        OnConnect::Reset => return reset.store(true, Relaxed),
        OnConnect::Silent => {
            reset.store(connection.ended(End::Close).await == End::Reset, Relaxed);
            return;
        }
        OnConnect::Serve | OnConnect::GoAwayUnprocessed => {}
    }
    // Clients break handshakes and connections off as they like: an error is nothing to report.
    let _ = match shared.tls() {
        None => speak(stream, behaviour, &connection, &shared, &reset).await,
        Some(tls) => match tls.accept(stream).await {
            Ok(stream) => {
                connection.sni = stream.get_ref().1.server_name().map(str::to_owned);
                speak(stream, behaviour, &connection, &shared, &reset).await
            }
            Err(error) => Err(error),
        },
    };
}

async fn speak(
    io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    behaviour: OnConnect,
    connection: &Connection,
    shared: &Arc<Shared>,
    reset: &AtomicBool,
) -> io::Result<()> {
    if behaviour == OnConnect::GoAwayUnprocessed {
        return tokio::select! {
            _ = connection.ended(End::Close) => Ok(()),
            said = goaway::unprocessed(io) => said,
        };
    }
    let service = {
        let (connection, shared) = (connection.clone(), Arc::clone(shared));
        service_fn(move |request| answer(request, connection.clone(), Arc::clone(&shared)))
    };
    let builder = auto::Builder::new(EndsWith(connection.clone()));
    let mut serving = pin!(builder.serve_connection(TokioIo::new(io), service));
    let mut going_away = false;
    loop {
        tokio::select! {
            // Once an end has been ordered, nothing more may be written.
            biased;
            end = connection.ended(End::Close) => {
                reset.store(end == End::Reset, Relaxed);
                return Ok(());
            }
            _ = connection.ended(End::GoAway), if !going_away => {
                serving.as_mut().graceful_shutdown();
                going_away = true;
            }
            served = serving.as_mut() => return served.map_err(io::Error::other),
        }
    }
}

async fn answer(
    request: Request<Incoming>,
    connection: Connection,
    shared: Arc<Shared>,
) -> Result<Response<ScriptedBody>, h2::Error> {
    let (parts, mut body) = request.into_parts();
    let recorded = Recorded {
        method: parts.method,
        uri: parts.uri,
        version: parts.version,
        headers: parts.headers,
        body: bytes::Bytes::new(),
        body_complete: body.is_end_stream(),
        trailers: None,
        connection: connection.number(),
        sni: connection.sni.clone(),
    };
    let (index, behaviour, in_flight) = shared.request(recorded);
    match behaviour {
        Behaviour::Answer(answer) => {
            read(&mut body, answer.read, index, &shared).await;
            drop(body);
            if let Some(delay) = answer.delay {
                tokio::time::sleep(delay).await;
            }
            Ok(respond(answer, parts.version, connection, in_flight))
        }
        Behaviour::Hang => {
            read(&mut body, usize::MAX, index, &shared).await;
            std::future::pending().await
        }
        Behaviour::Reset { after } => {
            read(&mut body, after, index, &shared).await;
            connection.end(End::Reset);
            std::future::pending().await
        }
        Behaviour::Close { after } => {
            read(&mut body, after, index, &shared).await;
            connection.end(End::Close);
            std::future::pending().await
        }
        Behaviour::RefuseStream => Err(Reason::REFUSED_STREAM.into()),
        Behaviour::ResetStream(code) => Err(Reason::from(code).into()),
    }
}

fn respond(
    answer: Answer,
    version: Version,
    connection: Connection,
    in_flight: InFlight,
) -> Response<ScriptedBody> {
    if answer.go_away && version == Version::HTTP_2 {
        connection.end(End::GoAway);
    }
    let trailers = answer.trailer_names();
    let mut response = Response::new(ScriptedBody::new(answer.steps, connection, in_flight));
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    if version != Version::HTTP_2 {
        // hyper sends no trailer over HTTP/1 that the head has not announced.
        if let Some(names) = trailers {
            response.headers_mut().insert("trailer", names);
        }
        if answer.go_away {
            response
                .headers_mut()
                .insert("connection", HeaderValue::from_static("close"));
        }
    }
    response
}

/// Reads `body` frame by frame until `limit` bytes have come or it ends, recording each.
async fn read(body: &mut Incoming, limit: usize, index: usize, shared: &Shared) {
    let mut received = 0;
    while received < limit {
        match body.frame().await {
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => {
                    received += data.len();
                    shared.received(index, &data);
                }
                Err(frame) => {
                    if let Ok(trailers) = frame.into_trailers() {
                        shared.trailers(index, trailers);
                    }
                }
            },
            // A client that broke the body off has not completed it.
            Some(Err(_)) => return,
            None => return shared.complete(index),
        }
    }
}

/// Runs hyper's per-stream tasks, and ends them with their connection.
#[derive(Clone, Debug)]
struct EndsWith(Connection);

impl<F> hyper::rt::Executor<F> for EndsWith
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, future: F) {
        let connection = self.0.clone();
        tokio::spawn(async move {
            tokio::select! {
                _ = connection.ended(End::Close) => {}
                _ = future => {}
            }
        });
    }
}
