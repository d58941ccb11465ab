use std::{
    fs, io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use ringfence_core::Instance;
use ringfence_discovery::{BoxFuture, Discovery, FileDiscovery, ServiceKey};
use ringfence_testkit::contract::{Access, Fault, Scenario, Subject};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::open::Counted;

#[derive(Debug)]
struct File {
    folder: TempDir,
    instances: Vec<Value>,
    open: Arc<AtomicUsize>,
}

impl File {
    fn new() -> io::Result<Self> {
        Ok(Self {
            folder: TempDir::new()?,
            instances: Vec::new(),
            open: Arc::default(),
        })
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("instances.yaml")
    }

    /// JSON is YAML; renamed into place, as a deployment would.
    fn write(&self) -> io::Result<()> {
        let content = json!({ "services": { "order": self.instances } });
        let new = self.folder.path().join("new");
        fs::write(&new, content.to_string())?;
        fs::rename(new, self.path())
    }
}

fn record(instance: &Instance) -> Value {
    json!({
        "id": instance.id().as_str(),
        "address": instance.address().to_string(),
        "weight": instance.weight().get(),
        "enabled": instance.is_enabled(),
        "version": instance.version(),
        "zone": instance.zone(),
        "tags": instance.tags().iter().collect::<std::collections::BTreeMap<_, _>>(),
    })
}

impl Subject for File {
    fn discovery(&mut self, _: Access) -> io::Result<Arc<dyn Discovery>> {
        if !self.path().exists() {
            fs::write(self.path(), r#"{ "services": {} }"#)?;
        }
        let source = FileDiscovery::new(self.path())
            .with_poll_interval(Duration::from_millis(50))
            .map_err(io::Error::other)?;
        Ok(Arc::new(Counted::new(source, &self.open)))
    }

    fn service(&self) -> ServiceKey {
        "order".into()
    }

    fn set<'a>(&'a mut self, instances: &'a [Instance]) -> BoxFuture<'a, io::Result<()>> {
        self.instances = instances.iter().map(record).collect();
        let written = self.write();
        Box::pin(async { written })
    }

    fn cannot(&self) -> Vec<(Scenario, &'static str)> {
        let no_server = "a file has no server that could be slow, count or ask for credentials";
        [
            Scenario::LowerIndex,
            Scenario::Slow,
            Scenario::Hanging,
            Scenario::WrongCredentials,
            Scenario::ReadOnly,
        ]
        .map(|scenario| (scenario, no_server))
        .into()
    }

    fn add_malformed(&mut self) -> BoxFuture<'_, io::Result<()>> {
        self.instances
            .push(json!({ "id": "bad", "address": "10.0.0.1:70000" }));
        let written = self.write();
        Box::pin(async { written })
    }

    fn fault(&mut self, fault: Fault) -> BoxFuture<'_, io::Result<()>> {
        let done = match fault {
            Fault::Kill => fs::remove_file(self.path()),
            Fault::Restart => self.write(),
            Fault::Wipe => {
                self.instances.clear();
                self.write()
            }
            Fault::Freeze | Fault::Thaw => Err(io::ErrorKind::Unsupported.into()),
        };
        Box::pin(async { done })
    }

    fn open(&mut self) -> io::Result<usize> {
        Ok(self.open.load(Ordering::Relaxed))
    }
}

ringfence_testkit::contract_tests!(contract, async || File::new());
