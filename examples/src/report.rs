//! What the run prints, and whether all of it holds.
#![allow(clippy::print_stdout, reason = "it shows what it does")]

use std::{collections::BTreeMap, process::ExitCode, time::Duration};

/// What an example claims, printed as it goes.
#[derive(Debug, Default)]
pub struct Report {
    held: usize,
    failed: usize,
}

impl Report {
    /// Begins a part.
    pub fn scene(&self, title: &str) {
        println!("\n{title}");
    }

    /// Prints what was seen.
    pub fn line(&self, text: &str) {
        println!("  {text}");
    }

    /// The first few of what went wrong.
    pub fn errors(&self, errors: &[String]) {
        for error in errors.iter().take(3) {
            println!("  failed: {error}");
        }
    }

    /// Observed against ideal shares.
    pub fn shares(&self, counts: &BTreeMap<String, u64>, ideal: &BTreeMap<String, f64>) {
        let total: u64 = ideal.keys().filter_map(|id| counts.get(id)).sum();
        println!(
            "  {:<10} {:>9} {:>7} {:>7}",
            "instance", "requests", "share", "ideal"
        );
        for (id, ideal) in ideal {
            let count = counts.get(id).copied().unwrap_or(0);
            println!(
                "  {id:<10} {count:>9} {:>6.1}% {:>6.1}%",
                percent(count, total),
                ideal * 100.0
            );
        }
    }

    /// Prints a claim and whether it holds.
    pub fn check(&mut self, holds: bool, claim: &str) {
        if holds {
            self.held += 1;
            println!("  [ok]   {claim}");
        } else {
            self.fail(claim);
        }
    }

    /// Prints a claim that does not hold.
    pub fn fail(&mut self, claim: &str) {
        self.failed += 1;
        println!("  [FAIL] {claim}");
    }

    /// Prints the sum; the exit code says whether everything holds.
    #[must_use]
    pub fn end(&self, took: Duration) -> ExitCode {
        println!(
            "\n{} claims hold, {} do not; {:.1} s",
            self.held,
            self.failed,
            took.as_secs_f64()
        );
        if self.failed == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}

/// `part` of `whole`, in percent.
#[must_use]
pub fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    // Counts of one run are far below 2^52.
    #[allow(
        clippy::cast_precision_loss,
        reason = "counts of an example are far below 2^52"
    )]
    let ratio = part as f64 / whole as f64;
    ratio * 100.0
}
