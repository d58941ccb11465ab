//! What the messages tell someone who writes a document for the first time.

use crate::{PolicyContext, PolicyDocument};

#[test]
fn a_message_says_what_is_expected_with_an_example() {
    let rule = |rest: &str| format!("ringfence: 1\nrules: [{{ name: a, {rest} }}]");
    let release = |rest: &str| format!("ringfence: 1\ngray: {{ r: {{ to: {{ v: g }}, {rest} }} }}");
    let head = |rest: &str| format!("ringfence: 1\n{rest}");
    let mut wrong = Vec::new();
    for (text, says) in [
        (
            "[]".to_owned(),
            "policy at line 1, column 1: expected a mapping that begins with `ringfence: 1`",
        ),
        (
            "rules: []".to_owned(),
            "policy at line 1, column 1: the version of the format is missing: begin with `ringfence: 1`",
        ),
        (
            "{}".to_owned(),
            "policy at line 1, column 1: the version of the format is missing: begin with `ringfence: 1`",
        ),
        (
            "ringfence: one".to_owned(),
            "ringfence at line 1, column 12: expected a whole number, such as `ringfence: 1`",
        ),
        (
            head("rules: {}"),
            "rules at line 2, column 8: expected a list, such as `rules: [{ name: checkout }]`",
        ),
        (
            head("rules: [a]"),
            "rules[0] at line 2, column 9: expected a mapping, such as `{ name: checkout }`",
        ),
        (
            head("rules: [{ match: [] }]"),
            "rules[0] at line 2, column 11: `name` is missing",
        ),
        (
            head("gray: { r.v2: { percent: 3 } }"),
            "gray.r.v2 at line 2, column 17: `to` is missing",
        ),
        (
            head("gray: { r.v2: {} }"),
            "gray.r.v2 at line 2, column 15: `to` is missing",
        ),
        (
            head("gray: { r: gray }"),
            "gray.r at line 2, column 12: expected a mapping, such as `{ to: { version: gray }, percent: 5 }`",
        ),
        (
            head("tenants: { acme: dedicated }"),
            "tenants.acme at line 2, column 18: expected a mapping, such as `{ mode: dedicated }`",
        ),
        (
            head("zone: local"),
            "zone at line 2, column 7: expected a mapping, such as `zone: { prefer_local: true }`",
        ),
        (
            rule("key: { header: x }"),
            "rules[0].key at line 2, column 25: expected a list, such as `key: [{ header: x-user }]`",
        ),
        (
            rule("key: [extension]"),
            "rules[0].key[0] at line 2, column 26: expected a mapping, such as `{ header: x-user }`",
        ),
        (
            rule("key: [{ extension: true }]"),
            "expected an empty mapping, `extension: {}`",
        ),
        (
            rule("pools: { require: { version: x } }"),
            "expected a list, such as `pools: [{ require: { version: stable } }, {}]`",
        ),
        (
            rule("gray: checkout"),
            "expected a list, such as `gray: [checkout-v2]`",
        ),
        (
            rule("match: { path: /x }"),
            "expected a list, such as `match: [{ path: { prefix: /pay } }]`",
        ),
        (
            rule("match: [{ methods: GET }]"),
            "expected a list, such as `methods: [GET]`",
        ),
        (
            rule("match: [{ grpc: shop.Cart }]"),
            "expected a mapping, such as `grpc: { service: shop.v1.Checkout }`",
        ),
        (
            rule("tags_from_headers: { x-t: tenant }"),
            "expected a mapping, such as `{ tag: tenant }`",
        ),
        (
            rule("match: [{ path: /pay }]"),
            "rules[0].match[0].path at line 2, column 36: a condition says how it compares: `{ prefix: /pay }` or `{ exact: /pay }`",
        ),
        (
            rule("match: [{ headers: { x: y } }]"),
            "a condition says how it compares: `{ exact: y }`",
        ),
        (
            rule("match: [{ path: { equals: /pay } }]"),
            "unknown word `equals`, there is: exact, one_of, prefix, regex, present",
        ),
        (
            head("mode: { enforce_percent: 5% }"),
            "mode.enforce_percent at line 2, column 26: expected a number such as 5 or 12.5",
        ),
        (
            release("percent: 5%"),
            "gray.r.percent at line 2, column 37: expected a number such as 5 or 12.5",
        ),
        (
            release("percent: 0.001"),
            "percent is 0.001, allowed is at most two decimals",
        ),
        (
            head("mode: enforce_percent\nrules: []"),
            "mode at line 2, column 7: `enforce_percent` needs a share: `mode: { enforce_percent: 20 }`",
        ),
        (
            head("rules:\n- name: a\n  mode: enforce_percent\n  gray: []"),
            "rules[0].mode at line 4, column 9: `enforce_percent` needs a share: `mode: { enforce_percent: 20 }`",
        ),
        (
            head("mode: [enforce]"),
            "mode at line 2, column 1: invalid type: sequence, expected `off`, `observe`, `enforce` or `{ enforce_percent: 20 }`",
        ),
        (
            head("mode: on"),
            "mode at line 2, column 1: unknown word `on`, there is: off, observe, enforce_percent, enforce",
        ),
        (
            head("mode: { observe: 5 }"),
            "`observe` stands alone: `mode: observe`",
        ),
        (
            head("mode: { enforce_percent: 5, observe: 1 }"),
            "`enforce_percent` stands alone",
        ),
        (
            head("zone: { prefer_local: yess }"),
            "expected `true` or `false`",
        ),
        (head("\tmode: off"), "a tab does not indent: use spaces"),
        (
            rule("gray: [nxt]"),
            "there is no release `nxt`, nor any other",
        ),
        (
            rule("matches: []"),
            "unknown field `matches`, did you mean `match`?",
        ),
        (
            release("otherwise: fail"),
            "unknown field `otherwise`, did you mean `else`?",
        ),
        (
            release("percentage: 5"),
            "unknown field `percentage`, did you mean `percent`?",
        ),
        (
            rule("match: [{ path: { regex: '^/pay[(' } }]"),
            "`^/pay[(` is no regular expression: unclosed character class",
        ),
    ] {
        let refused = PolicyDocument::parse_and_compile(&text, &PolicyContext::new());
        let message = refused.expect_err(&text).to_string();
        if !message.contains(says) || message.contains('\n') {
            wrong.push(format!("{text:?}\n  said {message}\n  not  {says}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
