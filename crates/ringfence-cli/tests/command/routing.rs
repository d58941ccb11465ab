//! `ringfence route`

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    process::Stdio,
};

use crate::support::*;

const ROUTE: &str = "route --instances fleet.yaml --keys keys.txt";

/// The walks of the layout's description.
#[test]
fn keys_go_where_the_vectors_say() {
    let folder = Folder::with_orders();
    assert_eq!(
        folder.run(&format!("{ROUTE} --walk 2")).done(),
        "key,owner,next_1,next_2\n\
         user-1,order-svc-3,order-svc-2,order-svc-1\n\
         user-7,order-svc-1,order-svc-2,order-svc-3\n\
         user-88,order-svc-3,order-svc-2,order-svc-1\n\
         user-1024,order-svc-3,order-svc-1,order-svc-2\n"
    );
    let seeded = folder.run(&format!("{ROUTE} --set seed=7")).done();
    assert_eq!(
        seeded,
        "key,owner\nuser-1,order-svc-1\nuser-7,order-svc-3\nuser-88,order-svc-2\nuser-1024,order-svc-2\n"
    );
}

/// The counts of the layout's description, after an instance came and another left.
#[test]
fn five_thousand_keys_are_counted_as_the_vectors_say() {
    let folder = Folder::new();
    folder.write("fleet.yaml", orders(&[(4, 100), (3, 100), (1, 100)]));
    folder.write("keys.txt", users());
    let out = folder.run(ROUTE).done();
    let mut counts = BTreeMap::new();
    for row in out.lines().skip(1) {
        let owner = row.split_once(',').expect("two columns").1;
        *counts.entry(owner).or_insert(0) += 1;
    }
    let counts: Vec<_> = counts.into_iter().collect();
    assert_eq!(
        counts,
        [
            ("order-svc-1", 1_621),
            ("order-svc-3", 1_665),
            ("order-svc-4", 1_714)
        ]
    );
}

#[test]
fn keys_keep_their_bytes_and_lines_may_end_as_they_like() {
    let folder = Folder::with_orders();
    let keys = b"user-1\r\nuser-7\n\n\r\na,\"b\"\n \nlast\xff";
    folder.write("keys.txt", keys);
    let output = folder.command(ROUTE).output().expect("it starts");
    let rows: Vec<&[u8]> = output.stdout.split(|byte| *byte == b'\n').collect();
    let keys: Vec<&[u8]> = rows
        .iter()
        .map(|row| &row[..row.len().saturating_sub(12)])
        .collect();
    let expected: [&[u8]; 6] = [
        b"user-1",
        b"user-7",
        b"\"a,\"\"b\"\"\"",
        b" ",
        b"last\xff",
        b"",
    ];
    assert_eq!(keys[1..], expected);
    assert!(rows[1].ends_with(b",order-svc-3") && rows[2].ends_with(b",order-svc-1"));

    let json = folder
        .run(&format!("{ROUTE} --format json --walk 1"))
        .done();
    let last: serde_json::Value =
        serde_json::from_str(json.lines().last().expect("rows")).expect("JSON");
    assert_eq!(last["key_hex"], "6c617374ff");
    assert_eq!(last["next"].as_array().map(Vec::len), Some(1));
    assert_eq!(json.lines().count(), 5);
}

#[test]
fn a_table_is_for_people() {
    let folder = Folder::with_orders();
    folder.write("keys.txt", "user-1\nuser\x1b[2J\n");
    let out = folder
        .run(&format!("{ROUTE} --format table --walk 1"))
        .done();
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines[0], "owner        next_1       key");
    assert_eq!(lines[1], "order-svc-3  order-svc-2  user-1");
    assert!(
        lines[2].ends_with(r"user\u{1b}[2J"),
        "a key must not drive the terminal: {}",
        lines[2]
    );
}

#[test]
fn who_takes_no_traffic_owns_nothing_and_who_is_ill_is_skipped() {
    let folder = Folder::with_orders();
    folder.write("keys.txt", users());
    let owners = |fleet: &str, more: &str| {
        folder.write("fleet.yaml", fleet);
        let ran = folder.run(&format!("{ROUTE} {more}"));
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let owner = |row: &str| row.rsplit_once(',').expect("two columns").1.to_owned();
        (
            ran.out.lines().skip(1).map(owner).collect::<Vec<_>>(),
            ran.err,
        )
    };
    let fleet = |one: &str, two: &str| {
        format!(
            "services:\n  order:\n    - {{ id: order-svc-1, address: h1:80, {one} }}\n    \
             - {{ id: order-svc-2, address: h2:80, {two} }}\n    - {{ id: order-svc-3, address: h3:80 }}\n"
        )
    };
    let all = owners(&fleet("", ""), "").0;
    let (without, told) = owners(&fleet("healthy: false", ""), "");
    assert_eq!(told, "");
    for (all, without) in all.iter().zip(&without) {
        assert_ne!(without, "order-svc-1");
        assert!(
            all == without || all == "order-svc-1",
            "only the ill one's keys move"
        );
    }
    // A ring made without it says the same.
    assert_eq!(owners(&fleet("weight: 0", ""), "").0, without);
    assert_eq!(owners(&fleet("enabled: false", ""), "").0, without);
    assert_eq!(
        owners(&fleet("healthy: false", ""), "--ignore-health").0,
        all
    );

    let (panic, told) = owners(&fleet("healthy: false", "healthy: false"), "");
    assert_eq!(panic, all, "one of three is too few");
    assert_eq!(
        told,
        "ringfence: health is ignored: only 1 of 3 instances are healthy\n"
    );
    let (panic, _) = owners(&fleet("healthy: false, weight: 0", "healthy: false"), "");
    assert!(
        !panic.contains(&"order-svc-1".to_owned()),
        "a drained one not even then"
    );
    assert!(
        !panic.contains(&"order-svc-2".to_owned()),
        "one of two is enough"
    );
}

#[test]
fn either_file_may_be_standard_input() {
    let folder = Folder::with_orders();
    let expected = folder.run(ROUTE).done();
    let keys = folder.read("keys.txt");
    let ran = folder.run_with("route --instances fleet.yaml --keys -", keys.as_bytes());
    assert_eq!(ran.done(), expected);
    let fleet = folder.read("fleet.yaml");
    let ran = folder.run_with("route --instances - --keys keys.txt", fleet.as_bytes());
    assert_eq!(ran.done(), expected);
}

/// An endless stream of keys is answered as it comes, and whoever stops reading ends it in peace.
#[test]
fn keys_are_streamed_and_a_reader_that_leaves_ends_it_quietly() {
    let folder = Folder::with_orders();
    let mut command = folder.command("route --instances fleet.yaml --keys -");
    let command = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("piped");
    let writer = std::thread::spawn(move || {
        let chunk = "user-1\n".repeat(10_000);
        // It ends only when nobody reads it any more.
        while stdin.write_all(chunk.as_bytes()).is_ok() {}
    });
    let mut rows = BufReader::new(child.stdout.take().expect("piped")).lines();
    let first: Vec<String> = rows
        .by_ref()
        .take(3)
        .map(|row| row.expect("a row"))
        .collect();
    assert_eq!(
        first,
        ["key,owner", "user-1,order-svc-3", "user-1,order-svc-3"]
    );
    drop(rows);
    writer.join().expect("no panic");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

/// Most memory of a process that maps this many keys, in KiB, as the kernel counted it.
#[cfg(target_os = "linux")]
fn peak_memory(folder: &Folder, keys: usize) -> u64 {
    let mut command = folder.command("route --instances fleet.yaml --keys -");
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let status = format!("/proc/{}/status", child.id());
    let mut stdin = child.stdin.take().expect("piped");
    let mut stdout = child.stdout.take().expect("piped");
    let reader = std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
    for n in 0..keys {
        writeln!(stdin, "a key of some length, number {n:032}").expect("it reads");
    }
    let status = std::fs::read_to_string(status).expect("it lives while its input does");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|peak| peak.trim().strip_suffix(" kB"));
    drop(stdin);
    assert!(child.wait().expect("it ends").success());
    assert!(reader.join().expect("no panic").expect("read") > 0);
    peak.and_then(|peak| peak.parse().ok()).expect("a number")
}

#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_keys() {
    let folder = Folder::with_orders();
    let (few, many) = (peak_memory(&folder, 20_000), peak_memory(&folder, 400_000));
    // Held, they would be 24 MiB more.
    assert!(many < few + 4_096, "{few} KiB, {many} KiB");
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_is_full_is_told() {
    let folder = Folder::with_orders();
    for format in ["csv", "json", "table"] {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let mut command = folder.command(&format!("{ROUTE} --format {format}"));
        let output = command
            .stdout(full.expect("a device"))
            .output()
            .expect("it starts");
        assert_eq!(output.status.code(), Some(2));
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(
            told.starts_with("ringfence: the output cannot be written: "),
            "{told}"
        );
    }
}

#[test]
fn a_key_without_an_end_is_refused() {
    let folder = Folder::with_orders();
    let ran = folder.run_with(
        "route --instances fleet.yaml --keys -",
        &[b"user-1\n".to_vec(), vec![b'x'; 1024 * 1024 + 1]].concat(),
    );
    assert_eq!(ran.code, Some(2));
    assert_eq!(
        ran.err,
        "ringfence: standard input:2: a key longer than 1 MiB\n"
    );
    let longest = [vec![b'x'; 1024 * 1024], b"\r\n".to_vec()].concat();
    let ran = folder.run_with("route --instances fleet.yaml --keys -", &longest);
    assert_eq!(ran.done().lines().count(), 2);
}

/// Who writes one key and waits has its owner, although more keys may follow.
#[test]
fn keys_of_a_pipe_are_answered_at_once() {
    use std::{
        io::{BufRead as _, BufReader, Write as _},
        process::Stdio,
    };

    let folder = Folder::with_orders();
    for (format, header) in [("csv", 1), ("json", 0), ("table", 1)] {
        let mut command = folder.command(&format!(
            "route --instances fleet.yaml --keys - --format {format}"
        ));
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut keys = child.stdin.take().expect("piped");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        for _ in 0..header {
            lines.next().expect("a header").expect("UTF-8");
        }
        for key in ["user-1", "user-7"] {
            writeln!(keys, "{key}").expect("it reads");
            // Without an answer this waits for ever, and the test's own limit ends it.
            let row = lines.next().expect("a row").expect("UTF-8");
            assert!(row.contains(key), "{format}: {row}");
        }
        drop(keys);
        assert!(child.wait().expect("it ends").success());
    }
}
