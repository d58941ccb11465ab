use std::{net::IpAddr, sync::Arc};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request};
use proptest::prelude::*;

use super::*;
use crate::{PeerAddress, RoutingKey, VerifiedClaims};

const MAX: usize = 64;

fn plain(source: Source) -> NormalisedSource {
    NormalisedSource {
        source,
        normalise: Box::default(),
    }
}

fn header(name: &'static str) -> Source {
    let header = HeaderName::from_static(name);
    if name.ends_with("-bin") {
        Source::Binary(header)
    } else {
        Source::Header(header)
    }
}

fn read(source: &Source, request: &Request<()>) -> Option<Vec<u8>> {
    let source = plain(source.clone());
    match source.read(&RequestHead::of(request), MAX) {
        Reading::Key(key) => Some(key.to_vec()),
        Reading::Absent | Reading::TooLong | Reading::Malformed => None,
    }
}

fn request(uri: &str, headers: &[(&str, &[u8])]) -> Request<()> {
    let mut request = Request::get(uri).body(()).expect("legal");
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("legal");
        request
            .headers_mut()
            .append(name, HeaderValue::from_bytes(value).expect("legal"));
    }
    request
}

#[test]
fn the_program_speaks_by_extensions() {
    let mut request = request("/", &[]);
    for source in [Source::Extension, Source::Claim("sub".into()), Source::Peer] {
        assert_eq!(read(&source, &request), None, "{source}");
    }
    request.extensions_mut().insert(RoutingKey::from("k"));
    request
        .extensions_mut()
        .insert(VerifiedClaims::from_iter([("sub", "u-7")]));
    let peer: IpAddr = "::ffff:10.0.0.1".parse().unwrap();
    request.extensions_mut().insert(PeerAddress::new(peer));
    assert_eq!(read(&Source::Extension, &request).unwrap(), b"k");
    assert_eq!(
        read(&Source::Claim("sub".into()), &request).unwrap(),
        b"u-7"
    );
    assert_eq!(read(&Source::Claim("iss".into()), &request), None);
    assert_eq!(read(&Source::Peer, &request).unwrap(), [10, 0, 0, 1]);
    let function = Source::Function(
        "f".into(),
        Arc::new(|head| Some(Bytes::copy_from_slice(head.path.as_bytes()))),
    );
    assert_eq!(read(&function, &request).unwrap(), b"/");
}

#[test]
fn headers_keep_all_values_and_every_byte() {
    let request = request(
        "/",
        &[
            ("x-a", b"1"),
            ("x-a", b"2"),
            ("x-b", b"\xe4\xff"),
            ("x-empty", b""),
        ],
    );
    assert_eq!(read(&header("x-a"), &request).unwrap(), b"1\x002");
    assert_eq!(read(&header("x-b"), &request).unwrap(), b"\xe4\xff");
    assert_eq!(read(&header("x-empty"), &request), None);
    assert_eq!(read(&header("x-none"), &request), None);
}

#[test]
fn binary_metadata_is_decoded_padded_or_not() {
    for digits in ["/wABAg==", "/wABAg", "/wABAh"] {
        let request = request("/", &[("k-bin", digits.as_bytes())]);
        assert_eq!(
            read(&header("k-bin"), &request).unwrap(),
            [255, 0, 1, 2],
            "{digits}"
        );
    }
    for several in [&[&b"YQ"[..], b"YmM="][..], &[b"YQ==, YmM"]] {
        let headers: Vec<_> = several.iter().map(|value| ("k-bin", *value)).collect();
        let request = request("/", &headers);
        assert_eq!(
            read(&header("k-bin"), &request).unwrap(),
            b"\x01\0\0\0a\x02\0\0\0bc"
        );
    }
    for broken in ["?", "YQ==YQ==", "A"] {
        let request = request("/", &[("k-bin", broken.as_bytes())]);
        let source = plain(header("k-bin"));
        let reading = source.read(&RequestHead::of(&request), MAX);
        assert!(
            matches!(reading, Reading::Malformed),
            "{broken} {reading:?}"
        );
    }
}

#[test]
fn long_binary_values_survive_the_blocks() {
    use base64::Engine as _;
    let bytes: Vec<u8> = (0..200).collect();
    for engine in [
        base64::prelude::BASE64_STANDARD,
        base64::prelude::BASE64_STANDARD_NO_PAD,
    ] {
        let request = request("/", &[("k-bin", engine.encode(&bytes).as_bytes())]);
        let source = plain(header("k-bin"));
        let Reading::Key(key) = source.read(&RequestHead::of(&request), 200) else {
            panic!("not read");
        };
        assert_eq!(*key, bytes);
        assert!(matches!(
            source.read(&RequestHead::of(&request), 199),
            Reading::TooLong
        ));
    }
}

#[test]
fn cookies_queries_and_path_segments() {
    let request = request(
        "/v1/users/42?a&user=b%2fc+d%zz&user=2&n%61me=x",
        &[
            ("cookie", b"a=1; sid=\"x y\";sid=2"),
            ("cookie", b"late = z ; noequals"),
        ],
    );
    for (source, expected) in [
        (Source::Cookie("sid".into()), Some("x y")),
        (Source::Cookie("late".into()), Some("z")),
        (Source::Cookie("noequals".into()), None),
        (Source::Cookie("si".into()), None),
        (Source::Query("user".into()), Some("b/c d%zz")),
        (Source::Query("name".into()), Some("x")),
        (Source::Query("a".into()), None),
        (Source::PathSegment(2), Some("42")),
        (Source::PathSegment(3), None),
    ] {
        let key = read(&source, &request);
        assert_eq!(key.as_deref(), expected.map(str::as_bytes), "{source}");
    }
}

#[test]
fn combinations_do_not_run_together() {
    let all = Source::All(Box::new([plain(header("x-a")), plain(header("x-b"))]));
    let of = |a: &str, b: &str| {
        let headers = [("x-a", a.as_bytes()), ("x-b", b.as_bytes())];
        read(&all, &request("/", &headers))
    };
    assert_ne!(of("a", "bc"), of("ab", "c"));
    assert_eq!(of("a", "bc"), of("a", "bc"));
    assert_eq!(of("a", ""), None);
    assert_eq!(all.to_string(), "all of header x-a + header x-b");
}

fn finder(sources: Vec<NormalisedSource>, secret: Option<KeySecret>) -> KeyFinder {
    KeyFinder {
        sources: sources.into(),
        max_len: 8,
        secret,
    }
}

#[test]
fn the_first_source_with_a_key_wins_and_the_others_are_counted() {
    let finder = finder(
        vec![
            plain(header("x-none")),
            plain(header("x-long")),
            plain(header("x-bin")),
            plain(header("x-good")),
        ],
        None,
    );
    let request = request(
        "/",
        &[
            ("x-long", b"123456789"),
            ("x-bin", b"!"),
            ("x-good", b"12345678"),
        ],
    );
    let found = finder.find(&RequestHead::of(&request));
    let (key, place) = found.key.expect("found");
    assert_eq!((&*key, place), (&b"12345678"[..], 3));
    assert_eq!((found.too_long, found.malformed), (1, 1));
}

#[test]
fn a_secret_hides_the_key_from_the_ring() {
    let keyed = |secret| {
        finder(
            vec![plain(header("x-a"))],
            Some(KeySecret::new([secret; 16])),
        )
    };
    let request = request("/", &[("x-a", b"alice")]);
    let key = |secret| {
        let finder = keyed(secret);
        let found = finder.find(&RequestHead::of(&request));
        found.key.expect("found").0.to_vec()
    };
    assert_eq!(key(1).len(), 8);
    assert_eq!(key(1), key(1));
    assert_ne!(key(1), key(2));
}

proptest! {
    #[test]
    fn nothing_that_clients_send_panics(
        path in "/[ -~&&[^?# \"<>\\\\^`{|}]]{0,40}",
        query in "[%+&=a-cu0-9]{0,60}",
        value in prop::collection::vec(prop_oneof![32u8..127, 128u8..=255, Just(b'\t')], 0..200),
        cookie in "[ =;\"a-c,]{0,60}",
    ) {
        let mut request = request("/", &[("x-a", &value), ("x-bin", &value), ("cookie", cookie.as_bytes()), ("x-bin", cookie.as_bytes())]);
        if let Ok(uri) = format!("{path}?{query}").parse() {
            *request.uri_mut() = uri;
        }
        for source in [
            header("x-a"),
            header("x-bin"),
            Source::Cookie("a".into()),
            Source::Query("a".into()),
            Source::PathSegment(1),
        ] {
            for max_len in [0, 1, 64, 1_024] {
                if let Reading::Key(key) = plain(source.clone()).read(&RequestHead::of(&request), max_len) {
                    prop_assert!(!key.is_empty() && key.len() <= max_len);
                }
            }
        }
    }
}
