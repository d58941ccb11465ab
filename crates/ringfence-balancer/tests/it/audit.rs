//! What the log says of the use of gray and tenant tags where the program has no sink of its own.

use std::sync::Arc;

use http::Request;
use ringfence_balancer::{Balancer, BalancerConfig};
use ringfence_core::RequestTags;
use ringfence_policy::{
    KeySecret, PolicyContext, PolicyDocument, RequestHead, RoutingKey, TagAuthority, VerifiedClaims,
};
use ringfence_testkit::Warnings;

use crate::support::*;

const TARGET: &str = "ringfence::audit";
/// Events that may wait, as the builder's documentation says.
const WAITING: u64 = 4_096;
const KEY: &str = "session-8a41-secret";

const POLICY: &str = "
ringfence: 1
gray: { next: { to: { version: gray } }, old: { to: { lane: blue }, enabled: false } }
rules:
  - name: all
    key: [{ header: x-session }, { extension: {} }]
    keyed_hash: pepper
    gray: [next, old]
    tags_from_headers: { x-tenant: { tag: tenant }, x-region: { tag: tenant, trusted: true } }
";

async fn audited(authority: &TagAuthority) -> Balancer {
    let balancer = balancer(&registry((0..3).map(instance)), BalancerConfig::default()).await;
    let context = PolicyContext::new()
        .with_authority(authority)
        .with_secret("pepper", KeySecret::new(*b"0123456789abcdef"));
    let policy = PolicyDocument::parse_and_compile(POLICY, &context).expect("legal");
    balancer.set_policy(Arc::new(policy));
    settle().await;
    balancer
}

type Prepare = Box<dyn Fn(&mut Request<()>)>;

fn request() -> Request<()> {
    let mut request = Request::get("/")
        .header("x-session", KEY)
        .body(())
        .expect("legal");
    request.extensions_mut().insert(RoutingKey::from(KEY));
    request
}

fn pick(balancer: &Balancer, request: &Request<()>) {
    let head = RequestHead::of(request);
    let picked = balancer.read(|current| {
        let evaluation = current.evaluate(&head).expect("not off");
        current.pick_by(&evaluation, 1).map(|_| ())
    });
    picked.expect("ready").expect("an instance");
}

#[tokio::test(start_paused = true)]
async fn the_log_tells_who_used_which_tag_and_what_became_of_it_and_never_a_key() {
    let authority = TagAuthority::new();
    let balancer = audited(&authority).await;
    let log = Warnings::capture_target(TARGET);
    let told = async |prepare: Prepare| {
        let mut request = request();
        prepare(&mut request);
        pick(&balancer, &request);
        settle().await;
        log.take()
    };
    let line = |who: &str, tag: &str, decision: &str, reason: &str| {
        format!(
            "message=tag who={who} tag=\"{tag}\" service=\"order\" rule=\"all\" decision={decision} reason=\"{reason}\""
        )
    };
    assert_eq!(
        told(Box::new(|_| {})).await,
        Vec::<String>::new(),
        "nobody used a tag"
    );
    for (by, release, decision, reason) in [
        (&authority, "next", "Accepted", "authority"),
        (&authority, "old", "Refused", "stopped"),
        (&authority, "unheard-of", "Refused", "not_in_rule"),
        (&TagAuthority::new(), "next", "Refused", "foreign_authority"),
    ] {
        let token = by.gray(release, "tester\nmessage=forged");
        let seen = told(Box::new(move |request: &mut Request<()>| {
            request.extensions_mut().insert(token.clone());
        }));
        let tag = format!("gray={release}");
        assert_eq!(
            seen.await,
            [line("testermessage=forged", &tag, decision, reason)]
        );
    }
    let seen = told(Box::new(|request: &mut Request<()>| {
        request
            .headers_mut()
            .insert("x-tenant", "acme".parse().expect("legal"));
        let extensions = request.extensions_mut();
        extensions.insert(RequestTags::new().with_tenant("globex"));
        let claims: VerifiedClaims = [("sub", "user-7"), ("key", KEY)].into_iter().collect();
        extensions.insert(claims);
    }));
    assert_eq!(
        seen.await,
        [
            line("user-7", "tenant=globex", "Accepted", "program"),
            line("user-7", "tenant=acme", "Refused", "untrusted_header"),
        ]
    );
    let seen = told(Box::new(|request: &mut Request<()>| {
        for region in ["eu", "us"] {
            let region = region.parse().expect("legal");
            request.headers_mut().append("x-region", region);
        }
    }));
    assert_eq!(
        seen.await,
        [line("", "tenant=eu, us", "Refused", "contradictory_header")]
    );
}

#[tokio::test(start_paused = true)]
async fn what_the_log_cannot_take_in_time_is_lost_and_counted_exactly() {
    const LOST: u64 = 123;
    let authority = TagAuthority::new();
    let balancer = audited(&authority).await;
    let log = Warnings::capture_target(TARGET);
    let mut request = request();
    request
        .extensions_mut()
        .insert(authority.gray("next", "tester"));
    // Nothing is awaited here, so the log has no turn.
    for _ in 0..WAITING + LOST {
        pick(&balancer, &request);
    }
    assert_eq!(balancer.status().counters.audit_lost, LOST);
    settle().await;
    assert_eq!(log.take().len() as u64, WAITING);
    pick(&balancer, &request);
    settle().await;
    assert_eq!(
        (log.take().len(), balancer.status().counters.audit_lost),
        (1, LOST)
    );
}
