use std::fmt;

use arrayvec::ArrayVec;
use xxhash_rust::xxh3::Xxh3;

use super::{RingConfig, native, others::OtherHosts};

/// Digest of everything that decides a ring's mapping: equal fingerprints mean equal routing, whichever process, adapter or
/// language made the ring.
///
/// It is the 128-bit XXH3 (seed 0) over: the bytes `ringfence ring`, the layout version (u32), the seed (u64), then for each
/// instance with points, by id: the length of the id (u32), the id, its number of points (u32). Where a key has more than one
/// probe, behind all of them: the bytes `probes` and their number (u32). Numbers are little endian.
///
/// Of the other algorithms it is over: the bytes `ringfence `, the name of the algorithm, a zero byte, the seed (u64), the algorithm's
/// settings, then for each instance with a weight, by id or where the order given matters in that: the length of the id (u32), the id, the
/// length of the host key (u32), the host key, weight (u32) and, with nginx, number of points (u32). Settings are, as u32 unless
/// said otherwise: `envoy-ring` the sizes, the order (1 for sorted) and the hash (1 for MurmurHash2); `maglev` the table's size; `ketama` the variant
/// (0 to 2) and the most points; `jump` each bucket's id and `slots` each range's first and last slot and id, ids as above, with
/// the number of them before, 2^32 - 1 for slots without a table; `nginx` and `rendezvous` none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(u128);

impl Fingerprint {
    pub(super) fn of<'a>(
        seed: u64,
        probes: u32,
        members: impl Iterator<Item = (&'a str, u32)>,
    ) -> Self {
        let mut digest = Digest::new();
        digest.update(b"ringfence ring");
        digest.update(&native::VERSION.to_le_bytes());
        digest.update(&seed.to_le_bytes());
        for (id, points) in members.filter(|(_, points)| *points > 0) {
            // An id has at most 255 bytes.
            digest.update(&u32::try_from(id.len()).unwrap_or(u32::MAX).to_le_bytes());
            digest.update(id.as_bytes());
            digest.update(&points.to_le_bytes());
        }
        if probes > 1 {
            digest.update(b"probes");
            digest.update(&probes.to_le_bytes());
        }
        Self(digest.finish())
    }

    pub(super) fn of_other(config: &RingConfig, hosts: &OtherHosts) -> Self {
        let mut digest = Xxh3::new();
        digest.update(b"ringfence ");
        digest.update(config.algorithm().as_str().as_bytes());
        digest.update(&[0]);
        digest.update(&config.seed().to_le_bytes());
        hosts.digest(config, &mut |bytes| digest.update(bytes));
        Self(digest.digest128())
    }

    /// The digest as a number.
    #[must_use]
    pub fn get(self) -> u128 {
        self.0
    }
}

/// Collects short pieces, each of which would cost the hash more than its bytes do.
struct Digest {
    hash: Xxh3,
    buffer: ArrayVec<u8, 4096>,
}

impl Digest {
    fn new() -> Self {
        Self {
            hash: Xxh3::new(),
            buffer: ArrayVec::new(),
        }
    }

    #[inline]
    fn update(&mut self, bytes: &[u8]) {
        if self.buffer.try_extend_from_slice(bytes).is_err() {
            self.hash.update(&self.buffer);
            self.buffer.clear();
            if self.buffer.try_extend_from_slice(bytes).is_err() {
                self.hash.update(bytes);
            }
        }
    }

    fn finish(mut self) -> u128 {
        self.hash.update(&self.buffer);
        self.hash.digest128()
    }
}

impl fmt::Display for Fingerprint {
    /// 32 hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
