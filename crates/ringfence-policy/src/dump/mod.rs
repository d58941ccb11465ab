//! A ring as a document, to be compared with that of another client.

mod compare;
mod disagreement;
mod settings;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use ringfence_core::{HashAlgorithm, Instance, Pool, Ring};
use serde::{Deserialize, Serialize};

pub use self::disagreement::Disagreement;
use crate::RingSettings;

/// What decides the owners of keys in one client, as JSON: settings, instances with their weights and points, and the fingerprint
/// of the ring. [`first_disagreement`](Self::first_disagreement) tells why two clients send a key to different instances.
///
/// It holds no secrets: of the tags, which may have some, only `hash_key` is in it where it counts, unless
/// [`with_tags`](Self::with_tags) asks for more. The form has a version; later versions of this crate read it, and refuse what
/// they do not know.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use ringfence_core::{Instance, Pool, Ring, RingConfig, Selector, Snapshot};
/// use ringfence_policy::RingDump;
///
/// let dump = |weight| {
///     let instances = [Instance::builder("a", "10.0.0.1:80").build()?, Instance::builder("b", "10.0.0.2:80").weight(weight).build()?];
///     let pool = Pool::select(&Arc::new(Snapshot::new(instances)), &Selector::any());
///     Ok::<_, ringfence_core::InstanceError>(RingDump::of(&pool, &Ring::build(&pool, &RingConfig::default())))
/// };
/// let (here, there) = (dump(100)?, dump(50)?);
/// assert_eq!(RingDump::parse(&here.to_json())?, here);
/// let why = here.first_disagreement(&there).expect("they differ");
/// assert_eq!(why.to_string(), "the weight of instance `b` differs: 100 and 50");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RingDump {
    /// Version of the form: [`VERSION`](Self::VERSION).
    pub ringfence_dump: u32,
    /// Version of the layout of Ringfence's own ring; absent with other algorithms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<u32>,
    /// The algorithm and all of its settings.
    pub settings: RingSettings,
    /// Digest of all that decides the mapping, in hexadecimal digits.
    pub fingerprint: String,
    /// Points of the ring.
    pub points: u64,
    /// The points were scaled down to `max_ring_points`, or to Envoy's `max_ring_size`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub capped: bool,
    /// The ids in the order given, where the algorithm depends on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Vec<String>>,
    /// The instances in the order of their ids.
    pub instances: Vec<DumpedInstance>,
}

/// An instance in a [`RingDump`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DumpedInstance {
    /// Its id.
    pub id: String,
    /// Its `host:port`.
    pub address: String,
    /// Its weight as the registry has it.
    pub weight: u32,
    /// Its weight on the ring, where that is another: while it starts slowly, or is disabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring_weight: Option<u32>,
    /// How many points it has.
    pub points: u32,
    /// Its tag `hash_key`, where the algorithm takes it in place of the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_key: Option<String>,
    /// Its tags, where they were asked for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
}

/// A text is no [`RingDump`] of a version that is known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DumpError {
    /// Another program wrote it, and knows more.
    #[error("the dump has version {version}, known is {}", RingDump::VERSION)]
    Version {
        /// Its version.
        version: u64,
    },
    /// It is no dump; the message has line and column.
    #[error("no dump of a ring: {0}")]
    Malformed(#[from] serde_json::Error),
}

/// The tag whose value stands for the address in the algorithms of others.
const HOST_KEY: &str = "hash_key";

impl RingDump {
    /// Version of the form.
    pub const VERSION: u32 = 1;

    /// Of a ring and the pool that it was made of.
    #[must_use]
    pub fn of(pool: &Pool, ring: &Ring) -> Self {
        let algorithm = ring.config().algorithm();
        let is_own = matches!(algorithm, HashAlgorithm::Ring);
        let members = (0u32..).zip(pool.members()).zip(pool.iter());
        Self {
            ringfence_dump: Self::VERSION,
            layout: is_own.then_some(Ring::LAYOUT_VERSION),
            settings: RingSettings::from(ring.config()),
            fingerprint: ring.fingerprint().to_string(),
            points: ring.len() as u64,
            capped: ring.is_capped(),
            order: algorithm.depends_on_order().then(|| order(pool)),
            instances: members
                .map(|((member, &place), instance)| DumpedInstance {
                    id: instance.id().to_string(),
                    address: instance.address().to_string(),
                    weight: instance.weight().get(),
                    ring_weight: Some(pool.snapshot().ring_weight(place))
                        .filter(|weight| *weight != instance.weight().get()),
                    points: ring.points_of(member),
                    host_key: host_key(algorithm, instance),
                    tags: BTreeMap::new(),
                })
                .collect(),
        }
    }

    /// With the tags of these instances, which may hold what is not for everybody.
    #[must_use]
    pub fn with_tags<'a>(mut self, instances: impl IntoIterator<Item = &'a Instance>) -> Self {
        let instances = instances.into_iter().map(|i| (i.id().as_str(), i));
        let by_id: BTreeMap<_, _> = instances.collect();
        for dumped in &mut self.instances {
            if let Some(instance) = by_id.get(dumped.id.as_str()) {
                let tags = instance.tags().iter();
                dumped.tags = tags.map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
            }
        }
        self
    }

    /// Reads what [`to_json`](Self::to_json) wrote.
    ///
    /// # Errors
    /// [`DumpError`] of another version, and of a text that is no dump.
    pub fn parse(text: &str) -> Result<Self, DumpError> {
        #[derive(Deserialize)]
        struct Head {
            ringfence_dump: u64,
        }
        let Head { ringfence_dump } = serde_json::from_str(text)?;
        if ringfence_dump != u64::from(Self::VERSION) {
            let version = ringfence_dump;
            return Err(DumpError::Version { version });
        }
        Ok(serde_json::from_str(text)?)
    }

    /// As JSON, indented, with a line end.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Every key is a text and every value a number or a text, which JSON can write.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// The ids of a pool in the order in which the registry or file lists them.
fn order(pool: &Pool) -> Vec<String> {
    let snapshot = pool.snapshot();
    let given = snapshot.given_order();
    let members = given.filter(|place| pool.members().binary_search(place).is_ok());
    let instances = members.filter_map(|place| snapshot.instances().get(place as usize));
    instances
        .map(|instance| instance.id().to_string())
        .collect()
}

fn host_key(algorithm: &HashAlgorithm, instance: &Instance) -> Option<String> {
    let key = instance.tag(HOST_KEY);
    let key = key.filter(|_| algorithm.has_host_keys());
    key.map(ToOwned::to_owned)
}
