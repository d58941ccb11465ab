use std::fmt;

/// How much a [`ConfigFinding`] matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// It works, but hardly as it was meant.
    Warning,
    /// It cannot work.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// Settings that are legal each by itself and do not go together.
///
/// The code, such as `RF-C106`, stays the same over versions; the guide of the `ringfence` crate has a section for each.
///
/// # Examples
/// ```
/// use ringfence_core::{ConfigFinding, Severity};
///
/// let finding = ConfigFinding::new("RF-C106", Severity::Error, "5 s is more than 1 s");
/// assert_eq!(finding.to_string(), "RF-C106 (error): 5 s is more than 1 s");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFinding {
    code: &'static str,
    severity: Severity,
    message: String,
}

impl ConfigFinding {
    /// A finding of this code.
    #[must_use]
    pub fn new(code: &'static str, severity: Severity, message: impl Into<String>) -> Self {
        Self {
            code,
            severity,
            message: message.into(),
        }
    }

    /// Its code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// How much it matters.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.severity
    }

    /// What does not go together, with the values.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for ConfigFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.code, self.severity, self.message)
    }
}

/// What is looked for in settings of the type `C`.
///
/// # Examples
/// ```
/// use ringfence_core::{FindingRule, Severity};
///
/// const RULES: &[FindingRule<(u32, u32)>] = &[FindingRule {
///     code: "RF-C000",
///     severity: Severity::Warning,
///     check: |(least, most)| (least > most).then(|| format!("{least} is more than {most}")),
/// }];
/// assert_eq!(FindingRule::findings(RULES, &(1, 2)), []);
/// assert_eq!(FindingRule::findings(RULES, &(3, 2))[0].message(), "3 is more than 2");
/// ```
#[derive(Debug)]
pub struct FindingRule<C> {
    /// The code of its findings.
    pub code: &'static str,
    /// How much they matter.
    pub severity: Severity,
    /// The message, where the settings do not go together.
    pub check: fn(&C) -> Option<String>,
}

impl<C> FindingRule<C> {
    /// What these rules find, in their order.
    #[must_use]
    pub fn findings(rules: &[Self], settings: &C) -> Vec<ConfigFinding> {
        let found = rules.iter().filter_map(|rule| {
            let message = (rule.check)(settings)?;
            Some(ConfigFinding::new(rule.code, rule.severity, message))
        });
        found.collect()
    }
}
