use crate::ring::seen::Seen;

/// Each usable member that a table's search meets, once, and those that the table has nothing of behind them.
pub(in crate::ring) struct Distinct<'a, M, P> {
    met: M,
    left_out: std::slice::Iter<'a, u32>,
    left: usize,
    usable: P,
    seen: Seen,
}

impl<'a, M, P> Distinct<'a, M, P> {
    pub(super) fn new(met: M, left_out: &'a [u32], left: usize, usable: P) -> Self {
        Self {
            met,
            left_out: left_out.iter(),
            left,
            usable,
            seen: Seen::default(),
        }
    }
}

impl<M, P> Iterator for Distinct<'_, M, P>
where
    M: Iterator<Item = u32>,
    P: FnMut(u32) -> bool,
{
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        self.left.checked_sub(1)?;
        let (seen, usable) = (&self.seen, &mut self.usable);
        let next = self
            .met
            .find(|&member| !seen.contains(member) && usable(member));
        let next = next.or_else(|| {
            let mut rest = self.left_out.by_ref().copied();
            rest.find(|&member| usable(member))
        })?;
        self.left -= 1;
        self.seen.insert(next);
        Some(next)
    }
}
