use std::{pin::Pin, sync::Arc, time::Duration};

use futures_core::Stream;
use futures_util::stream;
use tonic::{Request, Response, Status, Streaming};

use crate::{EchoRequest, EchoResponse, pb::echo_server::Echo};

/// The four calls of `Echo`, answered in the name of one instance.
#[derive(Clone, Debug)]
pub(crate) struct EchoService {
    pub(crate) instance: Arc<str>,
}

type Responses = Pin<Box<dyn Stream<Item = Result<EchoResponse, Status>> + Send>>;

#[tonic::async_trait]
impl Echo for EchoService {
    type ServerStreamStream = Responses;
    type BidiStreamStream = Responses;

    async fn unary(&self, request: Request<EchoRequest>) -> Result<Response<EchoResponse>, Status> {
        let request = request.into_inner();
        delay(&request).await;
        Ok(Response::new(self.answer(request.payload, 0)))
    }

    async fn server_stream(
        &self,
        request: Request<EchoRequest>,
    ) -> Result<Response<Responses>, Status> {
        let request = request.into_inner();
        let service = self.clone();
        let responses = stream::unfold(0, move |sequence| {
            let (service, request) = (service.clone(), request.clone());
            async move {
                if sequence >= request.count.unwrap_or(1) {
                    return None;
                }
                delay(&request).await;
                Some((Ok(service.answer(request.payload, sequence)), sequence + 1))
            }
        });
        Ok(Response::new(Box::pin(responses)))
    }

    async fn client_stream(
        &self,
        request: Request<Streaming<EchoRequest>>,
    ) -> Result<Response<EchoResponse>, Status> {
        let mut requests = request.into_inner();
        let (mut payload, mut received) = (String::new(), 0);
        while let Some(request) = requests.message().await? {
            delay(&request).await;
            payload.push_str(&request.payload);
            received += 1;
        }
        Ok(Response::new(self.answer(payload, received)))
    }

    async fn bidi_stream(
        &self,
        request: Request<Streaming<EchoRequest>>,
    ) -> Result<Response<Responses>, Status> {
        let service = self.clone();
        let start = (request.into_inner(), 0);
        let responses = stream::try_unfold(start, move |(mut requests, sequence)| {
            let service = service.clone();
            async move {
                let Some(request) = requests.message().await? else {
                    return Ok(None);
                };
                delay(&request).await;
                let response = service.answer(request.payload, sequence);
                Ok(Some((response, (requests, sequence + 1))))
            }
        });
        Ok(Response::new(Box::pin(responses)))
    }
}

impl EchoService {
    fn answer(&self, payload: String, sequence: u32) -> EchoResponse {
        EchoResponse {
            instance: self.instance.to_string(),
            payload,
            sequence,
        }
    }
}

async fn delay(request: &EchoRequest) {
    if let Some(millis) = request.delay_ms {
        tokio::time::sleep(Duration::from_millis(millis.into())).await;
    }
}
