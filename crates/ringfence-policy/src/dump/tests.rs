use std::sync::Arc;

use ringfence_core::{
    EnvoyRing, HostOrder, InstanceId, Jump, Ketama, KetamaVariant, Maglev, Nginx, RingConfig,
    Selector, SlotTable, Slots, Snapshot,
};

use super::*;

fn instance(id: &str, address: &str, weight: u32) -> Instance {
    let builder = Instance::builder(id, address).weight(weight);
    let tagged = builder.tag("password", "hunter2").tag("hash_key", "shard");
    tagged.build().expect("legal")
}

fn pool(instances: impl IntoIterator<Item = Instance>) -> Pool {
    Pool::select(&Arc::new(Snapshot::new(instances)), &Selector::any())
}

fn three() -> Vec<Instance> {
    vec![
        instance("order-svc-1", "10.0.0.1:80", 100),
        instance("order-svc-2", "10.0.0.2:80", 50),
        instance("order-svc-3", "10.0.0.3:80", 0),
    ]
}

fn dump_of(instances: Vec<Instance>, config: &RingConfig) -> RingDump {
    let pool = pool(instances);
    RingDump::of(&pool, &Ring::build(&pool, config))
}

fn dump() -> RingDump {
    dump_of(three(), &RingConfig::default())
}

/// The form is kept between versions.
#[test]
fn the_form_is_golden() {
    let golden = include_str!("golden-v1.json");
    assert_eq!(dump().to_json(), golden);
    assert_eq!(RingDump::parse(golden).expect("of this version"), dump());
}

#[test]
fn tags_are_left_out_unless_asked_for() {
    let plain = dump().to_json();
    assert!(
        !plain.contains("hunter2") && !plain.contains("shard"),
        "{plain}"
    );
    let tagged = dump().with_tags(&three());
    assert!(tagged.to_json().contains("hunter2"));
    assert_eq!(RingDump::parse(&tagged.to_json()).expect("reads"), tagged);
    assert_eq!(dump().first_disagreement(&tagged), None, "they route alike");
}

#[test]
fn another_version_and_other_texts_are_refused() {
    let newer = dump()
        .to_json()
        .replace("\"ringfence_dump\": 1", "\"ringfence_dump\": 2");
    let told = RingDump::parse(&newer).expect_err("newer").to_string();
    assert_eq!(told, "the dump has version 2, known is 1");
    for text in [
        "",
        "[]",
        "{}",
        "{\"ringfence_dump\": 1}",
        "{\"ringfence_dump\": -1}",
    ] {
        assert!(
            matches!(RingDump::parse(text), Err(DumpError::Malformed(_))),
            "{text}"
        );
    }
    let cut = dump().to_json();
    for end in 0..cut.trim_end().len() {
        assert!(RingDump::parse(&cut[..end]).is_err(), "cut at {end}");
    }
}

fn configs() -> Vec<RingConfig> {
    let ids = ["a", "b"].map(|id| InstanceId::try_new(id).expect("legal"));
    let [a, b] = ids.clone();
    let table = SlotTable::new(3, [(0..=9, a.clone()), (20..=29, a), (10..=10, b)]);
    let with = |algorithm: HashAlgorithm| RingConfig::default().with_algorithm(algorithm);
    let envoy = EnvoyRing::default().with_host_order(HostOrder::Sorted);
    let envoy = envoy.with_hash(ringfence_core::PointHash::MurmurHash2);
    vec![
        RingConfig::default(),
        RingConfig::default()
            .with_seed(7)
            .with_points_per_instance(5)
            .expect("legal"),
        with(envoy.with_ring_sizes(3, 9).expect("legal").into()),
        with(EnvoyRing::default().into()),
        with(EnvoyRing::default().into()).with_seed(1),
        with(Maglev::default().with_table_size(7).expect("legal").into()),
        with(Maglev::default().with_table_size(7).expect("legal").into()).with_seed(1),
        with(Nginx::default().into()),
        with(Nginx::default().into()).with_seed(1),
        with(Nginx::default().with_weight_unit(3).expect("legal").into()),
        with(Ketama::new(KetamaVariant::Libketama).into()),
        with(Ketama::new(KetamaVariant::Dubbo).into()),
        with(Ketama::new(KetamaVariant::Dubbo).into()).with_seed(1),
        with(Ketama::new(KetamaVariant::Twemproxy).into()),
        with(Jump::default().into()),
        with(Jump::default().with_buckets(ids).expect("legal").into()),
        with(HashAlgorithm::Rendezvous).with_seed(9),
        with(Slots::default().into()),
        with(Slots::default().with_table(table.expect("legal")).into()),
    ]
}

/// Every algorithm of the core is told by its own name.
#[test]
fn each_algorithm_comes_back_as_itself() {
    let mut names = Vec::new();
    for config in configs() {
        let name = config.algorithm().as_str();
        assert_eq!(RingSettings::from(&config).algorithm.as_str(), name);
        names.push(name);
    }
    names.dedup();
    assert_eq!(names, HashAlgorithm::NAMES, "each is there");
}

#[test]
fn settings_come_back_as_they_were() {
    for config in configs() {
        let settings = RingSettings::from(&config);
        assert_eq!(
            RingConfig::try_from(&settings).expect("legal"),
            config,
            "{settings:?}"
        );
    }
}

#[test]
fn settings_that_differ_are_named_and_defaults_need_not_be_written() {
    for (at, here) in configs().iter().enumerate() {
        for (other, there) in configs().iter().enumerate() {
            let found = settings(here, there);
            assert_eq!(found.is_none(), at == other, "{here:?} {there:?}");
        }
    }
    fn settings(here: &RingConfig, there: &RingConfig) -> Option<Disagreement> {
        let (mut a, mut b) = (dump(), dump());
        (a.settings, b.settings) = (here.into(), there.into());
        (a.layout, b.layout) = (None, None);
        a.first_disagreement(&b)
    }
    let (mut short, full) = (dump(), dump());
    short.settings = RingSettings::default();
    assert_eq!(short.first_disagreement(&full), None);
    short.settings.seed = Some(7);
    let told = short.first_disagreement(&full).expect("another seed");
    assert_eq!(told.to_string(), "the setting `seed` differs: 7 and 0");
}

/// Each cause, with all that follows from it: the first one is told.
#[test]
fn the_first_cause_is_told_in_order() {
    let told = |there: RingDump| {
        let found = dump().first_disagreement(&there);
        found.map(|found| found.to_string())
    };
    assert_eq!(told(dump()), None);

    let mut there = dump();
    there.fingerprint = "0".repeat(32);
    let fingerprint = format!(
        "the fingerprints differ: {} and {}",
        dump().fingerprint,
        there.fingerprint
    );
    assert_eq!(told(there.clone()).as_deref(), Some(&*fingerprint));

    there.instances[0].points = 7;
    assert_eq!(
        told(there.clone()).as_deref(),
        Some("the points of instance `order-svc-1` differ: 160 and 7")
    );
    there.instances[2].ring_weight = Some(10);
    assert_eq!(
        told(there.clone()).as_deref(),
        Some("the weight of instance `order-svc-3` differs: 0 and 10")
    );
    there.instances[1].id = "order-svc-9".to_owned();
    assert_eq!(
        told(there.clone()).as_deref(),
        Some("the instance at 10.0.0.2:80 has the id `order-svc-2` here and `order-svc-9` there")
    );
    there.instances[1].address = "10.0.0.9:80".to_owned();
    assert_eq!(
        told(there.clone()).as_deref(),
        Some(
            "the instances differ: only the first has `order-svc-2`; only the second has `order-svc-9`"
        )
    );
    there.settings.probes = Some(5);
    assert_eq!(
        told(there.clone()).as_deref(),
        Some("the setting `probes` differs: 1 and 5")
    );
    there.layout = Some(2);
    assert_eq!(
        told(there.clone()).as_deref(),
        Some("the layout of the ring differs: 1 and 2")
    );
    there.settings = RingSettings::of(crate::RingAlgorithm::Maglev);
    assert_eq!(
        told(there).as_deref(),
        Some("the algorithm differs: `ring` and `maglev`")
    );
}

#[test]
fn hosts_and_order_matter_where_they_are_hashed() {
    let told = |here: &RingDump, there: &RingDump| {
        let found = here.first_disagreement(there);
        found.map(|found| found.to_string())
    };
    let (own, mut moved) = (dump(), dump());
    moved.instances[0].address = "10.9.9.9:80".to_owned();
    moved.order = Some(vec!["order-svc-2".to_owned(), "order-svc-1".to_owned()]);
    assert_eq!(told(&own, &moved), None, "only ids count");

    let envoy = RingConfig::default().with_algorithm(EnvoyRing::default());
    let mut here = dump_of(three(), &envoy);
    assert_eq!(here.instances[0].host_key.as_deref(), Some("shard"));
    here.instances.iter_mut().for_each(|i| i.host_key = None);
    let (mut there, ids) = (here.clone(), ["order-svc-1", "order-svc-2", "order-svc-3"]);
    there.instances[0].address = "10.9.9.9:80".to_owned();
    assert_eq!(
        told(&here, &there).as_deref(),
        Some("instance `order-svc-1` is hashed by `10.0.0.1:80` here and by `10.9.9.9:80` there")
    );
    there.instances[0].host_key = Some("10.0.0.1:80".to_owned());
    assert_eq!(told(&here, &there), None);
    here.order = Some(ids.map(str::to_owned).to_vec());
    there.order = Some(ids.iter().rev().map(|id| (*id).to_owned()).collect());
    assert_eq!(
        told(&here, &there).as_deref(),
        Some(
            "the instances are listed in another order: `order-svc-1` here where `order-svc-3` is there"
        )
    );
    let sorted = EnvoyRing::default().with_host_order(HostOrder::Sorted);
    let sorted = RingSettings::from(&RingConfig::default().with_algorithm(sorted));
    (here.settings, there.settings) = (sorted.clone(), sorted);
    assert_eq!(told(&here, &there), None);
}

#[test]
fn the_order_given_is_told_where_it_counts() {
    let mut listed = three();
    listed.reverse();
    for config in configs() {
        let dump = dump_of(listed.clone(), &config);
        let ids = dump.order.clone().map(|ids| ids.join(" "));
        let counts = config.algorithm().depends_on_order();
        let expected = counts.then(|| "order-svc-3 order-svc-2 order-svc-1".to_owned());
        assert_eq!(ids, expected, "{config:?}");
        let other = dump_of(three(), &config);
        let found = dump.first_disagreement(&other);
        assert_eq!(
            matches!(found, Some(Disagreement::Order(..))),
            counts,
            "{found:?}"
        );
        assert_eq!(found.is_some(), counts, "{found:?}");
    }
}

/// Two that share an address here are told by the first of those there.
#[test]
fn renamed_instances_are_found_by_their_address() {
    let (mut here, mut there) = (dump(), dump());
    for (at, dumped) in here.instances.iter_mut().enumerate() {
        dumped.address = format!("10.0.0.{}:80", 9 - at);
    }
    for (at, dumped) in there.instances.iter_mut().enumerate() {
        dumped.id = format!("other-{at}");
        dumped.address = "10.0.0.8:80".to_owned();
    }
    let told = here.first_disagreement(&there).expect("they differ");
    assert_eq!(
        told.to_string(),
        "the instance at 10.0.0.8:80 has the id `order-svc-2` here and `other-0` there"
    );
}
