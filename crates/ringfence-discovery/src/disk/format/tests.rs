use proptest::{collection::vec, option, prelude::*};
use ringfence_core::Scheme;

use super::*;

const GOLDEN: &str = include_str!("../../../tests/golden/snapshot.v1");

fn two() -> Snapshot {
    let full = Instance::builder("order-1", "[::1]:8080")
        .scheme(Scheme::Https)
        .weight(200)
        .version("gray")
        .region("eu")
        .zone("az-1")
        .tenant("acme")
        .tag("lane", "\"blau\" & grün")
        .healthy(false)
        .enabled(false);
    let plain = Instance::builder("order-2", "order-2.shop:80");
    Snapshot::new([full, plain].map(|builder| builder.build().expect("legal")))
}

fn service() -> ServiceKey {
    ServiceKey::new("order").with_namespace("prod")
}

fn encoded() -> Vec<u8> {
    encode(
        "consul http://127.0.0.1:8500",
        &service(),
        1_700_000_000_000,
        &two(),
    )
    .expect("JSON")
}

/// The file is read by programs of other versions: it changes with its version only.
#[test]
fn the_format_is_the_golden_file() {
    assert_eq!(String::from_utf8(encoded()).expect("text"), GOLDEN);
    let document = decode(GOLDEN.as_bytes()).expect("whole");
    assert_eq!(document.registry, "consul http://127.0.0.1:8500");
    assert_eq!(document.service, service());
    assert_eq!(document.written_at, 1_700_000_000_000);
    assert_eq!(document.snapshot, two());
}

/// A process that ended while it wrote, or a disk that filled up (B38).
#[test]
fn cut_anywhere_it_is_no_document() {
    let whole = encoded();
    for end in 0..whole.len() {
        assert!(decode(&whole[..end]).is_err(), "cut at {end}");
    }
    let longer = [&whole[..], b"\n"].concat();
    assert!(matches!(decode(&longer), Err(Unreadable::Length { .. })));
}

#[test]
fn with_any_bit_of_any_byte_changed_it_is_no_document() {
    let whole = encoded();
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            assert!(decode(&bytes).is_err(), "bit {bit} of byte {at}");
        }
    }
}

#[test]
fn another_version_is_named() {
    let (line, body) = GOLDEN.split_once('\n').expect("two parts");
    let newer = format!("{}\n{body}", line.replace(" 1 ", " 2 "));
    let error = decode(newer.as_bytes()).expect_err("newer");
    assert!(error.to_string().contains("version `2`"), "{error}");
    assert!(matches!(decode(b""), Err(Unreadable::Header)));
    assert!(matches!(decode(&[b'x'; 4_096]), Err(Unreadable::Header)));
}

/// A program that writes the right digest around something else.
#[test]
fn a_sealed_document_is_checked_as_well() {
    let (_, body) = GOLDEN.split_once('\n').expect("two parts");
    for (from, to) in [
        ("\"weight\":200", "\"weight\":2000000"),
        ("\"weight\":200", "\"weight\":-1"),
        ("[::1]:8080", "[::1]"),
        ("\"service\":\"order\",", ""),
        ("https", "ftp"),
    ] {
        assert!(body.contains(from));
        let body = body.replace(from, to);
        let bytes = [header(VERSION, body.as_bytes()).as_bytes(), body.as_bytes()].concat();
        let error = decode(&bytes).expect_err(to);
        assert!(
            matches!(error, Unreadable::Form(_) | Unreadable::Instance(_)),
            "{to}: {error}"
        );
    }
}

fn instance() -> impl Strategy<Value = Instance> {
    let label = || option::of("\\PC{1,20}");
    (
        ("\\PC{1,30}", any::<[u8; 4]>(), 1..=u16::MAX, any::<bool>()),
        (0..=1_000_000u32, any::<bool>(), any::<bool>()),
        (label(), label(), label()),
        vec(("\\PC{1,10}", "\\PC{0,10}"), 0..5),
    )
        .prop_filter_map("an illegal name", |(target, numbers, labels, tags)| {
            let (id, host, port, tls) = target;
            let (weight, healthy, enabled) = numbers;
            let (version, region, zone) = labels;
            let address = std::net::SocketAddr::from((host, port)).to_string();
            let scheme = if tls { Scheme::Https } else { Scheme::Http };
            Instance::builder(id, address)
                .scheme(scheme)
                .weight(weight)
                .version(version.unwrap_or_default())
                .region(region.unwrap_or_default())
                .zone(zone.unwrap_or_default())
                .tags(tags)
                .healthy(healthy)
                .enabled(enabled)
                .build()
                .ok()
        })
}

proptest! {
    #[test]
    fn every_snapshot_comes_back(
        instances in vec(instance(), 0..8),
        registry in ".{0,20}",
        name in ".{0,20}",
        namespace in option::of(".{1,20}"),
        written_at: u64,
    ) {
        let snapshot = Snapshot::new(instances);
        let service = ServiceKey::new(name).with_namespace(namespace.unwrap_or_default());
        let bytes = encode(&registry, &service, written_at, &snapshot).expect("JSON");
        let document = decode(&bytes).expect("whole");
        prop_assert_eq!(document, Document { registry, service, written_at, snapshot });
    }
}
