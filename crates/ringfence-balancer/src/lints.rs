//! Looks at the first keys of each rule, to warn of keys that never come back.

use std::sync::{
    Mutex, PoisonError, TryLockError,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use ringfence_discovery::ServiceKey;
use ringfence_policy::{Evaluation, KeyFinding, KeyLint};

/// Rules that are looked at at the same time; with some 300 KiB each this bounds memory.
const AT_ONCE: usize = 8;

/// What was found out about the keys of the rules of one policy.
#[derive(Debug, Default)]
pub(crate) struct Lints {
    rules: Box<[RuleLint]>,
    running: AtomicUsize,
    found: Mutex<Vec<(String, KeyFinding)>>,
}

#[derive(Debug, Default)]
struct RuleLint {
    done: AtomicBool,
    lint: Mutex<Option<KeyLint>>,
}

impl Lints {
    /// For a policy with so many rules.
    pub(crate) fn new(rules: usize) -> Self {
        Self {
            rules: (0..rules).map(|_| RuleLint::default()).collect(),
            ..Self::default()
        }
    }

    /// Looks at a key. Never waits: one that finds its rule busy is not looked at.
    pub(crate) fn observe(&self, service: &ServiceKey, evaluation: &Evaluation<'_>) {
        let (Some(rule), Some(key)) = (
            self.rules.get(evaluation.rule_index()),
            evaluation.key_bytes(),
        ) else {
            return;
        };
        if rule.done.load(Ordering::Relaxed) {
            return;
        }
        let mut lint = match rule.lint.try_lock() {
            Ok(lint) => lint,
            Err(TryLockError::Poisoned(lint)) => lint.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        if lint.is_none() {
            let begin = |running: usize| (running < AT_ONCE).then_some(running + 1);
            let begun = self
                .running
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, begin);
            if begun.is_err() {
                return;
            }
            *lint = Some(KeyLint::new());
        }
        let Some(sample) = lint.as_mut() else {
            return;
        };
        let finding = sample.observe(key);
        if !sample.is_done() {
            return;
        }
        rule.done.store(true, Ordering::Relaxed);
        self.running.fetch_sub(1, Ordering::Relaxed);
        drop(lint);
        if let Some(finding) = finding {
            let source = evaluation.key_source().map(ToString::to_string);
            let advice = finding.advice(evaluation.rule(), &source.unwrap_or_default());
            tracing::warn!(service = %service, rule = evaluation.rule(), "{advice}");
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            found.push((evaluation.rule().to_owned(), finding));
        }
    }

    pub(crate) fn found(&self) -> Vec<(String, KeyFinding)> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.clone()
    }
}
