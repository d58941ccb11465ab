use arrayvec::ArrayVec;

/// Members up to this number are remembered without an allocation.
const INLINE: usize = 8;

/// The members that a walk has given already.
#[derive(Default)]
pub(super) struct Seen {
    first: ArrayVec<u32, INLINE>,
    /// A bit for each further member; empty until the ninth.
    further: Vec<u64>,
}

impl Seen {
    #[inline]
    pub(super) fn contains(&self, member: u32) -> bool {
        self.first.contains(&member) || (self.first.is_full() && self.is_further(member))
    }

    fn is_further(&self, member: u32) -> bool {
        let word = self.further.get(member as usize / 64);
        word.is_some_and(|word| word & (1 << (member % 64)) != 0)
    }

    #[inline]
    pub(super) fn insert(&mut self, member: u32) {
        if self.first.try_push(member).is_err() {
            let word = member as usize / 64;
            if self.further.len() <= word {
                self.further.resize(word + 1, 0);
            }
            if let Some(word) = self.further.get_mut(word) {
                *word |= 1 << (member % 64);
            }
        }
    }
}
