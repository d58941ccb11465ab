//! That the contract finds what it is there to find.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures_util::{StreamExt as _, stream};
use ringfence_core::Instance;
use ringfence_discovery::{
    BoxFuture, BoxStream, Discovery, DiscoveryError, ErrorKind, MemoryRegistry, Provenance,
    ServiceKey, Update,
};
use ringfence_testkit::contract::{Access, Fault, Scenario, Subject, run};

use crate::open::Counted;

/// What is wrong with a source.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Flaw {
    /// Its watch says no more after the first state.
    Deaf,
    /// It shows an instance of its own making.
    Inventive,
    /// An error becomes an empty list.
    Soothing,
    /// What a watch takes is never given back.
    Leaky,
    /// Other credentials make no difference.
    Careless,
    /// It does not say what it cannot do.
    Silent,
}

#[derive(Clone, Debug)]
struct Faulty {
    flaw: Flaw,
    registry: MemoryRegistry,
    open: Arc<AtomicUsize>,
    down: Arc<AtomicUsize>,
}

type Said = Result<Update, DiscoveryError>;

impl Faulty {
    fn new(flaw: Flaw) -> Self {
        Self {
            flaw,
            registry: MemoryRegistry::new(),
            open: Arc::default(),
            down: Arc::default(),
        }
    }

    fn bend(&self, said: Said) -> Said {
        let down = self.down.load(Ordering::Relaxed) > 0;
        match self.flaw {
            Flaw::Soothing if down => Ok(Update::instances([], Provenance::live("faulty"))),
            Flaw::Inventive => {
                let own = Instance::builder("ghost", "10.0.0.1:80").build();
                Ok(Update::instances(own, Provenance::live("faulty")))
            }
            _ => said,
        }
    }
}

impl Discovery for Faulty {
    fn name(&self) -> &str {
        "faulty"
    }

    fn watch(&self, service: &ServiceKey) -> BoxStream<'static, Said> {
        let this = self.clone();
        let said = self
            .registry
            .watch(service)
            .map(move |said| this.bend(said));
        match self.flaw {
            Flaw::Deaf => Box::pin(said.take(1).chain(stream::pending())),
            Flaw::Soothing => {
                // Looks again every now and then, and so notices that its registry is down.
                let (this, service) = (self.clone(), service.clone());
                Box::pin(stream::unfold((), move |()| {
                    let (this, service) = (this.clone(), service.clone());
                    async move {
                        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                        Some((this.fetch(&service).await, ()))
                    }
                }))
            }
            Flaw::Leaky => {
                self.open.fetch_add(1, Ordering::Relaxed);
                Box::pin(said)
            }
            _ => Box::pin(said),
        }
    }

    fn fetch(&self, service: &ServiceKey) -> BoxFuture<'static, Said> {
        let (this, read) = (self.clone(), self.registry.fetch(service));
        Box::pin(async move { this.bend(read.await) })
    }
}

impl Subject for Faulty {
    fn discovery(&mut self, _: Access) -> io::Result<Arc<dyn Discovery>> {
        Ok(Arc::new(Counted::new(self.clone(), &self.open)))
    }

    fn service(&self) -> ServiceKey {
        "order".into()
    }

    fn set<'a>(&'a mut self, instances: &'a [Instance]) -> BoxFuture<'a, io::Result<()>> {
        self.registry
            .replace(self.service(), instances.iter().cloned());
        Box::pin(async { Ok(()) })
    }

    fn fault(&mut self, fault: Fault) -> BoxFuture<'_, io::Result<()>> {
        self.down
            .store(usize::from(fault == Fault::Kill), Ordering::Relaxed);
        Box::pin(async {
            // Long enough for a hold to end.
            tokio::time::sleep(std::time::Duration::from_secs(30)).await;
            Ok(())
        })
    }

    fn write_read_only(&mut self) -> BoxFuture<'_, io::Result<bool>> {
        Box::pin(async { Ok(true) })
    }

    fn open(&mut self) -> io::Result<usize> {
        Ok(self.open.load(Ordering::Relaxed))
    }
}

#[tokio::test(start_paused = true)]
async fn each_flaw_fails_the_scenario_that_is_about_it() {
    for (flaw, scenario, told) in [
        (Flaw::Deaf, Scenario::Add, "waited in vain to see 3"),
        (Flaw::Deaf, Scenario::WeightOnly, "waited in vain"),
        (Flaw::Inventive, Scenario::InitialSet, "never registered"),
        (
            Flaw::Soothing,
            Scenario::KilledAndRestarted,
            "a loss was shown",
        ),
        (Flaw::Leaky, Scenario::Dropped, "1 open after it, 0 before"),
        (Flaw::Careless, Scenario::WrongCredentials, "a list of 2"),
        (Flaw::Careless, Scenario::ReadOnly, "let a reader write"),
        (
            Flaw::Silent,
            Scenario::Malformed,
            "does not support malformed records",
        ),
    ] {
        let fault = run(scenario, &mut Faulty::new(flaw)).await.expect_err(told);
        assert!(
            fault.contains(told) && fault.starts_with("step "),
            "{flaw:?}: {fault}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_of_another_kind_is_no_refusal() {
    #[derive(Debug)]
    struct Away;
    impl Discovery for Away {
        fn name(&self) -> &str {
            "away"
        }
        fn watch(&self, _: &ServiceKey) -> BoxStream<'static, Said> {
            Box::pin(stream::pending())
        }
        fn fetch(&self, _: &ServiceKey) -> BoxFuture<'static, Said> {
            Box::pin(async { Err(DiscoveryError::new(ErrorKind::Unavailable, "away", "away")) })
        }
    }
    #[derive(Debug)]
    struct AwaySubject;
    impl Subject for AwaySubject {
        fn discovery(&mut self, _: Access) -> io::Result<Arc<dyn Discovery>> {
            Ok(Arc::new(Away))
        }
        fn service(&self) -> ServiceKey {
            "order".into()
        }
        fn set<'a>(&'a mut self, _: &'a [Instance]) -> BoxFuture<'a, io::Result<()>> {
            Box::pin(async { Ok(()) })
        }
    }
    let fault = run(Scenario::WrongCredentials, &mut AwaySubject)
        .await
        .expect_err("not refused");
    assert!(fault.contains("not unauthorized"), "{fault}");
}
