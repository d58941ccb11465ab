//! The built command, run to its end or watched while it runs.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;

/// What would tell it of other registries and of who this is.
const VARIABLES: [&str; 9] = [
    "CONSUL_HTTP_ADDR",
    "CONSUL_HTTP_TOKEN",
    "CONSUL_HTTP_TOKEN_FILE",
    "ETCDCTL_USER",
    "ETCD_ENDPOINTS",
    "NACOS_PASSWORD",
    "NACOS_SERVER_ADDR",
    "NACOS_USERNAME",
    "RINGFENCE_CREDENTIALS",
];

fn command(args: &str, given: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringfence"));
    command.args(args.split_whitespace());
    for name in VARIABLES {
        command.env_remove(name);
    }
    command.envs(given.iter().copied()).stdin(Stdio::null());
    command
}

/// What came of a run.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) code: Option<i32>,
    pub(super) out: String,
    pub(super) err: String,
}

impl Run {
    pub(super) fn of(args: &str) -> Self {
        Self::with(args, &[])
    }

    pub(super) fn with(args: &str, given: &[(&str, &str)]) -> Self {
        let output = command(args, given).output().expect("it starts");
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).expect("UTF-8"),
            err: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }

    pub(super) fn out(self) -> String {
        assert_eq!((self.code, &*self.err), (Some(0), ""), "{}", self.out);
        self.out
    }

    pub(super) fn json(self) -> Value {
        serde_json::from_str(&self.out()).expect("JSON")
    }
}

/// One that runs, and is killed with this value.
pub(super) struct Watch {
    child: Child,
    lines: Receiver<String>,
}

impl Watch {
    pub(super) fn start(args: &str) -> Self {
        let mut command = command(args, &[]);
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

    /// The next line, within this time.
    pub(super) fn line(&mut self, limit: Duration) -> Value {
        let line = self.lines.recv_timeout(limit).expect("a line in time");
        serde_json::from_str(&line).expect("JSON")
    }

    /// The first line that is meant; the others before it are passed over.
    pub(super) fn until(&mut self, limit: Duration, meant: impl Fn(&Value) -> bool) -> Value {
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

    pub(super) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("its state").is_none()
    }

    /// As by Ctrl-C: exit code and standard error.
    pub(super) fn interrupt(mut self) -> (Option<i32>, String) {
        let pid = i32::try_from(self.child.id()).expect("a process id");
        kill(Pid::from_raw(pid), Signal::SIGINT).expect("it runs");
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
