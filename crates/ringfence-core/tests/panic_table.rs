//! What wins over what: a table of 4 hosts, 0 to 4 of them out for each cause, and the panic thresholds 0, 50 and 100 (B41).
#![allow(clippy::expect_used, reason = "helpers of tests")]

use std::sync::Arc;

use ringfence_core::{Absence, Instance, RequestTags, RoutePlans, Snapshot, View, ViewConfig};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Cause {
    Registry,
    Absent(Absence),
    /// Hosts in turn, one for each of the others.
    Mixed,
    Disabled,
    Drained,
}

const ABSENCES: [Absence; 3] = [Absence::Ejected, Absence::FailsChecks, Absence::Damped];

impl Cause {
    /// The cause for this host, of a mixture the one whose turn it is.
    fn of(self, host: usize) -> Self {
        match (self, host) {
            (Self::Mixed, 0) => Self::Registry,
            (Self::Mixed, host) => Self::Absent(ABSENCES[host - 1]),
            (cause, _) => cause,
        }
    }
}

/// 4 hosts, of which the first `out` are out.
fn view(threshold: u8, cause: Cause, out: usize) -> View {
    let cause_of = |host: usize| (host < out).then(|| cause.of(host));
    let instances = (0..4).map(|host| {
        let cause = cause_of(host);
        Instance::builder(format!("i{host}"), format!("10.0.0.{host}:80"))
            .healthy(cause != Some(Cause::Registry))
            .enabled(cause != Some(Cause::Disabled))
            .weight(if cause == Some(Cause::Drained) {
                0
            } else {
                100
            })
            .build()
            .expect("legal")
    });
    let config = ViewConfig::default()
        .with_panic_threshold(threshold)
        .expect("legal");
    let snapshot = Arc::new(Snapshot::new(instances));
    View::first(
        config,
        RoutePlans::default(),
        snapshot,
        |host| match cause_of(host) {
            Some(Cause::Absent(absence)) => Some(absence),
            _ => None,
        },
    )
}

/// The hosts that own keys, and who owns each of these.
fn owners(view: &View) -> (usize, Vec<Option<String>>) {
    let route = view.resolve(&RequestTags::new().into());
    let owner = |n| {
        let (_, pool) = route.chosen()?;
        let key = pool.hash_key(format!("key-{n}").as_bytes(), 0).hash();
        let instance = pool.pool().instance(pool.walk(key).next()?)?;
        Some(instance.id().to_string())
    };
    let owners: Vec<Option<String>> = (0..200).map(owner).collect();
    let mut distinct = owners.clone();
    distinct.sort_unstable();
    distinct.dedup();
    (distinct.into_iter().flatten().count(), owners)
}

#[test]
fn what_says_that_an_instance_is_not_well_counts_down_to_the_threshold() {
    let causes = ABSENCES.map(Cause::Absent);
    let causes = causes.into_iter().chain([Cause::Registry, Cause::Mixed]);
    for cause in causes {
        // For each number of those that are out: how many serve.
        for (threshold, serving) in [(0, [4, 3, 2, 1, 0]), (50, [4, 3, 2, 4, 4]), (100, [4; 5])] {
            let (_, well) = owners(&view(threshold, cause, 0));
            for (out, serving) in serving.into_iter().enumerate() {
                let what = format!("{cause:?}, {out} out, threshold {threshold}");
                let (hosts, owners) = owners(&view(threshold, cause, out));
                assert_eq!(hosts, serving, "{what}");
                for (owner, before) in owners.iter().zip(&well) {
                    let host = before.as_ref().expect("all are well");
                    let is_out = (0..out).any(|out| *host == format!("i{out}"));
                    // In panic every key is where it was, and so is else each whose host is well.
                    if serving == 4 || !is_out {
                        assert_eq!(owner, before, "{what}");
                    }
                }
            }
        }
    }
}

/// Else a service that grows fast would be in panic until its new instances are warm.
#[test]
fn newcomers_count_only_where_there_is_nobody_else() {
    let causes = [Absence::Warming, Absence::Unchecked];
    let thresholds = [0, 50, 100];
    for (cause, threshold) in causes
        .into_iter()
        .flat_map(|cause| thresholds.map(|threshold| (cause, threshold)))
    {
        let cause = Cause::Absent(cause);
        for (out, serving) in [4, 3, 2, 1, 4].into_iter().enumerate() {
            let view = view(threshold, cause, out);
            let what = format!("{cause:?}, {out} of them, threshold {threshold}");
            assert_eq!(owners(&view).0, serving, "{what}");
            let panics = view.pools().any(|pool| pool.is_panic());
            assert!(!panics, "{what}");
        }
    }
}

#[test]
fn disabled_and_drained_instances_are_never_used_and_do_not_count() {
    for cause in [Cause::Disabled, Cause::Drained] {
        for threshold in [0, 50, 100] {
            for out in 0..=4 {
                let view = view(threshold, cause, out);
                let (hosts, _) = owners(&view);
                assert_eq!(
                    hosts,
                    4 - out,
                    "{cause:?}, {out} out, threshold {threshold}"
                );
                assert!(
                    !view.pools().any(|pool| pool.is_panic()),
                    "nobody is unwell"
                );
            }
        }
    }
}
