//! What is told of a service.

use std::io::Write;

use ringfence_core::{HashAlgorithm, Ring};
use ringfence_discovery::RejectedRecord;
use ringfence_policy::RingSettings;
use serde::Serialize;

use super::keys::Top;
use crate::{
    args::Format,
    failure::Failure,
    output::{Table, percent, printable, style_of, write_facts},
};

#[derive(Serialize)]
pub(super) struct Told {
    pub(super) source: String,
    pub(super) service: String,
    pub(super) origin: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) revision: Option<u64>,
    pub(super) settings: RingSettings,
    pub(super) fingerprint: String,
    pub(super) points: usize,
    pub(super) capped: bool,
    pub(super) shares: &'static str,
    pub(super) cv: f64,
    pub(super) max_over_mean: f64,
    /// Of algorithms that divide a circle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) arcs: Option<Arcs>,
    pub(super) instances: Vec<Row>,
    pub(super) rejected: Vec<Rejected>,
    pub(super) duplicates: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) ring: Vec<Point>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top: Option<Top>,
}

#[derive(Serialize)]
pub(super) struct Row {
    pub(super) instance: String,
    pub(super) address: String,
    pub(super) zone: Option<String>,
    pub(super) version: Option<String>,
    pub(super) weight: u32,
    pub(super) state: &'static str,
    pub(super) points: u32,
    pub(super) share: f64,
    pub(super) expected: f64,
    pub(super) relative: Option<f64>,
    /// Of the keys that were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) keys: Option<u64>,
}

#[derive(Serialize)]
pub(super) struct Rejected {
    id: Option<String>,
    reason: String,
}

#[derive(Serialize)]
pub(super) struct Point {
    pub(super) position: String,
    pub(super) instance: String,
    pub(super) arc: Option<f64>,
}

/// How long arcs are, as parts of the circle.
#[derive(Serialize)]
pub(super) struct Arcs {
    count: usize,
    mean: f64,
    shortest: f64,
    longest: f64,
}

impl From<&RejectedRecord> for Rejected {
    fn from(record: &RejectedRecord) -> Self {
        Self {
            id: record.id.clone(),
            reason: record.reason.clone(),
        }
    }
}

/// The last position of a circle.
pub(in crate::commands) fn space(ring: &Ring) -> Option<u64> {
    // Slots have no points between which there were arcs.
    let is_slots = matches!(ring.config().algorithm(), HashAlgorithm::Slots(_));
    ring.last_position().filter(|_| !is_slots)
}

/// A length as a part of a circle.
pub(super) fn part(arc: u64, space: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "53 bits are enough to show it")]
    let part = arc as f64 / (space as f64 + 1.0);
    part
}

impl Arcs {
    pub(super) fn of(ring: &Ring) -> Option<Self> {
        let space = space(ring)?;
        let mut lengths: Vec<f64> = Vec::with_capacity(ring.len());
        let first = ring.points().next()?.0;
        let mut before = None;
        for (position, _) in ring.points() {
            if let Some(before) = before {
                lengths.push(part(position - before, space));
            }
            before = Some(position);
        }
        // What is left is over the end of the space.
        let inside = part(before? - first, space);
        lengths.push(1.0 - inside);
        let count = lengths.len();
        let mean = 1.0 / f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        Some(Self {
            count,
            mean,
            shortest: lengths.iter().copied().fold(1.0, f64::min),
            longest: lengths.iter().copied().fold(0.0, f64::max),
        })
    }
}

impl Told {
    pub(super) fn write(&self, format: Format, out: &mut dyn Write) -> Result<(), Failure> {
        match format {
            Format::Table => self.table(out),
            Format::Json => {
                serde_json::to_writer_pretty(&mut *out, self)?;
                writeln!(out)?;
                Ok(())
            }
            Format::Csv => {
                let mut writer = csv::Writer::from_writer(out);
                for row in &self.instances {
                    writer.serialize(row)?;
                }
                writer.flush()?;
                Ok(())
            }
        }
    }

    fn table(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let usable = self.instances.iter().filter(|row| row.state == "usable");
        let from = match self.revision {
            Some(revision) => format!("{} at revision {revision}", self.origin),
            None => self.origin.clone(),
        };
        let mut facts = vec![
            ("source", self.source.clone()),
            ("service", self.service.clone()),
            ("read from", from),
            ("algorithm", self.settings.algorithm.as_str().to_owned()),
            ("fingerprint", self.fingerprint.clone()),
            (
                "instances",
                format!(
                    "{}, of which {} are usable",
                    self.instances.len(),
                    usable.count()
                ),
            ),
            ("points", self.points.to_string()),
            ("shares", self.shares.to_owned()),
            ("cv", format!("{:.4}", self.cv)),
            ("max/mean", format!("{:.4}", self.max_over_mean)),
        ];
        if let Some(arcs) = &self.arcs {
            let parts = [arcs.shortest, arcs.mean, arcs.longest]
                .map(|part| format!("{:.5} %", part * 100.0));
            let [shortest, mean, longest] = parts;
            facts.push((
                "arcs",
                format!("{}, from {shortest} over {mean} to {longest}", arcs.count),
            ));
        }
        if self.capped {
            facts.push((
                "capped",
                "the points are scaled down, a change of one weight can move keys of others"
                    .to_owned(),
            ));
        }
        if self.duplicates > 0 {
            facts.push((
                "duplicates",
                format!(
                    "{} records had the id of another one and were left out",
                    self.duplicates
                ),
            ));
        }
        for rejected in &self.rejected {
            let id = rejected.id.as_deref().unwrap_or("(no id)");
            facts.push(("left out", format!("{id}: {}", rejected.reason)));
        }
        write_facts(out, &facts)?;
        writeln!(out)?;
        self.write_instances(out)?;
        if !self.ring.is_empty() {
            writeln!(out)?;
            let mut table = Table::new(["position", "instance", "arc"]).with_left(2);
            for point in &self.ring {
                let arc = point
                    .arc
                    .map_or("-".to_owned(), |arc| format!("{:.5} %", arc * 100.0));
                table.row([point.position.clone(), point.instance.clone(), arc]);
            }
            table.write(out)?;
        }
        if let Some(top) = &self.top {
            top.write(out)?;
        }
        Ok(())
    }

    fn write_instances(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let header = [
            "instance", "address", "zone", "version", "state", "weight", "points", "share",
            "expected", "relative", "keys",
        ];
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        let mut table = Table::new(header).with_left(5);
        for row in &self.instances {
            table.styled_row(
                style_of(row.state),
                [
                    row.instance.clone(),
                    row.address.clone(),
                    text(&row.zone),
                    text(&row.version),
                    row.state.to_owned(),
                    row.weight.to_string(),
                    row.points.to_string(),
                    percent(row.share),
                    percent(row.expected),
                    row.relative.map_or("-".to_owned(), |r| format!("{r:.3}")),
                    row.keys.map_or("-".to_owned(), |keys| keys.to_string()),
                ],
            );
        }
        table.write(out)?;
        Ok(())
    }
}

impl Top {
    fn write(&self, out: &mut dyn Write) -> Result<(), Failure> {
        writeln!(out)?;
        let about = if self.exact { "" } else { " at most" };
        writeln!(out, "{} keys; the most frequent ones{about}:", self.total)?;
        let mut table = Table::new(["keys", "share", "owner", "key"]);
        for key in &self.keys {
            let owner = key.owner.clone().unwrap_or_else(|| "-".to_owned());
            table.row([
                key.count.to_string(),
                percent(key.share),
                owner,
                printable(&key.key),
            ]);
        }
        table.write(out)?;
        Ok(())
    }
}
