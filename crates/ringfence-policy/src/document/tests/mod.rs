mod any;
mod deep;
mod messages;
mod ring;

use super::*;

fn error(text: &str) -> crate::PolicyError {
    PolicyDocument::parse(text).expect_err(text)
}

#[test]
fn faults_are_told_with_path_place_and_the_nearest_name() {
    for (text, path, place, reason) in [
        (
            "ringfence: 1\nruls: []",
            "ruls",
            (2, 1),
            "unknown field `ruls`, did you mean `rules`?",
        ),
        (
            "ringfence: 1\nrules:\n  - name: a\n    limits:\n      max_atempts: 2\n",
            "rules[0].limits.max_atempts",
            (5, 7),
            "unknown field `max_atempts`, did you mean `max_attempts`?",
        ),
        (
            "ringfence: 1\nmode: enforced",
            "mode",
            (2, 1),
            "unknown word `enforced`, did you mean `enforce`?",
        ),
        (
            "ringfence: 1\nrules:\n  - name: a\n    key:\n      - header: x\n      - { header: a, cookie: b }\n",
            "rules[0].key[1]",
            (6, 9),
            "a key source can name one place only; `all` combines several",
        ),
        (
            "ringfence: 1\nrules: [{ name: a, key: [{ header: x, normalise: [trimm] }] }]",
            "rules[0].key[0].normalise[0]",
            (2, 51),
            "unknown word `trimm`, did you mean `trim`?",
        ),
        (
            "ringfence: 1\ngray:\n  r.v2: { to: { version: 2 } }",
            "gray.r.v2.to.version",
            (3, 17),
            "others in quotes",
        ),
        (
            "ringfence: 1\ngray: { r: { to: { version: g }, percent: 101 } }",
            "gray.r.percent",
            (2, 43),
            "percent is 101.0, allowed is 0.0..=100.0",
        ),
        (
            "ringfence: 1\ntenants:\n  acme: { mode: shared, size: 3 }",
            "tenants.acme",
            (3, 9),
            "`size` belongs to mode `shuffle_shard` only",
        ),
        (
            "ringfence: 2",
            "ringfence",
            (1, 12),
            "version 2 of the format is not known here",
        ),
        (
            "ringfence: 1\nmode: off\nmode: observe",
            "",
            (3, 1),
            "`mode` is there twice",
        ),
    ] {
        let error = error(text);
        assert_eq!(error.path(), path, "{error}");
        assert_eq!(
            (error.line(), error.column()),
            (Some(place.0), Some(place.1)),
            "{error}"
        );
        assert!(error.reason().contains(reason), "{error}");
    }
}

#[test]
fn what_is_no_document_is_refused() {
    for text in [
        "",
        "[]",
        "a",
        "ringfence: 1\n---\nringfence: 1",
        "{",
        "rules: []",
    ] {
        error(text);
    }
    for nested in ["[", "{ a: ", "- ", "[{ all: ["] {
        error(&format!("ringfence: 1\nrules: {}", nested.repeat(50_000)));
        error(&format!("ringfence: 1\nrulez: {}", nested.repeat(50_000)));
    }
    for depth in [10, 100, 10_000] {
        let nested = "{ all: [".repeat(depth);
        error(&format!("ringfence: 1\nrules: [{{ name: a, key: [{nested}"));
        let closed = format!("{nested}{}", "] }".repeat(depth));
        let text = format!("ringfence: 1\nrules: [{{ name: a, key: [{closed}] }}]");
        let refused = PolicyDocument::parse_and_compile(&text, &crate::PolicyContext::new());
        refused.expect_err("too deep, or empty");
    }
    let long = format!("# {}\nringfence: 1", "x".repeat(PolicyDocument::MAX_TEXT));
    assert!(error(&long).reason().contains("too long"));
}

#[test]
fn a_switch_can_be_written_without_quotes() {
    // `off` is false in old YAML.
    let document = PolicyDocument::parse("ringfence: 1\nmode: off").expect("legal");
    assert_eq!(document.mode, Mode::Off);
    let json =
        PolicyDocument::parse(r#"{"ringfence":1,"mode":{"enforce_percent":12.5}}"#).expect("legal");
    assert_eq!(
        json.mode,
        Mode::EnforcePercent(Percent::try_from(12.5).unwrap())
    );
}

#[test]
fn of_two_modes_the_more_careful_one_is_in_force() {
    let share = |percent: f64| Mode::EnforcePercent(Percent::try_from(percent).unwrap());
    let rising = [
        Mode::Off,
        Mode::Observe,
        share(5.0),
        share(50.0),
        Mode::Enforce,
    ];
    for (i, one) in rising.into_iter().enumerate() {
        for (j, other) in rising.into_iter().enumerate() {
            assert_eq!(one.and(other), rising[i.min(j)], "{one:?} {other:?}");
        }
    }
}

#[test]
fn shares_are_exact_and_only_grow() {
    let share = |percent: f64| Percent::try_from(percent).unwrap();
    assert!(!Percent::NONE.has(0));
    assert!(Percent::ALL.has(u64::MAX));
    assert!(share(50.0).has((1 << 63) - 1) && !share(50.0).has(1 << 63));
    assert_eq!(share(0.07).hundredths(), 7);
    for wrong in [-1.0, 100.01, f64::NAN, f64::INFINITY, 0.005] {
        assert!(Percent::try_from(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn each_way_without_a_key_has_the_word_of_documents() {
    for way in MissingKey::ALL {
        assert_eq!(serde_json::to_value(way).unwrap(), way.as_str());
    }
    assert_eq!(MissingKey::ALL.first(), Some(&MissingKey::default()));
    // A way that is left out of the list is refused by its name.
    let text = "{ ringfence: 1, rules: [{ name: a, missing_key: nobody }] }";
    let told = PolicyDocument::parse(text).unwrap_err().to_string();
    for way in MissingKey::ALL {
        assert!(told.contains(way.as_str()), "{told}");
    }
}
