//! A row of the table: a figure, and what it is to be.

use std::fmt;

use serde::Serialize;

/// One figure.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) what: String,
    /// What the figure is a ratio of, or its unit.
    pub(crate) measure: &'static str,
    pub(crate) value: f64,
    /// Both sides of a ratio, with their unit.
    pub(crate) sides: Option<String>,
    gate: Option<Bound>,
    goal: Option<Bound>,
    /// Whether another run would show another figure.
    pub(crate) is_noisy: bool,
}

/// What a figure is held to.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

use Bound::{AtLeast, AtMost};

impl Bound {
    fn holds(self, value: f64) -> bool {
        match self {
            AtMost(bound) => value <= bound,
            AtLeast(bound) => value >= bound,
        }
    }
}

impl Row {
    /// A figure that is the same in each run.
    pub(crate) fn steady(what: impl Into<String>, measure: &'static str, value: f64) -> Self {
        Self {
            what: what.into(),
            measure,
            value,
            sides: None,
            gate: None,
            goal: None,
            is_noisy: false,
        }
    }

    /// One that depends on what else the machine does.
    pub(crate) fn noisy(what: impl Into<String>, measure: &'static str, value: f64) -> Self {
        Self {
            is_noisy: true,
            ..Self::steady(what, measure, value)
        }
    }

    pub(crate) fn with_sides(mut self, sides: impl Into<String>) -> Self {
        self.sides = Some(sides.into());
        self
    }

    /// At most `gate`, better at most `goal`.
    pub(crate) fn at_most(mut self, gate: f64, goal: f64) -> Self {
        (self.gate, self.goal) = (Some(AtMost(gate)), Some(AtMost(goal)));
        self
    }

    /// At least `gate`, better at least `goal`.
    pub(crate) fn at_least(mut self, gate: f64, goal: f64) -> Self {
        (self.gate, self.goal) = (Some(AtLeast(gate)), Some(AtLeast(goal)));
        self
    }

    pub(crate) fn is_within_gate(&self) -> bool {
        self.gate.is_none_or(|gate| gate.holds(self.value))
    }

    /// `goal`, `gate`, `MISSED`, or nothing where there is no goal.
    pub(crate) fn verdict(&self) -> &'static str {
        match self.goal {
            None => "",
            Some(goal) if goal.holds(self.value) => "goal",
            Some(_) if self.is_within_gate() => "gate",
            Some(_) => "MISSED",
        }
    }

    pub(crate) fn bounds(&self) -> String {
        match (self.gate, self.goal) {
            (Some(gate), Some(goal)) => format!("{gate} / {goal}"),
            _ => String::new(),
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AtMost(bound) => write!(f, "<= {bound}"),
            AtLeast(bound) => write!(f, ">= {bound}"),
        }
    }
}
