//! A call in a trace: the span of the layer goes to OpenTelemetry, and the trace goes on in the server, over `traceparent`. One of
//! three servers is gone, so that a call whose owner it was shows its hop. It checks every claim itself; the exit code is not zero
//! where one does not hold.
//!
//! Run it with `cargo run --example opentelemetry`. Spans are kept in memory; in production the exporter is that of OTLP.

mod propagate;
mod server;
mod tracing_setup;

use std::process::ExitCode;

use bytes::Bytes;
use http::{HeaderName, Request};
use http_body_util::{BodyExt, Empty};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use opentelemetry_sdk::trace::SpanData;
use ringfence::{
    Balancer, Instance, KeySource, PickRequest, RingfenceLayer, ServiceKey, StaticDiscovery,
    tower_service::Service,
};
use ringfence_examples::{BoxError, Report};
use tracing::{Instrument, info_span};

use crate::{propagate::inject, server::Server, tracing_setup::Spans};

/// Whose key the server that is gone owns, and whose another one does.
struct Users {
    of_lost: String,
    of_running: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    ringfence_examples::judge(run).await
}

async fn run(report: &mut Report) -> Result<(), BoxError> {
    let spans = Spans::install()?;
    let mut servers = Vec::new();
    for id in ["cart-1", "cart-2", "cart-3"] {
        servers.push(Server::bind(id).await?);
    }
    let instances = servers
        .iter()
        .map(|server| Instance::builder(server.id(), server.address().to_string()).build())
        .collect::<Result<Vec<_>, _>>()?;
    let source = StaticDiscovery::new().with_service(ServiceKey::new("cart"), instances);
    let balancer = Balancer::builder(source, "cart").build_ready().await?;
    let users = users(&balancer, "cart-1")?;
    // Its port refuses connections from now on.
    servers.remove(0).stop().await;

    let layer = RingfenceLayer::new(balancer.clone())
        .with_key(KeySource::header(HeaderName::from_static("x-user")))
        .with_propagator(inject);
    let client = layer.wrap(Client::builder(TokioExecutor::new()).build_http());
    for user in [&users.of_running, &users.of_lost] {
        let mut client = client.clone();
        let request = Request::get("http://cart/items")
            .header("x-user", user)
            .body(Empty::<Bytes>::new())?;
        // What the program does around the call; the span of the call is a part of it.
        let work = async {
            let response = client.call(request).await?;
            response.into_body().collect().await.map_err(BoxError::from)
        };
        work.instrument(info_span!("show the cart", user)).await?;
    }
    balancer.shutdown().await;
    for server in servers {
        server.stop().await;
    }

    let spans = spans.finished()?;
    judge(report, &spans);
    Ok(())
}

fn users(balancer: &Balancer, lost: &str) -> Result<Users, BoxError> {
    let (mut of_lost, mut of_running) = (None, None);
    for user in (0..1_000).map(|n| format!("user-{n}")) {
        let decision = balancer.pick(&PickRequest::new().with_key(&user))?;
        let place = match decision.instance().id().as_str() == lost {
            true => &mut of_lost,
            false => &mut of_running,
        };
        place.get_or_insert(user);
    }
    let (of_lost, of_running) = of_lost.zip(of_running).ok_or("one of them has no key")?;
    Ok(Users {
        of_lost,
        of_running,
    })
}

fn judge(report: &mut Report, spans: &[SpanData]) {
    report.scene("Spans that were exported");
    for span in spans {
        report.line(&tracing_setup::describe(span));
    }
    let named = |name: &str| -> Vec<&SpanData> {
        let named = spans.iter().filter(|span| span.name == name);
        named.collect()
    };
    let (work, calls, served) = (named("show the cart"), named("GET"), named("serve"));
    report.check(
        (work.len(), calls.len(), served.len()) == (2, 2, 2),
        "each call has a span of the program, of the layer and of the server",
    );
    let is_child = |child: &SpanData, parents: &[&SpanData]| {
        parents.iter().any(|parent| {
            child.parent_span_id == parent.span_context.span_id()
                && child.span_context.trace_id() == parent.span_context.trace_id()
        })
    };
    report.check(
        calls.iter().all(|call| is_child(call, &work)),
        "the layer's span is a child of the program's",
    );
    report.check(
        served.iter().all(|serve| is_child(serve, &calls)),
        "the server's span is in the client's trace, below the layer's",
    );
    let distinct = work.first().map(|span| span.span_context.trace_id())
        != work.last().map(|span| span.span_context.trace_id());
    report.check(distinct, "two calls are two traces");

    report.scene("What the layer's spans say");
    let attribute = tracing_setup::attribute;
    let hops: Vec<_> = calls
        .iter()
        .map(|call| attribute(call, "ringfence.hop"))
        .collect();
    report.check(
        hops == [Some("0".to_owned()), Some("1".to_owned())],
        "the call whose owner is gone made one hop, the other none",
    );
    let instances = calls
        .iter()
        .map(|call| attribute(call, "ringfence.instance"));
    report.check(
        instances.eq(served.iter().map(|serve| attribute(serve, "server"))),
        "the instance is the one that served",
    );
    for (name, value) in [
        ("ringfence.service", "cart"),
        ("ringfence.pool", "default/0"),
        ("ringfence.key_source", "header x-user"),
        ("ringfence.outcome", "success"),
        ("http.response.status_code", "200"),
    ] {
        let is_so = calls
            .iter()
            .all(|call| attribute(call, name).as_deref() == Some(value));
        report.check(is_so, &format!("{name} is {value}"));
    }
    let secret = calls
        .iter()
        .all(|call| attribute(call, "ringfence.key").is_none());
    report.check(secret, "no key is in a span");
}
