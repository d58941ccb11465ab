//! What becomes of requests and view when the registry fails under traffic.

use std::{collections::BTreeSet, time::Duration};

use ringfence::{
    Balancer, Instance,
    discovery::{Registrar as _, Registration},
};
use ringfence_tests::{
    client::service,
    fleet::Fleet,
    registry::{OnConsul, OnEtcd, OnNacos, Registry},
};
use tokio::time::{Instant, sleep};

use super::{IN_TIME, epoch, traffic::Traffic, usable, within};

/// Registered with the product's registrar, which keeps them there.
const KEPT: [&str; 3] = ["a", "b", "c"];
/// Put by hand; whoever does that puts them again when the registry forgot them.
const PUT: [&str; 3] = ["d", "e", "f"];

/// How long a registrar may take to find out that the registry is back or forgot its instance, and to register it: its longest
/// wait between two attempts, one call that got stuck, and one that did not.
const HEALED: Duration = Duration::from_secs(12);
/// How long a provider takes to notice that the registry forgot it.
const NOTICED: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// Killed, and 20 s later back with its data.
    Killed,
    /// Frozen for 20 s.
    Frozen,
    /// Ended in good order, and back at once.
    Restarted,
    /// Killed, and back at once without its data.
    Wiped,
}

/// A service of six instances with a client on default settings.
struct Stage<R> {
    registry: R,
    fleet: Fleet,
    kept: Vec<Registration>,
    balancer: Balancer,
}

impl<R: Registry> Stage<R> {
    async fn set() -> Self {
        let registry = R::start().await.expect("the registry starts");
        let fleet = Fleet::start(KEPT.into_iter().chain(PUT).chain(["g"])).await;
        let registrar = registry.registrar().expect("legal");
        let mut kept = Vec::new();
        for id in KEPT {
            let instance = fleet.instance(id).build().expect("legal");
            let registration = registrar.register(&service(), instance).await;
            kept.push(registration.expect("registered"));
        }
        let balancer = Balancer::builder(registry.discovery().expect("legal"), service());
        let balancer = balancer.build().expect("in a runtime");
        let stage = Self {
            registry,
            fleet,
            kept,
            balancer,
        };
        stage.put(&PUT).await;
        stage.until_right(&["a", "b", "c", "d", "e", "f"]).await;
        stage
    }

    fn instance(&self, id: &str) -> Instance {
        self.fleet.instance(id).build().expect("legal")
    }

    async fn put(&self, ids: &[&str]) {
        for id in ids {
            let put = self.registry.put(&self.instance(id)).await;
            put.expect("the registry is there");
        }
    }

    async fn remove(&self, id: &str) {
        let removed = self.registry.remove(&self.instance(id)).await;
        removed.expect("the registry is there");
    }

    /// Does this to the registry. When it is back, it knows the instances that were put by hand again.
    async fn suffer(&mut self, fault: Fault) {
        let before = (usable(&self.balancer), epoch(&self.balancer));
        let server = self.registry.server();
        match fault {
            Fault::Killed => {
                server.kill().expect("killed");
                sleep(Duration::from_secs(20)).await;
            }
            Fault::Frozen => {
                server.pause().expect("frozen");
                sleep(Duration::from_secs(20)).await;
            }
            Fault::Restarted => server.stop().expect("stopped"),
            Fault::Wiped => {}
        }
        let during = (usable(&self.balancer), epoch(&self.balancer));
        assert_eq!(during, before, "a registry that is away changes nothing");
        let status = self.balancer.status();
        if matches!(fault, Fault::Killed | Fault::Frozen) {
            assert!(status.watch.watch_error.is_some(), "unnoticed: {status:?}");
        }
        match fault {
            Fault::Killed | Fault::Restarted => server.restart().await.expect("back"),
            Fault::Frozen => server.resume().expect("thawed"),
            Fault::Wiped => server.wipe().await.expect("back"),
        }
        let forgotten = match fault {
            Fault::Killed | Fault::Restarted => !R::REMEMBERS,
            Fault::Frozen => false,
            Fault::Wiped => true,
        };
        if forgotten {
            sleep(NOTICED).await;
            self.put(&PUT).await;
        }
    }

    /// Waits until the registry lists these instances, and then until the view has them: how long each took.
    async fn until_right(&self, ids: &[&str]) -> (Duration, Duration) {
        let wanted: BTreeSet<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        let mut last = None;
        let told = within(HEALED, async || {
            last = Some(self.registry.listed().await);
            matches!(&last, Some(Ok(listed)) if *listed == wanted)
        });
        let told = told.await;
        let told = told.unwrap_or_else(|| panic!("not {wanted:?} in the registry, but {last:?}"));
        let seen = within(IN_TIME, async || usable(&self.balancer) == wanted).await;
        let seen = seen.unwrap_or_else(|| {
            panic!(
                "the registry has {wanted:?} since {IN_TIME:?}, the view has {:?}: {:?}",
                usable(&self.balancer),
                self.balancer.status()
            )
        });
        (told, seen)
    }
}

async fn outage<R: Registry>(fault: Fault) {
    let mut stage = Stage::<R>::set().await;
    let traffic = Traffic::start(&[stage.balancer.clone()]);
    sleep(Duration::from_secs(3)).await;
    stage.suffer(fault).await;

    // A change at once, while registrars and watches are still coming back.
    let back = Instant::now();
    stage.put(&["g"]).await;
    stage.remove("d").await;
    let (told, seen) = stage.until_right(&["a", "b", "c", "e", "f", "g"]).await;
    println!(
        "{} {fault:?}: the registry knew all after {told:.1?}, the view {seen:.1?} later, {:.1?} after it was back",
        R::NAME,
        back.elapsed()
    );

    // And one after all have settled.
    sleep(Duration::from_secs(2)).await;
    let later = Instant::now();
    stage.put(&["d"]).await;
    let first = stage.kept.remove(0);
    first.deregister().await.expect("taken out");
    stage.until_right(&["b", "c", "d", "e", "f", "g"]).await;
    println!(
        "{} {fault:?}: a later change in {:.1?}",
        R::NAME,
        later.elapsed()
    );

    let tally = traffic.end().await;
    println!("{} {fault:?}: {tally}", R::NAME);
    tally.assert_flawless();
}

macro_rules! outages {
    ($($registry:ident $subject:ty,)+) => {
        $(
            mod $registry {
                use super::*;

                outages!(@each $subject; killed Killed, frozen Frozen, restarted Restarted, wiped Wiped,);
            }
        )+
    };
    (@each $subject:ty; $($name:ident $fault:ident,)+) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                outage::<$subject>(Fault::$fault).await;
            }
        )+
    };
}

outages!(consul OnConsul, etcd OnEtcd, nacos OnNacos,);
