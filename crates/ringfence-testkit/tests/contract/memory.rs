use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use ringfence_core::Instance;
use ringfence_discovery::{BoxFuture, Discovery, MemoryRegistry, ServiceKey};
use ringfence_testkit::contract::{Access, Scenario, Subject};

use crate::open::Counted;

#[derive(Debug, Default)]
struct Memory {
    registry: MemoryRegistry,
    open: Arc<AtomicUsize>,
}

impl Subject for Memory {
    fn discovery(&mut self, _: Access) -> io::Result<Arc<dyn Discovery>> {
        Ok(Arc::new(Counted::new(self.registry.clone(), &self.open)))
    }

    fn service(&self) -> ServiceKey {
        "order".into()
    }

    fn set<'a>(&'a mut self, instances: &'a [Instance]) -> BoxFuture<'a, io::Result<()>> {
        self.registry
            .replace(self.service(), instances.iter().cloned());
        Box::pin(async { Ok(()) })
    }

    fn cannot(&self) -> Vec<(Scenario, &'static str)> {
        let in_process =
            "the registry is a value of this process: no server, no records, no credentials";
        [
            Scenario::Malformed,
            Scenario::KilledAndRestarted,
            Scenario::OtherData,
            Scenario::LowerIndex,
            Scenario::Slow,
            Scenario::Hanging,
            Scenario::WrongCredentials,
            Scenario::ReadOnly,
        ]
        .map(|scenario| (scenario, in_process))
        .into()
    }

    fn open(&mut self) -> io::Result<usize> {
        Ok(self.open.load(Ordering::Relaxed))
    }
}

ringfence_testkit::contract_tests!(contract, async || Ok::<_, io::Error>(Memory::default()));
