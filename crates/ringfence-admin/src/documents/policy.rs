//! The policy in force, and where it comes from.

use ringfence_balancer::{Balancer, PolicyFault, PolicySourceStatus};
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
    /// `None` where it may quote the document and values of tags are not shown.
    text: Option<String>,
    /// The part of the document, where it is known: at its top alone while values of tags are not shown.
    path: Option<String>,
    /// From 1.
    line: Option<u64>,
}

impl Fault {
    fn of(fault: &PolicyFault, show_tags: bool) -> Self {
        // What is wrong with a document quotes it, and its paths have names of tenants in them.
        let (path, is_told) = match fault {
            PolicyFault::Invalid(error) if show_tags => (Some(error.path()), true),
            PolicyFault::Invalid(error) => (error.section(), false),
            PolicyFault::Absent | PolicyFault::NotText { .. } | PolicyFault::Panicked => {
                (None, true)
            }
            _ => (None, show_tags),
        };
        Self {
            text: is_told.then(|| fault.to_string()),
            path: path.filter(|path| !path.is_empty()).map(str::to_owned),
            line: fault.line(),
        }
    }
}

impl Policy {
    pub(super) fn of(
        balancer: &Balancer,
        source: Option<&PolicySourceStatus>,
        show_tags: bool,
    ) -> Self {
        let policy = balancer.policy();
        Self {
            fingerprint: policy
                .as_ref()
                .map(|policy| format!("{:016x}", policy.fingerprint())),
            on: balancer.is_policy_on(),
            mode: policy.as_ref().map(|policy| policy.document().mode),
            rules: policy.map_or(0, |policy| policy.document().rules.len()),
            source: source.map(|source| Source::of(source, show_tags)),
        }
    }
}

impl Source {
    fn of(status: &PolicySourceStatus, show_tags: bool) -> Self {
        Self {
            name: status.source.to_string(),
            document: status.document.to_string(),
            revision: status.revision.map(|revision| revision.get()),
            fault: status
                .fault
                .as_ref()
                .map(|fault| Fault::of(fault, show_tags)),
            read_error: status.read_error.as_ref().map(ToString::to_string),
            accepted: status.accepted,
            rejected: status.rejected,
            read_errors: status.read_errors,
        }
    }
}
