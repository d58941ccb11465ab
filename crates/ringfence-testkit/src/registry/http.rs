use std::{io, net::SocketAddr, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{net::TcpStream, time::timeout};

/// One request on a connection of its own, over within 10 s.
pub(super) async fn call(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> io::Result<(u16, Bytes)> {
    let mut request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("host", address.to_string());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request
        .body(Full::new(body.into()))
        .map_err(io::Error::other)?;
    let exchange = async {
        let stream = TokioIo::new(TcpStream::connect(address).await?);
        let (mut sender, connection) = hyper::client::conn::http1::handshake(stream)
            .await
            .map_err(io::Error::other)?;
        let answer = async {
            let response = sender.send_request(request).await?;
            let status = response.status().as_u16();
            Ok::<_, hyper::Error>((status, response.into_body().collect().await?.to_bytes()))
        };
        tokio::pin!(answer);
        tokio::select! {
            answer = &mut answer => answer.map_err(io::Error::other),
            ended = connection => {
                ended.map_err(io::Error::other)?;
                answer.await.map_err(io::Error::other)
            }
        }
    };
    timeout(Duration::from_secs(10), exchange).await?
}

/// The same with JSON on both sides; an answer that is none is `null`, or its text.
pub(super) async fn json(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> io::Result<(u16, Value)> {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let (status, answer) = call(address, method, path, headers, body).await?;
    Ok((status, parse(&answer)))
}

pub(super) fn parse(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|_| match String::from_utf8_lossy(body) {
        text if text.is_empty() => Value::Null,
        text => Value::String(text.into_owned()),
    })
}

/// The body of a successful answer.
pub(super) fn expect_success(what: &str, (status, body): (u16, Value)) -> io::Result<Value> {
    if (200..300).contains(&status) {
        return Ok(body);
    }
    Err(io::Error::other(format!("{what}: status {status}: {body}")))
}
