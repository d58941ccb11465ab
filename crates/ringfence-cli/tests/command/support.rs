use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use tempfile::TempDir;

/// A folder in which the command runs, so that its messages have short names of files.
pub(crate) struct Folder(TempDir);

/// What came of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Self {
            code: output.status.code(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// The output of a run without a fault.
    pub(crate) fn done(self) -> String {
        assert_eq!(
            (self.code, self.err.as_str()),
            (Some(0), ""),
            "{}",
            self.out
        );
        self.out
    }

    /// The one line that tells of a fault.
    pub(crate) fn fault(self) -> String {
        assert_eq!(
            (self.code, self.out.as_str()),
            (Some(2), ""),
            "{}",
            self.err
        );
        let line = self.err.strip_suffix('\n').expect("a line");
        let told = line
            .strip_prefix("ringfence: ")
            .expect("the command's name");
        assert!(!told.contains('\n'), "{told}");
        told.to_owned()
    }
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().expect("a folder"))
    }

    /// With `order-svc-1` to `-3` in `fleet.yaml`, of weight 100, and keys in `keys.txt`.
    pub(crate) fn with_orders() -> Self {
        let folder = Self::new();
        folder.write("fleet.yaml", orders(&[(1, 100), (2, 100), (3, 100)]));
        folder.write("keys.txt", "user-1\nuser-7\nuser-88\nuser-1024\n");
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), text).expect("written");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("read")
    }

    pub(crate) fn command(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ringfence"));
        command
            .current_dir(self.0.path())
            .args(args.split_whitespace());
        command
    }

    pub(crate) fn run(&self, args: &str) -> Ran {
        let output = self.command(args).stdin(Stdio::null()).output();
        Ran::of(output.expect("it starts"))
    }

    /// With arguments that have spaces.
    pub(crate) fn run_args(&self, args: &[&str]) -> Ran {
        let mut command = self.command("");
        let output = command.args(args).stdin(Stdio::null()).output();
        Ran::of(output.expect("it starts"))
    }

    pub(crate) fn run_with(&self, args: &str, input: &[u8]) -> Ran {
        fed(self.piped(args), input)
    }

    /// Its input comes only after nobody reads its output any more.
    pub(crate) fn run_unread(&self, args: &str, input: &[u8]) -> Ran {
        let mut child = self.piped(args);
        drop(child.stdout.take());
        fed(child, input)
    }

    fn piped(&self, args: &str) -> Child {
        let mut command = self.command(args);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(Stdio::piped()).spawn().expect("it starts")
    }
}

fn fed(mut child: Child, input: &[u8]) -> Ran {
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(input).expect("it reads");
    drop(stdin);
    Ran::of(child.wait_with_output().expect("it ends"))
}

/// All commands.
pub(crate) const COMMANDS: [&str; 12] = [
    "watch",
    "inspect",
    "explain",
    "route",
    "plan",
    "simulate",
    "report",
    "lint",
    "dump",
    "diff",
    "completions",
    "man",
];

/// What a service is like that is looked at in every way.
pub(crate) const SHOP: &str = "services:
  cart:
    - { id: cart-1, address: \"10.0.0.1:80\", zone: az-1, version: v1 }
    - { id: cart-2, address: \"10.0.0.2:80\", zone: az-2, version: v1, weight: 200 }
    - { id: cart-3, address: \"10.0.0.3:80\", zone: az-1, version: gray }
    - { id: cart-4, address: \"10.0.0.4:80\", zone: az-2, version: v1, healthy: false }
    - { id: cart-5, address: \"10.0.0.5:80\", weight: 0 }
";

/// A policy for it.
pub(crate) const POLICY: &str = "ringfence: 1
zone: { prefer_local: true }
gray:
  next: { to: { version: gray }, percent: 0 }
rules:
  - name: carts
    match: [{ path: { prefix: /carts } }]
    key: [{ header: x-user, normalise: [trim, case_fold_ascii] }]
    gray: [next]
    limits: { max_attempts: 2 }
  - name: rest
    key: [{ extension: {} }]
";

/// A text in which each time, and each number that looks like one, is `TIME`.
pub(crate) fn without_times(text: &str) -> String {
    let mut told = String::new();
    let mut rest = text;
    while let Some(place) = rest.find("20").filter(|place| rest.len() >= place + 24) {
        let (before, at) = rest.split_at(place);
        told.push_str(before);
        let is_time = at.as_bytes().get(10) == Some(&b'T') && at.as_bytes().get(23) == Some(&b'Z');
        let (time, after) = at.split_at(if is_time { 24 } else { 2 });
        told.push_str(if is_time { "TIME" } else { time });
        rest = after;
    }
    told + rest
}

/// A file of instances `order-svc-<n>` at `10.0.0.<n>:8080`.
pub(crate) fn orders(weights: &[(usize, u32)]) -> String {
    let record = |(n, weight): &(usize, u32)| {
        format!("    - {{ id: order-svc-{n}, address: \"10.0.0.{n}:8080\", weight: {weight} }}\n")
    };
    let records: String = weights.iter().map(record).collect();
    format!("services:\n  order:\n{records}")
}

/// The keys of the layout's vectors.
pub(crate) fn users() -> String {
    (1..=5_000).map(|n| format!("user-{n}\n")).collect()
}

/// A file beside the tests.
pub(crate) fn golden(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    std::fs::read_to_string(path).expect("a golden file")
}
