//! Every algorithm through `ringfence route`, against recordings of the real thing and published vectors.

use std::path::Path;

use crate::support::*;

/// Instances `127.0.0.1:18081` to `:18085`, whose ids are what the recordings name.
fn servers(weights: [u32; 5]) -> String {
    let record = |(port, weight): (u32, u32)| {
        let address = format!("127.0.0.1:{port}");
        format!("    - {{ id: \"{address}\", address: \"{address}\", weight: {weight} }}\n")
    };
    let records: String = (18_081..).zip(weights).map(record).collect();
    format!("services:\n  order:\n{records}")
}

fn recorded(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ringfence-core/tests/parity");
    std::fs::read_to_string(folder.join(name)).expect("a recording")
}

fn routed(fleet: &str, keys: &str, args: &str) -> String {
    let folder = Folder::new();
    folder.write("fleet.yaml", fleet);
    folder.write("keys.txt", keys);
    folder
        .run(&format!(
            "route --instances fleet.yaml --keys keys.txt {args}"
        ))
        .done()
}

#[test]
fn owners_are_those_that_real_proxies_chose() {
    let cases = [
        (
            "envoy-ring-equal.csv",
            [100; 5],
            "--algorithm envoy-ring --set min_ring_size=1024",
        ),
        ("envoy-ring-equal.csv", [1; 5], "--algorithm envoy-ring"),
        (
            "envoy-maglev-weighted.csv",
            [1, 2, 3, 4, 5],
            "--algorithm maglev --set table_size=65537",
        ),
        (
            "nginx-ketama-weighted.csv",
            [1, 2, 3, 4, 5],
            "--algorithm nginx",
        ),
        (
            "nginx-ketama-weighted.csv",
            [100, 200, 300, 400, 500],
            "--algorithm nginx",
        ),
    ];
    for (name, weights, args) in cases {
        let recorded = recorded(name);
        let keys = recorded
            .lines()
            .skip(1)
            .map(|row| row.split_once(',').expect("two columns").0);
        let keys: String = keys.map(|key| format!("{key}\n")).collect();
        assert_eq!(keys.lines().count(), 2_000);
        // The recordings have one kind of line ends, and no key of theirs needs quotes.
        let routed = routed(&servers(weights), &keys, args);
        let first = routed
            .lines()
            .zip(recorded.lines())
            .find(|(ours, theirs)| ours != theirs);
        assert_eq!(first, None, "{name} {args}");
        assert_eq!(routed.lines().count(), 2_001);
    }
}

/// Published vectors: three hosts at port 8080, and the keys user-1, user-7, user-88, user-1024.
#[test]
fn owners_are_those_of_the_vectors() {
    let fleet = |weights: [u32; 3]| {
        let record = |(n, weight): (u32, u32)| {
            format!(
                "    - {{ id: \"10.0.0.{n}:8080\", address: \"10.0.0.{n}:8080\", weight: {weight} }}\n"
            )
        };
        let records: String = (1..).zip(weights).map(record).collect();
        format!("services:\n  order:\n{records}")
    };
    let cases = [
        ("--algorithm envoy-ring", [1, 1, 1], [2, 3, 2, 3]),
        (
            "--algorithm envoy-ring --set host_order=sorted",
            [3, 3, 4],
            [3, 3, 2, 3],
        ),
        ("--algorithm maglev", [1, 1, 1], [2, 3, 1, 1]),
        ("--algorithm nginx", [1, 1, 2], [3, 1, 2, 2]),
        ("--algorithm rendezvous", [1, 1, 1], [1, 3, 3, 1]),
        ("--algorithm rendezvous", [1, 1, 2], [3, 3, 3, 1]),
    ];
    for (args, weights, owners) in cases {
        let out = routed(
            &fleet(weights),
            "user-1\nuser-7\nuser-88\nuser-1024\n",
            args,
        );
        let told: Vec<_> = out
            .lines()
            .skip(1)
            .filter_map(|row| row.rsplit_once(','))
            .collect();
        let expected = owners.map(|n| format!("10.0.0.{n}:8080"));
        let told: Vec<_> = told.iter().map(|(_, owner)| *owner).collect();
        assert_eq!(told, expected, "{args}");
    }
}

#[test]
fn ketama_is_that_of_its_vectors() {
    let records = [(1, 600), (2, 300), (3, 200)].map(|(n, weight)| {
        format!("    - {{ id: \"{n}\", address: \"10.0.1.{n}:11211\", weight: {weight} }}\n")
    });
    let fleet = format!("services:\n  cache:\n{}", records.concat());
    let out = routed(
        &fleet,
        "user-1\nuser-7\nuser-88\nuser-1024\n",
        "--algorithm ketama",
    );
    assert_eq!(
        out,
        "key,owner\nuser-1,2\nuser-7,2\nuser-88,1\nuser-1024,2\n"
    );
}

/// Keys of one hash tag have one slot: 3443, which is the first of these three ranges.
#[test]
fn slots_keep_a_hash_tag_together() {
    let fleet = orders(&[(1, 100), (2, 100), (3, 100)]);
    let out = routed(
        &fleet,
        "user1000\n{user1000}.following\nfoo\n",
        "--algorithm slots",
    );
    let owners: Vec<_> = out
        .lines()
        .skip(1)
        .filter_map(|row| row.rsplit_once(','))
        .collect();
    let owners: Vec<_> = owners.iter().map(|(_, owner)| *owner).collect();
    // foo's slot is 12182.
    assert_eq!(owners, ["order-svc-1", "order-svc-1", "order-svc-3"]);
}

/// The order of the file decides who gets the odd point.
#[test]
fn hosts_are_taken_in_the_order_of_the_file() {
    let heavy_first = "services:\n  o:\n    - { id: c, address: c, weight: 4 }\n    - { id: a, address: a, weight: 3 }\n    - { id: b, address: b, weight: 3 }\n"
        .replace("address: c", "address: \"10.0.0.3:8080\"")
        .replace("address: a", "address: \"10.0.0.1:8080\"")
        .replace("address: b", "address: \"10.0.0.2:8080\"");
    let folder = Folder::new();
    folder.write("fleet.yaml", heavy_first);
    let points = |args: &str| {
        let args = format!(
            "plan --instances fleet.yaml --format csv --algorithm envoy-ring --set min_ring_size=7 --set max_ring_size=7 {args}"
        );
        let out = folder.run(&args).done();
        let column = |row: &str| row.split(',').nth(2).map(ToOwned::to_owned);
        let points: Vec<_> = out.lines().skip(1).filter_map(column).collect();
        points.join(" ")
    };
    // In the order of the ids a, b, c.
    assert_eq!(points("--set host_order=as_given"), "2 2 3");
    assert_eq!(points("--set host_order=sorted"), "3 2 2");
    let dump = folder
        .run("dump --instances fleet.yaml --algorithm envoy-ring")
        .done();
    let order = dump.split_once("\"order\": [").expect("it counts").1;
    let order: Vec<_> = order.split('"').skip(1).step_by(2).take(3).collect();
    assert_eq!(order, ["c", "a", "b"]);
}
