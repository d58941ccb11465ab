use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    instance::Instance,
    routing::{PlanId, TagValues},
    view::{PoolView, View},
};

/// Views that were in force until a short time ago, so that whoever misses what belongs to a key at its new owner can ask the
/// one who had the key before (a dual read).
///
/// It is immutable: [`opened`](Self::opened) gives the one after a change. Of the changes within the time it keeps the last
/// [`MAX_CHANGES`](Self::MAX_CHANGES), each as a whole view, and is asked without an allocation for prepared routes. Only
/// changes that give a ring other points count: what health does moves no ring.
///
/// # Examples
/// ```
/// use std::{sync::Arc, time::{Duration, Instant}};
/// use ringfence_core::{Instance, MovementWindow, PlanId, RequestTags, RoutePlans, Snapshot, View, ViewConfig};
///
/// let snapshot = |ids: &[&str]| {
///     let instances = ids.iter().map(|id| Instance::builder(id, "10.0.0.1:80").build());
///     instances.collect::<Result<Snapshot, _>>().map(Arc::new)
/// };
/// let first = Arc::new(View::first(ViewConfig::default(), RoutePlans::default(), snapshot(&["a"])?, |_| None));
/// let second = first.next(RoutePlans::default(), snapshot(&["b"])?, [], |_| None);
///
/// let now = Instant::now();
/// let window = MovementWindow::new(Duration::from_secs(30)).opened(&first, &second, now);
/// let old = |now| window.old_owner(&second, PlanId::ROUTING, &RequestTags::new(), b"user-7", 0, now);
/// assert_eq!(old(now).expect("all keys moved").id().as_str(), "a");
/// assert_eq!(old(now + Duration::from_secs(30)), None);
/// # Ok::<(), ringfence_core::InstanceError>(())
/// ```
#[derive(Clone)]
pub struct MovementWindow {
    length: Duration,
    /// The oldest first.
    past: Arc<[Past]>,
}

#[derive(Clone)]
struct Past {
    view: Arc<View>,
    until: Instant,
}

impl MovementWindow {
    /// Most changes that are remembered.
    pub const MAX_CHANGES: usize = 8;

    /// One that remembers changes for `length`; none at zero.
    #[must_use]
    pub fn new(length: Duration) -> Self {
        Self {
            length,
            past: Arc::new([]),
        }
    }

    /// The window after a change from one view to another at `now`, without what is too old by then.
    #[must_use]
    pub fn opened(&self, before: &Arc<View>, after: &View, now: Instant) -> Self {
        let mut past: Vec<Past> = self.open(now).cloned().collect();
        // A time that cannot be told is not over.
        let until = now.checked_add(self.length);
        if let Some(until) = until.filter(|until| *until > now)
            && moves_keys(before, after)
        {
            let view = Arc::clone(before);
            past.push(Past { view, until });
            let too_many = past.len().saturating_sub(Self::MAX_CHANGES);
            past.drain(..too_many);
        }
        self.with(past)
    }

    /// The window without what is too old.
    #[must_use]
    pub fn at(&self, now: Instant) -> Self {
        self.with(self.open(now).cloned().collect())
    }

    fn with(&self, past: Vec<Past>) -> Self {
        Self {
            length: self.length,
            past: past.into(),
        }
    }

    fn open(&self, now: Instant) -> impl DoubleEndedIterator<Item = &Past> {
        self.past.iter().filter(move |past| past.until > now)
    }

    /// When the oldest change is too old; `None` when there is none.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.past.first().map(|past| past.until)
    }

    /// How many changes it remembers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.past.len()
    }

    /// Whether it remembers none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.past.is_empty()
    }

    /// The view before the last change, while that is not too old.
    #[must_use]
    pub fn latest(&self, now: Instant) -> Option<&Arc<View>> {
        self.open(now).next_back().map(|past| &past.view)
    }

    /// Who had a key before: the owner in the pool that the request would have got, on the latest view where that was another
    /// one than now. `None` where there is none, or all that is too old. Health and ejection play no part: it is asked for what
    /// it keeps, whatever the reasons not to send it requests. A plan of a policy is not looked for in views of another policy.
    #[must_use]
    pub fn old_owner<T: TagValues + ?Sized>(
        &self,
        current: &View,
        plan: PlanId,
        tags: &T,
        key: &[u8],
        salt: u64,
        now: Instant,
    ) -> Option<Arc<Instance>> {
        let mut past = self.open(now).rev().peekable();
        past.peek()?;
        let owner = |view: &View| view.ring_owner(plan, tags, key, salt);
        let present = owner(current);
        let id = present.as_ref().map(|instance| instance.id());
        let knows_plan =
            |past: &&Past| plan == PlanId::ROUTING || past.view.plans().same(current.plans());
        past.filter(knows_plan)
            .filter_map(|past| owner(&past.view))
            .find(|old| Some(old.id()) != id)
    }
}

/// Whether some key may have another owner.
fn moves_keys(before: &View, after: &View) -> bool {
    let print = |view: &View| view.whole_ring().fingerprint();
    let differs = |old: &Arc<PoolView>| {
        let spec = old.pool().spec();
        let new = after.pools().find(|new| new.pool().spec() == spec);
        let (Some(old), Some(new)) = (old.ring(), new.and_then(|new| new.ring())) else {
            return false;
        };
        old.fingerprint() != new.fingerprint()
    };
    print(before) != print(after) || before.pools().any(differs)
}

impl fmt::Debug for MovementWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MovementWindow")
            .field("length", &self.length)
            .field("changes", &self.past.len())
            .finish()
    }
}
