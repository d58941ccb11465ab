//! The candidates of a decision in the making.

use std::{iter, ptr};

use arrayvec::ArrayVec;

use super::MAX_CANDIDATES;
use crate::{Candidate, Node};

/// As many as there may be behind the first.
pub(super) type Few = ArrayVec<Candidate, { MAX_CANDIDATES - 1 }>;

/// At least one candidate, and room for the rest.
#[derive(Debug, Clone)]
pub(crate) struct Candidates {
    first: Candidate,
    rest: Few,
    /// How many of the rest, its last ones, are ejected.
    last_resorts: u8,
}

/// Candidates that come one after the other.
#[derive(Default)]
pub(crate) struct Gathered {
    first: Option<Candidate>,
    rest: Few,
}

impl Gathered {
    /// What there is no room for is left out.
    #[inline]
    pub(crate) fn push(&mut self, candidate: Candidate) {
        if self.first.is_none() {
            self.first = Some(candidate);
        } else {
            let _ = self.rest.try_push(candidate);
        }
    }

    /// `None` if there is none.
    #[inline]
    pub(crate) fn into_candidates(self) -> Option<Candidates> {
        Some(Candidates {
            first: self.first?,
            rest: self.rest,
            last_resorts: 0,
        })
    }
}

impl Candidates {
    /// `None` if there is none; what there is no room for is left out.
    #[inline]
    pub(crate) fn collect(candidates: impl IntoIterator<Item = Candidate>) -> Option<Self> {
        let mut gathered = Gathered::default();
        for candidate in candidates {
            gathered.push(candidate);
        }
        gathered.into_candidates()
    }

    #[inline]
    pub(crate) fn only(first: Candidate) -> Self {
        Self {
            first,
            rest: ArrayVec::new(),
            last_resorts: 0,
        }
    }

    /// Behind the others, unless there is no room for it or it is one of them. One that listens where another does is the same one
    /// under another id: it was started anew, and came with a later view.
    pub(crate) fn add(&mut self, candidate: Candidate) {
        let mut others = iter::once(&self.first).chain(&self.rest);
        if others.all(|other| !is_same(other.node(), candidate.node())) {
            let _ = self.rest.try_push(candidate);
        }
    }

    /// Those that are ejected behind the others, up to so many candidates.
    #[cold]
    pub(crate) fn add_last_resorts(
        &mut self,
        most: usize,
        ejected: impl Iterator<Item = Candidate>,
    ) {
        for candidate in ejected {
            let before = self.len();
            if before >= most {
                break;
            }
            self.add(candidate);
            self.last_resorts += u8::from(self.len() > before);
        }
    }

    pub(crate) fn len(&self) -> usize {
        1 + self.rest.len()
    }

    pub(super) fn regular(&self) -> &[Candidate] {
        let count = self.rest.len().saturating_sub(self.last_resorts.into());
        self.rest.get(..count).unwrap_or_default()
    }

    /// Without those before the first one that has a slot or needs none: others took theirs in this very moment.
    pub(crate) fn claimed(self) -> Option<Self> {
        let Self {
            first, mut rest, ..
        } = self;
        let mut first = first.claim();
        while first.is_none() && !rest.is_empty() {
            first = rest.remove(0).claim();
        }
        // Last resorts come when the others are settled.
        first.map(|first| Self {
            first,
            rest,
            last_resorts: 0,
        })
    }

    pub(super) fn first(&self) -> &Candidate {
        &self.first
    }

    /// Those behind the first, the ejected ones last.
    pub(super) fn rest(&self) -> &[Candidate] {
        &self.rest
    }

    pub(super) fn last_resorts(&self) -> usize {
        self.last_resorts.into()
    }

    /// Without the ejected ones.
    pub(super) fn into_regular(self) -> (Candidate, Few) {
        let count = self.regular().len();
        let Self {
            first, mut rest, ..
        } = self;
        rest.truncate(count);
        (first, rest)
    }
}

fn is_same(a: &Node, b: &Node) -> bool {
    ptr::eq(a, b) || (a.address() == b.address() && a.scheme() == b.scheme())
}
