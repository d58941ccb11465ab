//! Labelled corpora: what is said of them, and how often that is wrong.

use super::*;

/// SplitMix64, seeded, so that a failure comes again.
struct Draw(u64);

impl Draw {
    fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.number() % end
    }

    /// Few often, many rarely: the square of an even share of `end`.
    fn skewed(&mut self, end: u64) -> u64 {
        let even = self.below(1 << 20);
        (even * even * end) >> 40
    }

    fn hex(&mut self, digits: usize) -> String {
        let all = format!("{:016x}{:016x}", self.number(), self.number());
        all[..digits].to_owned()
    }

    fn uuid(&mut self, version: u64, time: u64) -> String {
        let (a, b) = (self.number(), self.number());
        let first = if version == 4 {
            a >> 16
        } else {
            time & 0xffff_ffff_ffff
        };
        format!(
            "{:08x}-{:04x}-{version:x}{:03x}-8{:03x}-{:012x}",
            first >> 16,
            first & 0xffff,
            a & 0xfff,
            b & 0xfff,
            (b >> 12) & 0xffff_ffff_ffff
        )
    }
}

const NOW_MS: u64 = 1_790_000_000_000;

type Corpus = fn(&mut Draw) -> Vec<String>;

fn many(mut key: impl FnMut(u64) -> String) -> Vec<String> {
    (0..u64::from(KeyLint::SAMPLE)).map(&mut key).collect()
}

/// Ids of things: the n-th thing always has the same id.
fn things(draw: &mut Draw, count: u64, id: impl Fn(&mut Draw, u64) -> String) -> Vec<String> {
    let seed = draw.number();
    many(|_| {
        let thing = draw.skewed(count);
        id(&mut Draw::new(seed ^ thing), thing)
    })
}

const GOOD: [(&str, Corpus); 15] = [
    ("users by number", |d| {
        things(d, 50_000, |_, n| n.to_string())
    }),
    ("users by UUIDv4", |d| {
        things(d, 50_000, |d, _| d.uuid(4, 0))
    }),
    ("users by UUIDv7", |d| {
        things(d, 20_000, |d, n| d.uuid(7, NOW_MS - n * 7_919))
    }),
    ("users by ULID", |d| {
        things(d, 20_000, |d, _| format!("01{}", d.hex(24).to_uppercase()))
    }),
    ("users by mail", |d| {
        things(d, 80_000, |_, n| format!("user{n}@example.com"))
    }),
    ("sessions by 32 digits", |d| {
        things(d, 5_000, |d, _| d.hex(32))
    }),
    ("sessions by 16 digits", |d| {
        things(d, 5_000, |d, _| d.hex(16))
    }),
    ("a million users, evenly", |d| {
        many(|_| d.below(1_000_000).to_string())
    }),
    ("a hundred thousand UUIDs, evenly", |d| {
        let seed = d.number();
        many(|_| Draw::new(seed ^ d.below(100_000)).uuid(4, 0))
    }),
    ("ten tenants", |d| {
        many(|_| format!("tenant-{}", d.below(10)))
    }),
    ("one key", |_| many(|_| "acme".to_owned())),
    ("one number that looks like a time", |_| {
        many(|_| "1790000000".to_owned())
    }),
    ("customers whose numbers look like times", |d| {
        things(d, 9_000, |d, _| {
            (1_700_000_000 + d.below(90_000_000)).to_string()
        })
    }),
    ("addresses", |d| {
        things(d, 30_000, |d, _| {
            format!("10.{}.{}.{}", d.below(256), d.below(256), d.below(256))
        })
    }),
    ("orders, each asked for again later", |d| {
        many(|i| {
            format!(
                "order-{}",
                5_000_000 + (i / 4).saturating_sub(d.skewed(2_000))
            )
        })
    }),
];

const BAD: [(&str, KeyFinding, Corpus); 15] = [
    ("trace ids", KeyFinding::TraceId, |d| many(|_| d.hex(32))),
    ("span ids", KeyFinding::TraceId, |d| {
        many(|_| format!("a{}", d.hex(15)))
    }),
    ("traceparents", KeyFinding::TraceId, |d| {
        many(|_| format!("00-{}-{}-01", d.hex(32), d.hex(16)))
    }),
    ("trace ids of three calls each", KeyFinding::TraceId, |d| {
        let seed = d.number();
        many(|i| Draw::new(seed ^ (i / 3)).hex(32))
    }),
    ("UUIDv7 per request", KeyFinding::TimeUuid, |d| {
        many(|i| d.uuid(7, NOW_MS + i * 9))
    }),
    ("UUIDv1 per request", KeyFinding::TimeUuid, |d| {
        many(|i| d.uuid(1, i * 90_001))
    }),
    ("ULID per request", KeyFinding::TimeUuid, |d| {
        many(|_| format!("01{}", d.hex(24).to_uppercase()))
    }),
    ("UUIDv4 per request", KeyFinding::SingleUse, |d| {
        many(|_| d.uuid(4, 0))
    }),
    ("random numbers", KeyFinding::SingleUse, |d| {
        many(|_| d.number().to_string())
    }),
    ("seconds", KeyFinding::Timestamp, |d| {
        many(|i| (1_790_000_000 + (i + d.below(15)) / 20).to_string())
    }),
    ("milliseconds, out of order", KeyFinding::Timestamp, |d| {
        many(|i| (NOW_MS + i * 40 + d.below(50)).to_string())
    }),
    ("nanoseconds", KeyFinding::Timestamp, |d| {
        many(|i| (NOW_MS * 1_000_000 + i * 777_777 + d.below(99_999)).to_string())
    }),
    ("dates", KeyFinding::Timestamp, |_| {
        many(|i| {
            format!(
                "2026-11-{:02}T{:02}:{:02}:{:02}Z",
                1 + i / 3_600 / 24,
                i / 3_600 % 24,
                i / 60 % 60,
                i % 60
            )
        })
    }),
    ("a counter", KeyFinding::Counter, |d| {
        let from = d.below(1 << 28);
        many(|i| (from + i).to_string())
    }),
    ("a counter of several writers", KeyFinding::Counter, |d| {
        many(|i| format!("req-{}", 7_000_000 + i * 3 + d.below(5)))
    }),
];

fn verdict(keys: &[String]) -> Option<KeyFinding> {
    let mut lint = KeyLint::new();
    let verdicts: Vec<_> = keys
        .iter()
        .filter_map(|key| lint.observe(key.as_bytes()))
        .collect();
    assert!(lint.is_done() && verdicts.len() <= 1);
    verdicts.first().copied()
}

#[test]
fn precision_and_recall_on_labelled_corpora() {
    const SEEDS: u64 = 3;
    let (mut hits, mut false_alarms, mut misses, mut misnamed) =
        (0, Vec::new(), Vec::new(), Vec::new());
    for seed in 0..SEEDS {
        for (name, corpus) in GOOD {
            if let Some(finding) = verdict(&corpus(&mut Draw::new(seed))) {
                false_alarms.push((name, seed, finding));
            }
        }
        for (name, expected, corpus) in BAD {
            match verdict(&corpus(&mut Draw::new(seed))) {
                None => misses.push((name, seed)),
                Some(found) => {
                    hits += 1;
                    if found != expected {
                        misnamed.push((name, seed, found));
                    }
                }
            }
        }
    }
    let share = |of: usize, other: usize| of as f64 / (of + other) as f64;
    let (precision, recall) = (share(hits, false_alarms.len()), share(hits, misses.len()));
    assert!(precision >= 0.95, "precision {precision}: {false_alarms:?}");
    assert!(recall >= 0.95, "recall {recall}: {misses:?}");
    assert!(misnamed.len() * 20 <= hits, "{misnamed:?}");
}

#[test]
fn few_keys_are_not_judged() {
    let mut lint = KeyLint::new();
    for i in 1..KeyLint::FEWEST {
        assert_eq!(lint.observe(i.to_string().as_bytes()), None);
    }
    assert_eq!(lint.finish(), None);
    let mut lint = KeyLint::new();
    for i in 0..KeyLint::FEWEST {
        assert_eq!(lint.observe(format!("{i}").as_bytes()), None);
    }
    assert_eq!(lint.finish(), Some(KeyFinding::Counter));
    assert_eq!(lint.observe(b"1"), None, "it is done");
}

#[test]
fn advice_names_the_source() {
    let advice = KeyFinding::TraceId.advice("checkout", "header x-trace");
    assert!(
        advice.contains("rule checkout from header x-trace look like ids of traces"),
        "{advice}"
    );
}
