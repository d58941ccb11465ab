//! What belongs where something else stands, with an example.

use ringfence_core::did_you_mean;

/// Names that fields have in code, or that people expect, beside those that they have in a document.
const OTHER_NAMES: [(&str, &str); 3] = [
    ("matches", "match"),
    ("otherwise", "else"),
    ("percentage", "percent"),
];

/// An example of what belongs at a path of the document.
fn example(path: &str) -> Option<&'static str> {
    let (whole, is_item) = match path
        .strip_suffix(']')
        .and_then(|path| path.rsplit_once('['))
    {
        Some((list, _)) => (list, true),
        None => (path, false),
    };
    let mut names = whole.rsplit('.');
    let name = names.next()?;
    let name = name.rsplit(']').next().unwrap_or(name);
    let parent = names.next().unwrap_or("");
    Some(match (name, is_item) {
        ("rules", false) => "rules: [{ name: checkout }]",
        ("rules", true) => "{ name: checkout }",
        ("key", false) => "key: [{ header: x-user }]",
        ("key", true) => "{ header: x-user }",
        ("all", false) => "all: [{ header: x-tenant }, { header: x-user }]",
        ("all", true) => "{ header: x-user }",
        ("normalise", false) => "normalise: [trim]",
        ("match", false) => "match: [{ path: { prefix: /pay } }]",
        ("match", true) => "{ path: { prefix: /pay } }",
        ("methods", false) => "methods: [GET]",
        ("grpc", false) => "grpc: { service: shop.v1.Checkout }",
        ("headers", false) => "headers: { x-env: { exact: blue } }",
        ("tags", false) => "tags: { tenant: { exact: acme } }",
        ("one_of", false) => "one_of: [acme, globex]",
        ("tags_from_headers", false) => "tags_from_headers: { x-tenant: { tag: tenant } }",
        ("pools", false) => "pools: [{ require: { version: stable } }, {}]",
        ("pools", true) => "{ require: { version: stable } }",
        ("require", false) => "require: { version: stable }",
        ("prefer", false) => "prefer: { zone: local }",
        ("exclude", false) => "exclude: { disk: slow }",
        ("limits", false) => "limits: { max_attempts: 2 }",
        ("zone", false) if parent.is_empty() => "zone: { prefer_local: true }",
        ("spill_permille", false) => "spill_permille: { az-1: 50 }",
        ("gray", false) if parent.is_empty() && whole == "gray" => {
            "gray: { checkout-v2: { to: { version: gray }, percent: 5 } }"
        }
        ("gray", false) => "gray: [checkout-v2]",
        ("to", false) => "to: { version: gray }",
        ("tenants", false) if parent.is_empty() => "tenants: { acme: { mode: dedicated } }",
        ("tenants", false) => "tenants: [acme]",
        ("ring", false) if parent.is_empty() => "ring: { algorithm: maglev }",
        ("buckets", false) => "buckets: [order-0, order-1]",
        ("slots", false) => "slots: { owners: { a: 0-8191, b: 8192-16383 } }",
        ("owners", false) => "owners: { a: 0-8191, b: 8192-16383 }",
        ("ringfence", false) => "ringfence: 1",
        _ if parent == "tags_from_headers" => "{ tag: tenant }",
        _ if whole.starts_with("tenants.") => "{ mode: dedicated }",
        _ if whole.starts_with("gray.") => "{ to: { version: gray }, percent: 5 }",
        _ => return None,
    })
}

fn such_as(path: &str) -> String {
    example(path).map_or_else(String::new, |example| format!(", such as `{example}`"))
}

/// The reader found something else than `expected`.
pub(super) fn unexpected(expected: &str, path: &str) -> String {
    match expected {
        "mapping start" if path.is_empty() => {
            "expected a mapping that begins with `ringfence: 1`".to_owned()
        }
        "mapping start" if path.ends_with(".extension") => {
            "expected an empty mapping, `extension: {}`".to_owned()
        }
        "mapping start" if path.ends_with(".peer") => {
            "expected an empty mapping, `peer: {}`".to_owned()
        }
        "mapping start" => format!("expected a mapping{}", such_as(path)),
        "sequence start" => format!("expected a list{}", such_as(path)),
        "string scalar" => "expected a text".to_owned(),
        other => format!("expected {other}"),
    }
}

/// A value that is not of the type `ty`.
pub(super) fn invalid(ty: &str, path: &str) -> String {
    match ty {
        "floating point" => "expected a number such as 5 or 12.5".to_owned(),
        "boolean" => "expected `true` or `false`".to_owned(),
        ty if ty.starts_with(['u', 'i']) => format!("expected a whole number{}", such_as(path)),
        ty => format!("expected a {ty}"),
    }
}

pub(super) fn missing(field: &str) -> String {
    match field {
        "ringfence" => "the version of the format is missing: begin with `ringfence: 1`".to_owned(),
        field => format!("`{field}` is missing"),
    }
}

/// A field that is none of `expected`.
pub(super) fn unknown_field(field: &str, expected: &[&str]) -> String {
    let mut others = OTHER_NAMES.iter();
    let meant = others.find(|(other, meant)| *other == field && expected.contains(meant));
    let meant = match meant {
        Some((_, meant)) => format!(", did you mean `{meant}`?"),
        None => did_you_mean(field, expected.iter().copied()),
    };
    format!("unknown field `{field}`{meant}")
}

/// A word that is none of `expected`.
pub(super) fn unknown_word(word: &str, expected: &[&str], path: &str) -> String {
    let meant = did_you_mean(word, expected.iter().copied());
    // A bare text where a condition belongs: nobody wrote the name of a comparison.
    let is_bare = expected.contains(&"prefix") && !path.ends_with(&format!(".{word}"));
    if !is_bare || meant.ends_with('?') {
        return format!("unknown word `{word}`{meant}");
    }
    let as_prefix = if path.ends_with(".path") {
        format!("`{{ prefix: {word} }}` or ")
    } else {
        String::new()
    };
    format!("a condition says how it compares: {as_prefix}`{{ exact: {word} }}`")
}
