//! What may be sent again, and when.

mod pause;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::request::Parts;
use http::{HeaderMap, Method};

use self::pause::Pauses;
use crate::classify::Failure;

/// Request extension: whether sending this request twice does no harm.
///
/// It has the last word over the method and over [`RetryPolicy::with_idempotent`], under a policy that sends anything again that
/// an instance may have got: [`RetryPolicy::default`].
///
/// ```
/// use ringfence_tower::Idempotent;
///
/// let mut request = http::Request::post("/orders/7/confirm").body(())?;
/// request.extensions_mut().insert(Idempotent(true));
/// # Ok::<(), http::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Idempotent(pub bool);

type Predicate = Arc<dyn Fn(&Parts) -> bool + Send + Sync>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Never,
    Unsent,
    Idempotent,
}

/// Decides which failed attempts may hop to the next instance.
///
/// | what happened | the request hops |
/// |---|---|
/// | no connection could be made, or the request was not sent | always |
/// | surely not processed: `REFUSED_STREAM`, `GOAWAY` below this stream, a connection found closed | always |
/// | reset, broken connection, per-try timeout | if idempotent |
/// | HTTP 502, 503, 504, gRPC `UNAVAILABLE` before any message | if idempotent |
/// | anything else, or once a response was handed to the caller | never |
///
/// Idempotent are GET, HEAD, OPTIONS, TRACE, PUT and DELETE, what
/// [`with_idempotent`](Self::with_idempotent) allows, and requests with the extension
/// [`Idempotent`]. A gRPC call is a POST and therefore not idempotent by default.
///
/// A hop is made at once. Only after a second answer in the same call that says no (the fourth row of the table) the pool itself
/// seems to have too much to do, and there is a pause: see [`with_backoff`](Self::with_backoff). What a server asks for is kept:
/// see [`with_max_retry_after`](Self::with_max_retry_after). There is no hop whose pause would not end before the deadline.
///
/// A request that an instance got before says so, with the number of those instances: a gRPC call in
/// `grpc-previous-rpc-attempts`, any other in `ringfence-previous-attempts`.
///
/// How many attempts there are (`max_attempts`) and how many hops a service allows
/// (`retry_budget`) is set on the balancer. A hop of a request that no instance has seen yet, as
/// after a refused connection, needs no budget: it makes not one request more for the service.
///
/// ```
/// use std::time::Duration;
///
/// use ringfence_tower::{RetryPolicy, RingfenceLayer};
///
/// # fn layer(balancer: ringfence_balancer::Balancer) -> RingfenceLayer {
/// let policy = RetryPolicy::unprocessed_only().with_per_try_timeout(Duration::from_secs(2));
/// RingfenceLayer::new(balancer).with_retry(policy)
/// # }
/// ```
#[derive(Clone)]
pub struct RetryPolicy {
    mode: Mode,
    idempotent: Option<Predicate>,
    per_try_timeout: Option<Duration>,
    hedging: Option<Duration>,
    pauses: Pauses,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            mode: Mode::Idempotent,
            idempotent: None,
            per_try_timeout: None,
            hedging: None,
            pauses: Pauses::default(),
        }
    }
}

impl RetryPolicy {
    /// Sends each request once, whatever happens. Nothing is kept for a further attempt.
    #[must_use]
    pub fn never() -> Self {
        Self {
            mode: Mode::Never,
            ..Self::default()
        }
    }

    /// Hops only with requests that surely were not processed, whatever the method.
    #[must_use]
    pub fn unprocessed_only() -> Self {
        Self {
            mode: Mode::Unsent,
            ..Self::default()
        }
    }

    /// Declares further requests idempotent, by method, path or anything else in the head.
    ///
    /// ```
    /// use ringfence_tower::RetryPolicy;
    ///
    /// let policy = RetryPolicy::default()
    ///     .with_idempotent(|head| head.uri.path().starts_with("/catalog.Catalog/Get"));
    /// # let _ = policy;
    /// ```
    #[must_use]
    pub fn with_idempotent<F>(mut self, idempotent: F) -> Self
    where
        F: Fn(&Parts) -> bool + Send + Sync + 'static,
    {
        self.idempotent = Some(Arc::new(idempotent));
        self
    }

    /// Ends an attempt that has no response head after this time; default none, and zero is none.
    ///
    /// The time covers readiness, connection and waiting, and never reaches past the deadline of
    /// the call. An attempt ended by it counts as a failure of the instance, and hops only if the
    /// request is idempotent, or if the transport knows that there was no connection to send it on (as `TonicConnector` does).
    /// Connecting has its own, always safe limit in the transport.
    #[must_use]
    pub fn with_per_try_timeout(mut self, timeout: Duration) -> Self {
        self.per_try_timeout = Some(timeout).filter(|timeout| !timeout.is_zero());
        self
    }

    /// Sends an idempotent request to the next instance too where the first has no response head after `delay`, and takes the
    /// first good answer of the two; default off, any time is legal, and zero sends both at once.
    ///
    /// For services whose slowest answers are much slower than the usual ones: with the time of the 95th percentile as the delay
    /// it costs 5 % more requests (Dean and Barroso, "The Tail at Scale", 2013). The attempt that is given up is cancelled and
    /// says nothing about its instance. Each second attempt takes from the retry budget and counts among the `max_attempts`;
    /// where there is no budget, the first goes on alone. There are never more than two at a time. An
    /// instance that hangs is hidden by this, not found: [check its health](ringfence_balancer::BalancerBuilder::with_health_check)
    /// too. A body that comes as a
    /// stream is sent a second time only after the first instance has read all of it.
    #[must_use]
    pub fn with_hedging(mut self, delay: Duration) -> Self {
        self.hedging = Some(delay);
        self
    }

    /// Bounds of the pause before a request goes on, from the second answer on that says no: up to `base`, with each further one
    /// up to twice as long, and never above `max`; default 25 ms and 250 ms. Each pause is a random part of that. Zero: none.
    #[must_use]
    pub fn with_backoff(mut self, base: Duration, max: Duration) -> Self {
        self.pauses.base = base;
        self.pauses.max = max;
        self
    }

    /// The longest pause that a server may ask for, by `grpc-retry-pushback-ms` or `Retry-After`; default 1 s. After a longer
    /// pushback the answer is the caller's; a longer `Retry-After` is that instance's alone, and the request goes on as if there
    /// were none.
    #[must_use]
    pub fn with_max_retry_after(mut self, max: Duration) -> Self {
        self.pauses.max_retry_after = max;
        self
    }

    /// The pause after an answer that says no, the `refusals`-th in this call; `None` if there is to be no further attempt.
    pub(crate) fn pause(&self, headers: &HeaderMap, refusals: u32) -> Option<Duration> {
        let pauses = &self.pauses;
        pauses.after(headers, refusals, fastrand::f64(), SystemTime::now())
    }

    pub(crate) fn per_try_timeout(&self) -> Option<Duration> {
        self.per_try_timeout
    }

    /// After how long an idempotent request goes to a second instance.
    pub(crate) fn hedging(&self) -> Option<Duration> {
        self.hedging
    }

    /// Bounds of the pauses.
    pub(crate) fn backoff(&self) -> (Duration, Duration) {
        (self.pauses.base, self.pauses.max)
    }

    /// Whether any request is sent again that an instance may have got.
    pub(crate) fn may_repeat(&self) -> bool {
        self.mode == Mode::Idempotent
    }

    /// Whether any attempt of this policy may hop at all.
    pub(crate) fn may_hop(&self) -> bool {
        self.mode != Mode::Never
    }

    pub(crate) fn is_idempotent(&self, head: &Parts) -> bool {
        if self.mode != Mode::Idempotent {
            return false;
        }
        match head.extensions.get() {
            Some(Idempotent(declared)) => *declared,
            None => self.is_idempotent_untold(head),
        }
    }

    /// The same for a request without an extension that says so.
    pub(crate) fn is_idempotent_untold(&self, head: &Parts) -> bool {
        self.mode == Mode::Idempotent
            && (is_idempotent_method(&head.method)
                || self.idempotent.as_ref().is_some_and(|allows| allows(head)))
    }

    /// Whether an instance that failed in this way did nothing with the request.
    pub(crate) fn is_surely_unprocessed(failure: Failure) -> bool {
        matches!(
            failure,
            Failure::Connect | Failure::Unprocessed | Failure::ConnectionClosed
        )
    }

    /// Whether an attempt that failed in this way may hop.
    pub(crate) fn allows(&self, failure: Failure, idempotent: bool) -> bool {
        if Self::is_surely_unprocessed(failure) {
            return self.may_hop();
        }
        match failure {
            Failure::Local => false,
            _ => idempotent,
        }
    }
}

/// The idempotent methods of RFC 9110.
fn is_idempotent_method(method: &Method) -> bool {
    matches!(
        *method,
        Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE | Method::PUT | Method::DELETE
    )
}

impl fmt::Debug for RetryPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryPolicy")
            .field("mode", &self.mode)
            .field("idempotent", &self.idempotent.is_some())
            .field("per_try_timeout", &self.per_try_timeout)
            .field("hedging", &self.hedging)
            .field("pauses", &self.pauses)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(method: Method, path: &str) -> Parts {
        http::Request::builder()
            .method(method)
            .uri(path)
            .body(())
            .expect("valid request")
            .into_parts()
            .0
    }

    #[test]
    fn methods_extension_and_opt_in_decide_idempotence() {
        let policy = RetryPolicy::default().with_idempotent(|head| head.uri.path() == "/again");
        assert!(policy.is_idempotent(&head(Method::GET, "/")));
        assert!(policy.is_idempotent(&head(Method::DELETE, "/")));
        assert!(!policy.is_idempotent(&head(Method::POST, "/")));
        assert!(!policy.is_idempotent(&head(Method::PATCH, "/")));
        assert!(policy.is_idempotent(&head(Method::POST, "/again")));

        let mut marked = head(Method::POST, "/");
        marked.extensions.insert(Idempotent(true));
        assert!(policy.is_idempotent(&marked));
        let mut forbidden = head(Method::GET, "/again");
        forbidden.extensions.insert(Idempotent(false));
        assert!(!policy.is_idempotent(&forbidden));
    }

    #[test]
    fn only_the_unprocessed_hops_without_idempotence() {
        let policy = RetryPolicy::default();
        assert!(policy.allows(Failure::Connect, false));
        assert!(policy.allows(Failure::Unprocessed, false));
        assert!(!policy.allows(Failure::Broken, false));
        assert!(!policy.allows(Failure::Timeout, false));
        assert!(policy.allows(Failure::Broken, true));
        assert!(!policy.allows(Failure::Local, true));
    }

    #[test]
    fn stricter_policies() {
        assert!(!RetryPolicy::never().allows(Failure::Connect, true));
        let strict = RetryPolicy::unprocessed_only();
        assert!(strict.allows(Failure::Connect, false));
        assert!(!strict.is_idempotent(&head(Method::GET, "/")));
    }
}
