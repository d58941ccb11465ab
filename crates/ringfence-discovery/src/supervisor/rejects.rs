//! The log lines of records that are no instances.

use std::collections::HashSet;

use crate::{RejectedRecord, ServiceKey};

/// Records told of one by one; a list that is wrong throughout need not fill the log.
const MAX_LINES: usize = 20;

/// Warns of each record that was not rejected before, wherever it stood then.
pub(super) fn log(
    service: &ServiceKey,
    source: &str,
    before: &[RejectedRecord],
    now: &[RejectedRecord],
) {
    let known: HashSet<_> = before.iter().map(fault).collect();
    let news = || now.iter().filter(|record| !known.contains(&fault(record)));
    for record in news().take(MAX_LINES) {
        let (id, line) = (record.id.as_deref(), record.line);
        tracing::warn!(%service, source, id, line, reason = record.reason, "record rejected");
    }
    let rest = news().skip(MAX_LINES).count();
    if rest > 0 {
        tracing::warn!(%service, source, rest, "further records rejected");
    }
}

fn fault(record: &RejectedRecord) -> (Option<&str>, &str) {
    (record.id.as_deref(), &record.reason)
}
