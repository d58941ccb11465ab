//! Texts that are nested deeply, repeat themselves or are full of names must be answered soon, and on a small stack.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::*;
use crate::{CompiledPolicy, PolicyContext, SampleRequest, import::istio_destination_rule};

/// Half of what threads of tokio and of the standard library have; debug builds need much more than others.
const STACK: usize = 1_024 * 1_024;

fn nested(open: &str, close: &str, depth: usize) -> String {
    format!("{}{}", open.repeat(depth), close.repeat(depth))
}

#[test]
fn depth_needs_no_more_than_half_of_a_usual_stack() {
    let worker = thread::Builder::new().stack_size(STACK).spawn(|| {
        for depth in [4, 8, 16, 20, 24, 64, 500, 1_900, 50_000] {
            for (open, close) in [
                ("[", "]"),
                ("{a: ", "}"),
                ("{all: [", "]}"),
                ("? [", "]"),
                ("{? [", "]}"),
                ("- ", ""),
                ("&a [", "]"),
                ("!t [", "]"),
            ] {
                let nested = nested(open, close, depth);
                for text in [
                    nested.clone(),
                    format!("ringfence: 1\nrules: {nested}"),
                    format!("ringfence: 1\nrules: [{{name: a, key: [{nested}]}}]"),
                    format!("ringfence: 1\nrules: [{{name: a, match: [{{tags: {{a: {nested}}}}}]}}]"),
                    format!("ringfence: 1\ngray: {{a: {{to: {nested}}}}}"),
                    format!("ringfence: 1\ntenants: {{? {nested}\n: a}}"),
                    format!("ringfence: 1\nrulez: {nested}"),
                    format!("spec: {{trafficPolicy: {{loadBalancer: {{consistentHash: {{minimumRingSize: {nested}}}}}}}, subsets: [{nested}]}}"),
                ] {
                    // Whether it is legal does not matter, only that there is an answer.
                    let _ = PolicyDocument::parse_and_compile(&text, &PolicyContext::new());
                    let _ = SampleRequest::parse_list(&text);
                    let _ = istio_destination_rule(&text);
                }
            }
        }
    });
    worker.expect("a thread").join().expect("no panic");
}

/// Long enough for any honest document in a debug build.
const SOON: Duration = Duration::from_secs(60);

#[expect(
    clippy::disallowed_methods,
    reason = "how long it takes is what is tested"
)]
fn answered(what: &str, text: &str) -> Result<CompiledPolicy, crate::PolicyError> {
    let started = Instant::now();
    let answer = PolicyDocument::parse_and_compile(text, &PolicyContext::new());
    let took = started.elapsed();
    assert!(took < SOON, "{what}: {took:?}");
    if let Err(error) = &answer {
        let told = error.to_string().len();
        assert!(told < 4_096, "{what}: a message of {told} bytes");
    }
    answer
}

#[test]
fn a_hostile_document_is_answered_soon() {
    let list = |count: usize, item: &dyn Fn(usize) -> String| {
        (0..count).map(item).collect::<Vec<_>>().join(", ")
    };
    let long = "x".repeat(500_000);
    answered("a long name that is not known", &format!("ringfence: 1\ngray:\n  ? {}\n  : {{ to: {{ version: gray }} }}\nrules: [{{ name: a, gray: [{long}y] }}]", "z".repeat(450_000))).err();
    answered(
        "a long field",
        &format!("ringfence: 1\nrules: [{{ name: a, {long}: 1 }}]"),
    )
    .err();
    answered("a long word", &format!("ringfence: 1\nmode: {long}")).err();
    answered("a long value", &format!("ringfence: 1\nrules: [{{ name: a, match: [{{ headers: {{ '{long} ': {{ exact: a }} }} }}] }}]")).err();
    answered(
        "many known names",
        &format!(
            "ringfence: 1\ngray: {{ {} }}\nrules: [{{ name: a, gray: [no-such-release] }}]",
            list(1_000, &|i| format!(
                "release-number-{i}-with-a-name-that-is-rather-long: {{ to: {{ lane: l{i} }} }}"
            ))
        ),
    )
    .err();
    answered(
        "many shards and rules",
        &format!(
            "ringfence: 1\ntenants: {{ {} }}\nrules: [{}]",
            list(9_000, &|i| format!(
                "t{i}: {{ mode: shuffle_shard, size: {} }}",
                i + 1
            )),
            list(9_000, &|i| format!("{{ name: r{i} }}"))
        ),
    )
    .err();
    answered(
        "many releases in many rules",
        &format!(
            "ringfence: 1\ngray: {{ {} }}\nrules: [{}]",
            list(1_000, &|i| format!("r{i}: {{ to: {{ lane: l{i} }} }}")),
            list(25, &|r| format!(
                "{{ name: n{r}, gray: [{}] }}",
                list(1_000, &|i| format!("r{i}"))
            ))
        ),
    )
    .err();
    let aliases = (1..12).fold("a0: &a0 [x, x, x, x, x, x, x, x]".to_owned(), |text, n| {
        let last = format!("*a{}", n - 1);
        format!(
            "{text}\na{n}: &a{n} [{last}, {last}, {last}, {last}, {last}, {last}, {last}, {last}]"
        )
    });
    answered("laughs", &format!("ringfence: 1\n{aliases}")).expect_err("unknown fields");
    answered(
        "laughs in values",
        &format!(
            "ringfence: 1\nrules:\n- name: r\n  gray: &g [{}]\n{}",
            list(1_000, &|i| format!("r{i}")),
            (0..9_000)
                .map(|i| format!("- {{ name: r{i}, gray: *g }}\n"))
                .collect::<String>()
        ),
    )
    .err();
    answered("numbers", "ringfence: 1\nrules: [{ name: a, limits: { max_key_len: 99999999999999999999999999999999999999 } }]").expect_err("too large");
    answered(
        "numbers",
        "ringfence: 1\nmode: { enforce_percent: 1e999999999 }",
    )
    .expect_err("too large");
    answered(
        "big regexes",
        &format!(
            "ringfence: 1\nrules: [{}]",
            list(9_000, &|i| format!(
                "{{ name: r{i}, match: [{{ path: {{ regex: '\\w{{{}}}' }} }}] }}",
                8 + i % 3
            ))
        ),
    )
    .err();
}
