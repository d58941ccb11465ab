use std::{
    future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ringfence_discovery::{RegisterConfig, Registration, ServiceKey};
use tokio::time::Instant;

use super::*;
use crate::{NacosConfig, discovery::target};

/// A server that ignores removals in some cases.
#[derive(Clone, Default)]
struct Scripted(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    listed: Vec<ServiceInstance>,
    /// The instance belongs to a connection that was lost: removals are agreed to and ignored until it is retired.
    lost: bool,
    /// So many removals are overtaken by a registration.
    overtaken: u32,
    /// Another process has registered the address.
    foreign: bool,
    removals: u32,
    retired: u32,
}

impl Scripted {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Desk for Scripted {
    fn register<'a>(
        &'a self,
        _: &'a Target,
        instance: ServiceInstance,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        self.lock().listed = vec![instance];
        Box::pin(future::ready(Ok(())))
    }

    fn deregister<'a>(
        &'a self,
        _: &'a Target,
        _: ServiceInstance,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        let mut state = self.lock();
        state.removals += 1;
        if state.overtaken > 0 {
            state.overtaken -= 1;
        } else if !state.lost && !state.foreign {
            state.listed.clear();
        }
        Box::pin(future::ready(Ok(())))
    }

    fn list<'a>(&'a self, _: &'a Target) -> BoxFuture<'a, Result<Vec<ServiceInstance>, Failure>> {
        Box::pin(future::ready(Ok(self.lock().listed.clone())))
    }

    fn retire(&self) {
        let mut state = self.lock();
        state.retired += 1;
        if state.lost {
            state.lost = false;
            state.listed.clear();
        }
    }
}

async fn registered(desk: &Scripted) -> Registration {
    let config = NacosConfig::new(["127.0.0.1:9"]).expect("legal");
    let key = ServiceKey::new("order");
    let target = target(&config, &key).expect("legal");
    let entry = NacosEntry::new(desk.clone(), Form::new(&config, false), target);
    let instance = Instance::builder("order-1", "10.0.0.7:8080").build();
    let keeping = RegisterConfig::default().with_seed(7);
    Registration::start(NAME, entry, key, instance.expect("legal"), keeping)
        .await
        .expect("registered")
}

#[tokio::test(start_paused = true)]
async fn a_removal_that_a_server_ignores_for_a_lost_connection_ends_that_connection() {
    let desk = Scripted::default();
    let registration = registered(&desk).await;
    desk.lock().lost = true;
    registration.deregister().await.expect("gone");
    assert!(desk.lock().listed.is_empty());
    assert_eq!(desk.lock().retired, 1);
}

#[tokio::test(start_paused = true)]
async fn a_removal_that_was_overtaken_by_a_registration_is_made_again() {
    let desk = Scripted::default();
    let registration = registered(&desk).await;
    desk.lock().overtaken = 3;
    registration.deregister().await.expect("gone");
    assert!(desk.lock().listed.is_empty());
    assert_eq!(desk.lock().removals, 4);
}

#[tokio::test(start_paused = true)]
async fn one_removal_is_enough_as_a_rule() {
    let desk = Scripted::default();
    registered(&desk).await.deregister().await.expect("gone");
    let state = desk.lock();
    assert_eq!((state.removals, state.retired), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn an_address_that_another_process_took_over_is_not_fought_over_for_ever() {
    let desk = Scripted::default();
    let registration = registered(&desk).await;
    desk.lock().foreign = true;
    let began = Instant::now();
    let error = registration.deregister().await.expect_err("still listed");
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(began.elapsed() <= RegisterConfig::default().remove_timeout());
    sleep(Duration::from_secs(300)).await;
    let removals = desk.lock().removals;
    assert!(removals < 60, "{removals}");
    sleep(Duration::from_secs(300)).await;
    assert_eq!(desk.lock().removals, removals, "it goes on");
    assert_eq!(desk.lock().listed.len(), 1);
}
