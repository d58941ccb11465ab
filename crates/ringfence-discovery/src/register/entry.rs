use ringfence_core::Instance;

use crate::{BoxFuture, DiscoveryError};

/// Whether a registry still has an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Liveness {
    /// It is there and its time to live begins anew.
    Alive,
    /// It is gone, or its lease or session is: it has to be put again.
    Gone,
}

/// One instance's place in one registry: what an adapter writes to get a [`Registration`](crate::Registration), which does all
/// the timing, trying again and ending.
///
/// Calls come one at a time and are bounded by [`RegisterConfig::call_timeout`](crate::RegisterConfig::call_timeout): a future
/// may be dropped at any await, and the next call must work then. Nothing is retried inside, nothing is left running.
pub trait RegistryEntry: Send + 'static {
    /// Puts the instance into the registry, or replaces what is there, with everything that keeps it alive (a lease, a check
    /// that passes at once). What was there before (an expired lease) is not relied on. A weight of 0 becomes whatever drains
    /// there.
    ///
    /// # Errors
    /// `Unavailable` and `Protocol` are tried again. The other kinds fail the first registration; later they are tried again
    /// too.
    fn put<'a>(&'a mut self, instance: &'a Instance) -> BoxFuture<'a, Result<(), DiscoveryError>>;

    /// Tells the registry that the instance lives, and finds out whether it is still there, also when it was removed by hand.
    /// Called every [`RegisterConfig::heartbeat`](crate::RegisterConfig::heartbeat).
    ///
    /// # Errors
    /// When that is not known; it is asked again.
    fn keep_alive(&mut self) -> BoxFuture<'_, Result<Liveness, DiscoveryError>>;

    /// Takes the instance out. One that is not there (any more, or a put failed) is taken out already. No heartbeat is under way
    /// and none comes after.
    ///
    /// # Errors
    /// When it may still be there; it is tried again until [`RegisterConfig::remove_timeout`](crate::RegisterConfig::remove_timeout).
    fn remove(&mut self) -> BoxFuture<'_, Result<(), DiscoveryError>>;
}
