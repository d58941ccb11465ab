//! Which requests take which plan.

use ringfence_core::PlanId;

use crate::CompiledPolicy;

/// A kind of requests, by what of the policy decides their plan; [`CompiledPolicy::plan_uses`] gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PlanUse<'a> {
    /// The rule that matches them, `default` for none of the document.
    pub rule: &'a str,
    /// The gray release that they are in.
    pub release: Option<&'a str>,
    /// Whether they are of a tenant that is kept apart from others.
    pub is_isolated: bool,
}

impl CompiledPolicy {
    /// Every kind of requests with its plan, in the order of the rules; several kinds may share one. It is for a look from outside: a
    /// policy may have a hundred thousand of them.
    ///
    /// # Examples
    /// ```
    /// use ringfence_policy::{PolicyContext, PolicyDocument};
    ///
    /// let policy = PolicyDocument::parse_and_compile("
    /// ringfence: 1
    /// gray: { v2: { to: { version: gray } } }
    /// rules: [{ name: carts, gray: [v2] }]
    /// ", &PolicyContext::new())?;
    /// let uses: Vec<_> = policy.plan_uses().map(|(_, kind)| (kind.rule, kind.release)).collect();
    /// assert_eq!(uses, [("carts", None), ("carts", Some("v2")), ("default", None)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn plan_uses(&self) -> impl Iterator<Item = (PlanId, PlanUse<'_>)> {
        self.rules.iter().flat_map(move |rule| {
            let width = rule.gray.len() + 1;
            rule.plans().iter().enumerate().map(move |(place, plan)| {
                let release = (place % width).checked_sub(1);
                let release = release.and_then(|release| rule.gray.get(release));
                let release = release.and_then(|release| self.releases.get(*release));
                let kind = PlanUse {
                    rule: &rule.name,
                    release: release.map(|release| &*release.name),
                    is_isolated: place >= width,
                };
                (*plan, kind)
            })
        })
    }
}
