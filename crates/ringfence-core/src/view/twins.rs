use std::sync::Arc;

use super::PoolView;

/// The views of one pool: routes that can turn to a later stage heed the health of its members where others cannot any more.
#[derive(Clone, Debug)]
pub(super) struct Twins {
    /// The one in panic, where there are both.
    shown: Arc<PoolView>,
    other: Option<Arc<PoolView>>,
}

impl Twins {
    pub(super) fn of(view: Arc<PoolView>) -> Self {
        Self {
            shown: view,
            other: None,
        }
    }

    pub(super) fn add(&mut self, view: Arc<PoolView>) {
        self.other = Some(if view.is_panic() {
            std::mem::replace(&mut self.shown, view)
        } else {
            view
        });
    }

    pub(super) fn get(&self, is_calm: bool) -> Option<&Arc<PoolView>> {
        let views = [Some(&self.shown), self.other.as_ref()];
        let mut views = views.into_iter().flatten();
        views.find(|view| view.is_panic() != is_calm)
    }

    /// One of them: members, ring and standing are the same in both.
    pub(super) fn shown(&self) -> &Arc<PoolView> {
        &self.shown
    }
}
