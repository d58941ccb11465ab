use xxhash_rust::xxh3::xxh3_64;

use super::{
    matcher::{HeaderCache, HeaderSlot, Matcher},
    rule::CompiledRule,
};
use crate::RequestHead;

/// Finds the rules that may match a request without asking all of them: by what a matcher wants exactly.
#[derive(Debug, Default)]
pub(crate) struct RuleIndex {
    /// Rules that want nothing exactly.
    others: Vec<usize>,
    by_path: HashList,
    /// The path up to the method, which is the gRPC service.
    by_service: HashList,
    by_header: Vec<(HeaderSlot, HashList)>,
    /// By length of the beginning of the path that they want.
    by_prefix: Vec<(usize, HashList)>,
}

/// Hashes of texts and the rules that want them, sorted. Equal hashes of different texts do no harm, because rules that are
/// found are still asked.
type HashList = Vec<(u64, usize)>;

/// What a matcher wants exactly.
pub(super) enum Wish<'a> {
    Path(&'a [u8]),
    Service(&'a [u8]),
    Prefix(&'a [u8]),
    Header(HeaderSlot, &'a [u8]),
    Nothing,
}

impl RuleIndex {
    pub(super) fn of(rules: &[CompiledRule]) -> Self {
        let mut index = Self::default();
        for (place, rule) in rules.iter().enumerate() {
            if rule.matchers.is_empty() {
                index.others.push(place);
            }
            for matcher in &rule.matchers {
                index.add(place, matcher);
            }
        }
        index.others.dedup();
        let lists = [&mut index.by_path, &mut index.by_service].into_iter();
        let of_headers = index.by_header.iter_mut().map(|(_, list)| list);
        let of_prefixes = index.by_prefix.iter_mut().map(|(_, list)| list);
        for list in lists.chain(of_headers).chain(of_prefixes) {
            list.sort_unstable();
        }
        index
    }

    fn add(&mut self, place: usize, matcher: &Matcher) {
        match matcher.wish() {
            Wish::Path(path) => self.by_path.push((xxh3_64(path), place)),
            Wish::Service(service) => self.by_service.push((xxh3_64(service), place)),
            Wish::Prefix(prefix) => {
                list_of(&mut self.by_prefix, prefix.len()).push((xxh3_64(prefix), place));
            }
            Wish::Header(slot, value) => {
                list_of(&mut self.by_header, slot).push((xxh3_64(value), place));
            }
            Wish::Nothing => self.others.push(place),
        }
    }

    /// The place of the first rule that accepts the request.
    pub(crate) fn first(
        &self,
        head: &RequestHead<'_>,
        headers: &HeaderCache<'_>,
        accepts: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let mut best = usize::MAX;
        let mut ask = |places: &mut dyn Iterator<Item = usize>| {
            let found = places
                .take_while(|place| *place < best)
                .find(|place| accepts(*place));
            best = found.unwrap_or(best);
        };
        if !self.by_path.is_empty() {
            ask(&mut wanting(&self.by_path, head.path.as_bytes()));
        }
        if !self.by_service.is_empty()
            && let Some(slash) = head.path.rfind('/')
        {
            let service = head.path.as_bytes().get(..=slash).unwrap_or_default();
            ask(&mut wanting(&self.by_service, service));
        }
        for (len, list) in &self.by_prefix {
            if let Some(prefix) = head.path.as_bytes().get(..*len) {
                ask(&mut wanting(list, prefix));
            }
        }
        for (slot, list) in &self.by_header {
            headers.each(*slot, |value| ask(&mut wanting(list, value)));
        }
        ask(&mut self.others.iter().copied());
        (best != usize::MAX).then_some(best)
    }
}

fn list_of<K: PartialEq>(lists: &mut Vec<(K, HashList)>, kind: K) -> &mut HashList {
    let place = lists.iter().position(|(known, _)| *known == kind);
    let place = place.unwrap_or_else(|| {
        lists.push((kind, HashList::new()));
        lists.len() - 1
    });
    &mut lists[place].1
}

/// The rules that want this text, in their order.
fn wanting(list: &HashList, text: &[u8]) -> impl Iterator<Item = usize> {
    let hash = xxh3_64(text);
    let from = list.partition_point(|(known, _)| *known < hash);
    let equal = list
        .iter()
        .skip(from)
        .take_while(move |(known, _)| *known == hash);
    equal.map(|(_, place)| *place)
}
