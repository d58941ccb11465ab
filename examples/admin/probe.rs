//! A look at the page, as a program has it.

use std::{net::SocketAddr, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use ringfence_examples::BoxError;
use tokio::time::sleep;

/// Each path, and what its answer must have in it.
const EXPECTED: [(&str, &str); 10] = [
    ("", "<title>Ringfence</title>"),
    ("healthz", "ok"),
    ("state", "\"phase\":\"serving\""),
    ("snapshot", "\"stable-1\""),
    ("ring", "\"algorithm\":\"ring\""),
    ("pools", "version=gray"),
    ("metrics", "ringfence_requests_total{"),
    ("explain?header=x-user:user-7", "\"rule\":\"users\""),
    ("changes", "\"moved_share\""),
    ("decisions", "\"outcome\":\"success\""),
];

/// Between two looks at a document that has not yet what it must have.
const PAUSE: Duration = Duration::from_millis(100);

/// Asks for all of them, and again for those that have not yet what they must have; ends when the last one has it.
pub(crate) async fn documents(address: SocketAddr) -> Result<(), BoxError> {
    let client: Client<_, Empty<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    for (path, expected) in EXPECTED {
        loop {
            let url = format!("http://{address}/{path}").parse()?;
            let answer = client.get(url).await?;
            let status = answer.status();
            if !status.is_success() {
                return Err(format!("/{path} answered {status}").into());
            }
            let body = answer.into_body().collect().await?.to_bytes();
            if String::from_utf8_lossy(&body).contains(expected) {
                break;
            }
            sleep(PAUSE).await;
        }
    }
    Ok(())
}
