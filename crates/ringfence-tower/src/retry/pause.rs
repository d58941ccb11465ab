//! How long a request waits before it goes on to the next instance.

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use http::header::RETRY_AFTER;

use crate::classify::PUSHBACK;

/// Pauses of a policy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pauses {
    pub(super) base: Duration,
    pub(super) max: Duration,
    pub(super) max_retry_after: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        Self {
            base: Duration::from_millis(25),
            max: Duration::from_millis(250),
            max_retry_after: Duration::from_secs(1),
        }
    }
}

impl Pauses {
    /// The pause after an answer that says no, the `refusals`-th in this call; `None` if there is to be no further attempt.
    /// `random` is from 0 to 1.
    pub(super) fn after(
        &self,
        headers: &HeaderMap,
        refusals: u32,
        random: f64,
        now: SystemTime,
    ) -> Option<Duration> {
        if let Some(pause) = pushback(headers) {
            // The server decides, and it may not be asked earlier than it says.
            return Some(pause).filter(|pause| *pause <= self.max_retry_after);
        }
        let backoff = self.backoff(refusals, random);
        match retry_after(headers, now) {
            // One instance that will be away for long says nothing about the next.
            Some(pause) if pause <= self.max_retry_after => Some(pause.max(backoff)),
            _ => Some(backoff),
        }
    }

    /// One that says no may just be about to end, so the next is asked at once. Where that says no too, the pool has too much to
    /// do, and those that were refused together must not come back together.
    fn backoff(&self, refusals: u32, random: f64) -> Duration {
        let Some(doublings) = refusals.checked_sub(2) else {
            return Duration::ZERO;
        };
        let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
        self.base
            .saturating_mul(factor)
            .min(self.max)
            .mul_f64(random.clamp(0.0, 1.0))
    }
}

/// gRPC A6; those that forbid a further attempt have been judged before.
fn pushback(headers: &HeaderMap) -> Option<Duration> {
    let millis = headers.get(&PUSHBACK)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_millis(millis))
}

/// Seconds or a date (RFC 9110, 10.2.3). A date in the past is no pause.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const NOW: SystemTime = SystemTime::UNIX_EPOCH;

    fn after(header: &'static str, value: &str, refusals: u32) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(header, HeaderValue::from_str(value).expect("legal"));
        Pauses::default().after(&headers, refusals, 1.0, NOW)
    }

    #[test]
    fn the_first_hop_is_at_once_and_the_later_ones_wait_ever_longer() {
        let pauses = Pauses::default();
        let pause = |refusals, random| {
            let pause = pauses.after(&HeaderMap::new(), refusals, random, NOW);
            pause.expect("nothing forbids it").as_millis()
        };
        let longest: Vec<_> = (1..8).map(|refusals| pause(refusals, 1.0)).collect();
        assert_eq!(longest, [0, 25, 50, 100, 200, 250, 250]);
        assert_eq!((pause(3, 0.0), pause(3, 0.5)), (0, 25), "full jitter");
        assert_eq!(pause(u32::MAX, 1.0), 250);
    }

    #[test]
    fn what_the_server_asks_for_is_kept() {
        let millis = |millis| Some(Duration::from_millis(millis));
        assert_eq!(after("grpc-retry-pushback-ms", "40", 1), millis(40));
        assert_eq!(after("grpc-retry-pushback-ms", "40", 5), millis(40));
        assert_eq!(after("grpc-retry-pushback-ms", "1001", 1), None);
        assert_eq!(after("retry-after", "1", 1), millis(1_000));
        assert_eq!(after("retry-after", "0", 3), millis(50));
        for ignored in ["2", "-1", "soon", "", "99999999999999999999"] {
            assert_eq!(after("retry-after", ignored, 1), millis(0), "{ignored}");
        }
    }

    #[test]
    fn dates_are_understood() {
        let date = |seconds| httpdate::fmt_http_date(NOW + Duration::from_secs(seconds));
        assert_eq!(
            after("retry-after", &date(1), 1),
            Some(Duration::from_secs(1))
        );
        assert_eq!(after("retry-after", &date(0), 1), Some(Duration::ZERO));
        assert_eq!(after("retry-after", &date(90), 1), Some(Duration::ZERO));
    }
}
