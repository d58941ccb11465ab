//! Why two rings differ.

use std::fmt;

/// The first thing in which two dumps differ, in the order in which one decides about the others. Each has what is here and
/// what is there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Disagreement {
    /// The rings are laid out by different versions.
    Layout(Option<u32>, Option<u32>),
    /// The algorithms differ.
    Algorithm(String, String),
    /// A setting of the algorithm differs.
    Setting {
        /// Its name.
        name: String,
        /// Its value here, as JSON.
        here: String,
        /// Its value there.
        there: String,
    },
    /// The same addresses have other ids, as where one client takes them from another field of the registry.
    Id {
        /// Of which address.
        address: String,
        /// The id here.
        here: String,
        /// The id there.
        there: String,
    },
    /// Instances that only one of them has.
    Instances {
        /// Ids that are only here.
        here: Vec<String>,
        /// Ids that are only there.
        there: Vec<String>,
    },
    /// The weight of an instance differs, as the registry has it or on the ring.
    Weight {
        /// Of which instance.
        id: String,
        /// Its weight on the ring here.
        here: u32,
        /// Its weight on the ring there.
        there: u32,
    },
    /// What an instance is hashed by differs: its address or its tag `hash_key`. With Ringfence's own ring that is the id alone.
    HostKey {
        /// Of which instance.
        id: String,
        /// What it is hashed by here.
        here: String,
        /// What it is hashed by there.
        there: String,
    },
    /// The order in which the instances are listed differs, and the algorithm depends on it: the first two that do.
    Order(String, String),
    /// The points of an instance differ for none of these reasons: the dumps are of different programs.
    Points {
        /// Of which instance.
        id: String,
        /// How many here.
        here: u32,
        /// How many there.
        there: u32,
    },
    /// The fingerprints differ for none of these reasons: the dumps are of different programs.
    Fingerprint(String, String),
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layout = |version: &Option<u32>| version.map_or("none".to_owned(), |v| v.to_string());
        match self {
            Self::Layout(here, there) => {
                let (here, there) = (layout(here), layout(there));
                write!(f, "the layout of the ring differs: {here} and {there}")
            }
            Self::Algorithm(here, there) => {
                write!(f, "the algorithm differs: `{here}` and `{there}`")
            }
            Self::Setting { name, here, there } => {
                write!(f, "the setting `{name}` differs: {here} and {there}")
            }
            Self::Id {
                address,
                here,
                there,
            } => write!(
                f,
                "the instance at {address} has the id `{here}` here and `{there}` there"
            ),
            Self::Instances { here, there } => {
                f.write_str("the instances differ:")?;
                if !here.is_empty() {
                    write!(f, " only the first has {}", Few(here))?;
                }
                if !here.is_empty() && !there.is_empty() {
                    f.write_str(";")?;
                }
                if !there.is_empty() {
                    write!(f, " only the second has {}", Few(there))?;
                }
                Ok(())
            }
            Self::Weight { id, here, there } => {
                write!(
                    f,
                    "the weight of instance `{id}` differs: {here} and {there}"
                )
            }
            Self::HostKey { id, here, there } => {
                write!(
                    f,
                    "instance `{id}` is hashed by `{here}` here and by `{there}` there"
                )
            }
            Self::Order(here, there) => write!(
                f,
                "the instances are listed in another order: `{here}` here where `{there}` is there"
            ),
            Self::Points { id, here, there } => {
                write!(
                    f,
                    "the points of instance `{id}` differ: {here} and {there}"
                )
            }
            Self::Fingerprint(here, there) => {
                write!(f, "the fingerprints differ: {here} and {there}")
            }
        }
    }
}

/// The first ids of a list, and how many more there are.
struct Few<'a>(&'a [String]);

impl fmt::Display for Few<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const TOLD: usize = 8;
        for (place, id) in self.0.iter().take(TOLD).enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}`{id}`")?;
        }
        match self.0.len().saturating_sub(TOLD) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}
