//! `ringfence watch` of files, which change as services do

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;

use crate::support::*;

fn shop() -> Folder {
    let folder = Folder::new();
    folder.write("fleet.yaml", SHOP);
    folder
}

#[test]
fn one_look_is_golden_in_every_form() {
    let folder = shop();
    for (format, name) in [
        ("table", "watch.txt"),
        ("json", "watch.json"),
        ("csv", "watch.csv"),
    ] {
        let args = format!("watch --once --instances fleet.yaml --format {format}");
        assert_eq!(
            without_times(&folder.run(&args).done()),
            golden(name),
            "{format}"
        );
    }
}

/// One that runs beside the test.
struct Watch {
    child: Child,
    lines: Receiver<String>,
}

impl Watch {
    fn start(folder: &Folder, args: &str) -> Self {
        let mut command = folder.command(args);
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let out = BufReader::new(child.stdout.take().expect("piped"));
        let (sender, lines) = channel();
        thread::spawn(move || {
            let lines = out.lines().map_while(Result::ok);
            lines
                .take_while(|line| sender.send(line.clone()).is_ok())
                .count()
        });
        Self { child, lines }
    }

    /// The first object of this event.
    fn until(&self, event: &str) -> Value {
        loop {
            let line = self
                .lines
                .recv_timeout(Duration::from_secs(20))
                .expect("in time");
            let line: Value = serde_json::from_str(&line).expect("JSON");
            if line["event"] == event {
                return line;
            }
        }
    }

    fn end(mut self, signal: Signal) -> Option<i32> {
        let pid = i32::try_from(self.child.id()).expect("a process id");
        kill(Pid::from_raw(pid), signal).expect("it runs");
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // One that has ended is left alone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn changes_are_told_as_they_come_and_a_signal_ends_it_well() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let folder = shop();
        let watch = Watch::start(&folder, "watch --instances fleet.yaml --format json");
        let first = watch.until("present");
        assert_eq!(first["instance"]["id"], "cart-1");
        folder.write("fleet.yaml", SHOP.replace("id: cart-1", "id: cart-9"));
        assert_eq!(watch.until("removed")["instance"]["id"], "cart-1");
        assert_eq!(watch.until("added")["instance"]["id"], "cart-9");
        let moved = watch.until("ring")["ring"]["moved_share"].as_f64();
        assert!(
            moved.is_some_and(|share| share > 0.2 && share < 0.5),
            "{moved:?}"
        );
        folder.write(
            "fleet.yaml",
            SHOP.replace("id: cart-1", "id: cart-9")
                .replace("weight: 200", "weight: 100"),
        );
        let changed = watch.until("changed");
        assert_eq!(changed["instance"]["id"], "cart-2");
        assert_eq!(changed["fields"][0]["to"], "100");
        // A file that is wrong changes nothing and is told.
        folder.write("fleet.yaml", "services: [");
        let told = watch.until("registry")["registry"].to_string();
        assert!(told.contains("fleet.yaml"), "{told}");
        assert_eq!(watch.end(signal), Some(0));
    }
}

#[test]
fn it_ends_by_itself_after_a_time() {
    let folder = shop();
    let lines = folder.run("watch --instances fleet.yaml --for 3").done();
    assert_eq!(lines.matches("  present ").count(), 5, "{lines}");
    assert!(lines.contains("  ring      "), "{lines}");
}

#[test]
fn a_service_that_is_not_there_is_told() {
    let folder = shop();
    let fault = folder
        .run("watch --once --instances fleet.yaml --service order")
        .fault();
    assert_eq!(fault, "fleet.yaml: no service `order`; the file has: cart");
    let empty = folder
        .run("watch --once --instances static:a:1 --for 0")
        .code;
    assert_eq!(empty, Some(3), "there was no time for a list");
}
