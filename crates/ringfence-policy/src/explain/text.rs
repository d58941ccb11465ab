use std::fmt;

use super::{Explanation, Refusal};
use crate::{Decides, MissingKey, TenantMode};

impl fmt::Display for Explanation {
    /// One line for each step.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head(f)?;
        for tag in &self.tags {
            writeln!(
                f,
                "tag       {}={} ({})",
                tag.name,
                tag.value,
                tag.because.as_str()
            )?;
        }
        if let Some((name, mode)) = &self.tenant {
            writeln!(f, "tenant    {name}: {}", Told(mode))?;
        }
        match &self.gray {
            Some((release, why)) => writeln!(f, "gray      in {release} ({})", why.as_str())?,
            None if self.is_by_policy() => writeln!(f, "gray      in none")?,
            None => {}
        }
        for source in &self.sources {
            writeln!(f, "source    {}: {}", source.source, source.outcome)?;
        }
        match &self.key {
            None => writeln!(f, "key       none")?,
            Some(key) => {
                write!(f, "key       \"{}\"", key.raw)?;
                if key.normalised != key.raw {
                    write!(f, " -> \"{}\"", key.normalised)?;
                }
                if key.salt != 0 {
                    write!(f, ", salt {:016x}", key.salt)?;
                }
                match &key.hash {
                    Some(hash) => writeln!(f, ", hash {hash}")?,
                    None => writeln!(f)?,
                }
            }
        }
        for (place, stage) in self.stages.iter().enumerate() {
            let mark = if self.chosen == Some(place) && self.refused.is_none() {
                self.told(" <- serves", " <- would serve")
            } else {
                ""
            };
            write!(
                f,
                "stage {place:<3} [{}] {} usable of {}",
                stage.pool, stage.usable, stage.members
            )?;
            if stage.spilled > 0 {
                write!(f, ", {} permille go on", stage.spilled)?;
            }
            writeln!(f, "{mark}")?;
        }
        if self.chosen.is_none() {
            writeln!(f, "no stage can serve")?;
        } else if self.is_spilled {
            let left = self.told("left", "would leave");
            writeln!(
                f,
                "the key {left} an earlier stage that could have served it"
            )?;
        }
        for step in &self.walk {
            writeln!(f, "walk      {}: {}", step.instance, step.verdict)?;
        }
        let refused = self.told("refused   ", "would be refused: ");
        let tried = self.told("tried     ", "would be tried: ");
        match self.refused {
            Some(Refusal::NoInstances) => writeln!(f, "{refused}no usable instance"),
            Some(Refusal::KeyRequired) => writeln!(f, "{refused}a key is required"),
            None if self.candidates.is_empty() => {
                writeln!(f, "{tried}{}", without_key(self.missing_key))
            }
            None => writeln!(f, "{tried}{}", self.candidates.join(", then ")),
        }
    }
}

impl Explanation {
    /// Where the rule has its keys from, as a sentence: "the rule `carts` takes its key from header x-user".
    #[must_use]
    pub fn where_its_key_is(&self) -> String {
        let sources = self.sources.iter().map(|source| &*source.source);
        let sources = sources.collect::<Vec<_>>().join(", ");
        let rule = &self.rule;
        format!("the rule `{rule}` takes its key from {sources}")
    }

    fn is_by_policy(&self) -> bool {
        !self.policy.is_empty() && !self.is_off
    }

    /// The words for what is so, or for what the policy would do.
    fn told<'t>(&self, real: &'t str, suggested: &'t str) -> &'t str {
        if self.is_suggested { suggested } else { real }
    }

    fn head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { policy, epoch, .. } = self;
        if self.is_off {
            return writeln!(
                f,
                "rule      none (policy {policy}, view {epoch}): the policy is off, the baseline decides"
            );
        }
        if policy.is_empty() {
            return writeln!(f, "rule      none (view {epoch}): there is no policy");
        }
        let decides = match self.decides {
            Decides::Policy => "the policy decides",
            Decides::BaselineObserved => {
                "the baseline decides, the policy is observed; it would do this"
            }
            Decides::Baseline => "the baseline decides; the policy would do this",
        };
        let rule = &self.rule;
        writeln!(
            f,
            "rule      {rule} (policy {policy}, view {epoch}): {decides}"
        )
    }
}

/// What is tried without a key. Which instance that is, nobody knows before it is drawn.
fn without_key(missing_key: MissingKey) -> &'static str {
    match missing_key {
        MissingKey::P2c => "of two usable instances drawn at random the less busy one",
        MissingKey::LeastRequest => "the least busy usable instance",
        MissingKey::RoundRobin => "the usable instance whose turn it is",
        // A request without a key that is not refused has been drawn, whatever else.
        MissingKey::Random | MissingKey::Reject => "a usable instance drawn at random",
    }
}

/// A tenant's mode, for people.
struct Told<'a>(&'a TenantMode);

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            TenantMode::Shared => f.write_str("shared"),
            TenantMode::Salted => f.write_str("salted"),
            TenantMode::OwnRing => f.write_str("a ring of its own"),
            TenantMode::Dedicated { strict: true } => f.write_str("dedicated, and nothing else"),
            TenantMode::Dedicated { strict: false } => f.write_str("dedicated, else shared"),
            TenantMode::ShuffleShard { size, strict: true } => write!(f, "a shard of {size}"),
            TenantMode::ShuffleShard { size, .. } => write!(f, "a shard of {size}, else shared"),
        }
    }
}
