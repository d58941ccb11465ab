//! The policy in force, and where it comes from.

use ringfence_balancer::{Balancer, PolicySourceStatus};
use ringfence_policy::Mode;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub(super) struct Policy {
    /// Fingerprint of the policy in force.
    fingerprint: Option<String>,
    on: bool,
    /// That of the document, as it is written there; a rule can be more careful.
    mode: Option<Mode>,
    rules: usize,
    /// `None` where the program sets the policy itself.
    source: Option<Source>,
}

/// The document that the policy is read from.
#[derive(Debug, Serialize)]
struct Source {
    name: String,
    document: String,
    /// The source's counter for the newest good document.
    revision: Option<u64>,
    /// Why the newest state of the document is not in force.
    fault: Option<Fault>,
    /// Why it cannot be read now.
    read_error: Option<String>,
    /// Documents that became a policy, and those that are none.
    accepted: u64,
    rejected: u64,
    read_errors: u64,
}

#[derive(Debug, Serialize)]
struct Fault {
    text: String,
    /// From 1.
    line: Option<u64>,
}

impl Policy {
    pub(super) fn of(balancer: &Balancer, source: Option<&PolicySourceStatus>) -> Self {
        let policy = balancer.policy();
        Self {
            fingerprint: policy
                .as_ref()
                .map(|policy| format!("{:016x}", policy.fingerprint())),
            on: balancer.is_policy_on(),
            mode: policy.as_ref().map(|policy| policy.document().mode),
            rules: policy.map_or(0, |policy| policy.document().rules.len()),
            source: source.map(Source::of),
        }
    }
}

impl Source {
    fn of(status: &PolicySourceStatus) -> Self {
        Self {
            name: status.source.to_string(),
            document: status.document.to_string(),
            revision: status.revision.map(|revision| revision.get()),
            fault: status.fault.as_ref().map(|fault| Fault {
                text: fault.to_string(),
                line: fault.line(),
            }),
            read_error: status.read_error.as_ref().map(ToString::to_string),
            accepted: status.accepted,
            rejected: status.rejected,
            read_errors: status.read_errors,
        }
    }
}
