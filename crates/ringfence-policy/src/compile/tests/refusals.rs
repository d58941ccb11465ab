//! What is refused.

use super::*;

#[test]
fn what_does_not_fit_together_is_refused_with_its_place() {
    let gray = "gray: { r: { to: { version: v2 } } }";
    for (text, path, line, reason) in [
        (
            "rules: [{ name: a }, { name: a }]",
            "rules[1].name",
            2,
            "there is another rule `a`",
        ),
        (
            "rules: [{ name: ' ' }]",
            "rules[0].name",
            2,
            "a rule needs a name",
        ),
        (
            "rules: [{ name: default }]",
            "rules[0].name",
            2,
            "is the name of the rule for requests that no other matches",
        ),
        (
            "rules:\n- name: a\n  gray: [chekout]\ngray:\n  checkout: { to: { version: v2 } }",
            "rules[0].gray[0]",
            4,
            "no release `chekout`, did you mean `checkout`?",
        ),
        (
            "gray:\n  r: { to: {} }",
            "gray.r.to",
            3,
            "needs what its instances have",
        ),
        (
            "gray:\n  r: { to: { a: x, b: z } }",
            "gray.r",
            3,
            "`marker` must say",
        ),
        (
            "gray:\n  r: { to: { lane: x, disk: z }, marker: lan }",
            "gray.r.marker",
            3,
            "`lan` is not in `to`, did you mean `lane`?",
        ),
        (
            "gray:\n  r: { to: { tenant: x } }",
            "gray.r.to.tenant",
            3,
            "cannot be a release",
        ),
        (
            "tenants:\n  acme: { mode: shared }\n  'acme ': { mode: dedicated }",
            "tenants",
            2,
            "there is another tenant `acme`",
        ),
        (
            "rules:\n- name: a\n  tags_from_headers: { x-t: { tag: tenant }, X-T: { tag: tenant, trusted: true } }",
            "rules[0].tags_from_headers.x-t",
            4,
            "the header is there twice",
        ),
        (
            "rules:\n- name: a\n  tags_from_headers: { x-t-bin: { tag: tenant, trusted: true } }",
            "rules[0].tags_from_headers.x-t-bin",
            4,
            "binary metadata",
        ),
        (
            "tenants:\n  default: { mode: own_ring }",
            "tenants.default",
            3,
            "use `salted`",
        ),
        (
            "tenants:\n  a: { mode: shuffle_shard, size: 0 }",
            "tenants.a.size",
            3,
            "shard size is 0",
        ),
        (
            "zone: { overprovisioning_factor: 99 }",
            "zone.overprovisioning_factor",
            2,
            "is 99",
        ),
        (
            "zone: { spill_permille: { elsewhere: 1001 } }",
            "zone.spill_permille.elsewhere",
            2,
            "is 1001",
        ),
        (
            "rules: [{ name: a, key: [{ function: shart }] }]",
            "rules[0].key[0].function",
            2,
            "did you mean `shard`?",
        ),
        (
            "rules: [{ name: a, key: [{ header: 'a b' }] }]",
            "rules[0].key[0].header",
            2,
            "is no header name",
        ),
        (
            "rules: [{ name: a, key: [{ all: [{ peer: {} }] }] }]",
            "rules[0].key[0].all",
            2,
            "at least two",
        ),
        (
            "rules: [{ name: a, keyed_hash: salt }]",
            "rules[0].keyed_hash",
            2,
            "no secret `salt`, there is: pepper",
        ),
        (
            "rules: [{ name: a, limits: { max_attempts: 9 } }]",
            "rules[0].limits.max_attempts",
            2,
            "allowed is 1..=8",
        ),
        (
            "rules: [{ name: a, limits: { max_key_len: 0 } }]",
            "rules[0].limits.max_key_len",
            2,
            "allowed is 1..=",
        ),
        (
            "rules: [{ name: a, match: [{ path: { regex: '(' } }] }]",
            "rules[0].match[0].path.regex",
            2,
            "unclosed group",
        ),
        (
            "rules: [{ name: a, match: [{ methods: ['G T'] }] }]",
            "rules[0].match[0].methods[0]",
            2,
            "is no method",
        ),
        (
            "rules: [{ name: a, match: [{ grpc: { service: a/b } }] }]",
            "rules[0].match[0].grpc.service",
            2,
            "written apart",
        ),
        (
            "rules: [{ name: a, match: [{ grpc: { service: /shop.Cart/ } }] }]",
            "rules[0].match[0].grpc.service",
            2,
            "without slashes",
        ),
        (
            "rules: [{ name: a, match: [{ grpc: { service: shop.Cart, method: /Add } }] }]",
            "rules[0].match[0].grpc.method",
            2,
            "without slashes",
        ),
        (
            "rules: [{ name: a, match: [{ methods: [GET, get] }] }]",
            "rules[0].match[0].methods[1]",
            2,
            "`get` matches nothing, because methods are compared exactly: `GET`",
        ),
        (
            "rules: [{ name: a, pools: [{ require: { tenant: x } }] }]",
            "rules[0].pools[0].require.tenant",
            2,
            "said in `tenants`",
        ),
        (
            "rules: [{ name: a, pools: [{ require: { version: local } }] }]",
            "rules[0].pools[0].require.version",
            2,
            "only zone and region",
        ),
        (
            "rules: [{ name: a, pools: [{ min_share: 101 }] }]",
            "rules[0].pools",
            2,
            "min_share is 101",
        ),
        (
            "rules: [{ name: a, tags_from_headers: { x-a: { tag: '' } } }]",
            "rules[0].tags_from_headers.x-a.tag",
            2,
            "a tag needs a name",
        ),
        (
            &format!("{gray}\nrules: [{{ name: a, pools: [{{ require: {{ version: v2 }} }}] }}]"),
            "rules[0].pools[0].require.version",
            3,
            "belongs to release `r`",
        ),
        (
            &format!(
                "{gray}\nrules: [{{ name: a, match: [{{}}, {{ tags: {{ version: {{ exact: v2 }} }} }}], pools: [{{ require: {{ version: v2 }} }}] }}]"
            ),
            "rules[0].pools[0].require.version",
            3,
            "belongs to release `r`",
        ),
    ] {
        let text = format!("ringfence: 1\n{text}");
        let error = PolicyDocument::parse_and_compile(&text, &context()).expect_err(&text);
        assert_eq!(error.path(), path, "{error}");
        assert_eq!(error.line(), Some(line), "{error}");
        assert!(error.reason().contains(reason), "{error}");
    }
}
