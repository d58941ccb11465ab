const M: u64 = 0xc6a4_a793_5bd1_e995;

/// The seed of libstdc++'s `std::hash`, which Envoy's `MURMUR_HASH_2` is.
pub(super) const STD_HASH_SEED: u64 = 0xc70f_6907;

/// MurmurHash2 of 64 bits (Austin Appleby's MurmurHash64A), as libstdc++ has it in `hash_bytes.cc`.
pub(super) fn murmur2_64(bytes: &[u8], seed: u64) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut hash = seed ^ (bytes.len() as u64).wrapping_mul(M);
    for word in words {
        let mixed = shift_mix(u64::from_le_bytes(*word).wrapping_mul(M)).wrapping_mul(M);
        hash = (hash ^ mixed).wrapping_mul(M);
    }
    if !rest.is_empty() {
        let mut word = [0; 8];
        word.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(M);
    }
    shift_mix(shift_mix(hash).wrapping_mul(M))
}

fn shift_mix(v: u64) -> u64 {
    v ^ (v >> 47)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of Envoy's own test of it.
    #[test]
    fn it_is_the_hash_of_envoys_tests() {
        for (text, hash) in [
            ("foo", 9_631_199_822_919_835_226),
            ("bar", 11_474_628_671_133_349_555),
            ("foo\nbar", 16_306_510_975_912_980_159),
            ("lyft", 12_847_078_931_730_529_320),
            ("", 6_142_509_188_972_423_790),
        ] {
            assert_eq!(murmur2_64(text.as_bytes(), STD_HASH_SEED), hash, "{text}");
        }
    }
}
