//! What is legal and does nothing.

use super::*;

fn warned(text: &str, context: &PolicyContext) -> Vec<String> {
    let text = format!("ringfence: 1\n{text}");
    let policy = PolicyDocument::parse_and_compile(&text, context).expect(&text);
    policy.warnings().iter().map(ToString::to_string).collect()
}

#[test]
fn what_has_no_effect_is_told_with_its_path() {
    let nowhere = PolicyContext::new();
    let release = "gray: { next: { to: { version: v2 } } }";
    for (text, expected) in [
        (
            format!("{release}\nrules: [{{ name: a }}]"),
            vec!["gray.next: no rule that requests can reach names release `next`"],
        ),
        (
            format!("{release}\nrules: [{{ name: a, gray: [next] }}]"),
            vec![],
        ),
        // Only a rule that nothing reaches names it.
        (
            format!("{release}\nrules: [{{ name: all }}, {{ name: b, gray: [next] }}]"),
            vec![
                "gray.next: no rule that requests can reach names release `next`",
                "rules[1]: rule `b` is never reached, because `all` before it",
            ],
        ),
        (
            "rules: [{ name: a, match: [{ methods: [GET] }, {}] }, { name: b }, { name: c }]"
                .to_owned(),
            vec!["rules[1]: rule `b`", "rules[2]: rule `c`"],
        ),
        (
            "rules: [{ name: a, match: [{ methods: [GET] }] }, { name: b }]".to_owned(),
            vec![],
        ),
        (
            "zone: { prefer_local: true }".to_owned(),
            vec!["zone.prefer_local: no zone is preferred"],
        ),
        (
            "zone: { prefer_local: true, local: az-2 }".to_owned(),
            vec![],
        ),
        // Nobody is served.
        (
            "rules: [{ name: a, pools: [{ require: { zone: local } }, { require: { region: local } }] }]"
                .to_owned(),
            vec!["rules[0].pools: rule `a` serves nobody, because"],
        ),
        (
            "rules: [{ name: a, pools: [{ require: { zone: local } }, { require: { version: { from: request } } }] }]"
                .to_owned(),
            vec!["rules[0].pools: rule `a` serves only requests that name their pool themselves"],
        ),
        (
            "rules: [{ name: a, pools: [{ require: { zone: local } }, {}] }]".to_owned(),
            vec![],
        ),
        (
            "zone: { local: az-1 }\nrules: [{ name: a, pools: [{ require: { zone: local } }] }]"
                .to_owned(),
            vec![],
        ),
        (
            "rules: [{ name: a, pools: [{ require: { version: { from: request } } }] }]".to_owned(),
            vec![],
        ),
        (
            "rules: [{ name: a, pools: [{ prefer: { zone: local } }] }]".to_owned(),
            vec![],
        ),
        (
            release.replace("gray: {", "zone: {}\ngray: {"),
            vec!["gray.next: "],
        ),
    ] {
        let told = warned(&text, &nowhere);
        assert_eq!(told.len(), expected.len(), "{text}: {told:?}");
        for (told, expected) in told.iter().zip(expected) {
            assert!(told.starts_with(expected), "{text}: {told}");
        }
    }
    let here = PolicyContext::new().with_zone("az-1");
    assert!(warned("zone: { prefer_local: true }", &here).is_empty());
    let local = "rules: [{ name: a, pools: [{ require: { zone: local } }] }]";
    assert!(warned(local, &here).is_empty());
}

#[test]
fn a_method_of_ones_own_may_be_in_lower_case() {
    compiled("rules: [{ name: a, match: [{ methods: [purge] }] }]");
}
