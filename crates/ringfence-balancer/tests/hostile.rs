//! A client that sends a new tenant, a new tag and a new key with every request grows nothing (N13).
#![allow(
    clippy::expect_used,
    reason = "helpers of tests, where a failure is to end the test"
)]

use std::{ops::Range, time::Duration};

use http::Request;
use ringfence_balancer::{Balancer, BalancerConfig};
use ringfence_core::Instance;
use ringfence_discovery::{MemoryRegistry, ServiceKey};
use ringfence_policy::{
    AuditQueue, AuditSink, Comparison, KeyLint, Observed, PolicyContext, PolicyDocument,
    RequestHead,
};
use ringfence_testkit::allocations;

/// It believes the client's own headers, which is the worst that an operator can do.
const POLICY: &str = "
ringfence: 1
gray: { next: { to: { version: v2 }, percent: 5 } }
tenants: { default: { mode: shuffle_shard, size: 2 } }
rules:
  - name: all
    tags_from_headers: { x-tenant: { tag: tenant, trusted: true }, x-env: { tag: env, trusted: true } }
    key: [{ header: x-user }]
    gray: [next]
    pools: [{ require: { env: { from: request } } }, {}]
";
/// By so many keys all that observes keys is at its limit.
const OBSERVED: u32 = 60_000;
/// By so many requests the rest is too.
const WARM: u32 = 5_000;
const REQUESTS: u32 = 55_000;
const INSTANCES: u32 = 8;
const MAX_POOLS: usize = 16;
const MAX_EVENTS: usize = 1_000;

struct Victim {
    balancer: Balancer,
    audit: AuditQueue,
    lint: KeyLint,
    comparison: Comparison,
}

impl Victim {
    async fn start() -> Self {
        let (registry, service) = (MemoryRegistry::new(), ServiceKey::new("shop"));
        let all = (0..INSTANCES).map(|n| {
            let instance = Instance::builder(format!("i{n}"), format!("h{n}:80"));
            instance.tag("env", format!("e{n}")).build().expect("legal")
        });
        registry.replace(&service, all);
        let policy = PolicyDocument::parse_and_compile(POLICY, &PolicyContext::new());
        let config = BalancerConfig::default().with_max_pools(MAX_POOLS);
        let balancer = Balancer::builder(registry, service)
            .with_config(config.expect("legal"))
            .with_policy(policy.expect("legal"))
            .build()
            .expect("in a runtime");
        balancer.ready().await.expect("the registry answers");
        Self {
            balancer,
            audit: AuditQueue::new(MAX_EVENTS),
            lint: KeyLint::new(),
            comparison: Comparison::new(100).expect("legal"),
        }
    }

    /// What is observed of one request for each number, which needs none.
    fn observe(&mut self, numbers: Range<u32>) {
        for n in numbers {
            let (key, instance) = (format!("user-{n}"), format!("i{}", n % INSTANCES));
            self.lint.observe(key.as_bytes());
            self.comparison.record(Observed {
                key: Some(key.as_bytes()),
                epoch: 1,
                actual: Some(&instance),
                suggested: Some(&instance),
            });
        }
    }

    /// One request for each number, and all that is kept of it.
    async fn flood(&mut self, numbers: Range<u32>) {
        for n in numbers {
            let request = Request::get("/")
                .header("x-tenant", format!("tenant-{n}"))
                .header("x-env", format!("env-{n}"))
                .header("x-user", format!("user-{n}"))
                .body(())
                .expect("legal");
            let head = RequestHead::of(&request);
            self.balancer
                .read(|current| {
                    let evaluation = current.evaluate(&head).expect("the policy is on");
                    let decision = current.pick_by(&evaluation, 1).expect("all are well");
                    for event in evaluation.audit("shop") {
                        self.audit.record(event);
                    }
                    let key = evaluation.key_bytes();
                    self.lint.observe(key.unwrap_or_default());
                    let instance = decision.instance().id().as_str();
                    self.comparison.record(Observed {
                        key,
                        epoch: decision.epoch(),
                        actual: Some(instance),
                        suggested: Some(instance),
                    });
                })
                .expect("it is ready");
            if n % 200 == 0 {
                // The balancer's task prepares what was wished for.
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }
}

#[test]
fn ever_different_tag_values_grow_nothing() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    let mut victim = runtime.block_on(Victim::start());
    victim.observe(0..OBSERVED);
    let first = OBSERVED + WARM;
    runtime.block_on(victim.flood(OBSERVED..first));
    let before = victim.balancer.status();
    let numbers = first..OBSERVED + REQUESTS;
    let count = numbers.end - numbers.start;
    let info = allocations(|| runtime.block_on(victim.flood(numbers)));
    // Less than a bit for each of them.
    assert!(
        info.bytes_current < i64::from(count / 8),
        "{} more bytes are in use after {count} requests",
        info.bytes_current,
    );
    assert!(info.bytes_max < 4 << 20, "{} at once", info.bytes_max);

    let status = victim.balancer.status();
    let counters = &status.counters;
    assert!(
        counters.routes_prepared > before.counters.routes_prepared,
        "routes were prepared for them"
    );
    let kept = counters.routes_prepared - counters.routes_evicted;
    assert!(kept <= MAX_POOLS as u64, "{kept} routes are kept");
    let view = victim.balancer.view().expect("it is ready");
    let plans = victim.balancer.policy().expect("set").plans().len();
    assert!(view.routes().count() <= MAX_POOLS + plans + 1);
    assert_eq!((status.instances, status.nodes), (8, 8));

    let report = victim.comparison.report();
    assert_eq!(report.shares.len(), INSTANCES as usize);
    assert_eq!(victim.audit.take().len(), MAX_EVENTS);
    assert!(victim.audit.lost() >= u64::from(REQUESTS) - MAX_EVENTS as u64);
    assert!(victim.lint.is_done());
}
