//! After refused credentials nothing is asked for a while: a login costs the server a password hash.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::{Failure, Fault};

/// First wait after a refusal; it doubles up to [`MAX_WAIT`].
const FIRST_WAIT: Duration = Duration::from_secs(10);
const MAX_WAIT: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct Gate(Mutex<Option<Closed>>);

#[derive(Clone, Debug)]
struct Closed {
    until: Instant,
    wait: Duration,
    /// What the refusal was, so that it is told as that.
    fault: Fault,
    message: String,
}

impl Gate {
    /// Fails while the gate is closed.
    pub(super) fn check(&self) -> Result<(), Failure> {
        match &*self.lock() {
            Some(closed) if Instant::now() < closed.until => {
                let message = format!("{} (not asked again yet)", closed.message);
                Err(Failure::new(closed.fault, message))
            }
            _ => Ok(()),
        }
    }

    /// Closes the gate, unless it is closed.
    pub(super) fn refused(&self, failure: &Failure) {
        let mut closed = self.lock();
        let now = Instant::now();
        let wait = match &*closed {
            // A call that was under way when the gate closed is part of the same refusal.
            Some(known) if now < known.until => return,
            Some(known) => (known.wait * 2).min(MAX_WAIT),
            None => FIRST_WAIT,
        };
        *closed = Some(Closed {
            until: now + wait.mul_f64(1.0 + fastrand::f64() / 4.0),
            wait,
            fault: match failure.fault {
                Fault::Denied => Fault::Denied,
                _ => Fault::Credentials,
            },
            message: failure.message.clone(),
        });
    }

    pub(super) fn accepted(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Closed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn constant_refusal_lets_a_few_tries_a_minute_through() {
        let (gate, mut tries) = (Gate::default(), 0);
        for _ in 0..10 * 60 {
            if gate.check().is_ok() {
                tries += 1;
                gate.refused(&Failure::new(Fault::Credentials, "wrong password"));
            }
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert!((8..=14).contains(&tries), "{tries} tries in ten minutes");
    }

    #[tokio::test(start_paused = true)]
    async fn success_opens_it_and_several_refusals_at_once_count_as_one() {
        let gate = Gate::default();
        for _ in 0..100 {
            gate.refused(&Failure::new(Fault::Credentials, "wrong password"));
        }
        assert!(gate.check().is_err());
        tokio::time::advance(FIRST_WAIT * 5 / 4).await;
        assert!(gate.check().is_ok());
        gate.accepted();
        gate.refused(&Failure::new(Fault::Credentials, "again"));
        tokio::time::advance(FIRST_WAIT * 5 / 4).await;
        assert!(gate.check().is_ok(), "starts small again");
    }
}
