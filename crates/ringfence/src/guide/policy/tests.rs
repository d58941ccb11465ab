//! The guide is the reference: what a document can have, it must name.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{PolicyContext, PolicyDocument};

const GUIDE: &str = include_str!("../policy.md");
/// With every field set.
const WHOLE: &str = include_str!("../../../../ringfence-policy/tests/golden/policy-v1.yaml");

/// Names of fields. Below the given ones are names that the document's author chose.
fn names(value: &Value, chosen: bool, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if !chosen {
                    found.insert(name.clone());
                }
                let of_author = [
                    "gray",
                    "tenants",
                    "headers",
                    "tags",
                    "tags_from_headers",
                    "to",
                    "require",
                    "prefer",
                    "exclude",
                    "spill_permille",
                ];
                names(value, !chosen && of_author.contains(&&**name), found);
            }
        }
        Value::Array(items) => {
            for item in items {
                names(item, chosen, found);
            }
        }
        _ => {}
    }
}

#[test]
fn every_field_is_in_the_guide() {
    let document = PolicyDocument::parse(WHOLE).unwrap();
    let mut found = BTreeSet::new();
    names(&serde_json::to_value(&document).unwrap(), false, &mut found);
    assert!(found.len() > 40, "{found:?}");
    let missing: Vec<_> = found
        .iter()
        .filter(|name| {
            !GUIDE.contains(&format!("`{name}`")) && !GUIDE.contains(&format!("{{ {name}:"))
        })
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn limits_are_those_that_the_guide_says() {
    let at = |text: &str| {
        PolicyDocument::parse_and_compile(&format!("ringfence: 1\n{text}"), &PolicyContext::new())
            .map_err(|error| error.to_string())
    };
    for (least, most, outside, make) in [
        (
            "1",
            "8",
            ["0", "9"],
            "rules: [{ name: a, limits: { max_attempts: # } }]",
        ),
        (
            "1",
            "1048576",
            ["0", "1048577"],
            "rules: [{ name: a, limits: { max_key_len: # } }]",
        ),
        (
            "1",
            "1000000",
            ["0", "1000001"],
            "rules: [{ name: a, pools: [{ min_usable: # }] }]",
        ),
        (
            "0",
            "100",
            ["-1", "101"],
            "rules: [{ name: a, pools: [{ min_share: # }] }]",
        ),
        (
            "100",
            "10000",
            ["99", "10001"],
            "zone: { overprovisioning_factor: # }",
        ),
        (
            "0",
            "1000",
            ["-1", "1001"],
            "zone: { spill_permille: { az-1: # } }",
        ),
        (
            "1",
            "1000000",
            ["0", "1000001"],
            "tenants: { acme: { mode: shuffle_shard, size: # } }",
        ),
        (
            "0",
            "100",
            ["-0.01", "0.001"],
            "gray: { r: { to: { version: v2 }, percent: # } }",
        ),
        ("0", "100", ["100.01", "-1"], "mode: { enforce_percent: # }"),
        (
            "1",
            "65536",
            ["0", "65537"],
            "ring: { points_per_instance: # }",
        ),
        ("1", "21", ["0", "22"], "ring: { probes: # }"),
        (
            "0",
            "18446744073709551615",
            ["-1", "a"],
            "ring: { seed: # }",
        ),
        (
            "1",
            "67108864",
            ["0", "67108865"],
            "ring: { max_ring_points: # }",
        ),
        (
            "1",
            "8388608",
            ["0", "8388609"],
            "ring: { algorithm: envoy-ring, min_ring_size: # }",
        ),
        (
            "1024",
            "8388608",
            ["1023", "8388609"],
            "ring: { algorithm: envoy-ring, max_ring_size: # }",
        ),
        (
            "2",
            "5000011",
            ["1", "65536"],
            "ring: { algorithm: maglev, table_size: # }",
        ),
        (
            "1",
            "1000000",
            ["0", "1000001"],
            "ring: { algorithm: nginx, weight_unit: # }",
        ),
    ] {
        for inside in [least, most] {
            let checked = at(&make.replace('#', inside));
            assert!(checked.is_ok(), "{make} {inside}: {checked:?}");
        }
        for outside in outside {
            assert!(at(&make.replace('#', outside)).is_err(), "{make} {outside}");
        }
    }
}

#[test]
fn the_share_that_spills_is_that_of_the_guide() {
    let spill = crate::core::Spill::default();
    assert_eq!((spill.share(72, 100), spill.share(33, 100)), (0, 538));
}
