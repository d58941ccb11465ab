use std::time::Duration;

use ringfence_core::{Instance, RoutePlan, StageTemplate, View};
use ringfence_discovery::{MemoryRegistry, Supervisor};
use tokio::{sync::watch, time::sleep};

use super::*;
use crate::{
    Balancer, BalancerConfig, CompiledPolicy, PickRequest, audit::Audit, handle::TaskGuard,
    observing::Observing, shared::Shared,
};

fn build(plan: Plan) -> View {
    assert!(plan.snapshot.get("poison").is_none(), "a fault of ours");
    assert!(plan.plans.len() != POISONED, "a fault of ours");
    plan.build()
}

/// As many plans make a build fail.
const POISONED: usize = 13;

fn started(registry: &MemoryRegistry) -> Balancer {
    let (config, service) = (BalancerConfig::default(), "order");
    let watch = config.watch().clone();
    let supervisor = Supervisor::new(Arc::new(registry.clone()), service.into(), watch);
    let shared = Arc::new(Shared::new(
        service.into(),
        config,
        None,
        Audit::new(None, tokio::runtime::Handle::current()),
        Observing::new(1),
        crate::shared::Known::default(),
        None,
    ));
    let (sender, answered) = watch::channel(false);
    let mut task = Task::new(Arc::clone(&shared), supervisor, None, None, sender);
    task.build = build;
    let task = tokio::spawn(task.run()).abort_handle();
    Balancer {
        guard: Arc::new(TaskGuard::new(shared, task, answered)),
    }
}

fn instance(id: &str) -> Instance {
    Instance::builder(id, "10.0.0.1:80").build().expect("legal")
}

async fn eventually(done: impl Fn() -> bool) {
    for _ in 0..10_000 {
        if done() {
            return;
        }
        sleep(Duration::from_millis(100)).await;
    }
    panic!("never");
}

/// A fault in a build must not end the task: membership would stay as it is for ever (B14).
#[tokio::test(start_paused = true)]
async fn a_build_that_fails_keeps_the_old_view_and_the_task_alive() {
    // Built on the task itself, and beside the runtime.
    for others in [2, 2_000] {
        let registry = MemoryRegistry::new();
        let fleet = (0..others).map(|n| instance(&format!("i{n}")));
        registry.replace("order", fleet);
        let balancer = started(&registry);
        balancer.ready().await.expect("ready");
        let epoch = balancer.status().epoch;

        registry.register("order", instance("poison"));
        eventually(|| balancer.status().counters.views_failed == 1).await;
        let status = balancer.status();
        assert_eq!((status.epoch, status.instances), (epoch, others));
        let request = PickRequest::new().with_key("k");
        assert_eq!(balancer.pick(&request).expect("serves").epoch(), epoch);

        registry.deregister("order", "poison");
        registry.register("order", instance("late"));
        eventually(|| balancer.status().instances == others + 1).await;
        assert!(balancer.status().epoch > epoch);
    }
}

/// A policy that no view can be made with must not stop what comes after it.
#[tokio::test(start_paused = true)]
async fn a_policy_that_cannot_be_applied_keeps_the_old_one_and_updates_go_on() {
    let policy = |plans: usize| {
        let stages = || RoutePlan::of_stages([StageTemplate::any()]).expect("legal");
        Arc::new(CompiledPolicy::of_plans(
            (0..plans).map(|_| stages()).collect(),
        ))
    };
    let registry = MemoryRegistry::new();
    registry.register("order", instance("a"));
    let balancer = started(&registry);
    balancer.ready().await.expect("ready");
    let good = policy(1);
    balancer.set_policy(Arc::clone(&good));
    eventually(|| balancer.policy().is_some()).await;

    balancer.set_policy(policy(POISONED));
    eventually(|| balancer.status().counters.policies_failed == 1).await;
    let in_force = || balancer.policy().expect("the old one");
    assert!(Arc::ptr_eq(&in_force(), &good));
    registry.register("order", instance("b"));
    eventually(|| balancer.status().instances == 2).await;
    assert!(Arc::ptr_eq(&in_force(), &good));

    let better = policy(2);
    balancer.set_policy(Arc::clone(&better));
    eventually(|| balancer.status().counters.policies_applied == 2).await;
    assert!(Arc::ptr_eq(&in_force(), &better));
}

#[test]
fn a_panic_becomes_an_error() {
    assert_eq!(guarded(|| 7), Ok(7));
    assert_eq!(
        guarded(|| panic!("at {}", 7)),
        Err::<(), _>("at 7".to_owned())
    );
    assert_eq!(guarded(|| panic!("at")), Err::<(), _>("at".to_owned()));
}
