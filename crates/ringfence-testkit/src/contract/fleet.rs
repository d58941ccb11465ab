use std::ops::Range;

use ringfence_core::{Instance, InstanceError};

/// Instances of a scenario.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Fleet {
    /// These.
    Of(&'static [Member]),
    /// As many ordinary ones as this range has numbers, which name them.
    Numbered(u16, u16),
}

/// One instance of a scenario.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Member {
    number: u16,
    weight: u32,
    enabled: bool,
    version: &'static str,
    lane: &'static str,
}

const fn member(number: u16) -> Member {
    Member {
        number,
        weight: 100,
        enabled: true,
        version: "v1",
        lane: "blue",
    }
}

impl Member {
    const fn weight(self, weight: u32) -> Self {
        Self { weight, ..self }
    }

    const fn disabled(self) -> Self {
        Self {
            enabled: false,
            ..self
        }
    }

    const fn labels(self, version: &'static str, lane: &'static str) -> Self {
        Self {
            version,
            lane,
            ..self
        }
    }

    fn instance(self) -> Result<Instance, InstanceError> {
        let number = self.number;
        Instance::builder(
            format!("server-{number}"),
            format!("10.1.0.{}:{}", number % 250 + 1, 8000 + number),
        )
        .weight(self.weight)
        .enabled(self.enabled)
        .version(self.version)
        .zone("az-1")
        .tag("lane", self.lane)
        .build()
    }
}

impl Fleet {
    /// The instances.
    ///
    /// # Errors
    /// None, unless a scenario is written wrongly.
    pub fn instances(self) -> Result<Vec<Instance>, InstanceError> {
        match self {
            Self::Of(members) => members.iter().copied().map(Member::instance).collect(),
            Self::Numbered(from, to) => {
                let numbers: Range<u16> = from..to;
                numbers.map(|number| member(number).instance()).collect()
            }
        }
    }
}

const A: Member = member(1);
const B: Member = member(2);
const C: Member = member(3);

pub(super) const NOBODY: Fleet = Fleet::Of(&[]);
pub(super) const PAIR: Fleet = Fleet::Of(&[A, B]);
pub(super) const TRIO: Fleet = Fleet::Of(&[A, B, C]);
pub(super) const VARIED: Fleet = Fleet::Of(&[A, B.weight(250).labels("v2", "green"), C.weight(1)]);
pub(super) const RELABELLED: Fleet = Fleet::Of(&[A.labels("v2", "green"), B]);
pub(super) const REWEIGHTED: Fleet = Fleet::Of(&[A.weight(300), B]);
pub(super) const DISABLED: Fleet = Fleet::Of(&[A.disabled(), B]);
pub(super) const DRAINED: Fleet = Fleet::Of(&[A.weight(0), B]);
pub(super) const OTHERS: Fleet = Fleet::Of(&[member(7), member(8), member(9)]);
