//! What examples say of their flags
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests, where a failure is to end the test"
)]

use std::{env, process::Command};

/// Cargo puts examples beside the folder of its tests, and builds them with these.
fn example(name: &str, flag: &str) -> (Option<i32>, String, String) {
    let test = env::current_exe().expect("it runs");
    let target = test.ancestors().nth(2).expect("a folder of the profile");
    let path = target.join("examples").join(name);
    let ran = Command::new(&path).arg(flag).output();
    let ran = ran.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (ran.status.code(), text(ran.stdout), text(ran.stderr))
}

#[test]
fn help_is_a_success_and_what_is_unknown_a_failure() {
    for name in ["admin", "echo_server", "metrics"] {
        let usage = format!("usage: {name} [--");
        for help in ["--help", "-h"] {
            let (code, out, err) = example(name, help);
            assert_eq!((code, &*err), (Some(0), ""), "{name} {help}");
            assert!(out.starts_with(&usage), "{name}: {out}");
        }
        for (wrong, told) in [
            ("--prot", "--prot is unknown\n"),
            ("--port", "--port needs a value\n"),
        ] {
            let (code, out, err) = example(name, wrong);
            assert_eq!((code, &*out), (Some(2), ""), "{name} {wrong}");
            assert!(err.starts_with(&format!("{told}{usage}")), "{name}: {err}");
        }
    }
}
