//! The checker that comes with Prometheus.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use crate::exposition;

/// It refuses what the format does not allow, and names that go against the conventions.
#[tokio::test(start_paused = true)]
async fn promtool_finds_no_fault() {
    let text = exposition::full().await;
    // The other names are not ours to choose.
    let ours: String = without(&text, &["ring_size", "skew_ratio", "migration_duration"]);
    let promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut promtool = promtool
        .expect("promtool is missing: `apt-get install prometheus` brings it, as tests/run does");
    let mut stdin = promtool.stdin.take().expect("piped");
    stdin.write_all(ours.as_bytes()).expect("it reads");
    drop(stdin);
    let output = promtool.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.is_empty(), "{told}");
}

fn without(text: &str, names: &[&str]) -> String {
    let is_of = |line: &str| {
        let line = line
            .trim_start_matches("# HELP ")
            .trim_start_matches("# TYPE ");
        names.iter().any(|name| line.starts_with(name))
    };
    text.lines()
        .filter(|line| !is_of(line))
        .map(|line| format!("{line}\n"))
        .collect()
}
