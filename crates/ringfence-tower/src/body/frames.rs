//! Frames that were read of a body.

use std::collections::VecDeque;

use bytes::Bytes;
use http::HeaderMap;
use http_body::Frame;

/// What a kept frame counts at least: more would be held for a tiny one than its bytes.
const MIN_FRAME: usize = 64;
/// Charged for each trailer on top of its name and value, as HTTP/2 counts header lists.
const TRAILER_OVERHEAD: usize = 32;

/// What a frame of data counts.
pub(super) fn data_size(data: &Bytes) -> usize {
    data.len().max(MIN_FRAME)
}

/// What trailers count.
pub(super) fn trailers_size(trailers: &HeaderMap) -> usize {
    let fields = trailers.iter();
    let sizes = fields.map(|(name, value)| name.as_str().len() + value.len() + TRAILER_OVERHEAD);
    sizes.sum::<usize>().max(MIN_FRAME)
}

#[derive(Clone)]
pub(super) enum Kept {
    Data(Bytes),
    Trailers(HeaderMap),
}

impl Kept {
    pub(super) fn of(frame: &Frame<Bytes>) -> Option<Self> {
        if let Some(data) = frame.data_ref() {
            return Some(Self::Data(data.clone()));
        }
        frame.trailers_ref().cloned().map(Self::Trailers)
    }

    pub(super) fn size(&self) -> usize {
        match self {
            Self::Data(data) => data_size(data),
            Self::Trailers(trailers) => trailers_size(trailers),
        }
    }

    pub(super) fn data_len(&self) -> u64 {
        match self {
            Self::Data(data) => data.len() as u64,
            Self::Trailers(_) => 0,
        }
    }

    pub(super) fn into_frame(self) -> Frame<Bytes> {
        match self {
            Self::Data(data) => Frame::data(data),
            Self::Trailers(trailers) => Frame::trailers(trailers),
        }
    }
}

/// Frames in their order. The first one, which of most bodies is the only one, costs no allocation.
#[derive(Default)]
pub(super) struct Frames {
    first: Option<Kept>,
    further: VecDeque<Kept>,
}

impl Frames {
    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.further.len()
    }

    pub(super) fn get(&self, place: usize) -> Option<&Kept> {
        match (&self.first, place) {
            (Some(first), 0) => Some(first),
            (Some(_), place) => self.further.get(place - 1),
            (None, place) => self.further.get(place),
        }
    }

    pub(super) fn push(&mut self, frame: Kept) {
        if self.len() == 0 {
            self.first = Some(frame);
        } else {
            self.further.push_back(frame);
        }
    }

    pub(super) fn pop_first(&mut self) -> Option<Kept> {
        self.first.take().or_else(|| self.further.pop_front())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Kept> {
        self.first.iter().chain(&self.further)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(text: &'static str) -> Kept {
        Kept::Data(Bytes::from_static(text.as_bytes()))
    }

    fn texts(frames: &Frames) -> Vec<&[u8]> {
        let texts = frames.iter().map(|frame| match frame {
            Kept::Data(data) => &data[..],
            Kept::Trailers(_) => b"trailers",
        });
        texts.collect()
    }

    #[test]
    fn frames_come_in_the_order_in_which_they_were_kept() {
        let mut frames = Frames::default();
        assert!(frames.get(0).is_none() && frames.pop_first().is_none());
        for text in ["a", "bc", "d"] {
            frames.push(data(text));
        }
        assert_eq!(texts(&frames), [&b"a"[..], b"bc", b"d"]);
        let lens = |frames: &Frames| [0, 1, 2, 3].map(|n| frames.get(n).map(Kept::data_len));
        assert_eq!(lens(&frames), [Some(1), Some(2), Some(1), None]);
        assert_eq!(frames.pop_first().map(|first| first.data_len()), Some(1));
        // The place of the first one is free, and not that of the next.
        frames.push(data("efgh"));
        assert_eq!(texts(&frames), [&b"bc"[..], b"d", b"efgh"]);
        assert_eq!(lens(&frames), [Some(2), Some(1), Some(4), None]);
        assert_eq!(frames.len(), 3);
        while frames.pop_first().is_some() {}
        frames.push(data("i"));
        assert_eq!((texts(&frames), frames.len()), (vec![&b"i"[..]], 1));
    }
}
