//! `Authenticate`, written by hand: the client's crate does not export all that its generated trait needs.

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use etcd_client::proto::PbAuthenticateResponse;
use tonic::{
    Request, Response, Status,
    body::Body,
    server::{Grpc, NamedService, UnaryService},
};
use tonic_prost::ProstCodec;
use tower_service::Service;

use super::Shared;

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct AuthenticateRequest {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) password: String,
}

#[derive(Clone)]
pub(crate) struct Auth(pub(crate) Shared);

type Pinned<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl UnaryService<AuthenticateRequest> for Auth {
    type Response = PbAuthenticateResponse;
    type Future = Pinned<Result<Response<PbAuthenticateResponse>, Status>>;

    fn call(&mut self, request: Request<AuthenticateRequest>) -> Self::Future {
        let AuthenticateRequest { name, password } = request.into_inner();
        let outcome = self.0.with(|state| {
            state.logins.push((name.clone(), password.clone()));
            match &state.user {
                None => Err(Status::failed_precondition(
                    "etcdserver: authentication is not enabled",
                )),
                Some(user) if *user != (name, password) => Err(Status::invalid_argument(
                    "etcdserver: authentication failed, invalid user ID or password",
                )),
                Some(_) => {
                    let mut answer = PbAuthenticateResponse::default();
                    answer.header = state.header();
                    answer.token = format!("sesame-{}", state.token);
                    Ok(Response::new(answer))
                }
            }
        });
        Box::pin(async move { outcome })
    }
}

impl Service<http::Request<Body>> for Auth {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pinned<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let this = self.clone();
        Box::pin(async move {
            let codec = ProstCodec::<PbAuthenticateResponse, AuthenticateRequest>::default();
            Ok(Grpc::new(codec).unary(this, request).await)
        })
    }
}

impl NamedService for Auth {
    const NAME: &'static str = "etcdserverpb.Auth";
}
