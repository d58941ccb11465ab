use proptest::prelude::*;

use crate::{KeyBytes, Normaliser};

const ALL: [Normaliser; 7] = [
    Normaliser::Trim,
    Normaliser::TrailingSlash,
    Normaliser::UuidLower,
    Normaliser::CaseFoldAscii,
    Normaliser::PercentDecodeUnreserved,
    Normaliser::JsonCanonical,
    Normaliser::Nfc,
];

fn apply(normaliser: Normaliser, key: &[u8]) -> Vec<u8> {
    normaliser.apply(KeyBytes::borrowed(key)).to_vec()
}

#[test]
fn each_form() {
    for (normaliser, key, expected) in [
        (Normaliser::Trim, " \u{a0}a b\t", "a b"),
        (Normaliser::Trim, "   ", ""),
        (Normaliser::TrailingSlash, "/a//", "/a"),
        (Normaliser::TrailingSlash, "//", "/"),
        (Normaliser::TrailingSlash, "", ""),
        (
            Normaliser::UuidLower,
            "6BA7B810-9DAD-11D1-80B4-00C04FD430C8",
            "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
        ),
        (Normaliser::UuidLower, "6BA7B810", "6BA7B810"),
        (Normaliser::CaseFoldAscii, "ÄbC", "Äbc"),
        (
            Normaliser::PercentDecodeUnreserved,
            "%7e%2f%C3%a4%",
            "~%2F%C3%A4%",
        ),
        (Normaliser::PercentDecodeUnreserved, "%%341", "A"),
        (Normaliser::PercentDecodeUnreserved, "%2541", "%2541"),
        (
            Normaliser::JsonCanonical,
            r#" {"b":[1, 2.50, 1e2, -0.0], "a":{"z":null,"y":"\u0041"}} "#,
            r#"{"a":{"y":"A","z":null},"b":[1,2.5,100,0]}"#,
        ),
        (
            Normaliser::JsonCanonical,
            "18446744073709551615",
            "18446744073709551615",
        ),
        (Normaliser::JsonCanonical, "{not json", "{not json"),
        (Normaliser::Nfc, "a\u{308}", "ä"),
        (Normaliser::Nfc, "ä", "ä"),
    ] {
        let written = apply(normaliser, key.as_bytes());
        assert_eq!(
            String::from_utf8_lossy(&written),
            expected,
            "{normaliser:?} of {key:?}"
        );
    }
}

#[test]
fn names_are_sorted_as_rfc_8785_sorts_them() {
    // By UTF-16, where the emoji's surrogates come before the ligature.
    let written = apply(
        Normaliser::JsonCanonical,
        "{\"\u{fb33}\":1,\"\u{1f600}\":2}".as_bytes(),
    );
    assert_eq!(
        String::from_utf8(written).unwrap(),
        "{\"\u{1f600}\":2,\"\u{fb33}\":1}"
    );
}

#[test]
fn what_is_no_text_stays() {
    let key = [0xff, b' ', 0xe4];
    for normaliser in ALL {
        assert_eq!(apply(normaliser, &key), key, "{normaliser:?}");
    }
}

/// Keys come with requests, whose threads may have little stack.
#[test]
fn json_that_is_nested_deeply_needs_little_stack() {
    let worker = std::thread::Builder::new()
        .stack_size(256 * 1_024)
        .spawn(|| {
            for depth in [10, 100, 127, 128, 10_000, 500_000] {
                for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
                    let key = format!("{}1{}", open.repeat(depth), close.repeat(depth));
                    assert_eq!(
                        apply(Normaliser::JsonCanonical, key.as_bytes()),
                        key.as_bytes()
                    );
                }
            }
        });
    worker.expect("a thread").join().expect("no panic");
}

fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|b| b.to_string()),
        any::<i64>().prop_map(|n| n.to_string()),
        any::<u64>().prop_map(|n| n.to_string()),
        any::<f64>().prop_map(|n| format!("{n:e}")),
        "\"[ -~&&[^\"\\\\]]{0,8}\"",
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|items| format!("[ {} ]", items.join(" , "))),
            prop::collection::vec(("[a-c]{0,2}", inner), 0..4).prop_map(|entries| {
                let entries: Vec<_> = entries
                    .iter()
                    .map(|(name, value)| format!("\"{name}\" : {value}"))
                    .collect();
                format!("{{ {} }}", entries.join(" , "))
            }),
        ]
    })
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..300),
        "[%0-9a-fA-F/ ]{0,200}".prop_map(String::into_bytes),
        any::<String>().prop_map(String::into_bytes),
        "\\PC{0,100}".prop_map(String::into_bytes),
        "[a-zäöü\u{300}-\u{310} \t/]{0,60}".prop_map(String::into_bytes),
        "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}".prop_map(String::into_bytes),
        json().prop_map(String::into_bytes),
    ]
}

proptest! {
    #[test]
    fn what_was_normalised_stays(key in key()) {
        for normaliser in ALL {
            let once = apply(normaliser, &key);
            let twice = apply(normaliser, &once);
            prop_assert_eq!(&once, &twice, "{:?}", normaliser);
        }
    }

    #[test]
    fn json_of_any_spelling_has_one_form(json in json()) {
        let parsed: serde_json::Value = match serde_json::from_str(&json) {
            Ok(parsed) => parsed,
            // Numbers out of range.
            Err(_) => return Ok(()),
        };
        let spelt = serde_json::to_vec_pretty(&parsed).unwrap();
        prop_assert_eq!(
            apply(Normaliser::JsonCanonical, json.as_bytes()),
            apply(Normaliser::JsonCanonical, &spelt)
        );
    }
}
