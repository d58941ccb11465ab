//! Who had a key a short time ago.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use ringfence_core::{
    Absence, Instance, MovementWindow, PlanId, RequestTags, RoutePlans, Snapshot, View, ViewConfig,
};

use crate::snapshot;

const LENGTH: Duration = Duration::from_secs(30);

fn view(fleet: &[&str]) -> Arc<View> {
    let fleet = snapshot(fleet.iter().map(|id| (*id, 100)));
    let view = View::first(ViewConfig::default(), RoutePlans::default(), fleet, |_| {
        None
    });
    Arc::new(view)
}

fn next(view: &View, fleet: &[&str]) -> Arc<View> {
    let fleet = snapshot(fleet.iter().map(|id| (*id, 100)));
    Arc::new(view.next(RoutePlans::default(), fleet, [], |_| None))
}

fn owner(view: &View, key: &[u8]) -> String {
    let ring = view.whole_ring();
    let member = ring.owner(view.config().ring().hash_key(key)).expect("one");
    ring.member_id(member).expect("it exists").to_string()
}

fn old(window: &MovementWindow, current: &View, key: &[u8], now: Instant) -> Option<String> {
    let untagged = RequestTags::new();
    let old = window.old_owner(current, PlanId::ROUTING, &untagged, key, 0, now);
    old.map(|instance| instance.id().to_string())
}

fn keys() -> impl Iterator<Item = Vec<u8>> {
    (0..500).map(|n| format!("key-{n}").into_bytes())
}

#[test]
fn the_old_owner_of_moved_keys_is_known_for_a_time() {
    let now = Instant::now();
    let first = view(&["a", "b", "c"]);
    let second = next(&first, &["a", "b", "c", "d"]);
    let window = MovementWindow::new(LENGTH).opened(&first, &second, now);
    assert_eq!((window.len(), window.deadline()), (1, Some(now + LENGTH)));
    let mut moved = 0;
    for key in keys() {
        let (was, is) = (owner(&first, &key), owner(&second, &key));
        moved += usize::from(was != is);
        let expected = (was != is).then_some(was);
        assert_eq!(old(&window, &second, &key, now), expected);
        assert_eq!(
            old(
                &window,
                &second,
                &key,
                now + LENGTH - Duration::from_nanos(1)
            ),
            expected
        );
        assert_eq!(old(&window, &second, &key, now + LENGTH), None);
    }
    assert!(moved > 50, "{moved}");
    assert!(
        window
            .latest(now)
            .is_some_and(|view| Arc::ptr_eq(view, &first))
    );
    assert!(window.latest(now + LENGTH).is_none());
    assert!(window.at(now + LENGTH).is_empty());
}

#[test]
fn of_several_changes_the_latest_that_moved_the_key_counts() {
    let now = Instant::now();
    let second_at = now + Duration::from_secs(10);
    let one = view(&["a", "b"]);
    let two = next(&one, &["a", "b", "c"]);
    let three = next(&two, &["a", "b", "c", "d"]);
    let window = MovementWindow::new(LENGTH)
        .opened(&one, &two, now)
        .opened(&two, &three, second_at);
    let expected = |key: &[u8], oldest: bool| {
        let is = owner(&three, key);
        let candidates = [owner(&two, key), owner(&one, key)];
        let candidates = candidates.into_iter().take(if oldest { 2 } else { 1 });
        candidates.into_iter().find(|was| *was != is)
    };
    let (mut first_only, mut both) = (0, 0);
    for key in keys() {
        assert_eq!(old(&window, &three, &key, second_at), expected(&key, true));
        assert_eq!(
            old(&window, &three, &key, now + LENGTH),
            expected(&key, false)
        );
        first_only +=
            usize::from(owner(&two, &key) == owner(&three, &key) && expected(&key, true).is_some());
        both += usize::from(expected(&key, false).is_some());
    }
    assert!(first_only > 20 && both > 20, "{first_only} {both}");
}

#[test]
fn what_moves_no_ring_opens_nothing_and_no_window_is_off() {
    let now = Instant::now();
    let first = view(&["a", "b"]);
    let same = first.next(
        RoutePlans::default(),
        Arc::clone(first.snapshot()),
        [],
        |place| (place == 0).then_some(Absence::Ejected),
    );
    assert!(
        MovementWindow::new(LENGTH)
            .opened(&first, &same, now)
            .is_empty()
    );
    let second = next(&first, &["a"]);
    assert!(
        MovementWindow::new(Duration::ZERO)
            .opened(&first, &second, now)
            .is_empty()
    );
}

#[test]
fn a_pool_that_an_instance_changes_to_moves_too() {
    let now = Instant::now();
    let fleet = |version: &str| -> Arc<Snapshot> {
        let instances = [("a", "stable"), ("b", "stable"), ("c", version)];
        let built = instances.map(|(id, version)| {
            let builder = Instance::builder(id, "10.0.0.1:80").version(version);
            builder.build().expect("legal")
        });
        Arc::new(built.into_iter().collect())
    };
    let plans = RoutePlans::default;
    let first = View::first(ViewConfig::default(), plans(), fleet("gray"), |_| None);
    let first = Arc::new(first);
    let second = first.next(plans(), fleet("stable"), [], |_| None);
    assert_eq!(
        first.whole_ring().fingerprint(),
        second.whole_ring().fingerprint()
    );
    let window = MovementWindow::new(LENGTH).opened(&first, &second, now);
    let olds: Vec<_> = keys()
        .filter_map(|key| old(&window, &second, &key, now))
        .collect();
    assert!(
        olds.len() > 50 && olds.iter().all(|id| id == "a" || id == "b"),
        "{}",
        olds.len()
    );
}

/// It is asked for what it keeps, so it does not matter that it gets no requests.
#[test]
fn an_old_owner_that_is_ejected_is_still_the_old_owner() {
    let now = Instant::now();
    let all = view(&["a", "b"]);
    let ejected = Arc::new(all.next(
        RoutePlans::default(),
        Arc::clone(all.snapshot()),
        [],
        |place| (place == 0).then_some(Absence::Ejected),
    ));
    let after = next(&ejected, &["b"]);
    let window = MovementWindow::new(LENGTH).opened(&ejected, &after, now);
    let olds: Vec<_> = keys()
        .filter_map(|key| old(&window, &after, &key, now))
        .collect();
    assert!(
        olds.len() > 100 && olds.iter().all(|id| id == "a"),
        "{}",
        olds.len()
    );
}

#[test]
fn only_so_many_changes_are_remembered() {
    let now = Instant::now();
    let mut window = MovementWindow::new(LENGTH);
    let mut current = view(&["a"]);
    for n in 0..100 {
        let id = format!("b{n}");
        let newer = next(&current, &["a", &id]);
        window = window.opened(&current, &newer, now + Duration::from_millis(n));
        current = newer;
    }
    assert_eq!(window.len(), MovementWindow::MAX_CHANGES);
    assert_eq!(
        window.deadline(),
        Some(now + LENGTH + Duration::from_millis(92))
    );
}
