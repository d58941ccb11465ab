//! What differs between two sights.

use serde::Serialize;

use super::sight::{Row, Sight};

/// One change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Change {
    pub(super) at: String,
    pub(super) event: Event,
    pub(super) epoch: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) instance: Option<Row>,
    /// Fields with what they were and are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) fields: Vec<Field>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ring: Option<Ring>,
    /// How the registry is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) registry: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Event {
    /// It is in the first list.
    Present,
    Added,
    Removed,
    Changed,
    /// The ring of all instances is another one.
    Ring,
    /// The registry has another state.
    Registry,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Field {
    pub(super) field: &'static str,
    pub(super) from: String,
    pub(super) to: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Ring {
    pub(super) fingerprint: String,
    pub(super) points: usize,
    /// Part of the key space that changed owners.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) moved_share: Option<f64>,
}

impl Event {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Ring => "ring",
            Self::Registry => "registry",
        }
    }
}

impl Change {
    /// In words, behind the name of the event.
    pub(super) fn told(&self) -> String {
        let mut told = Vec::new();
        if let Some(row) = &self.instance {
            told.push(row.id.clone());
            match self.fields.is_empty() {
                true => told.push(format!(
                    "{} weight {} {}",
                    row.address, row.weight, row.state
                )),
                false => {
                    let fields = self.fields.iter();
                    let fields = fields.map(|f| format!("{} {} -> {}", f.field, f.from, f.to));
                    told.push(fields.collect::<Vec<_>>().join(", "));
                }
            }
        }
        if let Some(ring) = &self.ring {
            told.push(format!("{} points, {}", ring.points, ring.fingerprint));
            let moved = ring.moved_share.map(crate::output::percent);
            told.extend(moved.map(|share| format!("{share} of the keys moved")));
        }
        told.extend(self.registry.clone());
        told.join("  ")
    }
}

/// What changed from one sight to the next: who went, who came, who changed, the ring, the registry.
pub(super) fn changes(before: &Sight, after: &Sight, at: &str) -> Vec<Change> {
    let change = |event, instance: Option<&Row>, fields| Change {
        at: at.to_owned(),
        event,
        epoch: after.epoch,
        instance: instance.cloned(),
        fields,
        ring: None,
        registry: None,
    };
    let mut changes = Vec::new();
    let gone = before
        .rows
        .iter()
        .filter(|(id, _)| !after.rows.contains_key(*id));
    changes.extend(gone.map(|(_, row)| change(Event::Removed, Some(row), Vec::new())));
    let came = match before.has_list() {
        true => Event::Added,
        false => Event::Present,
    };
    for (id, row) in &after.rows {
        match before.rows.get(id) {
            None => changes.push(change(came, Some(row), Vec::new())),
            Some(old) => {
                let fields = fields(old, row);
                if !fields.is_empty() {
                    changes.push(change(Event::Changed, Some(row), fields));
                }
            }
        }
    }
    if after.has_list() && before.fingerprint != after.fingerprint {
        let ring = Ring {
            fingerprint: after.fingerprint.clone(),
            points: after.points,
            moved_share: after.moved_share.filter(|_| before.has_list()),
        };
        changes.push(Change {
            ring: Some(ring),
            ..change(Event::Ring, None, Vec::new())
        });
    }
    if before.registry != after.registry {
        changes.push(Change {
            registry: Some(after.registry.told.clone()),
            ..change(Event::Registry, None, Vec::new())
        });
    }
    changes
}

/// The share is left out: it changes with every other instance.
fn fields(old: &Row, new: &Row) -> Vec<Field> {
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let pairs = [
        ("address", old.address.clone(), new.address.clone()),
        ("zone", text(&old.zone), text(&new.zone)),
        ("version", text(&old.version), text(&new.version)),
        ("weight", old.weight.to_string(), new.weight.to_string()),
        ("state", old.state.to_owned(), new.state.to_owned()),
    ];
    let differing = pairs.into_iter().filter(|(_, from, to)| from != to);
    differing
        .map(|(field, from, to)| Field { field, from, to })
        .collect()
}
