use std::pin::Pin;

use etcd_client::proto::{
    PbCompactionRequest, PbCompactionResponse, PbDeleteRequest, PbDeleteResponse, PbEvent,
    PbKeyValue, PbKvService, PbLeaseGrantRequest, PbLeaseGrantResponse, PbLeaseKeepAliveRequest,
    PbLeaseKeepAliveResponse, PbLeaseLeasesRequest, PbLeaseLeasesResponse, PbLeaseRevokeRequest,
    PbLeaseRevokeResponse, PbLeaseService, PbLeaseTimeToLiveRequest, PbLeaseTimeToLiveResponse,
    PbPutRequest, PbPutResponse, PbRangeRequest, PbRangeResponse, PbRangeStreamResponse,
    PbTxnRequest, PbTxnResponse, PbWatchRequest, PbWatchRequestUnion, PbWatchResponse,
    PbWatchService,
};
use futures_util::{Stream, StreamExt as _};
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{Request, Response, Status, Streaming, metadata::MetadataMap};

use super::{OnCall, OnWatch, Shared, State};

type Boxed<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

fn check_token(state: &mut State, metadata: &MetadataMap) -> Result<(), Status> {
    state.leader_required |= metadata.contains_key("hasleader");
    if state.user.is_none() {
        return Ok(());
    }
    let good = format!("sesame-{}", state.token);
    match metadata.get("token") {
        None => Err(Status::invalid_argument("etcdserver: user name is empty")),
        Some(token) if *token == *good && !state.distrust => Ok(()),
        Some(_) => Err(Status::unauthenticated("etcdserver: invalid auth token")),
    }
}

#[tonic::async_trait]
impl PbKvService for Shared {
    async fn range(
        &self,
        request: Request<PbRangeRequest>,
    ) -> Result<Response<PbRangeResponse>, Status> {
        let script = self.with(|state| {
            check_token(state, request.metadata())?;
            let limit = request.get_ref().limit;
            state.ranges.push(limit);
            // What a registrar reads of its own record is no list.
            let scripted = if limit > 0 {
                state.on_range.pop_front()
            } else {
                None
            };
            Ok::<_, Status>(scripted)
        })?;
        match script {
            Some(OnCall::Hang) => return std::future::pending().await,
            Some(OnCall::Fail(code, text)) => return Err(Status::new(code, text)),
            None => {}
        }
        let request = request.into_inner();
        Ok(Response::new(self.with(|state| {
            let end = if request.range_end.is_empty() {
                [request.key.as_slice(), &[0]].concat()
            } else {
                request.range_end.clone()
            };
            let mut found: Vec<PbKeyValue> = state
                .kvs
                .range(request.key.clone()..end)
                .map(|(_, kv)| kv.clone())
                .collect();
            let mut answer = PbRangeResponse::default();
            answer.header = state.header();
            if request.limit > 0 && found.len() > usize::try_from(request.limit).expect("small") {
                found.truncate(usize::try_from(request.limit).expect("small"));
                answer.more = true;
            }
            if request.keys_only {
                found.iter_mut().for_each(|kv| kv.value.clear());
            }
            answer.kvs = found;
            answer
        })))
    }

    type RangeStreamStream = Boxed<PbRangeStreamResponse>;

    async fn range_stream(
        &self,
        _: Request<PbRangeRequest>,
    ) -> Result<Response<Self::RangeStreamStream>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn put(&self, request: Request<PbPutRequest>) -> Result<Response<PbPutResponse>, Status> {
        self.with(|state| {
            check_token(state, request.metadata())?;
            let request = request.get_ref();
            if request.lease != 0 && !state.leases.contains_key(&request.lease) {
                return Err(Status::not_found("etcdserver: requested lease not found"));
            }
            state.transact(&[(&request.key, Some(&request.value))], request.lease);
            let mut answer = PbPutResponse::default();
            answer.header = state.header();
            Ok(Response::new(answer))
        })
    }

    async fn delete_range(
        &self,
        _: Request<PbDeleteRequest>,
    ) -> Result<Response<PbDeleteResponse>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn txn(&self, _: Request<PbTxnRequest>) -> Result<Response<PbTxnResponse>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn compact(
        &self,
        _: Request<PbCompactionRequest>,
    ) -> Result<Response<PbCompactionResponse>, Status> {
        Err(Status::unimplemented(""))
    }
}

#[tonic::async_trait]
impl PbWatchService for Shared {
    type WatchStream = Boxed<PbWatchResponse>;

    async fn watch(
        &self,
        request: Request<Streaming<PbWatchRequest>>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let authorized = self.with(|state| check_token(state, request.metadata()));
        let mut requests = request.into_inner();
        let Some(Ok(PbWatchRequest {
            request_union: Some(PbWatchRequestUnion::CreateRequest(create)),
        })) = requests.next().await
        else {
            return Err(Status::invalid_argument("no creation"));
        };
        let (sink, messages) = mpsc::unbounded_channel();
        let mut created = PbWatchResponse::default();
        created.created = true;
        let script = self.with(|state| {
            state.watches.push(create.start_revision);
            created.header = state.header();
            state
                .on_watch
                .pop_front()
                .or(state.on_every_watch.clone())
                .unwrap_or(OnWatch::Live)
        });
        let script = match authorized {
            Ok(()) => script,
            // Where the client's own refresh does not look.
            Err(_) => OnWatch::Cancelled(
                "rpc error: code = Unauthenticated desc = etcdserver: invalid auth token",
            ),
        };
        let silent = matches!(script, OnWatch::Silent);
        match script {
            OnWatch::Hang => return std::future::pending().await,
            OnWatch::Fail(code, text) => return Err(Status::new(code, text)),
            OnWatch::Compacted => {
                let _ = sink.send(Ok(created));
                let mut over = PbWatchResponse::default();
                over.canceled = true;
                over.compact_revision = self.with(|state| state.revision + 1);
                let _ = sink.send(Ok(over));
            }
            OnWatch::Cancelled(reason) => {
                created.canceled = true;
                created.watch_id = -1;
                created.cancel_reason = reason.to_owned();
                let _ = sink.send(Ok(created));
            }
            OnWatch::Silent => {
                let _ = sink.send(Ok(created));
            }
            OnWatch::Live => {
                let _ = sink.send(Ok(created));
                self.with(|state| {
                    // What happened between the list and the watch.
                    let since = |event: &&PbEvent| {
                        let kv = event.kv.as_ref();
                        kv.is_some_and(|kv| kv.mod_revision >= create.start_revision)
                    };
                    let missed: Vec<PbEvent> =
                        state.history.iter().filter(since).cloned().collect();
                    if !missed.is_empty() {
                        let mut message = PbWatchResponse::default();
                        message.header = state.header();
                        message.events = missed;
                        let _ = sink.send(Ok(message));
                    }
                    state.sinks.push((sink.clone(), create.key.clone()));
                });
            }
        }
        let shared = self.clone();
        tokio::spawn(async move {
            // An ended watch stays open, as the real one's does.
            while let Some(Ok(request)) = requests.next().await {
                if let Some(PbWatchRequestUnion::ProgressRequest(_)) = request.request_union {
                    let mut answer = PbWatchResponse::default();
                    answer.watch_id = -1;
                    shared.with(|state| {
                        state.progress_requests += 1;
                        answer.header = state.header();
                    });
                    if !silent {
                        let _ = sink.send(Ok(answer));
                    }
                }
            }
            drop(sink);
        });
        Ok(Response::new(Box::pin(UnboundedReceiverStream::new(
            messages,
        ))))
    }
}

#[tonic::async_trait]
impl PbLeaseService for Shared {
    async fn lease_grant(
        &self,
        request: Request<PbLeaseGrantRequest>,
    ) -> Result<Response<PbLeaseGrantResponse>, Status> {
        Ok(Response::new(self.with(|state| {
            let id = i64::try_from(state.leases.len()).expect("few") + 1 + state.revision * 1_000;
            state.leases.insert(id, request.get_ref().ttl);
            let mut answer = PbLeaseGrantResponse::default();
            answer.id = id;
            answer.ttl = request.get_ref().ttl;
            answer
        })))
    }

    async fn lease_revoke(
        &self,
        request: Request<PbLeaseRevokeRequest>,
    ) -> Result<Response<PbLeaseRevokeResponse>, Status> {
        self.with(|state| {
            let id = request.get_ref().id;
            if state.leases.remove(&id).is_none() {
                return Err(Status::not_found("etcdserver: requested lease not found"));
            }
            let keys: Vec<_> = state
                .kvs
                .values()
                .filter(|kv| kv.lease == id)
                .map(|kv| kv.key.clone())
                .collect();
            for key in keys {
                state.transact(&[(&key, None)], 0);
            }
            Ok(Response::new(PbLeaseRevokeResponse::default()))
        })
    }

    type LeaseKeepAliveStream = Boxed<PbLeaseKeepAliveResponse>;

    async fn lease_keep_alive(
        &self,
        request: Request<Streaming<PbLeaseKeepAliveRequest>>,
    ) -> Result<Response<Self::LeaseKeepAliveStream>, Status> {
        let shared = self.clone();
        let answers = request.into_inner().map(move |request| {
            let id = request?.id;
            Ok(shared.with(|state| {
                state.keep_alives += 1;
                let mut answer = PbLeaseKeepAliveResponse::default();
                answer.id = id;
                answer.ttl = state.leases.get(&id).copied().unwrap_or(0);
                answer
            }))
        });
        Ok(Response::new(Box::pin(answers)))
    }

    async fn lease_time_to_live(
        &self,
        _: Request<PbLeaseTimeToLiveRequest>,
    ) -> Result<Response<PbLeaseTimeToLiveResponse>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn lease_leases(
        &self,
        _: Request<PbLeaseLeasesRequest>,
    ) -> Result<Response<PbLeaseLeasesResponse>, Status> {
        Err(Status::unimplemented(""))
    }
}
