//! `ringfence watch` of files, which change as services do

use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    support::*,
    watch::{Signal, Watch},
};

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

fn of(watch: &mut Watch, event: &str) -> Value {
    watch.until(Duration::from_secs(20), |line| line["event"] == event)
}

#[test]
fn changes_are_told_as_they_come_and_a_signal_ends_it_well() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let folder = shop();
        let mut watch = Watch::start(folder.command("watch --instances fleet.yaml --format json"));
        assert!(watch.is_running());
        let first = of(&mut watch, "present");
        assert_eq!(first["instance"]["id"], "cart-1");
        folder.write("fleet.yaml", SHOP.replace("id: cart-1", "id: cart-9"));
        assert_eq!(of(&mut watch, "removed")["instance"]["id"], "cart-1");
        assert_eq!(of(&mut watch, "added")["instance"]["id"], "cart-9");
        let moved = of(&mut watch, "ring")["ring"]["moved_share"].as_f64();
        assert!(
            moved.is_some_and(|share| share > 0.2 && share < 0.5),
            "{moved:?}"
        );
        folder.write(
            "fleet.yaml",
            SHOP.replace("id: cart-1", "id: cart-9")
                .replace("weight: 200", "weight: 100"),
        );
        let changed = of(&mut watch, "changed");
        assert_eq!(changed["instance"]["id"], "cart-2");
        assert_eq!(changed["fields"][0]["to"], "100");
        // A file that is wrong changes nothing and is told.
        folder.write("fleet.yaml", "services: [");
        let told = of(&mut watch, "registry")["registry"].to_string();
        assert!(told.contains("fleet.yaml"), "{told}");
        assert_eq!(watch.end(signal), (Some(0), String::new()));
    }
}

#[test]
fn it_ends_by_itself_after_a_time() {
    let folder = shop();
    let lines = folder.run("watch --instances fleet.yaml --for 3").done();
    assert_eq!(lines.matches("  present ").count(), 5, "{lines}");
    assert!(lines.contains("  ring      "), "{lines}");
}

/// Nobody can tell it from a watch without an end.
#[test]
fn a_time_that_no_clock_can_say_is_long_enough() {
    let folder = shop();
    for seconds in ["1e19", "1.8e19"] {
        let args = format!("watch --once --instances fleet.yaml --for {seconds}");
        assert!(folder.run(&args).done().contains("cart-1"), "{seconds}");
    }
    let args = "watch --instances fleet.yaml --format json --for 1e19";
    let mut watch = Watch::start(folder.command(args));
    assert_eq!(of(&mut watch, "present")["instance"]["id"], "cart-1");
    assert_eq!(watch.end(Signal::SIGINT), (Some(0), String::new()));
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

/// As of `ringfence watch | head -1`, where the next change may be hours away.
#[test]
fn it_ends_when_nobody_reads_it_any_more() {
    let folder = shop();
    let started = ["json", "csv", "table"].map(|format| {
        let args = format!("watch --instances fleet.yaml --format {format}");
        let mut command = folder.command(&args);
        let piped = command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = piped.spawn().expect("it starts");
        let out = BufReader::new(child.stdout.take().expect("piped"));
        (format, child, out)
    });
    let read = started.map(|(format, child, mut out)| {
        let mut line = String::new();
        out.read_line(&mut line).expect("a line");
        (format, child, out)
    });
    // All of the first list is written, so that no write can fail any more.
    thread::sleep(Duration::from_secs(1));
    let unread = read.map(|(format, mut child, out)| {
        assert_eq!(child.try_wait().expect("its state"), None, "it is read");
        drop(out);
        (format, child)
    });
    let end = Instant::now() + Duration::from_secs(10);
    for (format, mut child) in unread {
        let status = loop {
            match child.try_wait().expect("its state") {
                Some(status) => break status,
                None if Instant::now() < end => thread::sleep(Duration::from_millis(20)),
                None => {
                    child.kill().expect("it runs");
                    child.wait().expect("it ends");
                    panic!("{format}: it waits for a change that nobody would read");
                }
            }
        };
        assert_eq!(status.code(), Some(0), "{format}");
    }
}
