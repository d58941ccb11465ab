use std::fmt;

use super::{Explanation, Refusal};
use crate::Decides;

impl fmt::Display for Explanation {
    /// One line for each step.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decides = match self.decides {
            Decides::Policy => "the policy decides",
            Decides::BaselineObserved => "the baseline decides, the policy is observed",
            Decides::Baseline => "the baseline decides",
        };
        writeln!(
            f,
            "rule      {} (policy {}, view {}): {decides}",
            self.rule, self.policy, self.epoch
        )?;
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
            writeln!(f, "tenant    {name}: {mode:?}")?;
        }
        match &self.gray {
            Some((release, why)) => writeln!(f, "gray      in {release} ({})", why.as_str())?,
            None => writeln!(f, "gray      in none")?,
        }
        for source in &self.sources {
            writeln!(f, "source    {}: {}", source.source, source.outcome)?;
        }
        match &self.key {
            None => writeln!(f, "key       none: {:?}", self.missing_key)?,
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
            let mark = if self.chosen == Some(place) {
                " <- serves"
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
            writeln!(f, "the key left an earlier stage that could have served it")?;
        }
        for step in &self.walk {
            writeln!(f, "walk      {}: {}", step.instance, step.verdict)?;
        }
        match self.refused {
            Some(Refusal::NoInstances) => writeln!(f, "refused   no usable instance")?,
            Some(Refusal::KeyRequired) => writeln!(f, "refused   a key is required")?,
            None => {}
        }
        match &*self.candidates {
            [] => Ok(()),
            candidates => writeln!(f, "tried     {}", candidates.join(", then ")),
        }
    }
}
