use std::time::Duration;

use tokio::sync::watch;
use tonic::Code;

/// What a server does wrong with the requests that arrive from now on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Nothing.
    #[default]
    None,
    /// It waits before it begins to answer.
    Slow(Duration),
    /// It answers with this status, in a response of trailers only, without looking at the request.
    Status(Code),
    /// It resets the stream in the place of an answer, after the request has arrived.
    ResetStream,
    /// It cuts the connection, with all calls on it, when a request arrives.
    CutConnection,
}

/// The fault of a server, and how often its connections were told to go away.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    pub(crate) current: watch::Sender<Fault>,
    pub(crate) go_aways: watch::Sender<u64>,
}

/// Why a stream ends without an answer.
#[derive(Debug)]
pub(crate) struct Reset;

impl std::fmt::Display for Reset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("reset, as it was told to")
    }
}

impl std::error::Error for Reset {}

#[cfg(test)]
mod tests {
    use tonic::transport::Channel;

    use super::*;
    use crate::{EchoClient, EchoRequest, EchoServer};

    async fn ask(client: &mut EchoClient<Channel>) -> Option<Code> {
        let answer = client.unary(EchoRequest::new("hello")).await;
        answer.err().map(|status| status.code())
    }

    #[tokio::test]
    async fn each_fault_lasts_until_the_next_is_set() -> Result<(), Box<dyn std::error::Error>> {
        let server = EchoServer::bind("a").await?;
        let uri = format!("http://{}", server.address());
        let mut client = EchoClient::new(Channel::from_shared(uri)?.connect_lazy());
        server.set_fault(Fault::Status(Code::Unavailable));
        assert_eq!(ask(&mut client).await, Some(Code::Unavailable));
        server.set_fault(Fault::ResetStream);
        assert!(ask(&mut client).await.is_some());
        server.set_fault(Fault::Slow(Duration::from_millis(20)));
        let start = std::time::Instant::now();
        assert_eq!(ask(&mut client).await, None);
        assert!(start.elapsed() >= Duration::from_millis(20));
        assert_eq!(server.connections(), 1);

        server.set_fault(Fault::CutConnection);
        assert!(ask(&mut client).await.is_some());
        server.set_fault(Fault::None);
        assert_eq!(ask(&mut client).await, None);
        assert_eq!(server.connections(), 2);
        server.go_away();
        while server.open_connections() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(ask(&mut client).await, None);
        assert_eq!((server.connections(), server.requests()), (3, 6));
        Ok(())
    }
}
