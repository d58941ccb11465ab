use std::{fmt, sync::Arc};

/// What a pool is called where names must be few: by the rule of the policy that led to it, and the number of the stage. Calls of a
/// gray release are apart: `rule@release`.
///
/// The condition of a pool has tags of requests in it, which clients may choose; this has not.
///
/// # Examples
/// ```
/// use ringfence_balancer::PoolLabel;
///
/// let label = PoolLabel::new("carts", 1);
/// assert_eq!((label.rule(), label.stage(), label.as_str()), ("carts", Some(1), "carts/1"));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PoolLabel {
    text: Arc<str>,
    rule: Arc<str>,
    stage: Option<usize>,
}

impl PoolLabel {
    /// The name of the rule where no policy decides.
    pub const DEFAULT_RULE: &str = "default";

    /// The pool of this stage, from 0, of a rule.
    pub fn new(rule: impl Into<Arc<str>>, stage: usize) -> Self {
        let rule = rule.into();
        Self {
            text: format!("{rule}/{stage}").into(),
            rule,
            stage: Some(stage),
        }
    }

    /// For calls that came to no pool.
    #[must_use]
    pub fn none() -> Self {
        Self::named("none")
    }

    /// For the pools that are too many to be told apart.
    pub(super) fn others() -> Self {
        Self::named("others")
    }

    fn named(name: &str) -> Self {
        Self {
            text: name.into(),
            rule: name.into(),
            stage: None,
        }
    }

    /// The rule, and behind an `@` the release.
    #[must_use]
    pub fn rule(&self) -> &str {
        &self.rule
    }

    /// The stage, from 0; `None` where there is no pool or there are several.
    #[must_use]
    pub fn stage(&self) -> Option<usize> {
        self.stage
    }

    /// Both as `rule/stage`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for PoolLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for PoolLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.text, f)
    }
}
