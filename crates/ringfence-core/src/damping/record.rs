//! What is remembered of one instance.

use std::time::Instant;

use super::FlapDampingConfig;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It never served: its first time is no return.
    New,
    /// It serves, as a returned one from then on.
    Serving { stable_at: Option<Instant> },
    /// It is there and does not serve.
    Down,
    /// It left at this time.
    Departed(Instant),
}

#[derive(Debug)]
pub(super) struct Record {
    pub(super) standing: Standing,
    penalty: f64,
    as_of: Instant,
    suppressed_since_flap: Option<Instant>,
}

impl Record {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            standing: Standing::New,
            penalty: 0.0,
            as_of: now,
            suppressed_since_flap: None,
        }
    }

    /// Takes note of whether it serves. Returns whether it flapped.
    pub(super) fn observe(
        &mut self,
        serves: bool,
        now: Instant,
        config: &FlapDampingConfig,
    ) -> bool {
        match (self.standing, serves) {
            (Standing::New, true) => {
                self.standing = Standing::Serving { stable_at: None };
            }
            (Standing::Down | Standing::Departed(_), true) => {
                self.standing = Standing::Serving {
                    stable_at: Some(now + config.stable_time()),
                };
            }
            (Standing::Serving { .. }, false) => {
                self.standing = Standing::Down;
                self.flap(now, config);
                return true;
            }
            (Standing::Departed(_), false) => self.standing = Standing::Down,
            (Standing::Serving { .. }, true) | (Standing::New | Standing::Down, false) => {}
        }
        false
    }

    /// It left. Returns whether that was a flap.
    pub(super) fn depart(&mut self, now: Instant, config: &FlapDampingConfig) -> bool {
        let flaps = matches!(self.standing, Standing::Serving { .. });
        if flaps {
            self.flap(now, config);
        }
        self.standing = Standing::Departed(now);
        flaps
    }

    fn flap(&mut self, now: Instant, config: &FlapDampingConfig) {
        let penalty = self.penalty(now, config) + f64::from(FlapDampingConfig::PENALTY);
        self.penalty = penalty.min(config.ceiling());
        self.as_of = now;
        if self.suppressed_since_flap.is_some() || self.penalty > f64::from(config.suppress()) {
            self.suppressed_since_flap = Some(now);
        }
    }

    pub(super) fn penalty(&self, now: Instant, config: &FlapDampingConfig) -> f64 {
        config.decayed(self.penalty, now.saturating_duration_since(self.as_of))
    }

    /// Until when damping would keep it out, if it does so at this time.
    pub(super) fn held_until(
        &mut self,
        now: Instant,
        config: &FlapDampingConfig,
    ) -> Option<Instant> {
        let Standing::Serving { stable_at } = self.standing else {
            return None;
        };
        let suppressed_until = self.suppressed_since_flap.map(|flap| {
            let longest = flap + config.max_suppress_time();
            longest.min(self.as_of + config.time_to_reuse(self.penalty))
        });
        let until = stable_at.max(suppressed_until).filter(|until| *until > now);
        if suppressed_until.is_some_and(|until| until <= now) {
            self.suppressed_since_flap = None;
        }
        if stable_at.is_some_and(|at| at <= now) {
            self.standing = Standing::Serving { stable_at: None };
        }
        until
    }

    pub(super) fn is_suppressed(&self) -> bool {
        self.suppressed_since_flap.is_some()
    }
}
