use std::{
    collections::HashMap,
    fmt,
    future::pending,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use ringfence_core::Instance;
use ringfence_discovery::{BoxFuture, Probe, ProbeError};
use tokio::time::Instant;

/// What a [`ScriptedProbe`] says of an instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProbeVerdict {
    /// It serves.
    #[default]
    Pass,
    /// It does not.
    Fail,
    /// Nothing, ever.
    Hang,
    /// The probe itself is at fault.
    Panic,
}

/// A probe that says of each instance what a test tells it to, and counts what is asked of it. Clones are handles on the same one.
///
/// ```
/// use ringfence_core::Instance;
/// use ringfence_discovery::Probe;
/// use ringfence_testkit::{ProbeVerdict, ScriptedProbe};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (probe, a) = (ScriptedProbe::new(), Instance::builder("a", "10.0.0.1:80").build()?);
/// assert!(probe.probe(&a).await.is_ok());
/// probe.set("a", ProbeVerdict::Fail);
/// assert!(probe.probe(&a).await.is_err());
/// assert_eq!(probe.asked("a"), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct ScriptedProbe {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    script: Mutex<Script>,
    alive: AtomicUsize,
    most_alive: AtomicUsize,
}

#[derive(Default)]
struct Script {
    verdicts: HashMap<String, ProbeVerdict>,
    otherwise: ProbeVerdict,
    asked: Vec<(String, Instant)>,
}

/// A probe under way.
struct Alive(Arc<Shared>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, Ordering::AcqRel);
    }
}

impl ScriptedProbe {
    /// A probe that passes all.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What is said of this instance from now on.
    pub fn set(&self, id: &str, verdict: ProbeVerdict) {
        self.lock().verdicts.insert(id.to_owned(), verdict);
    }

    /// What is said of all instances from now on.
    pub fn set_all(&self, verdict: ProbeVerdict) {
        let mut script = self.lock();
        script.verdicts.clear();
        script.otherwise = verdict;
    }

    /// How often this instance was asked.
    #[must_use]
    pub fn asked(&self, id: &str) -> usize {
        self.asked_at(id).len()
    }

    /// When this instance was asked.
    #[must_use]
    pub fn asked_at(&self, id: &str) -> Vec<Instant> {
        let script = self.lock();
        let asked = script.asked.iter().filter(|(asked, _)| asked == id);
        asked.map(|(_, at)| *at).collect()
    }

    /// How often any instance was asked.
    #[must_use]
    pub fn asked_in_all(&self) -> usize {
        self.lock().asked.len()
    }

    /// Probes under way.
    #[must_use]
    pub fn alive(&self) -> usize {
        self.shared.alive.load(Ordering::Acquire)
    }

    /// The most probes that were under way at one time.
    #[must_use]
    pub fn most_alive(&self) -> usize {
        self.shared.most_alive.load(Ordering::Acquire)
    }

    fn lock(&self) -> MutexGuard<'_, Script> {
        let script = self.shared.script.lock();
        script.unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ScriptedProbe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedProbe")
            .field("asked", &self.asked_in_all())
            .field("alive", &self.alive())
            .finish_non_exhaustive()
    }
}

impl Probe for ScriptedProbe {
    fn probe<'a>(&'a self, instance: &'a Instance) -> BoxFuture<'a, Result<(), ProbeError>> {
        let id = instance.id().as_str();
        let verdict = {
            let mut script = self.lock();
            script.asked.push((id.to_owned(), Instant::now()));
            let verdict = script.verdicts.get(id).copied();
            verdict.unwrap_or(script.otherwise)
        };
        let now_alive = self.shared.alive.fetch_add(1, Ordering::AcqRel) + 1;
        self.shared
            .most_alive
            .fetch_max(now_alive, Ordering::AcqRel);
        let alive = Alive(Arc::clone(&self.shared));
        Box::pin(async move {
            let _alive = alive;
            match verdict {
                ProbeVerdict::Pass => Ok(()),
                ProbeVerdict::Fail => Err(ProbeError::new("as the test says")),
                ProbeVerdict::Hang => pending().await,
                #[expect(clippy::panic, reason = "what the test asked for")]
                ProbeVerdict::Panic => panic!("a fault of the probe"),
            }
        })
    }
}
