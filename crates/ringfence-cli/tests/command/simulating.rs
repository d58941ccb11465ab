//! `ringfence simulate`

use serde_json::Value;

use crate::support::*;

fn folder() -> Folder {
    let folder = Folder::with_orders();
    folder.write("four.yaml", orders(&[(4, 100)]));
    folder.write(
        "all.yaml",
        orders(&[(1, 100), (2, 100), (3, 100), (4, 100)]),
    );
    folder.write("keys.txt", users());
    folder
}

fn steps(folder: &Folder, args: &str) -> Vec<Value> {
    let args = format!("simulate --instances fleet.yaml --format json {args}");
    serde_json::from_str(&folder.run(&args).done()).expect("JSON")
}

/// The movement of the layout's description, as a table for people.
#[test]
fn the_vectors_of_the_layout_are_golden() {
    let args = "simulate --instances fleet.yaml --change add:four.yaml --change remove:order-svc-2 --keys keys.txt";
    assert_eq!(folder().run(args).done(), golden("simulate.txt"));
}

#[test]
fn the_own_ring_moves_nothing_between_others_and_modulo_most() {
    let folder = folder();
    let changes =
        "--change add:four.yaml --change remove:order-svc-2 --change weight:order-svc-1=150";
    for step in steps(&folder, changes) {
        assert_eq!(step["between_unchanged"], 0, "{step}");
        let share = |name: &str| step[name].as_f64().expect("a number");
        assert!(
            (share("moved_share") - share("exact_share")).abs() < 0.01,
            "{step}"
        );
        assert!(
            (share("moved_share") - share("ideal_share")).abs() < 0.05,
            "{step}"
        );
        let pairs = step["moves"].as_array().expect("pairs");
        let sum: u64 = pairs.iter().filter_map(|pair| pair["keys"].as_u64()).sum();
        assert_eq!(step["moved"].as_u64(), Some(sum));
    }
    for step in steps(&folder, &format!("--algorithm modulo {changes}"))
        .iter()
        .take(2)
    {
        assert!(
            step["between_unchanged_share"].as_f64() > Some(0.3),
            "{step}"
        );
        assert_eq!(step["exact_share"], Value::Null);
    }
}

#[test]
fn two_files_are_one_change() {
    let folder = folder();
    let to = steps(&folder, "--to all.yaml --keys keys.txt");
    let added = steps(&folder, "--change add:four.yaml --keys keys.txt");
    assert_eq!((to.len(), &to[0]["moved"]), (1, &Value::from(1_224)));
    assert_eq!(to[0]["moves"], added[0]["moves"]);
    let nothing = steps(&folder, "--to fleet.yaml");
    assert_eq!(
        (&nothing[0]["moved"], &nothing[0]["keys"]),
        (&Value::from(0), &Value::from(100_000))
    );
}

#[test]
fn generated_keys_follow_from_their_seed() {
    let folder = folder();
    let moved = |args: &str| steps(&folder, &format!("--to all.yaml {args}"))[0]["moved"].clone();
    assert_eq!(
        moved("--generate 1000 --seed 1"),
        moved("--generate 1000 --seed 1")
    );
    let others: Vec<_> = (0..5)
        .map(|seed| moved(&format!("--generate 1000 --seed {seed}")))
        .collect();
    assert!(others.iter().any(|other| *other != others[0]), "{others:?}");
}

#[test]
fn the_last_instance_leaves_its_keys_to_nobody() {
    let folder = folder();
    folder.write("fleet.yaml", orders(&[(1, 100)]));
    let gone = &steps(&folder, "--change remove:order-svc-1 --keys keys.txt")[0];
    assert_eq!(
        (&gone["moved"], &gone["moves"][0]["to"]),
        (&Value::from(5_000), &Value::Null)
    );
    let gone = &steps(
        &folder,
        "--algorithm modulo --change weight:order-svc-1=0 --keys keys.txt",
    )[0];
    assert_eq!(gone["moved"], 5_000);
}

#[test]
fn csv_has_every_pair() {
    let out = folder()
        .run("simulate --instances fleet.yaml --to all.yaml --keys keys.txt --format csv")
        .done();
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines[0], "change,from,to,keys,share,between_unchanged");
    assert_eq!(
        lines[1],
        "to all.yaml,order-svc-2,order-svc-4,436,0.0872,false"
    );
    assert_eq!(lines.len(), 4);
}

#[test]
fn wrong_changes_are_told() {
    let folder = folder();
    let fault = |change: &str| {
        let args = format!("simulate --instances fleet.yaml --change {change}");
        folder.run(&args).fault()
    };
    assert_eq!(
        fault("drop:a"),
        "--change drop:a: expected add:FILE, remove:ID or weight:ID=N"
    );
    assert_eq!(
        fault("remove:x"),
        "--change remove:x: there is no instance `x`"
    );
    assert_eq!(
        fault("weight:x=1"),
        "--change weight:x=1: there is no instance `x`"
    );
    assert_eq!(fault("weight:x"), "--change weight:x: expected weight:ID=N");
    assert_eq!(
        fault("weight:order-svc-1=-1"),
        "--change weight:order-svc-1=-1: `-1` is no whole number from 0 to 1000000"
    );
    assert!(fault("add:nowhere.yaml").starts_with("nowhere.yaml: "));
    let both =
        folder.run("simulate --instances fleet.yaml --to all.yaml --change remove:order-svc-1");
    assert_eq!(both.code, Some(2));
    assert_eq!(folder.run("simulate --instances fleet.yaml").code, Some(2));
}

/// What is added under a known id stands where that stood, and counts as changed.
#[test]
fn what_is_added_takes_the_place_of_its_id() {
    let folder = folder();
    folder.write(
        "again.yaml",
        orders(&[(2, 100), (5, 100)]).replace("10.0.0.2", "10.0.0.22"),
    );
    let step = &steps(&folder, "--algorithm modulo --change add:again.yaml")[0];
    let to: std::collections::BTreeSet<_> = step["moves"]
        .as_array()
        .expect("pairs")
        .iter()
        .filter_map(|pair| pair["to"].as_str())
        .collect();
    assert_eq!(
        to,
        ["order-svc-1", "order-svc-2", "order-svc-3", "order-svc-5"].into()
    );
    // The order is that of the file, with the new one at its end: 1, 2, 3, 5.
    folder.write(
        "four.yaml",
        orders(&[(1, 100), (2, 100), (3, 100), (5, 100)]),
    );
    let same = &steps(&folder, "--algorithm modulo --to four.yaml")[0];
    assert_eq!(step["moved"], same["moved"]);
    let between = |step: &Value| step["between_unchanged"].as_u64().expect("a number");
    assert!(
        between(step) < between(same),
        "order-svc-2 has another address: {step} {same}"
    );
}
