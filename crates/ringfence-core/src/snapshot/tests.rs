use std::sync::Arc;

use super::Snapshot;
use crate::instance::{Instance, InstanceId};

fn instance(id: &str, address: &str) -> Instance {
    Instance::builder(id, address).build().expect("legal")
}

#[test]
fn of_equal_ids_the_lowest_address_stays_in_any_order() {
    let (low, high) = (instance("a", "10.0.0.1:80"), instance("a", "10.0.0.2:80"));
    for order in [[low.clone(), high.clone()], [high, low.clone()]] {
        let snapshot = Snapshot::new(order);
        assert_eq!((snapshot.len(), snapshot.duplicates()), (1, 1));
        assert_eq!(snapshot.get("a").map(|i| &**i), Some(&low));
    }
    let (light, heavy) = (
        low.to_builder().weight(1).build().expect("legal"),
        low.to_builder().weight(2).build().expect("legal"),
    );
    assert_eq!(
        Snapshot::new([light.clone(), heavy.clone()]),
        Snapshot::new([heavy, light])
    );
}

#[test]
fn shared_instances_are_not_copied() {
    let (a, b) = (
        Arc::new(instance("a", "h:1")),
        Arc::new(instance("b", "h:2")),
    );
    let snapshot = Snapshot::from_shared([Arc::clone(&b), Arc::clone(&a), Arc::clone(&a)]);
    assert_eq!((snapshot.len(), snapshot.duplicates()), (2, 1));
    assert!(Arc::ptr_eq(&snapshot.instances()[0], &a));
    assert!(Arc::ptr_eq(&snapshot.instances()[1], &b));
}

#[test]
fn a_diff_names_every_kind_of_change() {
    let old = Snapshot::new([
        instance("a", "h:1"),
        instance("b", "h:2"),
        instance("c", "h:3"),
    ]);
    let b = instance("b", "h:2")
        .to_builder()
        .tag("k", "v")
        .healthy(false)
        .build()
        .expect("legal");
    let c = instance("c", "h:3")
        .to_builder()
        .enabled(false)
        .build()
        .expect("legal");
    let new = Snapshot::new([b, c, instance("d", "h:4")]);
    let diff = old.diff(&new);
    let names = |ids: &[InstanceId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(names(&diff.added), ["d"]);
    assert_eq!(names(&diff.removed), ["a"]);
    assert_eq!(diff.changed.len(), 2);
    let (b, c) = (&diff.changed[0], &diff.changed[1]);
    assert!(b.tags && b.health && !b.weight && !b.target && !b.stopped);
    assert!(c.weight && c.stopped && !c.tags && !c.health);
    assert!(old.diff(&old).is_empty());
    assert_eq!(old.diff(&Snapshot::empty()).removed.len(), 3);
}

#[test]
fn the_order_given_is_kept_and_is_no_difference() {
    let named = |ids: &[&str]| {
        let instances = ids.iter().map(|id| instance(id, "10.0.0.1:80"));
        Arc::new(Snapshot::new(instances))
    };
    let given = |snapshot: &Snapshot| {
        let instances = snapshot.given_order();
        let instances = instances.map(|place| &snapshot.instances()[place as usize]);
        instances.map(|i| i.id().to_string()).collect::<Vec<_>>()
    };
    let mixed = named(&["c", "a", "d", "b"]);
    assert_eq!(given(&mixed), ["c", "a", "d", "b"]);
    let sorted = named(&["a", "b", "c", "d"]);
    assert_eq!(given(&sorted), ["a", "b", "c", "d"]);
    assert!(sorted.given.is_none(), "nothing is kept for it");
    assert_eq!(mixed, sorted);
    assert!(mixed.diff(&sorted).is_empty());
    let grown = mixed.with_ring_weights(|i| (i.id().as_str() == "a").then_some(10));
    assert_eq!(given(&grown), given(&mixed), "kept through a slow start");
    // Of several records of one id, the place is that of the record that stays.
    let (low, high) = (instance("a", "10.0.0.1:80"), instance("a", "10.0.0.2:80"));
    let twice = Snapshot::new([high, instance("b", "h:1"), low]);
    assert_eq!(given(&twice), ["b", "a"]);
    assert_eq!(given(&Snapshot::empty()), [""; 0]);
}
