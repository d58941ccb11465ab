//! Processes that end with the test.

use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::Duration,
};

use serde_json::Value;

/// Killed when it is dropped, by its own handle.
pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn start(command: &mut Command) -> Self {
        let started = command.stdin(Stdio::null()).spawn();
        Self(started.unwrap_or_else(|error| panic!("{command:?}: {error}")))
    }

    /// Its exit code, once it has ended.
    pub(crate) fn ended(&mut self) -> Option<std::process::ExitStatus> {
        self.0.try_wait().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An example of this workspace, built as it is here.
pub(crate) struct Example {
    lines: mpsc::Receiver<String>,
    _process: Process,
}

impl Example {
    pub(crate) fn start(name: &str, flags: &[&str]) -> Self {
        let mut process =
            Process::start(Command::new(built(name)).args(flags).stdout(Stdio::piped()));
        let output = process.0.stdout.take().unwrap();
        let (sender, lines) = mpsc::channel();
        // Ends with the process, whose output it reads.
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self {
            lines,
            _process: process,
        }
    }

    /// What the next line that begins so goes on with.
    pub(crate) async fn line(&self, beginning: &str) -> String {
        loop {
            match self.lines.recv_timeout(Duration::from_secs(30)) {
                Ok(line) => {
                    if let Some(rest) = line.strip_prefix(beginning) {
                        return rest.to_owned();
                    }
                }
                Err(error) => panic!("no line `{beginning}`: {error}"),
            }
        }
    }
}

/// Builds an example, and tells where it is.
fn built(name: &str) -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args([
            "build",
            "--quiet",
            "--message-format=json",
            "--example",
            name,
        ])
        .args(["--package", "ringfence-examples"])
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success(), "{name} does not build");
    let messages = String::from_utf8(output.stdout).unwrap();
    let executable = messages.lines().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_it = message["target"]["name"] == name && message["target"]["kind"][0] == "example";
        is_it.then(|| message["executable"].as_str().map(PathBuf::from))?
    });
    executable.expect("cargo tells where an example is")
}
