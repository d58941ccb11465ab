//! Which keys the last change moved.

use std::sync::Arc;

use ringfence_core::{Instance, PoolSpec, RingDiff, View, WithoutRanges};
use tokio::time::Instant;

use crate::{Balancer, PickRequest, pick, published::Published};

/// The views before and after the last change of a ring; [`Balancer::movement`] gives it.
#[derive(Clone, Debug)]
pub struct Movement {
    before: Arc<View>,
    after: Arc<View>,
}

impl Movement {
    /// The view before.
    #[must_use]
    pub fn before(&self) -> &Arc<View> {
        &self.before
    }

    /// The view of now.
    #[must_use]
    pub fn after(&self) -> &Arc<View> {
        &self.after
    }

    /// What moved on the ring of all instances. It is worked out now, which takes a while: see [`RingDiff`].
    ///
    /// # Errors
    /// [`WithoutRanges`] where the rings assign neither ranges of positions nor slots of a table that can be compared: jump,
    /// rendezvous, several probes, and a change of the algorithm. Then [`RingDiff::sampled`] tells it of keys of your own.
    pub fn whole(&self) -> Result<RingDiff, WithoutRanges> {
        let ring = |view: &View| Arc::clone(view.whole_ring());
        RingDiff::between(ring(&self.before), ring(&self.after))
    }

    /// What moved in a pool; `None` where one of the views has no ring for it.
    ///
    /// # Errors
    /// As [`whole`](Self::whole).
    #[must_use]
    pub fn of_pool(&self, pool: &PoolSpec) -> Option<Result<RingDiff, WithoutRanges>> {
        RingDiff::of_views(&self.before, &self.after, pool)
    }
}

impl Balancer {
    /// Who had the request's key before it moved, for [`movement_window`](crate::BalancerConfig::with_movement_window) after the
    /// change: whoever misses something at the owner can look there before it goes to the source (a dual read). `None` where
    /// the key did not move, the window is over or off, or the request has no key.
    ///
    /// It is the owner by the ring, whether or not it is well; its connections may be closed already. It takes no lock, and
    /// allocates nothing for pools that are prepared.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use ringfence_balancer::{Balancer, BalancerConfig, PickRequest};
    /// use ringfence_core::Instance;
    /// use ringfence_discovery::MemoryRegistry;
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let registry = MemoryRegistry::new();
    /// registry.replace("cache", [Instance::builder("old", "10.0.0.1:80").build()?]);
    /// let config = BalancerConfig::default().with_movement_window(Duration::from_secs(60))?;
    /// let balancer = Balancer::builder(registry.clone(), "cache").with_config(config).build()?;
    /// balancer.ready().await?;
    ///
    /// registry.replace("cache", [Instance::builder("new", "10.0.0.2:80").build()?]);
    /// # tokio::time::sleep(Duration::from_secs(20)).await;
    /// let request = PickRequest::new().with_key("user-7");
    /// assert_eq!(balancer.pick(&request)?.instance().id().as_str(), "new");
    /// let before = balancer.old_owner(&request).expect("it moved");
    /// assert_eq!(before.id().as_str(), "old");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn old_owner(&self, request: &PickRequest<'_>) -> Option<Arc<Instance>> {
        let shared = &*self.guard.shared;
        // The view first: a change is remembered before its view is seen.
        let published = shared.cell.load();
        let published: &Published = published.as_ref()?;
        let movement = shared.movement.load();
        if movement.is_empty() {
            return None;
        }
        let key = request
            .key()
            .filter(|k| k.len() <= shared.config.max_key_len())?;
        pick::old_owner(
            &movement,
            published,
            request,
            key,
            &shared.untagged,
            Instant::now().into_std(),
        )
    }

    /// The views before and after the last change of a ring, while
    /// [`movement_window`](crate::BalancerConfig::with_movement_window) lasts: what moved, in shares and ranges.
    #[must_use]
    pub fn movement(&self) -> Option<Movement> {
        let after = self.view()?;
        let movement = self.guard.shared.movement.load();
        let before = Arc::clone(movement.latest(Instant::now().into_std())?);
        Some(Movement { before, after })
    }
}
