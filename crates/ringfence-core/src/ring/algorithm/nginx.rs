use super::HashAlgorithm;
use crate::ConfigError;

/// Settings of a ring as nginx's `hash $key consistent` makes it, and pingora's `pingora-ketama` (v1).
///
/// 160 points for each unit of weight, by CRC-32 over the host, a zero byte, the port and the point before; keys by CRC-32. The host key
/// is divided at its last colon, if nothing but digits follow; else all of it is the host, and of `unix:PATH` the path is. Points depend on nothing but their instance
/// and the [unit of weight](Self::with_weight_unit): a join, a leave or a change of a weight moves only what that instance gets or loses.
/// **Say the unit where weights are not all alike**: the one that is found out changes for everybody with the first weight that is no
/// multiple of 100. Of equal points, some in a hundred thousand, that of the smaller id stays. 8 bytes a point, and 2 to 4 of index.
///
/// The points of all instances together are at most [`max_ring_points`](crate::RingConfig::with_max_ring_points): beyond, each has
/// `max(1, floor(points * max_ring_points / sum))` of them, and a ring is no longer nginx's.
///
/// # Examples
/// ```
/// use ringfence_core::Nginx;
///
/// assert_eq!(Nginx::default().weight_unit(), None);
/// assert_eq!(Nginx::default().with_weight_unit(100)?.weight_unit(), Some(100));
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Nginx {
    weight_unit: Option<u32>,
}

impl Nginx {
    /// The weight of an instance that nginx would call `weight=1`, range 1..=1,000,000. By default it is found out: 100 where
    /// the weights of all instances of the service that have one above 0 are multiples of 100, else 1. Give it where weights of both
    /// kinds can come, since a change of the unit changes the points of all.
    ///
    /// # Errors
    /// [`ConfigError`] outside of the range.
    pub fn with_weight_unit(mut self, unit: u32) -> Result<Self, ConfigError> {
        self.weight_unit = Some(ConfigError::check("weight_unit", unit, 1..=1_000_000)?);
        Ok(self)
    }

    /// The weight that stands for nginx's 1; `None` where it is found out.
    #[must_use]
    pub fn weight_unit(&self) -> Option<u32> {
        self.weight_unit
    }
}

impl From<Nginx> for HashAlgorithm {
    fn from(nginx: Nginx) -> Self {
        Self::Nginx(nginx)
    }
}
