use super::HashAlgorithm;

/// Settings of a ring of MD5 points, as libketama and its kin make it.
///
/// Points and keys are little-endian words of MD5. With libketama and twemproxy an instance's points are its share of 160 for each
/// instance, rounded down: a join, a leave or a change of a weight changes the counts of others by some points, and moves their keys
/// accordingly. 8 bytes a point, and 2 to 4 of index. An instance whose share is below one point owns nothing, and
/// comes last in walks. With more than [`max_ring_points`](crate::RingConfig::with_max_ring_points) points for all, the 160 are fewer: the largest multiple
/// of 4 that keeps to it, and 4 at least; the ring is no longer the others' then.
///
/// # Examples
/// ```
/// use ringfence_core::{Ketama, KetamaVariant};
///
/// assert_eq!(Ketama::default().variant(), KetamaVariant::Libketama);
/// assert_eq!(Ketama::new(KetamaVariant::Dubbo).variant(), KetamaVariant::Dubbo);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ketama {
    variant: KetamaVariant,
}

/// Whose ring of MD5 points it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum KetamaVariant {
    /// libketama (default): MD5 of `host key-k`, shares in single precision.
    #[default]
    Libketama,
    /// twemproxy: the same names, its own rounding. Its names leave the port 11211 out: give such servers the tag `hash_key`.
    Twemproxy,
    /// Dubbo: MD5 of the host key and the number, 160 points for each, whatever its weight.
    Dubbo,
}

impl Ketama {
    /// Of a variant.
    #[must_use]
    pub fn new(variant: KetamaVariant) -> Self {
        Self { variant }
    }

    /// Whose ring it is.
    #[must_use]
    pub fn variant(&self) -> KetamaVariant {
        self.variant
    }
}

impl From<Ketama> for HashAlgorithm {
    fn from(ketama: Ketama) -> Self {
        Self::Ketama(ketama)
    }
}
