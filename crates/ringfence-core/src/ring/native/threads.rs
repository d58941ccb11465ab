//! Shards made of all points, by several threads where there are many.
//!
//! Threads share no memory that they write: each makes all points, which is cheap, and keeps and sorts those of its own range. So
//! what they make does not depend on how many they are.

use std::{
    io,
    ops::Range,
    panic::resume_unwind,
    sync::{Mutex, MutexGuard, TryLockError},
    thread::{self, Scope, ScopedJoinHandle},
};

use super::{
    cut::Cut,
    owners::Owners,
    shard::Shard,
    sort::{Numbering, sort_into},
};

/// Bits by which points are parted before each part, which then fits the processor's cache, is sorted.
const PART_BITS: u32 = 8;

/// Fewest points that more than one thread makes: 10,000 instances with 150 each. Two cores are faster by a third from here on, by a
/// sixth with a million points.
pub(super) const MIN_SHARED_POINTS: usize = if cfg!(test) { 1 << 12 } else { 1_500_000 };

/// Most threads for one ring, the caller's among them: each makes all points, so that further ones gain little.
const MAX_THREADS: usize = 4;

/// Held while threads are shared out.
static TURN: Mutex<()> = Mutex::new(());

/// The points of all owners, cut into shards, in the order of their positions.
pub(super) fn shards(owners: &Owners, len: usize, cut: Cut) -> Box<[Shard]> {
    let turn = (len >= MIN_SHARED_POINTS).then(turn).flatten();
    let threads = turn.as_ref().map_or(1, |_| {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        cores.min(MAX_THREADS)
    });
    shards_by(threads, owners, cut)
}

/// `None` while another ring of this process is made by several threads: many services that change at once must not have more
/// threads than the processor has, many times over.
pub(super) fn turn() -> Option<MutexGuard<'static, ()>> {
    match TURN.try_lock() {
        Ok(turn) => Some(turn),
        Err(TryLockError::Poisoned(turn)) => Some(turn.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// The same shards for any number of threads.
pub(super) fn shards_by(threads: usize, owners: &Owners, cut: Cut) -> Box<[Shard]> {
    let job = Job::new(owners, cut);
    let parts = job.parts();
    let each = parts.div_ceil(threads.max(1));
    let ranges = (0..parts).step_by(each);
    let mut ranges = ranges.map(|first| first..parts.min(first + each));
    let own = ranges.next().unwrap_or_default();
    thread::scope(|scope| {
        let job = &job;
        let further: Vec<_> = ranges
            .map(|range| {
                let its_range = range.clone();
                let helper = spawn(scope, move || job.shards(its_range));
                (range, helper)
            })
            .collect();
        let mut shards = job.shards(own);
        shards.reserve_exact(cut.buckets() - shards.len());
        for (range, helper) in further {
            shards.extend(match helper {
                Ok(helper) => helper.join().unwrap_or_else(|panic| resume_unwind(panic)),
                // The system has no thread to give.
                Err(_) => job.shards(range),
            });
        }
        shards.into()
    })
}

/// A thread of the scope; an error where the system has none to give.
fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    #[cfg(test)]
    let work = super::tests::warp::with_current(work);
    thread::Builder::new().spawn_scoped(scope, work)
}

/// What all threads know.
struct Job<'a> {
    owners: &'a Owners,
    cut: Cut,
    numbering: Numbering,
    part_of: Cut,
    /// Bits of a position's bucket that are below those of its part.
    bucket_bits: u32,
}

impl<'a> Job<'a> {
    fn new(owners: &'a Owners, cut: Cut) -> Self {
        let numbering = Numbering::new(owners);
        // Together with the slot, what is kept below a part's bits must be within 64 bits.
        let needed = (cut.bits() + numbering.slot_bits()).saturating_sub(u32::BITS);
        let part_bits = PART_BITS.max(needed).min(cut.bits());
        Self {
            owners,
            cut,
            numbering,
            part_of: Cut::new(part_bits),
            bucket_bits: cut.bits() - part_bits,
        }
    }

    fn parts(&self) -> usize {
        self.part_of.buckets()
    }

    /// Bits of a position that are kept, but for its part's.
    fn kept_bits(&self) -> u32 {
        self.bucket_bits + u32::BITS
    }

    /// The shards of some parts.
    fn shards(&self, parts: Range<usize>) -> Vec<Shard> {
        let mut shards = Vec::with_capacity(parts.len() << self.bucket_bits);
        let (numbers, ends) = self.numbers(&parts);
        let (mut sorted, mut index, mut points) = (Vec::new(), Vec::new(), Vec::new());
        let mut from = 0;
        for (part, end) in parts.zip(ends) {
            let of_part = numbers.get(from..end as usize).unwrap_or_default();
            from = end as usize;
            let bits = of_part.len().max(2).ilog2();
            let bits = bits.clamp(self.bucket_bits, self.kept_bits());
            let shift = self.kept_bits() + self.numbering.slot_bits() - bits;
            sort_into(&mut sorted, &mut index, of_part, 1 << bits, shift);
            let has_ties = self.numbering.has_ties(&sorted);
            let ends = index.iter().step_by(1 << (bits - self.bucket_bits)).skip(1);
            let mut rest = sorted.as_slice();
            let mut start = 0;
            for (bucket, end) in (part << self.bucket_bits..).zip(ends) {
                let (here, further) = rest
                    .split_at_checked((end - start) as usize)
                    .unwrap_or_default();
                (rest, start) = (further, *end);
                points.clear();
                points.extend(here.iter().map(|number| self.numbering.entry(*number)));
                if has_ties {
                    self.owners.settle_all(&mut points, self.cut, bucket);
                }
                shards.push(Shard::new(&mut points));
            }
        }
        shards
    }

    /// Numbers of all points of some parts, part by part, and the ends of the parts.
    fn numbers(&self, parts: &Range<usize>) -> (Vec<u64>, Vec<u32>) {
        let mut next = vec![Next::default(); self.parts()];
        self.owners.points().for_each(|(_, position)| {
            if let Some(next) = next.get_mut(self.part_of.bucket(position)) {
                next.place += 1;
            }
        });
        let mut start = 0;
        for next in next.get_mut(parts.clone()).unwrap_or_default() {
            start += std::mem::replace(&mut next.place, start);
            next.step = 1;
        }
        // Points of other parts all go to one place behind the others: the processor could not guess which ones they are.
        for next in next.iter_mut().filter(|next| next.step == 0) {
            next.place = start;
        }
        // Making the points a second time is cheaper than keeping them.
        let mut numbers = vec![0; start as usize + 1];
        let kept = u64::MAX >> (u64::BITS - self.kept_bits());
        self.owners.points().for_each(|(slot, position)| {
            if let Some(next) = next.get_mut(self.part_of.bucket(position)) {
                if let Some(place) = numbers.get_mut(next.place as usize) {
                    *place = self.numbering.number(self.cut.kept(position) & kept, slot);
                }
                next.place += next.step;
            }
        });
        let ends = next.get(parts.clone()).unwrap_or_default();
        (numbers, ends.iter().map(|next| next.place).collect())
    }
}

/// Where the next point of a part is written, and how far on the one behind it.
#[derive(Clone, Copy, Default)]
struct Next {
    place: u32,
    step: u32,
}
