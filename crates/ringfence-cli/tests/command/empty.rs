//! Services without instances, as a misspelt name of a registry is one

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
};

use crate::support::*;

/// A Consul that says the same to everybody, for as long as the test runs.
fn consul(answer: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it has one");
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || answer_all(stream, answer));
        }
    });
    address
}

fn answer_all(stream: TcpStream, answer: &str) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    loop {
        let mut line = String::new();
        // The head ends with an empty line; none of these requests has a body.
        while line != "\r\n" {
            line.clear();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
        }
        let length = answer.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-consul-index: 7\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).ok()?;
        stream.write_all(answer.as_bytes()).ok()?;
    }
}

const COMMANDS: [&str; 8] = [
    "inspect",
    "explain --key k",
    "report here.html",
    "dump",
    "route --keys keys.txt",
    "plan",
    "simulate --change remove:a",
    "watch --once",
];

#[test]
fn a_name_that_is_misspelt_ends_with_a_code_of_its_own() {
    let address = consul("[]");
    let folder = Folder::with_orders();
    for command in COMMANDS {
        let ran = folder.run(&format!("{command} --instances consul://{address}/ordr"));
        let told = format!("ringfence: consul://{address}/ordr: ");
        assert_eq!(ran.code, Some(3), "{command}: {}", ran.err);
        assert!(ran.err.starts_with(&told), "{command}: {}", ran.err);
        assert!(ran.err.contains("misspelt"), "{command}: {}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{command}: {}", ran.err);
        // What was found is shown where it is a look at the service.
        let shows = ["inspect", "watch --once"].contains(&command);
        assert_eq!(!ran.out.is_empty(), shows, "{command}: {}", ran.out);
    }
    assert!(!folder.path("here.html").exists());
}

/// Where no record can be read, the reasons are what is wanted.
#[test]
fn records_that_are_all_wrong_are_shown() {
    let address = consul(
        r#"[{"Node":{"Node":"n","Address":"10.0.0.1"},"Service":{"ID":"a","Service":"order","Address":"10.0.0.1","Port":0},"Checks":[]}]"#,
    );
    let folder = Folder::with_orders();
    let ran = folder.run(&format!("inspect --instances consul://{address}/order"));
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(ran.out.contains("port"), "{}", ran.out);
    let ran = folder.run(&format!("dump --instances consul://{address}/order"));
    assert_eq!((ran.code, &*ran.out), (Some(3), ""), "{}", ran.err);
    assert!(
        ran.err.contains("is an instance: 1 left out"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("left out: /n/a: "), "{}", ran.err);
}

#[test]
fn a_file_without_instances_is_a_wrong_input() {
    let folder = Folder::with_orders();
    folder.write("fleet.yaml", "services:\n  order: []\n");
    for command in COMMANDS {
        let ran = folder.run(&format!("{command} --instances fleet.yaml"));
        assert_eq!(ran.code, Some(2), "{command}: {}", ran.err);
        assert_eq!(
            ran.err, "ringfence: fleet.yaml: the service `order` has no instance\n",
            "{command}"
        );
    }
    // To go down to none is a change as any other.
    folder.write("some.yaml", orders(&[(1, 100)]));
    let to_none = folder.run("simulate --instances some.yaml --to fleet.yaml");
    assert_eq!(to_none.code, Some(0), "{}", to_none.err);
}
