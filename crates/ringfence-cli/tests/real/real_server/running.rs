//! The built command, run to its end.

use std::process::{Command, Stdio};

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

pub(super) fn command(args: &str, given: &[(&str, &str)]) -> Command {
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
