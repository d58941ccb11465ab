//! Documents of any content.

use proptest::{collection::btree_map, option, prelude::*};

use super::*;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,6}",
        Just("local".to_owned()),
        Just("null".to_owned()),
        Just("1.10".to_owned()),
        Just("yes".to_owned()),
        Just("~".to_owned()),
        "\\PC{0,8}",
    ]
}

fn percent() -> impl Strategy<Value = Percent> {
    (0u16..=10_000)
        .prop_map(|hundredths| Percent::try_from(f64::from(hundredths) / 100.0).expect("legal"))
}

fn mode() -> impl Strategy<Value = Mode> {
    prop_oneof![
        Just(Mode::Off),
        Just(Mode::Observe),
        Just(Mode::Enforce),
        percent().prop_map(Mode::EnforcePercent)
    ]
}

fn tag_match() -> impl Strategy<Value = TagMatch> {
    prop_oneof![
        Just(TagMatch::Local),
        Just(TagMatch::Request),
        prop::collection::vec(text(), 0..3).prop_map(TagMatch::OneOf),
    ]
}

fn tag_matches() -> impl Strategy<Value = BTreeMap<String, TagMatch>> {
    btree_map(text(), tag_match(), 0..3)
}

fn text_match() -> impl Strategy<Value = TextMatch> {
    prop_oneof![
        text().prop_map(TextMatch::Exact),
        text().prop_map(TextMatch::Prefix),
        text().prop_map(TextMatch::Regex),
        prop::collection::vec(text(), 0..3).prop_map(TextMatch::OneOf),
        any::<bool>().prop_map(TextMatch::Present),
    ]
}

fn key_source() -> impl Strategy<Value = KeySource> {
    let normalisers = prop::collection::vec(
        prop_oneof![
            Just(Normaliser::Trim),
            Just(Normaliser::JsonCanonical),
            Just(Normaliser::PercentDecodeUnreserved)
        ],
        0..3,
    );
    let place = prop_oneof![
        Just(KeyFrom::Extension),
        Just(KeyFrom::Peer),
        text().prop_map(KeyFrom::Claim),
        text().prop_map(KeyFrom::Header),
        text().prop_map(KeyFrom::Cookie),
        text().prop_map(KeyFrom::Query),
        text().prop_map(KeyFrom::Function),
        any::<u16>().prop_map(KeyFrom::PathSegment),
    ];
    let leaf = (place, normalisers).prop_map(|(from, normalise)| KeySource { from, normalise });
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop::collection::vec(inner, 0..3).prop_map(|parts| KeySource::from(KeyFrom::All(parts)))
    })
}

fn request_match() -> impl Strategy<Value = RequestMatch> {
    let grpc =
        (text(), option::of(text())).prop_map(|(service, method)| GrpcMatch { service, method });
    let texts = || btree_map(text(), text_match(), 0..3);
    let methods = prop::collection::vec(text(), 0..3);
    (
        methods,
        option::of(text_match()),
        option::of(grpc),
        texts(),
        texts(),
    )
        .prop_map(|(methods, path, grpc, headers, tags)| RequestMatch {
            methods,
            path,
            grpc,
            headers,
            tags,
        })
}

fn pool() -> impl Strategy<Value = PoolStage> {
    (
        tag_matches(),
        tag_matches(),
        tag_matches(),
        any::<u32>(),
        any::<u8>(),
    )
        .prop_map(
            |(require, prefer, exclude, min_usable, min_share)| PoolStage {
                require,
                prefer,
                exclude,
                min_usable,
                min_share,
            },
        )
}

fn rule() -> impl Strategy<Value = Rule> {
    let missing_key = prop_oneof![
        Just(MissingKey::P2c),
        Just(MissingKey::RoundRobin),
        Just(MissingKey::Reject)
    ];
    let header = (text(), any::<bool>()).prop_map(|(tag, trusted)| TagFromHeader { tag, trusted });
    let limits = (option::of(any::<u32>()), option::of(any::<u32>())).prop_map(
        |(max_attempts, max_key_len)| Limits {
            max_attempts,
            max_key_len,
        },
    );
    let routing = (
        prop::collection::vec(request_match(), 0..3),
        prop::collection::vec(key_source(), 0..3),
        prop::collection::vec(pool(), 0..3),
    );
    let rest = (
        prop::collection::vec(text(), 0..3),
        btree_map(text(), header, 0..3),
        option::of(text()),
        option::of(missing_key),
    );
    (text(), routing, rest, limits, mode(), any::<bool>()).prop_map(
        |(
            name,
            (matches, key, pools),
            (gray, tags_from_headers, keyed_hash, missing_key),
            limits,
            mode,
            strict,
        )| Rule {
            name,
            matches,
            tags_from_headers,
            key,
            keyed_hash,
            missing_key,
            gray,
            pools,
            strict,
            limits,
            mode,
        },
    )
}

fn release() -> impl Strategy<Value = GrayRelease> {
    let otherwise = prop_oneof![Just(GrayElse::Baseline), Just(GrayElse::Fail)];
    let tenants = prop::collection::vec(text(), 0..3);
    (
        tag_matches(),
        option::of(text()),
        percent(),
        tenants,
        any::<bool>(),
        otherwise,
    )
        .prop_map(
            |(to, marker, percent, tenants, enabled, otherwise)| GrayRelease {
                to,
                marker,
                percent,
                tenants,
                enabled,
                otherwise,
            },
        )
}

fn tenant_mode() -> impl Strategy<Value = TenantMode> {
    prop_oneof![
        Just(TenantMode::Shared),
        Just(TenantMode::Salted),
        Just(TenantMode::OwnRing),
        any::<bool>().prop_map(|strict| TenantMode::Dedicated { strict }),
        (any::<u32>(), any::<bool>())
            .prop_map(|(size, strict)| TenantMode::ShuffleShard { size, strict }),
    ]
}

fn ring() -> impl Strategy<Value = RingSettings> {
    let number = || option::of(any::<u32>());
    let algorithm = prop::sample::select(&[
        RingAlgorithm::Ring,
        RingAlgorithm::EnvoyRing,
        RingAlgorithm::Maglev,
        RingAlgorithm::Nginx,
        RingAlgorithm::Ketama,
        RingAlgorithm::Jump,
        RingAlgorithm::Rendezvous,
        RingAlgorithm::Slots,
    ]);
    let words = (
        option::of(prop::sample::select(&[
            RingHostOrder::AsGiven,
            RingHostOrder::Sorted,
        ])),
        option::of(prop::sample::select(&[
            RingHash::XxHash,
            RingHash::MurmurHash2,
        ])),
        option::of(prop::sample::select(&[
            RingVariant::Libketama,
            RingVariant::Twemproxy,
            RingVariant::Dubbo,
        ])),
    );
    let slots = (any::<u64>(), btree_map(text(), text(), 0..3))
        .prop_map(|(epoch, owners)| RingSlots { epoch, owners });
    let lists = (
        option::of(prop::collection::vec(text(), 0..3)),
        option::of(slots),
    );
    let numbers = (
        number(),
        number(),
        number(),
        number(),
        number(),
        number(),
        number(),
    );
    (algorithm, numbers, option::of(any::<u64>()), words, lists).prop_map(
        |(algorithm, numbers, seed, (host_order, hash, variant), (buckets, slots))| RingSettings {
            algorithm,
            points_per_instance: numbers.0,
            probes: numbers.1,
            seed,
            max_ring_points: numbers.2,
            min_ring_size: numbers.3,
            max_ring_size: numbers.4,
            host_order,
            hash,
            table_size: numbers.5,
            weight_unit: numbers.6,
            variant,
            buckets,
            slots,
        },
    )
}

fn document() -> impl Strategy<Value = PolicyDocument> {
    let zone = (
        text(),
        any::<bool>(),
        any::<u32>(),
        btree_map(text(), any::<u16>(), 0..3),
    )
        .prop_map(
            |(local, prefer_local, overprovisioning_factor, spill_permille)| ZonePolicy {
                local,
                prefer_local,
                overprovisioning_factor,
                spill_permille,
            },
        );
    // Its entry in the document is that of the others.
    let name = text().prop_filter("reserved", |name| name != "default");
    let tenants = (tenant_mode(), btree_map(name, tenant_mode(), 0..3))
        .prop_map(|(default, named)| Tenants { default, named });
    let gray = btree_map(text(), release(), 0..3);
    (
        mode(),
        option::of(ring()),
        zone,
        gray,
        tenants,
        prop::collection::vec(rule(), 0..3),
    )
        .prop_map(|(mode, ring, zone, gray, tenants, rules)| PolicyDocument {
            ringfence: DocumentVersion::V1,
            mode,
            ring,
            zone,
            gray,
            tenants,
            rules,
        })
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(document in document()) {
        let json = document.to_json().expect("written");
        prop_assert_eq!(&PolicyDocument::parse(&json).expect("read"), &document, "{}", json);
        let yaml = document.to_yaml().expect("written");
        prop_assert_eq!(&PolicyDocument::parse(&yaml).expect("read"), &document, "{}", yaml);
    }

    #[test]
    fn no_text_panics(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        tokens in prop::collection::vec(prop_oneof![
            Just("ringfence: 1\n"), Just("rules:"), Just("\n  - name: a\n"), Just("    key: "), Just("[{"), Just("}]"),
            Just("header: x"), Just("&a "), Just("*a"), Just("!!str "), Just("<<: "), Just("gray: "), Just("---\n"),
        ], 0..12),
    ) {
        let _ = PolicyDocument::parse(&String::from_utf8_lossy(&bytes));
        let text: String = tokens.concat();
        let context = crate::PolicyContext::new();
        let _ = PolicyDocument::parse_and_compile(&text, &context);
        let _ = PolicyDocument::parse_and_compile(&format!("ringfence: 1\n{text}"), &context);
    }

    #[test]
    fn no_document_panics_when_it_is_compiled(document in document()) {
        if let Err(error) = document.compile(&crate::PolicyContext::new().with_zone("az-1")) {
            prop_assert!(!error.reason().is_empty());
        }
    }
}
