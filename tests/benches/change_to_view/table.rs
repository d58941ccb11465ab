//! The figures.

use std::fmt;

use tokio::time::Instant;

/// Milliseconds from a start to the sighting by the client, the view that applies at once, and the view that merges.
type Times = [f64; 3];

/// One change, as it was seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    since_sent: Times,
    /// Negative where it was seen before the writer had its answer.
    since_acknowledged: Times,
}

impl Change {
    pub(crate) fn new(sent: Instant, acknowledged: Instant, seen: [Instant; 3]) -> Self {
        Self {
            since_sent: seen.map(|at| millis(sent, at)),
            since_acknowledged: seen.map(|at| millis(acknowledged, at)),
        }
    }
}

fn millis(from: Instant, to: Instant) -> f64 {
    let ahead = to.saturating_duration_since(from).as_secs_f64();
    let behind = from.saturating_duration_since(to).as_secs_f64();
    (ahead - behind) * 1_000.0
}

/// What [`measure`](crate::measure) found for each registry.
#[derive(Debug, Default)]
pub(crate) struct Table {
    registries: Vec<(&'static str, Vec<Change>)>,
}

impl Table {
    pub(crate) fn add(&mut self, registry: &'static str, changes: Vec<Change>) {
        self.registries.push((registry, changes));
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "From a change to its sight, median / p99 in ms:\n")?;
        writeln!(
            f,
            "{:<9} {:>7}  {:<17} {:>17}  {:>17}  {:>13}  {:>17}",
            "registry",
            "changes",
            "counted from",
            "registry's client",
            "view, at once",
            "view / client",
            "view, 200 ms"
        )?;
        for (registry, changes) in &self.registries {
            type Since = fn(&Change) -> Times;
            let starts: [(&str, Since); 2] = [
                ("the write's start", |change| change.since_sent),
                ("its answer", |change| change.since_acknowledged),
            ];
            for (start, since) in starts {
                let times: Vec<Times> = changes.iter().map(since).collect();
                let [client, at_once, merging] =
                    [0, 1, 2].map(|who| Spread::of(times.iter().map(|times| times[who])));
                // From the answer on, times are around zero, and their ratio says nothing.
                let ratio = if start == starts[0].0 {
                    let (median, p99) = (at_once.median / client.median, at_once.p99 / client.p99);
                    format!("{median:.2} / {p99:.2}")
                } else {
                    String::new()
                };
                writeln!(
                    f,
                    "{registry:<9} {:>7}  {start:<17} {client:>17}  {at_once:>17}  {ratio:>13}  {merging:>17}",
                    changes.len(),
                )?;
            }
        }
        Ok(())
    }
}

struct Spread {
    median: f64,
    p99: f64,
}

impl Spread {
    fn of(times: impl Iterator<Item = f64>) -> Self {
        let mut times: Vec<f64> = times.collect();
        times.sort_by(f64::total_cmp);
        // The smallest that so many in a hundred do not exceed.
        let at = |percent: usize| {
            let rank = (times.len() * percent).div_ceil(100).max(1);
            times.get(rank - 1).copied().unwrap_or(f64::NAN)
        };
        Self {
            median: at(50),
            p99: at(99),
        }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:.1} / {:.1}", self.median, self.p99))
    }
}
