mod told;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::time::{Instant, advance, sleep};

use super::*;
use crate::ErrorKind;

/// What a scripted registry does with the calls of an entry.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Answer {
    Fine,
    Gone,
    Fail(ErrorKind),
    Hang,
}

#[derive(Debug, Default)]
struct Registry {
    /// The weight that is registered, if any.
    weight: Option<u32>,
    calls: Vec<(&'static str, Instant)>,
    script: VecDeque<Answer>,
    /// What comes after the script.
    then: Option<Answer>,
    under_way: usize,
}

#[derive(Clone, Debug, Default)]
struct Fake(Arc<Mutex<Registry>>);

impl Fake {
    fn with<T>(&self, act: impl FnOnce(&mut Registry) -> T) -> T {
        act(&mut self.0.lock().expect("not poisoned"))
    }

    fn script(&self, answers: impl IntoIterator<Item = Answer>) {
        self.with(|registry| registry.script.extend(answers));
    }

    fn then(&self, answer: Answer) {
        self.with(|registry| registry.then = Some(answer));
    }

    fn weight(&self) -> Option<u32> {
        self.with(|registry| registry.weight)
    }

    fn names(&self) -> Vec<&'static str> {
        self.with(|registry| registry.calls.iter().map(|(name, _)| *name).collect())
    }

    async fn call(&self, name: &'static str) -> Result<Liveness, DiscoveryError> {
        struct UnderWay(Fake);
        impl Drop for UnderWay {
            fn drop(&mut self) {
                self.0.with(|registry| registry.under_way -= 1);
            }
        }
        let answer = self.with(|registry| {
            registry.under_way += 1;
            assert_eq!(registry.under_way, 1, "one call at a time");
            registry.calls.push((name, Instant::now()));
            let then = registry.then.unwrap_or(Answer::Fine);
            registry.script.pop_front().unwrap_or(then)
        });
        let _guard = UnderWay(self.clone());
        sleep(Duration::from_millis(10)).await;
        match answer {
            Answer::Fine => Ok(Liveness::Alive),
            Answer::Gone => Ok(Liveness::Gone),
            Answer::Fail(kind) => Err(DiscoveryError::new(kind, "fake", "scripted")),
            Answer::Hang => std::future::pending().await,
        }
    }

    async fn start(&self) -> Result<Registration, DiscoveryError> {
        let config = RegisterConfig::default().with_seed(7);
        Registration::start(
            "fake",
            self.clone(),
            ServiceKey::new("order"),
            instance(),
            config,
        )
        .await
    }
}

impl RegistryEntry for Fake {
    fn put<'a>(&'a mut self, instance: &'a Instance) -> BoxFuture<'a, Result<(), DiscoveryError>> {
        Box::pin(async move {
            self.call("put").await?;
            self.with(|registry| registry.weight = Some(instance.weight().get()));
            Ok(())
        })
    }

    fn keep_alive(&mut self) -> BoxFuture<'_, Result<Liveness, DiscoveryError>> {
        Box::pin(self.call("keep"))
    }

    fn remove(&mut self) -> BoxFuture<'_, Result<(), DiscoveryError>> {
        Box::pin(async move {
            self.call("remove").await?;
            self.with(|registry| registry.weight = None);
            Ok(())
        })
    }
}

fn instance() -> Instance {
    Instance::builder("a", "10.0.0.1:80")
        .build()
        .expect("legal")
}

const SECOND: Duration = Duration::from_secs(1);
const AWAY: Answer = Answer::Fail(ErrorKind::Unavailable);

#[tokio::test(start_paused = true)]
async fn an_instance_is_registered_kept_changed_drained_and_removed() {
    let fake = Fake::default();
    let registration = fake.start().await.expect("registered");
    assert_eq!(
        (registration.state(), fake.weight()),
        (RegistrationState::Registered, Some(100))
    );
    sleep(12 * SECOND).await;
    assert_eq!(fake.names(), ["put", "keep", "keep"]);
    let changed = instance().to_builder().weight(50).build().expect("legal");
    registration.update(changed).await.expect("there");
    assert_eq!(fake.weight(), Some(50));
    registration.drain().await.expect("there");
    assert_eq!(fake.weight(), Some(0));
    let states = registration.watch();
    registration.deregister().await.expect("there");
    assert_eq!(
        (states.borrow().clone(), fake.weight()),
        (RegistrationState::Deregistered, None)
    );
    let calls = fake.names().len();
    sleep(60 * SECOND).await;
    assert_eq!(fake.names().len(), calls, "nothing comes after");
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_is_away_at_first_is_waited_for() {
    let fake = Fake::default();
    fake.then(AWAY);
    let registration = fake.start().await.expect("goes on");
    assert!(!registration.state().is_registered());
    sleep(600 * SECOND).await;
    let RegistrationState::Retrying { since, error } = registration.state() else {
        panic!("{:?}", registration.state());
    };
    assert!(since.elapsed() > 599 * SECOND);
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(error.to_string(), "fake: scripted");
    let tries = fake.names().len();
    assert!((100..=600).contains(&tries), "{tries} tries in 10 min");
    fake.then(Answer::Fine);
    sleep(5 * SECOND + SECOND / 2).await;
    assert_eq!(
        (registration.state(), fake.weight()),
        (RegistrationState::Registered, Some(100))
    );
}

#[tokio::test(start_paused = true)]
async fn what_trying_again_does_not_help_is_an_error_at_once() {
    for kind in [
        ErrorKind::Unauthorized,
        ErrorKind::Config,
        ErrorKind::Malformed,
    ] {
        let fake = Fake::default();
        fake.then(Answer::Fail(kind));
        assert_eq!(
            fake.start().await.map_err(|error| error.kind()).err(),
            Some(kind)
        );
        sleep(60 * SECOND).await;
        assert_eq!(fake.names(), ["put"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_registration_survives_an_outage_and_a_loss_of_data() {
    let fake = Fake::default();
    let registration = fake.start().await.expect("registered");
    fake.then(AWAY);
    sleep(600 * SECOND).await;
    assert!(!registration.state().is_registered());
    fake.with(|registry| registry.weight = None);
    fake.script([Answer::Gone]);
    fake.then(Answer::Fine);
    sleep(6 * SECOND).await;
    assert_eq!(
        (registration.state(), fake.weight()),
        (RegistrationState::Registered, Some(100))
    );
    // Refused for a while, after it worked: no reason to give up.
    fake.then(Answer::Fail(ErrorKind::Unauthorized));
    sleep(60 * SECOND).await;
    fake.then(Answer::Fine);
    sleep(6 * SECOND).await;
    assert!(registration.state().is_registered());
}

/// A debugger or the host stopped the process for a minute, and the registry has forgotten the instance (B59).
#[tokio::test(start_paused = true)]
async fn a_process_that_was_stopped_for_a_minute_registers_anew_at_once_and_makes_up_for_nothing() {
    let fake = Fake::default();
    let registration = fake.start().await.expect("registered");
    fake.with(|registry| registry.weight = None);
    fake.script([Answer::Gone]);
    advance(60 * SECOND).await;
    sleep(Duration::from_millis(100)).await;
    assert_eq!(
        (registration.state(), fake.weight()),
        (RegistrationState::Registered, Some(100))
    );
    sleep(3 * SECOND).await;
    assert_eq!(
        fake.names(),
        ["put", "keep", "put"],
        "no heartbeat of the past"
    );
}

#[tokio::test(start_paused = true)]
async fn an_update_during_an_outage_is_made_afterwards() {
    let fake = Fake::default();
    let registration = fake.start().await.expect("registered");
    fake.then(AWAY);
    let changed = instance().to_builder().weight(7).build().expect("legal");
    let error = registration.update(changed).await.expect_err("away");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    fake.then(Answer::Fine);
    registration
        .watch()
        .wait_for(|state| state.is_registered())
        .await
        .expect("lives");
    assert_eq!(fake.weight(), Some(7));
    let other = Instance::builder("b", "10.0.0.1:80")
        .build()
        .expect("legal");
    let error = registration
        .update(other)
        .await
        .expect_err("another instance");
    assert_eq!((error.kind(), fake.weight()), (ErrorKind::Config, Some(7)));
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_hangs_holds_nothing_up_for_longer_than_its_limits() {
    let fake = Fake::default();
    let registration = fake.start().await.expect("registered");
    fake.then(Answer::Hang);
    sleep(6 * SECOND).await;
    let start = Instant::now();
    let error = registration.deregister().await.expect_err("hangs");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(start.elapsed() <= 15 * SECOND, "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn no_heartbeat_follows_or_overtakes_a_removal() {
    for round in 0..1_000 {
        let fake = Fake::default();
        let registration = fake.start().await.expect("registered");
        // From before the heartbeat is due to after it, whatever the jitter drew.
        advance(Duration::from_millis(4_400 + round)).await;
        registration.deregister().await.expect("there");
        advance(60 * SECOND).await;
        tokio::task::yield_now().await;
        assert_eq!(
            (fake.weight(), fake.names().last().copied()),
            (None, Some("remove"))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_registration_takes_the_instance_out_by_itself() {
    let fake = Fake::default();
    let registration = fake.start().await.expect("registered");
    fake.script([AWAY, AWAY]);
    drop(registration);
    sleep(SECOND).await;
    assert_eq!(fake.names(), ["put", "remove", "remove", "remove"]);
    assert_eq!(Arc::strong_count(&fake.0), 1, "the task has ended");

    let fake = Fake::default();
    let start = fake.start();
    assert!(
        tokio::time::timeout(Duration::from_millis(5), start)
            .await
            .is_err()
    );
    sleep(SECOND).await;
    assert_eq!((fake.weight(), Arc::strong_count(&fake.0)), (None, 1));
}

#[tokio::test(start_paused = true)]
async fn updates_without_end_do_not_hold_up_the_heartbeat() {
    let fake = Fake::default();
    let registration = fake.start().await.expect("registered");
    let start = Instant::now();
    while start.elapsed() < 20 * SECOND {
        registration.drain().await.expect("there");
    }
    let calls = fake.with(|registry| registry.calls.clone());
    assert!(
        calls
            .windows(2)
            .all(|pair| pair[1].1 - pair[0].1 < 6 * SECOND)
    );
}

#[test]
fn without_a_runtime_registering_is_an_error() {
    let mut start = Box::pin(Fake::default().start_owned());
    let waker = std::task::Waker::noop();
    let mut context = std::task::Context::from_waker(waker);
    let std::task::Poll::Ready(Err(error)) = start.as_mut().poll(&mut context) else {
        panic!("expected an error at once");
    };
    assert_eq!(error.kind(), ErrorKind::Config);
}

impl Fake {
    async fn start_owned(self) -> Result<Registration, DiscoveryError> {
        self.start().await
    }
}

#[test]
fn the_contract_is_object_safe() {
    fn assert_send_sync<T: Send + Sync + 'static>() {}
    assert_send_sync::<Arc<dyn Registrar>>();
    assert_send_sync::<Registration>();
}
