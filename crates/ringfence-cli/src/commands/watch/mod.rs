//! `ringfence watch`

mod change;
mod lines;
mod reader;
mod screen;
mod sight;

use std::{
    io::{self, IsTerminal as _, Write},
    pin::pin,
    process::ExitCode,
    time::{Duration, SystemTime},
};

use ringfence_balancer::{Balancer, BalancerConfig};
use ringfence_core::RingConfig;
use tokio::time::Instant;

use self::{change::changes, lines::Lines, screen::Screen, sight::Sight};
use crate::{
    args::{Format, WatchArgs},
    clock::rfc3339,
    failure::Failure,
    input::Algorithm,
    source::{Source, runtime},
};

/// How often the view is looked at. A change is seen within this, after the merge window of the balancer.
const LOOK: Duration = Duration::from_millis(100);

pub(crate) fn run(args: &WatchArgs, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let config = Algorithm::ring_of(&args.ring)?;
    let source = Source::parse(&args.ring.instances)?;
    let runtime = runtime()?;
    let watched = runtime.block_on(async {
        let watcher = Watcher::start(args, &source, config)?;
        match args.once {
            true => watcher.once(out).await,
            false => watcher.run(out).await,
        }
    });
    // A read that is under way must not hold up the end.
    runtime.shutdown_background();
    watched
}

struct Watcher<'a> {
    args: &'a WatchArgs,
    source: &'a Source,
    service: String,
    title: String,
    balancer: Balancer,
}

impl<'a> Watcher<'a> {
    fn start(args: &'a WatchArgs, source: &'a Source, ring: RingConfig) -> Result<Self, Failure> {
        let (discovery, key) = source.connect(args.ring.service.as_deref())?;
        let title = match source {
            Source::Registry(_) => source.told(),
            Source::File(_) | Source::Static(_) => format!("{key} of {}", source.told()),
        };
        let config = BalancerConfig::default().with_ring(ring);
        let service = key.to_string();
        let built = Balancer::builder(discovery, key)
            .with_config(config)
            .build();
        Ok(Self {
            args,
            source,
            service,
            title,
            balancer: built.map_err(Failure::new)?,
        })
    }

    /// One list, as soon as there is one.
    async fn once(&self, out: &mut dyn Write) -> Result<ExitCode, Failure> {
        let patience = self.args.duration.unwrap_or(Duration::from_secs(10));
        let until = after(patience);
        let mut sight = Sight::default();
        let mut interrupted = pin!(interrupted());
        // An answer that is empty says more a moment later: the guard against empty lists asks again.
        while !sight.has_list() && until.is_none_or(|until| Instant::now() < until) {
            tokio::select! {
                () = &mut interrupted => return Ok(ExitCode::SUCCESS),
                () = tokio::time::sleep(LOOK) => sight = Sight::of(&self.balancer, &sight),
            }
        }
        if !sight.has_list() || !self.balancer.status().service_exists {
            let told = &sight.registry.told;
            return Err(Failure::unreached(format_args!("{}: {told}", self.title)));
        }
        match self.args.format.unwrap_or(Format::Table) {
            Format::Table => screen::write_once(&self.title, &sight, out)?,
            format => {
                let changes = changes(&Sight::default(), &sight, &rfc3339(SystemTime::now()));
                Lines::new(format, out)?.write(&changes, out)?;
            }
        }
        if sight.rows.is_empty() {
            out.flush()?;
            return Err(self.source.without_instances(&self.service));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Changes as they come, until the time is over or somebody ends it.
    async fn run(&self, out: &mut dyn Write) -> Result<ExitCode, Failure> {
        let is_live = self.args.format.is_none() && io::stdout().is_terminal();
        let mut screen = is_live.then(Screen::default);
        let lines = match is_live {
            true => None,
            false => Some(Lines::new(self.args.format.unwrap_or(Format::Table), out)?),
        };
        let until = self.args.duration.and_then(after);
        let mut interrupted = pin!(interrupted());
        let mut sight = Sight::default();
        let mut is_first = true;
        loop {
            if reader::is_gone() {
                return Err(Failure::Closed);
            }
            let seen = Sight::of(&self.balancer, &sight);
            let changes = changes(&sight, &seen, &rfc3339(SystemTime::now()));
            sight = seen;
            if let Some(screen) = &mut screen
                && (is_first || !changes.is_empty())
            {
                screen.note(&changes);
                screen.draw(&self.title, &sight, out)?;
            }
            if let Some(lines) = &lines
                && !changes.is_empty()
            {
                lines.write(&changes, out)?;
            }
            is_first = false;
            let next = Instant::now() + LOOK;
            if until.is_some_and(|until| next > until) {
                return Ok(ExitCode::SUCCESS);
            }
            tokio::select! {
                () = &mut interrupted => return Ok(ExitCode::SUCCESS),
                () = tokio::time::sleep_until(next) => {}
            }
        }
    }
}

/// When a time is over; never, where it is longer than clocks can say.
fn after(time: Duration) -> Option<Instant> {
    Instant::now().checked_add(time)
}

/// Ends when somebody wants this to end.
async fn interrupted() {
    // Where signals cannot be had, they end the process as usual.
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (interrupt, terminate) = (
            signal(SignalKind::interrupt()),
            signal(SignalKind::terminate()),
        );
        if let (Ok(mut interrupt), Ok(mut terminate)) = (interrupt, terminate) {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
