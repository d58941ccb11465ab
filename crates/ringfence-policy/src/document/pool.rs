use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, SeqAccess, Visitor, value::MapAccessDeserializer},
};

use super::is_default;

/// One pool that requests of a rule may use.
///
/// Unless the request is in a gray release or belongs to a tenant with instances of its own, no pool has instances of
/// releases and tenants, nor those of the versions `gray` and `canary` or with a tag `gray`, except where the pool requires
/// that very value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PoolStage {
    /// What its instances must have, by attribute (`version`, `zone`, `region` or a tag other than `tenant`); default nothing.
    #[serde(skip_serializing_if = "is_default")]
    pub require: BTreeMap<String, TagMatch>,
    /// What they have if enough such instances are usable; otherwise the pool is tried without. Default nothing, and no
    /// attribute of `require`.
    #[serde(skip_serializing_if = "is_default")]
    pub prefer: BTreeMap<String, TagMatch>,
    /// What they must not have; default nothing. Exact values only.
    #[serde(skip_serializing_if = "is_default")]
    pub exclude: BTreeMap<String, TagMatch>,
    /// Usable instances that it must have to be taken; default 1, range 1..=1,000,000.
    #[serde(skip_serializing_if = "is_one")]
    pub min_usable: u32,
    /// Share of its registered instances that must be usable for it to be taken, in per cent; default 0, range 0..=100.
    #[serde(skip_serializing_if = "is_default")]
    pub min_share: u8,
}

impl Default for PoolStage {
    fn default() -> Self {
        Self {
            require: BTreeMap::new(),
            prefer: BTreeMap::new(),
            exclude: BTreeMap::new(),
            min_usable: 1,
            min_share: 0,
        }
    }
}

impl PoolStage {
    /// Also requires this of its instances.
    #[must_use]
    pub fn requiring(mut self, attribute: impl Into<String>, matching: TagMatch) -> Self {
        self.require.insert(attribute.into(), matching);
        self
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands references")]
fn is_one(number: &u32) -> bool {
    *number == 1
}

/// What an instance has. In a document: a value, a list of values, `local`, or `{ from: request }`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TagMatch {
    /// One of these values.
    OneOf(Vec<String>),
    /// The client's own zone or region. A pool that asks for it is left out where that is not known.
    Local,
    /// What the request's trusted tags have. A pool that asks for it is left out for requests that have no such tag.
    Request,
}

impl TagMatch {
    const LOCAL: &'static str = "local";

    /// This value.
    #[must_use]
    pub fn is(value: impl Into<String>) -> Self {
        Self::OneOf(vec![value.into()])
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct From {
    from: Whom,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Whom {
    Request,
}

impl Serialize for TagMatch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::OneOf(values) => match &**values {
                // Alone, it would be read as something else.
                [value] if value != Self::LOCAL => serializer.serialize_str(value),
                values => values.serialize(serializer),
            },
            Self::Local => serializer.serialize_str(Self::LOCAL),
            Self::Request => From {
                from: Whom::Request,
            }
            .serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for TagMatch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TagMatchVisitor)
    }
}

struct TagMatchVisitor;

impl<'de> Visitor<'de> for TagMatchVisitor {
    type Value = TagMatch;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a list of texts, `local` or `{ from: request }`; numbers, `no`, `y` and others in quotes")
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        Ok(match value {
            TagMatch::LOCAL => TagMatch::Local,
            value => TagMatch::is(value),
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element()? {
            values.push(value);
        }
        Ok(TagMatch::OneOf(values))
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let From {
            from: Whom::Request,
        } = From::deserialize(MapAccessDeserializer::new(map))?;
        Ok(TagMatch::Request)
    }
}
