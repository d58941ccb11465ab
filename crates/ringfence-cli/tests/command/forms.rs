//! Each form of what the commands write is golden, so that a change of one is seen.

use serde_json::Value;

use crate::support::*;

fn shop() -> Folder {
    let folder = Folder::new();
    folder.write("fleet.yaml", SHOP);
    folder.write("keys.txt", "user-1\nuser-7\nuser-88\n");
    folder
}

#[test]
fn of_route() {
    let folder = shop();
    for (format, name) in [
        ("table", "route.txt"),
        ("json", "route.json"),
        ("csv", "route.csv"),
    ] {
        let args =
            format!("route --instances fleet.yaml --keys keys.txt --walk 1 --format {format}");
        assert_eq!(folder.run(&args).done(), golden(name), "{format}");
    }
}

/// What is for people is golden in `planning`.
#[test]
fn of_plan() {
    let folder = shop();
    let csv = folder
        .run("plan --instances fleet.yaml --format csv")
        .done();
    assert_eq!(csv, golden("plan.csv"));
    let json = folder
        .run("plan --instances fleet.yaml --format json")
        .done();
    let mut told: Value = serde_json::from_str(&json).expect("JSON");
    // How long it took is another time each time.
    assert!(told["build_micros"].is_u64(), "{told}");
    told["build_micros"] = 0.into();
    let frozen: Value = serde_json::from_str(&golden("plan.json")).expect("JSON");
    assert_eq!(told, frozen);
}

/// What is for people is golden in `simulating`.
#[test]
fn of_simulate() {
    let folder = shop();
    for (format, name) in [("json", "simulate.json"), ("csv", "simulate.csv")] {
        let args = format!(
            "simulate --instances fleet.yaml --change remove:cart-2 --generate 1000 --format {format}"
        );
        assert_eq!(folder.run(&args).done(), golden(name), "{format}");
    }
}
