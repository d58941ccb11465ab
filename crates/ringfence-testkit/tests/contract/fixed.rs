use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use ringfence_core::Instance;
use ringfence_discovery::{BoxFuture, Discovery, ServiceKey, StaticDiscovery};
use ringfence_testkit::contract::{Access, Scenario, Subject};

use crate::open::Counted;

#[derive(Debug, Default)]
struct Fixed {
    instances: Vec<Instance>,
    open: Arc<AtomicUsize>,
}

impl Subject for Fixed {
    fn discovery(&mut self, _: Access) -> io::Result<Arc<dyn Discovery>> {
        let source = StaticDiscovery::new().with_service(self.service(), self.instances.clone());
        Ok(Arc::new(Counted::new(source, &self.open)))
    }

    fn service(&self) -> ServiceKey {
        "order".into()
    }

    fn set<'a>(&'a mut self, instances: &'a [Instance]) -> BoxFuture<'a, io::Result<()>> {
        self.instances = instances.to_vec();
        Box::pin(async { Ok(()) })
    }

    fn cannot(&self) -> Vec<(Scenario, &'static str)> {
        let can = [Scenario::InitialSet];
        let rest = Scenario::ALL
            .iter()
            .filter(|scenario| !can.contains(scenario));
        rest.map(|scenario| {
            (
                *scenario,
                "the list is part of the program and never changes",
            )
        })
        .collect()
    }

    fn open(&mut self) -> io::Result<usize> {
        Ok(self.open.load(Ordering::Relaxed))
    }
}

ringfence_testkit::contract_tests!(contract, async || Ok::<_, io::Error>(Fixed::default()));
