use xxhash_rust::{xxh3::xxh3_64_with_seed, xxh64::xxh64};

use super::{ketama, slots};
use crate::ring::{HashAlgorithm, KeyHash, RingConfig};

/// Hashes a key as the algorithm wants it.
///
/// Hashes that take no seed, and that of rendezvous, which takes the key itself, are with a salt xxh3_64 of the same bytes, seeded with
/// it: as far as the algorithm takes a number.
pub(in crate::ring) fn hash_key(config: &RingConfig, key: &[u8], salt: u64) -> KeyHash {
    let salted = |bytes| xxh3_64_with_seed(bytes, salt);
    let hash = match config.algorithm() {
        // The own ring's is hashed where its settings are.
        HashAlgorithm::Ring | HashAlgorithm::Jump(_) => {
            xxh3_64_with_seed(key, config.seed() ^ salt)
        }
        HashAlgorithm::EnvoyRing(_) | HashAlgorithm::Maglev(_) => xxh64(key, salt),
        HashAlgorithm::Nginx(_) if salt == 0 => crc32fast::hash(key).into(),
        HashAlgorithm::Ketama(_) if salt == 0 => ketama::hash_key(key).into(),
        HashAlgorithm::Nginx(_) | HashAlgorithm::Ketama(_) => salted(key) >> 32,
        HashAlgorithm::Rendezvous if salt == 0 => xxh64(key, 0),
        HashAlgorithm::Rendezvous => salted(key),
        HashAlgorithm::Slots(_) if salt == 0 => slots::slot_of_key(key).into(),
        HashAlgorithm::Slots(_) => slots::slot_of_hash(salted(slots::tag_of(key))).into(),
    };
    KeyHash::from_raw(hash)
}
