//! A file of settings, as `BalancerConfig` and its parts have them.

mod draft;
mod list;
mod tree;

use std::{collections::BTreeMap, io::Write};

use ringfence_core::{ConfigFinding, RingConfig, did_you_mean};
use ringfence_policy::{RingAlgorithm, RingSettings};

use self::{
    draft::Draft,
    list::{is_switch, member_of, named, settings, switch_of},
    tree::Entry,
};
use crate::{failure::Failure, output::Table};

/// A setting that is unknown or has no legal value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) line: Option<u64>,
    pub(super) name: Option<String>,
    pub(super) reason: String,
}

/// Everything that is wrong with a text. Findings about settings that do not go together count only where each is legal.
pub(super) fn check(text: &str) -> (Vec<Fault>, Vec<ConfigFinding>) {
    let mut entries = match tree::entries(text) {
        Ok(entries) => entries,
        Err(fault) => return (vec![fault], Vec::new()),
    };
    if entries.is_empty() {
        let nothing = Fault {
            line: None,
            name: None,
            reason: "the file sets nothing".to_owned(),
        };
        return (vec![nothing], Vec::new());
    }
    // The algorithm says which settings of the ring there are, and a switch whether those of its section have a meaning.
    entries.sort_by_key(|entry| entry.name != "ring.algorithm" && !is_switch(&entry.name));
    let mut draft = Draft::default();
    let mut ring = RingSettings::default();
    let mut lines = BTreeMap::new();
    let mut faults = Vec::new();
    for entry in &entries {
        let set = match lines.insert(&*entry.name, entry.line) {
            Some(line) => Err(format!("it is set in line {line} already")),
            None => set(&mut draft, &mut ring, entry),
        };
        faults.extend(set.err().map(|reason| Fault {
            line: Some(entry.line),
            name: Some(entry.name.clone()),
            reason,
        }));
    }
    let fault = |name: &str, reason: String| {
        let entry = entries.iter().find(|entry| entry.name.starts_with(name));
        Fault {
            line: entry.map(|entry| entry.line),
            name: Some(name.to_owned()),
            reason,
        }
    };
    let ring = RingConfig::try_from(&ring).map_err(|error| {
        let reason = error.reason().to_owned();
        faults.push(fault(&format!("ring.{}", error.path()), reason));
    });
    match draft.finish(ring.unwrap_or_default()) {
        Ok(finished) if faults.is_empty() => return (faults, finished.findings()),
        Ok(_) => {}
        Err(misfits) => {
            faults.extend(
                misfits
                    .into_iter()
                    .map(|(name, reason)| fault(name, reason)),
            );
        }
    }
    faults.sort_by_key(|fault| fault.line);
    (faults, Vec::new())
}

fn set(draft: &mut Draft, ring: &mut RingSettings, entry: &Entry) -> Result<(), String> {
    let name = &*entry.name;
    let Some(value) = &entry.value else {
        return Err(without_value(name));
    };
    if let Some(name) = name.strip_prefix("ring.") {
        return ring
            .set(name, value)
            .map_err(|error| error.reason().to_owned());
    }
    let Some(setting) = named(name) else {
        return Err(match member_of(name) {
            Some(member) => format!("it is a section, of settings such as `{member}`"),
            None => unknown(name),
        });
    };
    if let Some(section) = switch_of(name) {
        draft.touch(section)?;
    }
    (setting.set)(draft, value)
}

fn without_value(name: &str) -> String {
    match (member_of(name), named(name)) {
        (Some(_), Some(_)) => {
            format!("the section is empty: write `{name}: on` for what it is by default")
        }
        (Some(member), None) => {
            format!("the section is empty: leave it out, or give it settings such as `{member}`")
        }
        (None, Some(_)) => "it has no value".to_owned(),
        (None, None) if name.starts_with("ring.") => "it has no value".to_owned(),
        (None, None) => unknown(name),
    }
}

fn unknown(name: &str) -> String {
    let mut known: Vec<&str> = settings().map(|setting| setting.name).collect();
    let sections = known.iter().flat_map(|name| {
        let dots = name.match_indices('.');
        dots.filter_map(|(dot, _)| name.get(..dot))
    });
    let sections: Vec<&str> = sections.chain(["ring", "ring.algorithm"]).collect();
    known.extend(sections);
    known.sort_unstable();
    known.dedup();
    format!("there is no such setting{}", did_you_mean(name, known))
}

/// All settings with their values by default.
pub(super) fn list(out: &mut dyn Write) -> Result<(), Failure> {
    let mut table = Table::new(["setting", "default"]).with_left(2);
    let draft = Draft::default();
    let mut known: Vec<_> = settings().collect();
    known.sort_unstable_by_key(|setting| setting.name);
    for setting in known {
        table.row([setting.name.to_owned(), (setting.get)(&draft)]);
    }
    let algorithms = RingAlgorithm::NAMES.join(", ");
    table.row([
        "ring.algorithm".to_owned(),
        format!("ring; there are {algorithms}"),
    ]);
    table.row([
        "ring.NAME".to_owned(),
        "as in the section `ring` of a policy".to_owned(),
    ]);
    table.write(out)?;
    Ok(())
}
