//! `ringfence inspect`

use serde_json::Value;

use crate::support::*;

fn shop() -> Folder {
    let folder = Folder::new();
    folder.write("fleet.yaml", SHOP);
    folder
}

#[test]
fn it_is_golden_in_every_form() {
    let folder = shop();
    folder.write("keys.txt", "user-1\nuser-7\nuser-7\nuser-88\n");
    for (format, name) in [
        ("table", "inspect.txt"),
        ("json", "inspect.json"),
        ("csv", "inspect.csv"),
    ] {
        let args = format!(
            "inspect --instances fleet.yaml --points 2 --keys keys.txt --top 2 --format {format}"
        );
        assert_eq!(folder.run(&args).done(), golden(name), "{format}");
    }
}

/// The arcs of all points cover the circle once, and those of an instance are its share.
#[test]
fn arcs_make_up_the_shares() {
    let folder = shop();
    for algorithm in ["ring", "envoy-ring", "nginx", "ketama"] {
        let args = format!(
            "inspect --instances fleet.yaml --algorithm {algorithm} --points 1000000 --format json"
        );
        let told: Value = serde_json::from_str(&folder.run(&args).done()).expect("JSON");
        let points = told["ring"].as_array().expect("a list");
        assert_eq!(
            points.len() as u64,
            told["points"].as_u64().expect("a number")
        );
        let of = |id: &Value| -> f64 {
            let own = points.iter().filter(|point| point["instance"] == *id);
            own.map(|point| point["arc"].as_f64().expect("a part"))
                .sum()
        };
        for row in told["instances"].as_array().expect("a list") {
            let (arcs, share) = (
                of(&row["instance"]),
                row["share"].as_f64().expect("a share"),
            );
            assert!((arcs - share).abs() < 1e-6, "{algorithm} {row}: {arcs}");
        }
    }
}
