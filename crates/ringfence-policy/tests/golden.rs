//! Version 1 of the document's format: files that must be readable, and writable, for ever.
#![allow(
    clippy::expect_used,
    reason = "helpers of integration tests are not seen as tests"
)]

use std::collections::BTreeMap;

use ringfence_policy::{
    DocumentVersion, GrayElse, GrayRelease, GrpcMatch, KeyFrom, KeySource, Limits, MissingKey,
    Mode, Normaliser, Percent, PolicyContext, PolicyDocument, PoolStage, RequestMatch, Rule,
    TagFromHeader, TagMatch, TenantMode, Tenants, TextMatch, ZonePolicy,
};

const YAML: &str = include_str!("golden/policy-v1.yaml");
const JSON: &str = include_str!("golden/policy-v1.json");

fn map<V>(entries: impl IntoIterator<Item = (&'static str, V)>) -> BTreeMap<String, V> {
    entries
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn percent(percent: f64) -> Percent {
    Percent::try_from(percent).expect("legal")
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// Every field, and every kind of everything.
fn built() -> PolicyDocument {
    PolicyDocument {
        ringfence: DocumentVersion::V1,
        mode: Mode::EnforcePercent(percent(12.5)),
        ring: None,
        zone: ZonePolicy {
            local: "az-1".to_owned(),
            prefer_local: true,
            overprovisioning_factor: 150,
            spill_permille: map([("az-1", 50)]),
        },
        gray: map([
            (
                "checkout-v2",
                GrayRelease {
                    percent: percent(5.0),
                    tenants: texts(&["acme"]),
                    enabled: false,
                    otherwise: GrayElse::Fail,
                    ..GrayRelease::to("version", "gray")
                },
            ),
            (
                "lanes",
                GrayRelease {
                    to: map([
                        ("lane", TagMatch::OneOf(texts(&["blue", "local"]))),
                        ("version", TagMatch::is("1.10")),
                    ]),
                    marker: Some("lane".to_owned()),
                    ..GrayRelease::to("", "")
                },
            ),
        ]),
        tenants: Tenants {
            default: TenantMode::ShuffleShard {
                size: 4,
                strict: true,
            },
            named: map([
                ("acme", TenantMode::Dedicated { strict: true }),
                ("globex", TenantMode::OwnRing),
                ("hooli", TenantMode::Salted),
                ("initech", TenantMode::Dedicated { strict: false }),
                ("umbrella", TenantMode::Shared),
            ]),
        },
        rules: vec![checkout(), Rule::named("rest")],
    }
}

fn checkout() -> Rule {
    Rule {
        name: "checkout".to_owned(),
        matches: vec![
            RequestMatch {
                grpc: Some(GrpcMatch {
                    service: "shop.v1.Checkout".to_owned(),
                    method: Some("Pay".to_owned()),
                }),
                ..RequestMatch::default()
            },
            RequestMatch {
                methods: texts(&["POST", "PUT"]),
                path: Some(TextMatch::Prefix("/pay".to_owned())),
                headers: map([
                    ("x-env", TextMatch::Exact("blue".to_owned())),
                    ("x-id", TextMatch::Regex("[0-9]+".to_owned())),
                    ("x-old", TextMatch::Present(false)),
                ]),
                tags: map([("tenant", TextMatch::OneOf(texts(&["acme", "globex"])))]),
                ..RequestMatch::default()
            },
        ],
        tags_from_headers: map([
            (
                "x-env",
                TagFromHeader {
                    tag: "env".to_owned(),
                    trusted: true,
                },
            ),
            (
                "x-lane",
                TagFromHeader {
                    tag: "lane".to_owned(),
                    trusted: false,
                },
            ),
        ]),
        key: vec![
            KeySource::extension(),
            KeySource::claim("sub"),
            KeySource::header("x-user").normalised([
                Normaliser::Trim,
                Normaliser::TrailingSlash,
                Normaliser::UuidLower,
                Normaliser::CaseFoldAscii,
                Normaliser::PercentDecodeUnreserved,
                Normaliser::JsonCanonical,
                Normaliser::Nfc,
            ]),
            KeySource::cookie("sid"),
            KeySource::query("user"),
            KeySource::from(KeyFrom::PathSegment(2)),
            KeySource::from(KeyFrom::Peer),
            KeySource::from(KeyFrom::Function("shard".to_owned())),
            KeySource::all([KeySource::header("x-tenant"), KeySource::header("x-user")]),
        ],
        keyed_hash: Some("pepper".to_owned()),
        missing_key: Some(MissingKey::RoundRobin),
        gray: texts(&["checkout-v2", "lanes"]),
        pools: vec![
            PoolStage {
                require: map([
                    ("version", TagMatch::is("stable")),
                    ("zone", TagMatch::Local),
                ]),
                prefer: map([("env", TagMatch::Request)]),
                exclude: map([("disk", TagMatch::is("slow"))]),
                min_usable: 2,
                min_share: 20,
            },
            PoolStage::default(),
        ],
        strict: true,
        limits: Limits {
            max_attempts: Some(2),
            max_key_len: Some(256),
        },
        mode: Mode::Observe,
    }
}

#[test]
fn both_files_are_the_document() {
    assert_eq!(PolicyDocument::parse(YAML).expect("read"), built());
    assert_eq!(PolicyDocument::parse(JSON).expect("read"), built());
}

#[test]
fn the_document_is_written_as_the_files_are() {
    assert_eq!(built().to_yaml().expect("written"), YAML);
    assert_eq!(built().to_json().expect("written") + "\n", JSON);
}

#[test]
fn it_compiles_and_is_recognised() {
    let context = PolicyContext::new()
        .with_function("shard", |_| None)
        .with_secret("pepper", ringfence_policy::KeySecret::new([0; 16]));
    let policy = built().compile(&context).expect("legal");
    assert_eq!(policy.fingerprint(), 0xa97d_f017_180d_b7e3);
}
