//! `ringfence watch --format json` while it runs.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

pub(crate) use nix::sys::signal::Signal;
use nix::{sys::signal::kill, unistd::Pid};
use serde_json::Value;

/// One that runs, and is killed with this value.
pub(crate) struct Watch {
    child: Child,
    lines: Receiver<String>,
}

impl Watch {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null());
        let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().expect("it starts");
        let out = BufReader::new(child.stdout.take().expect("piped"));
        let (sender, lines) = channel();
        // It ends with the process, whose output it reads.
        thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self { child, lines }
    }

    /// The first line that is meant; the others before it are passed over.
    pub(crate) fn until(&mut self, limit: Duration, meant: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + limit;
        let mut passed = Vec::new();
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                panic!("not in time, only {passed:?}");
            };
            let line: Value = serde_json::from_str(&line).expect("JSON");
            if meant(&line) {
                return line;
            }
            passed.push(line);
        }
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("its state").is_none()
    }

    /// Sends it a signal: exit code and standard error.
    pub(crate) fn end(mut self, signal: Signal) -> (Option<i32>, String) {
        let pid = i32::try_from(self.child.id()).expect("a process id");
        kill(Pid::from_raw(pid), signal).expect("it runs");
        let status = self.child.wait().expect("it ends");
        let mut err = String::new();
        let mut from = self.child.stderr.take().expect("piped");
        from.read_to_string(&mut err).expect("UTF-8");
        (status.code(), err)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // One that has ended is left alone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
