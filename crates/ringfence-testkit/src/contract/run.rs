use std::{collections::HashSet, sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use ringfence_core::{Instance, Snapshot};
use ringfence_discovery::{ErrorKind, Event, Supervisor, WatchConfig};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::{
    Access, Fault, Fleet, Outcome, Scenario, Step, Subject,
    outcome::{show, trouble},
};

/// Puts a fresh subject through a scenario.
///
/// # Errors
/// What was not as it has to be, and at which step.
pub async fn run(scenario: Scenario, subject: &mut impl Subject) -> Result<Outcome, String> {
    let impossible = subject.cannot();
    if let Some((_, reason)) = impossible.iter().find(|(other, _)| *other == scenario) {
        return Ok(Outcome::Impossible(reason));
    }
    let mut stage = Stage {
        subject,
        patience: Duration::ZERO,
        hold: Duration::ZERO,
        watch: None,
        last: None,
        ever: HashSet::new(),
        open_before: None,
    };
    stage.patience = stage.subject.patience();
    // A suspicious state is held in any case, so that it is read again; a registry that comes back needs time for its
    // providers.
    stage.hold = Duration::from_millis(300);
    if scenario.has_fault() {
        stage.patience *= 2;
        stage.hold = Duration::from_secs(10);
    }
    for (at, step) in scenario.steps().iter().enumerate() {
        stage
            .step(*step)
            .await
            .map_err(|fault| format!("step {} ({step:?}): {fault}", at + 1))?;
    }
    Ok(Outcome::Passed)
}

struct Stage<'s, S> {
    subject: &'s mut S,
    patience: Duration,
    hold: Duration,
    watch: Option<Supervisor>,
    /// What was seen last; an unknown service is as good as an empty one.
    last: Option<Arc<Snapshot>>,
    /// All that ever was in the registry, as it is to be seen.
    ever: HashSet<Instance>,
    open_before: Option<usize>,
}

impl<S: Subject> Stage<'_, S> {
    async fn step(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::Set(fleet) => self.set(fleet).await,
            Step::Watch(access) => self.watch(access),
            Step::See(fleet) => {
                let wanted = self.seen(fleet)?;
                self.until(&format!("to see {}", show(&wanted)), |stage| {
                    stage.last.as_deref() == Some(&wanted)
                })
                .await
            }
            Step::SeeNone => {
                self.until("to see no instance", |stage| {
                    stage.last.as_deref().is_some_and(Snapshot::is_empty)
                })
                .await
            }
            Step::SeeRejected => {
                self.until("to see a record left out", Self::has_rejected)
                    .await
            }
            Step::Steady(millis) => self.steady(Duration::from_millis(millis)).await,
            Step::AddMalformed => {
                let added = self.subject.add_malformed().await;
                added.map_err(|error| error.to_string())
            }
            Step::Do(fault) => self.whilst(fault).await,
            Step::Refused(access) => self.refused(access).await,
            Step::WriteRefused => match self.subject.write_read_only().await {
                Ok(false) => Ok(()),
                Ok(true) => Err("the registry let a reader write".to_owned()),
                Err(error) => Err(error.to_string()),
            },
            Step::DropWatch => self.drop_watch().await,
        }
    }

    fn seen(&self, fleet: Fleet) -> Result<Snapshot, String> {
        let instances = fleet.instances().map_err(|error| error.to_string())?;
        let seen = instances
            .into_iter()
            .filter_map(|instance| self.subject.seen(instance));
        Ok(Snapshot::new(seen))
    }

    async fn set(&mut self, fleet: Fleet) -> Result<(), String> {
        let instances = fleet.instances().map_err(|error| error.to_string())?;
        let seen = self.seen(fleet)?;
        self.ever
            .extend(seen.instances().iter().map(|instance| (**instance).clone()));
        let set = self.subject.set(&instances).await;
        set.map_err(|error| error.to_string())
    }

    fn watch(&mut self, access: Access) -> Result<(), String> {
        self.open_before = self.subject.open().ok();
        let source = self
            .subject
            .discovery(access)
            .map_err(|error| error.to_string())?;
        let config = WatchConfig::default()
            .without_resync()
            .without_staleness()
            .with_backoff(Duration::from_millis(50), Duration::from_secs(1))
            .and_then(|config| config.with_empty_hold(self.hold))
            .map_err(|error| error.to_string())?;
        self.watch = Some(Supervisor::new(
            source,
            self.subject.service(),
            config.with_seed(1),
        ));
        self.last = None;
        Ok(())
    }

    /// Watches until `done`, or fails for want of patience.
    async fn until(&mut self, what: &str, done: impl Fn(&Self) -> bool) -> Result<(), String> {
        // A loss may have to be held first.
        let end = Instant::now() + self.patience + self.hold;
        while !done(self) {
            // Counters change without an event.
            let soon = Instant::now() + Duration::from_millis(50);
            if !self.next(soon.min(end)).await? && Instant::now() >= end {
                return Err(format!(
                    "waited in vain {what}; saw last {}{}",
                    self.last
                        .as_deref()
                        .map_or_else(|| "nothing".to_owned(), show),
                    self.trouble()
                ));
            }
        }
        Ok(())
    }

    async fn steady(&mut self, time: Duration) -> Result<(), String> {
        let (before, end) = (self.shown(), Instant::now() + time);
        while self.next(end).await? {}
        self.unchanged(&before)
    }

    /// What was seen last, and how often a loss was shown that the supervisor did not believe at once.
    fn shown(&self) -> (Option<Arc<Snapshot>>, u64) {
        let watch = self.watch.as_ref();
        let held = watch.map_or(0, |watch| watch.status().counters.held);
        (self.last.clone(), held)
    }

    fn unchanged(&self, before: &(Option<Arc<Snapshot>>, u64)) -> Result<(), String> {
        let now = self.shown();
        if now.1 > before.1 {
            return Err(format!(
                "nothing was removed, but a loss was shown{}",
                self.trouble()
            ));
        }
        if now.0 != before.0 {
            let seen = self
                .last
                .as_deref()
                .map_or_else(|| "nothing".to_owned(), show);
            return Err(format!("nothing changed, but then {seen} was seen"));
        }
        Ok(())
    }

    /// Does something to the registry while the watch goes on.
    async fn whilst(&mut self, fault: Fault) -> Result<(), String> {
        let Some(mut watch) = self.watch.take() else {
            return self
                .subject
                .fault(fault)
                .await
                .map_err(|error| error.to_string());
        };
        let before = (self.last.clone(), watch.status().counters.held);
        let mut events = Vec::new();
        let outcome = {
            let doing = self.subject.fault(fault);
            tokio::pin!(doing);
            loop {
                tokio::select! {
                    outcome = &mut doing => break outcome,
                    event = watch.next() => events.push(event),
                }
            }
        };
        self.watch = Some(watch);
        outcome.map_err(|error| error.to_string())?;
        events.into_iter().try_for_each(|event| self.take(event))?;
        // A registry that is away says nothing of its instances; one that is back may.
        match fault {
            Fault::Kill | Fault::Freeze => self.unchanged(&before),
            Fault::Restart | Fault::Wipe | Fault::Thaw => Ok(()),
        }
    }

    /// Takes the next event; false if none came until `end`.
    async fn next(&mut self, end: Instant) -> Result<bool, String> {
        let watch = self.watch.as_mut().ok_or("nothing is watched")?;
        match timeout_at(end, watch.next()).await {
            Ok(event) => self.take(event).map(|()| true),
            Err(_) => Ok(false),
        }
    }

    fn take(&mut self, event: Event) -> Result<(), String> {
        match event {
            Event::Snapshot(accepted) => {
                let unknown = |instance: &&Arc<Instance>| !self.ever.contains(&***instance);
                if let Some(stranger) = accepted.snapshot.instances().iter().find(unknown) {
                    return Err(format!("saw what was never registered: {stranger:?}"));
                }
                self.last = Some(accepted.snapshot);
            }
            Event::NoSuchService => self.last = Some(Arc::new(Snapshot::empty())),
            _ => {}
        }
        Ok(())
    }

    fn has_rejected(&self) -> bool {
        self.watch
            .as_ref()
            .is_some_and(|watch| watch.status().counters.rejected_records > 0)
    }

    fn trouble(&self) -> String {
        self.watch.as_ref().map(trouble).unwrap_or_default()
    }

    async fn refused(&mut self, access: Access) -> Result<(), String> {
        let source = self
            .subject
            .discovery(access)
            .map_err(|error| error.to_string())?;
        let service = self.subject.service();
        let read = timeout(self.patience, source.fetch(&service)).await;
        let mut stream = source.watch(&service);
        let watched = timeout(self.patience, stream.next()).await;
        for (what, outcome) in [("reading", read.ok()), ("watching", watched.ok().flatten())] {
            match outcome {
                Some(Err(error)) if error.kind() == ErrorKind::Unauthorized => {}
                Some(Err(error)) => {
                    return Err(format!(
                        "{what}: {:?}, not unauthorized: {error}",
                        error.kind()
                    ));
                }
                Some(Ok(update)) => {
                    return Err(format!(
                        "{what}: a list of {}",
                        update.state.instance_count()
                    ));
                }
                None => return Err(format!("{what}: no answer")),
            }
        }
        Ok(())
    }

    async fn drop_watch(&mut self) -> Result<(), String> {
        let before = self
            .open_before
            .ok_or("the subject does not say what is open")?;
        self.watch = None;
        let end = Instant::now() + Duration::from_secs(2);
        loop {
            let open = self.subject.open().map_err(|error| error.to_string())?;
            if open <= before {
                return Ok(());
            }
            if Instant::now() > end {
                return Err(format!("{open} open after it, {before} before"));
            }
            sleep(Duration::from_millis(20)).await;
        }
    }
}
