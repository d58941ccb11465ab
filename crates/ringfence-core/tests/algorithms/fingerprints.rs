//! Digests, made here of the bytes that the description names.

use ringfence_core::{
    EnvoyRing, HashAlgorithm, HostOrder, InstanceId, Jump, Ketama, KetamaVariant, Maglev, Nginx,
    PointHash, RingConfig, SlotTable, Slots,
};
use xxhash_rust::xxh3::xxh3_128;

use crate::fleet::configured;

const SEED: u64 = 0x0123_4567_89ab_cdef;

/// Listed from the last to the first; the one without a weight is in no digest.
const HOSTS: [(&str, u32); 3] = [("c:3", 7), ("b:2", 0), ("a:1", 300)];

#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn number(mut self, number: u32) -> Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn text(mut self, text: &str) -> Self {
        self = self.number(u32::try_from(text.len()).expect("short"));
        self.0.extend(text.bytes());
        self
    }

    /// A host whose id is hashed.
    fn host(self, id: &str, weight: u32) -> Self {
        self.text(id).text("").number(weight)
    }

    /// A host whose host key is hashed: here its id is its address.
    fn keyed(self, id: &str, weight: u32) -> Self {
        self.text(id).text(id).number(weight)
    }
}

#[test]
fn digests_are_of_the_bytes_that_are_described() {
    let id = |id| InstanceId::try_new(id).expect("legal");
    let envoy = EnvoyRing::default().with_ring_sizes(10, 20).expect("legal");
    let sorted = envoy.clone().with_host_order(HostOrder::Sorted);
    let table = SlotTable::new(9, [(0..=7, id("c:3")), (9..=10, id("gone:1"))]).expect("legal");
    let buckets = Jump::default().with_buckets([id("gone:1"), id("a:1")]);
    let nginx = Nginx::default().with_weight_unit(100).expect("legal");
    let b = Bytes::default;
    let cases: [(HashAlgorithm, Bytes); 10] = [
        (
            envoy.into(),
            b().number(10)
                .number(20)
                .number(0)
                .number(0)
                .keyed("c:3", 7)
                .keyed("a:1", 300),
        ),
        (
            sorted.with_hash(PointHash::MurmurHash2).into(),
            b().number(10)
                .number(20)
                .number(1)
                .number(1)
                .keyed("a:1", 300)
                .keyed("c:3", 7),
        ),
        (
            Maglev::default().into(),
            b().number(65_537).keyed("a:1", 300).keyed("c:3", 7),
        ),
        (
            nginx.into(),
            b().keyed("a:1", 300).number(480).keyed("c:3", 7).number(11),
        ),
        (
            Ketama::new(KetamaVariant::Dubbo).into(),
            b().number(2)
                .number(5_000)
                .keyed("a:1", 300)
                .keyed("c:3", 7),
        ),
        (
            Jump::default().into(),
            b().number(3)
                .text("c:3")
                .text("b:2")
                .text("a:1")
                .host("c:3", 7)
                .host("a:1", 300),
        ),
        (
            buckets.expect("legal").into(),
            b().number(2)
                .text("gone:1")
                .text("a:1")
                .host("a:1", 300)
                .host("c:3", 7),
        ),
        (
            HashAlgorithm::Rendezvous,
            b().host("a:1", 300).host("c:3", 7),
        ),
        (
            Slots::default().into(),
            b().number(u32::MAX).host("c:3", 7).host("a:1", 300),
        ),
        (
            Slots::default().with_table(table).into(),
            b().number(2)
                .number(0)
                .number(7)
                .text("c:3")
                .number(9)
                .number(10)
                .text("gone:1")
                .host("a:1", 300)
                .host("c:3", 7),
        ),
    ];
    for (algorithm, Bytes(described)) in cases {
        let mut bytes = b"ringfence ".to_vec();
        bytes.extend(algorithm.as_str().bytes());
        bytes.push(0);
        bytes.extend(SEED.to_le_bytes());
        bytes.extend(described);
        let config = RingConfig::default()
            .with_algorithm(algorithm)
            .with_seed(SEED);
        let config = config.with_max_ring_points(5_000).expect("legal");
        let made = configured(&HOSTS, &config).ring.fingerprint().get();
        assert_eq!(made, xxh3_128(&bytes), "{:?}", config.algorithm());
    }
}
