//! From a document to what requests are decided by: everything is checked and looked up here, once.

mod gray;
mod index;
mod key;
mod matcher;
mod names;
mod plans;
mod pools;
mod rule;
mod stages;
mod tenants;
#[cfg(test)]
mod tests;
mod text;
mod uses;
mod warnings;
mod zone;

use std::fmt;

use ringfence_core::{Attribute, ConfigError, RingConfig, RoutePlans};
use xxhash_rust::xxh3::xxh3_64;

pub(crate) use self::{
    gray::Release, index::RuleIndex, matcher::HeaderCache, rule::CompiledRule, tenants::TenantTable,
};
use self::{
    matcher::HeaderNames, names::check_names, plans::PlanTable, text::RegexBudget, zone::LocalZone,
};
pub use self::{uses::PlanUse, warnings::PolicyWarning};
use crate::{Mode, PolicyContext, PolicyDocument, PolicyError, Rule, TagAuthority};

/// A checked policy, ready to decide requests.
///
/// # Examples
/// See [`evaluate`](Self::evaluate).
pub struct CompiledPolicy {
    pub(crate) document: PolicyDocument,
    pub(crate) fingerprint: u64,
    pub(crate) off: bool,
    /// The last one matches everything.
    pub(crate) rules: Box<[CompiledRule]>,
    pub(crate) index: RuleIndex,
    pub(crate) header_names: HeaderNames,
    pub(crate) releases: Box<[Release]>,
    pub(crate) tenants: TenantTable,
    pub(crate) tenant: Attribute,
    pub(crate) authority: Option<TagAuthority>,
    plans: RoutePlans,
    ring: Option<RingConfig>,
    warnings: Box<[PolicyWarning]>,
}

/// Name of the rule for requests that no rule of the document matches.
pub(crate) const UNMATCHED: &str = "default";

impl PolicyDocument {
    /// Most rules.
    pub const MAX_RULES: usize = 10_000;
    /// Most gray releases.
    pub const MAX_RELEASES: usize = 1_000;
    /// Most tenants that are named.
    pub const MAX_TENANTS: usize = 100_000;

    /// Checks the document and makes what requests are decided by.
    ///
    /// # Errors
    /// [`PolicyError`] for the first thing that is wrong, with its path in the document.
    pub fn compile(&self, context: &PolicyContext) -> Result<CompiledPolicy, PolicyError> {
        check_names(self)?;
        let releases = gray::compile(self)?;
        let tenants = TenantTable::of(&self.tenants)?;
        let local = LocalZone::of(&self.zone, context)?;
        let ring = self.ring.as_ref().map(RingConfig::try_from).transpose();
        let ring = ring.map_err(|error| error.below("ring"))?;
        let mut table = PlanTable::default();
        let mut header_names = HeaderNames::default();
        let regexes = RegexBudget::default();
        let unmatched = Rule::named(UNMATCHED);
        let written = self.rules.iter().enumerate();
        let written = written.map(|(i, rule)| (rule, format!("rules[{i}]")));
        let mut rules = Vec::with_capacity(self.rules.len() + 1);
        for (rule, path) in written.chain([(&unmatched, String::new())]) {
            let part = rule::Part {
                rule,
                path: &path,
                document: self,
                context,
                releases: &releases,
                tenants: &tenants,
                local: &local,
                regexes: &regexes,
            };
            rules.push(part.compile(&mut table, &mut header_names)?);
        }
        Ok(CompiledPolicy {
            document: self.clone(),
            fingerprint: xxh3_64(self.to_json()?.as_bytes()),
            off: self.mode == Mode::Off,
            index: RuleIndex::of(&rules),
            rules: rules.into(),
            header_names,
            releases,
            tenants,
            tenant: Attribute::tenant(),
            authority: context.authority.clone(),
            plans: table.into_plans(),
            ring,
            warnings: warnings::warnings(self, &local),
        })
    }
}

impl CompiledPolicy {
    /// Plans alone, for a program that says itself which plan a request takes. No request is decided by it.
    #[must_use]
    pub fn of_plans(plans: RoutePlans) -> Self {
        Self {
            document: PolicyDocument {
                mode: Mode::Off,
                ..PolicyDocument::default()
            },
            fingerprint: 0,
            off: true,
            index: RuleIndex::default(),
            rules: Box::default(),
            header_names: HeaderNames::default(),
            releases: Box::default(),
            tenants: TenantTable::default(),
            tenant: Attribute::tenant(),
            authority: None,
            plans,
            ring: None,
            warnings: Box::default(),
        }
    }

    /// The document that it was made of.
    #[must_use]
    pub fn document(&self) -> &PolicyDocument {
        &self.document
    }

    /// What in it is legal and has no effect. A balancer logs it once when it applies the policy.
    #[must_use]
    pub fn warnings(&self) -> &[PolicyWarning] {
        &self.warnings
    }

    /// The plans of its requests, to be given to the view.
    #[must_use]
    pub fn plans(&self) -> &RoutePlans {
        &self.plans
    }

    /// How keys are mapped, where the document says it: in place of what the program was built with.
    #[must_use]
    pub fn ring(&self) -> Option<&RingConfig> {
        self.ring.as_ref()
    }

    /// Stands for the document: equal ones have equal fingerprints.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }
}

impl fmt::Debug for CompiledPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledPolicy")
            .field("fingerprint", &format_args!("{:016x}", self.fingerprint))
            .field("mode", &self.document.mode)
            .field("rules", &self.document.rules.len())
            .field("plans", &self.plans.len())
            .finish_non_exhaustive()
    }
}

/// Says where a setting is that the core refused.
fn refused(path: impl Into<String>) -> impl FnOnce(ConfigError) -> PolicyError {
    let path = path.into();
    move |error| PolicyError::new(path, error.to_string())
}
