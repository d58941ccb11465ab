//! The index of rules.

use super::*;

/// What the index must not change: the first rule that matches, asked one after the other.
fn first_by_scan(rules: &[(usize, usize, usize)], path: &str, headers: &[String]) -> String {
    let accepts = |(kind, a, b): &(usize, usize, usize)| match kind {
        0 => path == format!("/s{a}/m{b}"),
        1 => path.starts_with(&format!("/s{a}/")),
        2 => headers.iter().any(|value| *value == format!("v{a}")),
        3 => path.starts_with(&format!("/s{a}")),
        4 => headers.is_empty(),
        _ => path == format!("/s{a}/m{b}") || headers.iter().any(|value| *value == format!("v{b}")),
    };
    rules
        .iter()
        .position(accepts)
        .map_or("default".to_owned(), |place| format!("r{place}"))
}

fn written(place: usize, (kind, a, b): (usize, usize, usize)) -> String {
    let matching = match kind {
        0 => format!("{{ grpc: {{ service: s{a}, method: m{b} }} }}"),
        1 => format!("{{ grpc: {{ service: s{a} }} }}"),
        2 => format!("{{ headers: {{ x-v: {{ exact: v{a} }} }} }}"),
        3 => format!("{{ path: {{ prefix: /s{a} }} }}"),
        4 => "{ headers: { x-v: { present: false } } }".to_owned(),
        _ => format!(
            "{{ path: {{ exact: /s{a}/m{b} }} }}, {{ headers: {{ x-v: {{ exact: v{b} }} }} }}"
        ),
    };
    format!("{{ name: r{place}, match: [{matching}] }}")
}

proptest! {
    #[test]
    fn the_index_finds_what_a_scan_finds(
        rules in prop::collection::vec((0usize..6, 0usize..3, 0usize..3), 0..12),
        service in 0usize..4, method in 0usize..4,
        values in prop::collection::vec(0usize..4, 0..3),
    ) {
        let texts: Vec<_> = rules.iter().enumerate().map(|(i, rule)| written(i, *rule)).collect();
        let policy = compiled(&format!("rules: [{}]", texts.join(", ")));
        let path = format!("/s{service}/m{method}");
        let values: Vec<_> = values.iter().map(|v| format!("v{v}")).collect();
        let headers: Vec<_> = values.iter().map(|value| ("x-v", &**value)).collect();
        let request = request(&path, &headers);
        prop_assert_eq!(evaluate(&policy, &request).rule(), first_by_scan(&rules, &path, &values));
    }
}
