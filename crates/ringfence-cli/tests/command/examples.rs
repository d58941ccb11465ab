//! What `--help` shows as an example does what it says.

use std::{collections::BTreeSet, env, path::Path, process::Command};

use crate::support::*;

/// The examples of a command, which its help wraps.
fn examples(help: &str) -> Vec<String> {
    let (_, lines) = help.split_once("Examples:\n").expect("examples");
    let mut examples: Vec<String> = Vec::new();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match examples.last_mut() {
            Some(last) if !(line.starts_with("ringfence ") || line.contains("| ringfence ")) => {
                *last = format!("{last} {line}");
            }
            _ => examples.push(line.to_owned()),
        }
    }
    examples
}

/// Whether an example needs no registry, no folder of the system and no reader of manuals.
fn can_be_run(line: &str) -> bool {
    !["://", " /", "\"$", "${", "man -l"]
        .iter()
        .any(|away| line.contains(away))
}

/// With all files that examples name.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("fleet.yaml", SHOP);
    folder.write("now.yaml", SHOP);
    folder.write("tomorrow.yaml", SHOP.replace("weight: 200", "weight: 100"));
    folder.write(
        "new.yaml",
        "services:\n  cart:\n    - { id: cart-9, address: \"10.0.0.9:80\" }\n",
    );
    folder.write("policy.yaml", POLICY.replace("next", "checkout-v2"));
    folder.write("balancer.yaml", "max_attempts: 4\n");
    folder.write("keys.txt", "user-7\nuser-8\n");
    folder.write("access.csv", "user-7,GET\nuser-8,GET\n");
    let dump = folder.run("dump --instances fleet.yaml").done();
    folder.write("here.json", &dump);
    folder.write("there.json", &dump);
    folder
}

#[cfg(unix)]
#[test]
fn examples_of_help_run() {
    let bin = Path::new(env!("CARGO_BIN_EXE_ringfence"));
    let bin = bin.parent().expect("a folder").to_owned();
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([bin].into_iter().chain(env::split_paths(&path))).expect("a path");
    let mut ran = BTreeSet::new();
    for command in COMMANDS {
        let help = Folder::new().run(&format!("{command} --help")).done();
        for line in examples(&help).iter().filter(|line| can_be_run(line)) {
            let folder = folder();
            let mut shell = Command::new("sh");
            let shell = shell.args(["-c", &**line]).current_dir(folder.path(""));
            let output = shell.env("PATH", &path).output().expect("a shell");
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{line}: {told}");
            ran.insert(command);
        }
    }
    assert!(ran.len() > 8, "{ran:?}");
}

#[test]
fn settings_that_help_names_are_taken() {
    let folder = Folder::new();
    folder.write(
        "fleet.yaml",
        "services: { s: [{ id: a, address: h:1 }, { id: b, address: h:2 }] }\n",
    );
    folder.write("keys.txt", "k\n");
    let help = folder.run("route --help").done();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for (algorithm, setting) in [("jump", "buckets"), ("slots", "slots")] {
        let (_, value) = help.split_once(&format!("{setting}='")).expect(setting);
        let (value, _) = value.split_once('\'').expect("its end");
        let set = format!("{setting}={value}");
        let args = [
            "route",
            "--instances",
            "fleet.yaml",
            "--keys",
            "keys.txt",
            "--algorithm",
            algorithm,
            "--set",
            &set,
        ];
        let told = folder.run_args(&args).done();
        assert!(told.starts_with("key,owner\nk,"), "{told}");
    }
}
