use ringfence_core::Scheme;

use super::*;
use crate::RejectedRecord;

type Labels<'a> = &'a [(&'a str, &'a str)];

fn map(metadata: Labels<'_>, tags: &[&str]) -> Result<Mapped, RejectedRecord> {
    map_with(&FieldMapping::default(), metadata, tags)
}

fn map_with(
    mapping: &FieldMapping,
    metadata: Labels<'_>,
    tags: &[&str],
) -> Result<Mapped, RejectedRecord> {
    mapping.apply(
        &RegistryRecord::new("a", "10.0.0.1", 80),
        metadata.iter().copied(),
        tags.iter().copied(),
    )
}

#[test]
fn what_the_well_known_conventions_register_is_understood() {
    let spring = map(
        &[
            ("secure", "true"),
            ("zone", "az-1"),
            ("version", "v1"),
            ("nacos.weight", "1.0"),
            ("preserved.register.source", "SPRING_CLOUD"),
        ],
        &[],
    )
    .expect("legal")
    .instance;
    assert_eq!(spring.scheme(), Scheme::Https);
    assert_eq!(
        (spring.zone(), spring.version()),
        (Some("az-1"), Some("v1"))
    );
    assert!(spring.tags().is_empty(), "{spring:?}");

    let kratos = map(&[("kind", "grpcs"), ("weight", "50")], &["version=v2"])
        .expect("legal")
        .instance;
    assert_eq!(kratos.scheme(), Scheme::Https);
    assert_eq!((kratos.weight().get(), kratos.version()), (50, Some("v2")));

    let record = RegistryRecord::with_authority("kitex", "10.0.0.1:80").weight(20.0, 10.0);
    let kitex = FieldMapping::default()
        .apply(&record, [("lane", "blue")], [])
        .expect("legal")
        .instance;
    assert_eq!(
        (kitex.weight().get(), kitex.tag("lane")),
        (200, Some("blue"))
    );

    let dubbo = map(
        &[("protocol", "tri"), ("tag", "gray"), ("version", "1.0.0")],
        &[],
    )
    .expect("legal")
    .instance;
    assert_eq!(dubbo.scheme(), Scheme::Http);
    assert_eq!(
        (dubbo.tag("tag"), dubbo.tag("protocol")),
        (Some("gray"), None)
    );
}

#[test]
fn the_first_source_with_a_value_gives_the_field() {
    let mapping = FieldMapping::default().with_sources(
        Field::Zone,
        [
            FieldSource::meta("az"),
            FieldSource::tag("zone"),
            FieldSource::Registry,
            FieldSource::fixed("nowhere"),
        ],
    );
    let zone = |metadata: Labels<'_>, tags: &[&str], own: Option<&str>| {
        mapping
            .apply(
                &RegistryRecord::new("a", "h", 80).zone(own),
                metadata.iter().copied(),
                tags.iter().copied(),
            )
            .expect("legal")
            .instance
            .zone()
            .map(str::to_owned)
    };
    assert_eq!(
        zone(&[("az", "m")], &["zone=t"], Some("r")).as_deref(),
        Some("m")
    );
    assert_eq!(
        zone(&[("az", " ")], &["zone=t"], Some("r")).as_deref(),
        Some("t")
    );
    assert_eq!(zone(&[], &["zone="], Some("r")).as_deref(), Some("r"));
    assert_eq!(zone(&[], &["zones=t"], None).as_deref(), Some("nowhere"));
    let none = FieldMapping::default().with_sources(Field::Zone, []);
    let instance = map_with(&none, &[("zone", "x")], &[])
        .expect("legal")
        .instance;
    assert_eq!((instance.zone(), instance.tag("zone")), (None, Some("x")));
}

#[test]
fn weights_of_all_scales_become_ours() {
    let weight = |value: f64, ordinary: f64| {
        FieldMapping::for_nacos()
            .apply(
                &RegistryRecord::new("a", "h", 80).weight(value, ordinary),
                [],
                [],
            )
            .map(|mapped| mapped.instance.weight().get())
            .map_err(|rejected| rejected.reason)
    };
    assert_eq!(weight(1.0, 1.0), Ok(100));
    assert_eq!(weight(0.5, 1.0), Ok(50));
    assert_eq!(weight(0.001, 1.0), Ok(1), "above 0 stays above 0");
    assert_eq!(weight(f64::MIN_POSITIVE, 1.0), Ok(1));
    assert_eq!(weight(0.0, 1.0), Ok(0));
    assert_eq!(weight(-0.0, 1.0), Ok(0));
    assert_eq!(weight(1e300, 1e-300), Ok(1_000_000), "clamped");
    assert_eq!(weight(20_000.0, 1.0), Ok(1_000_000));
    assert_eq!(weight(10.0, 10.0), Ok(100));
    assert_eq!(weight(1.0, 0.0), Ok(100), "a senseless unit is 1");
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, -0.001] {
        let reason = weight(bad, 1.0).expect_err("illegal");
        assert!(reason.contains("weight"), "{reason}");
    }
}

#[test]
fn metadata_decides_the_weight_but_the_registry_can_drain() {
    let weight = |text: &str, own: f64| {
        FieldMapping::default()
            .apply(
                &RegistryRecord::new("a", "h", 80).weight(own, 1.0),
                [("weight", text)],
                [],
            )
            .map(|mapped| mapped.instance.weight().get())
    };
    assert_eq!(weight("200", 1.0), Ok(200));
    assert_eq!(weight("0", 1.0), Ok(0));
    assert_eq!(weight("200", 0.0), Ok(0));
    assert_eq!(weight("", 3.0), Ok(300));
    for bad in ["NaN", "-1", "inf", "heavy", "1e999"] {
        assert!(weight(bad, 1.0).is_err(), "{bad}");
    }
    let mapping = FieldMapping::for_nacos().with_registry_ordinary_weight(NonZeroU32::new(100));
    let record = RegistryRecord::new("a", "h", 80).weight(50.0, 1.0);
    let mapped = mapping
        .apply(&record, [("weight", "heavy")], [])
        .expect("not asked");
    assert_eq!(mapped.instance.weight().get(), 50);
}

#[test]
fn schemes_are_told_in_many_ways() {
    let scheme =
        |metadata: Labels<'_>, tags: &[&str]| map(metadata, tags).expect("legal").instance.scheme();
    assert_eq!(scheme(&[], &[]), Scheme::Http);
    assert_eq!(scheme(&[("secure", "TRUE")], &[]), Scheme::Https);
    assert_eq!(
        scheme(&[("secure", "false"), ("scheme", "https")], &[]),
        Scheme::Http
    );
    assert_eq!(
        scheme(&[("secure", "perhaps"), ("scheme", "https")], &[]),
        Scheme::Https
    );
    assert_eq!(
        scheme(&[("protocol", "dubbo"), ("kind", "https")], &[]),
        Scheme::Https
    );
    assert_eq!(scheme(&[], &["secure"]), Scheme::Https);
    let record = RegistryRecord::new("a", "h", 80).scheme(Scheme::Https);
    let mapped = FieldMapping::default()
        .apply(&record, [("kind", "grpc")], [])
        .expect("legal");
    assert_eq!(mapped.instance.scheme(), Scheme::Https);
}

#[test]
fn addresses_are_judged_whatever_the_registry_accepts() {
    let address = |host: &str, port: i64| {
        FieldMapping::default()
            .apply(&RegistryRecord::new("a", host, port), [], [])
            .map(|mapped| mapped.instance.address().to_string())
    };
    assert_eq!(address("::1", 80).as_deref(), Ok("[::1]:80"));
    assert_eq!(address("[::1]", 80).as_deref(), Ok("[::1]:80"));
    assert_eq!(
        address(" orders.internal ", 80).as_deref(),
        Ok("orders.internal:80")
    );
    for (host, port) in [
        ("10.0.0.1", 0),
        ("10.0.0.1", 65_536),
        ("10.0.0.1", 70_000),
        ("10.0.0.1", -1),
        ("10.0.0.1", i64::MAX),
        ("", 80),
        ("not an ip", 80),
        ("[10.0.0.1]", 80),
        ("10.0.0.1:80", 80),
    ] {
        let rejected = address(host, port).expect_err(host);
        assert_eq!(rejected.id.as_deref(), Some("a"));
        assert!(rejected.reason.contains("address"), "{rejected}");
    }
}

#[test]
fn other_metadata_is_kept_as_tags_as_far_as_it_can_be() {
    let long = "x".repeat(1 << 20);
    let mapped = map(
        &[
            ("", "empty name"),
            (&long, "long name"),
            ("con\u{1}trol", "v"),
            ("note", "two\nlines"),
            ("big", &long),
            ("env", "prod"),
            ("gone", "  "),
        ],
        &["env=dev", "primary", "a=b=c", "lane=1", "lane=2"],
    )
    .expect("legal");
    assert_eq!(mapped.altered_tags, 5);
    let instance = mapped.instance;
    assert_eq!(instance.tag("note"), Some("two lines"));
    assert_eq!(instance.tag("big").map(str::len), Some(4_096));
    assert_eq!(instance.tag("env"), Some("prod"));
    assert_eq!(instance.tag("primary"), Some("true"));
    assert_eq!(instance.tag("a"), Some("b=c"));
    assert_eq!(instance.tag("lane"), Some("1"));
    assert_eq!(instance.tags().len(), 6);

    let many: Vec<(String, String)> = (0..400).map(|i| (format!("k{i:03}"), "v".into())).collect();
    let many: Vec<(&str, &str)> = many
        .iter()
        .map(|(k, v)| (&**k, &**v))
        .chain([("tenant", "t")])
        .collect();
    let mapped = map(&many, &[]).expect("legal");
    assert_eq!(
        (mapped.instance.tags().len(), mapped.altered_tags),
        (256, 145)
    );
    assert_eq!(mapped.instance.tenant(), Some("t"));
}

#[test]
fn a_field_that_decides_who_is_sent_there_is_never_bent() {
    let long = "x".repeat(257);
    for key in ["version", "zone", "region"] {
        assert!(map(&[(key, &long)], &[]).is_err(), "{key}");
        assert!(map(&[(key, "a\u{0}b")], &[]).is_err(), "{key}");
    }
    assert!(map(&[("tenant", "a\u{0}b")], &[]).is_err());
    assert!(
        map(&[("ringfence-id", &"x".repeat(1 << 20))], &[])
            .is_err_and(|rejected| rejected.id.is_some_and(|id| id.len() == 64))
    );
}

#[test]
fn a_foreign_tenant_is_none_where_another_key_was_chosen() {
    let mapping =
        FieldMapping::default().with_sources(Field::Tenant, [FieldSource::meta("x-tenant")]);
    let instance = map_with(&mapping, &[("tenant", "foreign")], &["tenant=foreign"])
        .expect("legal")
        .instance;
    assert_eq!(instance.tenant(), None);
    let instance = map_with(&mapping, &[("tenant", "foreign"), ("x-tenant", "own")], &[])
        .expect("legal")
        .instance;
    assert_eq!(instance.tenant(), Some("own"));
}

#[test]
fn tag_policies_choose_what_becomes_a_tag() {
    let metadata: Labels<'_> = &[
        ("env", "prod"),
        ("lane", "blue"),
        ("zone", "az"),
        ("nacos.weight", "1"),
    ];
    let names = |policy: TagPolicy| {
        let mapping = FieldMapping::default().with_tag_policy(policy);
        let instance = map_with(&mapping, metadata, &[]).expect("legal").instance;
        instance
            .tags()
            .iter()
            .map(|(name, _)| name.to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(TagPolicy::Rest), ["env", "lane"]);
    assert!(names(TagPolicy::Nothing).is_empty());
    let only = ["zone", "env", "nacos.weight"].map(str::to_owned).into();
    assert_eq!(
        names(TagPolicy::Only(only)),
        ["env", "nacos.weight", "zone"]
    );
    let open = FieldMapping::default().with_reserved_prefixes(["x-"]);
    let instance = map_with(&open, &[("nacos.weight", "1"), ("x-a", "1")], &[])
        .expect("legal")
        .instance;
    assert_eq!(
        instance.tags().iter().collect::<Vec<_>>(),
        [("nacos.weight", "1")]
    );
}

#[cfg(feature = "register")]
#[test]
fn what_is_registered_is_read_back() {
    use ringfence_core::Instance;

    let instance = Instance::builder("order-1", "10.0.0.1:80")
        .scheme(Scheme::Https)
        .weight(33)
        .version("v1")
        .zone("az-1")
        .region("eu")
        .tenant("acme")
        .tag("lane", "blue")
        .build()
        .expect("legal");
    for unit in [1, 7, 100, 1_000] {
        let mapping =
            FieldMapping::default().with_ordinary_weight(NonZeroU32::new(unit).expect("not 0"));
        for weight in [0, 1, 33, 100, 250, 1_000_000] {
            let instance = instance.to_builder().weight(weight).build().expect("legal");
            let metadata = mapping.describe(&instance).expect("all has a place");
            let pairs = metadata.iter().map(|(k, v)| (&**k, &**v));
            let record = RegistryRecord::new("other id", "10.0.0.1", 80).weight(1.0, 1.0);
            assert_eq!(
                mapping.apply(&record, pairs, []).map(|m| m.instance),
                Ok(instance)
            );
        }
    }
    let clashing = instance
        .to_builder()
        .tag("weight", "1")
        .build()
        .expect("legal");
    assert_eq!(
        FieldMapping::default().describe(&clashing),
        Err(UnmappedField::Tag {
            name: "weight".into()
        })
    );
    let homeless = FieldMapping::default().with_sources(Field::Region, []);
    assert_eq!(
        homeless.describe(&instance),
        Err(UnmappedField::Field {
            field: Field::Region
        })
    );
}

#[test]
fn no_record_makes_it_panic_or_gives_an_illegal_instance() {
    let mut rng = fastrand::Rng::with_seed(11);
    let pieces = [
        "",
        " ",
        "=",
        "version",
        "zone",
        "tenant",
        "weight",
        "secure",
        "ringfence-id",
        "nacos.",
        "NaN",
        "-1",
        "1e999",
        "0",
        "70000",
        "\u{0}",
        "\u{7f}",
        "ü",
        "::1",
        "[",
        "10.0.0.1",
        ":80",
        "true",
        "\u{fffd}",
    ];
    let text = |rng: &mut fastrand::Rng| -> String {
        (0..rng.usize(0..4))
            .map(|_| pieces[rng.usize(0..pieces.len())])
            .collect()
    };
    let mut legal = 0;
    for _ in 0..20_000 {
        let metadata: Vec<_> = (0..rng.usize(0..6))
            .map(|_| (text(&mut rng), text(&mut rng)))
            .collect();
        let tags: Vec<_> = (0..rng.usize(0..4)).map(|_| text(&mut rng)).collect();
        let (id, host) = (
            text(&mut rng),
            if rng.bool() {
                "10.0.0.1".into()
            } else {
                text(&mut rng)
            },
        );
        let record = RegistryRecord::new(&id, &host, rng.i64(-1..70_000)).weight(
            [f64::NAN, -1.0, 0.0, 0.3, 1e300][rng.usize(0..5)],
            [f64::NAN, 0.0, 1.0][rng.usize(0..3)],
        );
        let mapped = FieldMapping::default().apply(
            &record,
            metadata.iter().map(|(name, value)| (&**name, &**value)),
            tags.iter().map(String::as_str),
        );
        if let Ok(mapped) = mapped {
            legal += 1;
            let instance = mapped.instance;
            assert_eq!(instance.to_builder().build(), Ok(instance));
        }
    }
    assert!(legal > 1_000, "only {legal} of 20,000 were legal");
}
