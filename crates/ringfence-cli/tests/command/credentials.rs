//! Credentials that are wrong, of which no message shows anything

use std::{
    io::{BufRead as _, BufReader},
    net::TcpListener,
    process::Command,
    thread,
};

use crate::support::*;

const REGISTRIES: [&str; 3] = ["consul", "nacos", "etcd"];

/// All that says who this is.
const VARIABLES: [&str; 9] = [
    "CONSUL_CACERT",
    "CONSUL_HTTP_TOKEN",
    "CONSUL_HTTP_TOKEN_FILE",
    "ETCDCTL_CACERT",
    "ETCDCTL_USER",
    "NACOS_PASSWORD",
    "NACOS_USERNAME",
    "NACOS_SERVER_ADDR",
    "RINGFENCE_CREDENTIALS",
];

/// A command on a registry that is not there, with these variables alone.
fn asked(folder: &Folder, registry: &str, variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command: Command = folder.command("inspect --instances");
    command.arg(format!("{registry}://127.0.0.1:1/order"));
    for name in VARIABLES {
        command.env_remove(name);
    }
    let ran = command.envs(variables.iter().copied()).output();
    let ran = ran.expect("it starts");
    let told = String::from_utf8(ran.stderr).expect("UTF-8");
    assert!(!told.contains("hunter2"), "{told}");
    (ran.status.code(), told)
}

fn refused(folder: &Folder, registry: &str, variables: &[(&str, &str)]) -> String {
    let (code, told) = asked(folder, registry, variables);
    assert_eq!(code, Some(2), "{registry} {variables:?}: {told}");
    told
}

#[test]
fn a_folder_that_is_none_is_refused() {
    let folder = Folder::new();
    folder.write("file", "hunter2");
    for registry in REGISTRIES {
        let told = refused(&folder, registry, &[("RINGFENCE_CREDENTIALS", "nowhere")]);
        assert!(
            told.starts_with("ringfence: RINGFENCE_CREDENTIALS: nowhere: No such file"),
            "{told}"
        );
        let told = refused(&folder, registry, &[("RINGFENCE_CREDENTIALS", "file")]);
        assert_eq!(
            told,
            format!(
                "ringfence: RINGFENCE_CREDENTIALS: file: expected a folder with a file {registry}-reader\n"
            )
        );
    }
}

/// A folder for another registry, or a file of another name: it is asked all the same, as many need no credentials.
#[test]
fn a_folder_without_the_file_is_told() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("keys")).expect("made");
    folder.write("keys/consul_reader", "hunter2");
    let given = [("RINGFENCE_CREDENTIALS", "keys")];
    for registry in REGISTRIES {
        let (code, told) = asked(&folder, registry, &given);
        assert_eq!(code, Some(3), "{told}");
        let first = format!(
            "ringfence: RINGFENCE_CREDENTIALS: keys has no file {registry}-reader: {registry} is asked without credentials\n"
        );
        assert!(told.starts_with(&first), "{told}");
    }
    // Where a variable says who this is, the folder is not needed.
    let both = [given[0], ("CONSUL_HTTP_TOKEN", "hunter2")];
    let (_, told) = asked(&folder, "consul", &both);
    assert!(!told.contains("RINGFENCE_CREDENTIALS"), "{told}");
}

/// As Consul's own program has it: the file of a variable, the variable, the folder.
#[test]
fn the_file_of_consul_s_token_comes_before_the_token() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("keys")).expect("made");
    folder.write("keys/consul-reader", "of-the-folder");
    folder.write("token", "of-the-file");
    let all = [
        ("CONSUL_HTTP_TOKEN_FILE", "token"),
        ("CONSUL_HTTP_TOKEN", "of-the-variable"),
        ("RINGFENCE_CREDENTIALS", "keys"),
    ];
    for (variables, expected) in [
        (&all[..], "of-the-file"),
        (&all[1..], "of-the-variable"),
        (&all[2..], "of-the-folder"),
    ] {
        assert_eq!(token_sent(&folder, variables), expected);
    }
    // Where the file is missing, nobody is asked with the token of somebody else.
    let missing = [("CONSUL_HTTP_TOKEN_FILE", "nowhere"), all[1]];
    let told = refused(&folder, "consul", &missing);
    assert!(
        told.starts_with("ringfence: nowhere: No such file"),
        "{told}"
    );
}

/// The token of the first request that a Consul gets, which hangs up on it.
fn token_sent(folder: &Folder, variables: &[(&str, &str)]) -> String {
    let consul = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = consul.local_addr().expect("bound").port();
    let heard = thread::spawn(move || {
        let (connection, _) = consul.accept().expect("a request");
        let lines = BufReader::new(connection).lines().map_while(Result::ok);
        let mut head = lines.take_while(|line| !line.is_empty());
        head.find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let is_token = name.eq_ignore_ascii_case("x-consul-token");
            is_token.then(|| value.trim().to_owned())
        })
    });
    let mut command: Command = folder.command("inspect --instances");
    command.arg(format!("consul://127.0.0.1:{port}/order"));
    for name in VARIABLES {
        command.env_remove(name);
    }
    let ran = command.envs(variables.iter().copied()).output();
    assert_eq!(ran.expect("it starts").status.code(), Some(3));
    heard.join().expect("heard").expect("a token")
}

#[test]
fn files_and_variables_of_another_form_are_refused() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("keys")).expect("made");
    let given = [("RINGFENCE_CREDENTIALS", "keys")];
    for (registry, wrong) in [
        ("nacos", "hunter2"),
        ("nacos", ":hunter2"),
        ("etcd", "hunter2\n"),
        ("etcd", "root:"),
        ("consul", " \n"),
        ("consul", "hunter2 hunter2\nhunter2\n"),
    ] {
        folder.write(&format!("keys/{registry}-reader"), wrong);
        let told = refused(&folder, registry, &given);
        let expected = match registry {
            "consul" => "expected a token alone",
            _ => "expected USER:PASSWORD",
        };
        assert_eq!(
            told,
            format!("ringfence: keys/{registry}-reader: {expected}\n")
        );
    }
    for (registry, variables, expected) in [
        (
            "nacos",
            &[("NACOS_USERNAME", "me")][..],
            "NACOS_USERNAME: NACOS_PASSWORD is missing",
        ),
        (
            "nacos",
            &[("NACOS_PASSWORD", "hunter2")],
            "NACOS_PASSWORD: NACOS_USERNAME is missing",
        ),
        (
            "etcd",
            &[("ETCDCTL_USER", "hunter2")],
            "ETCDCTL_USER: expected USER:PASSWORD",
        ),
        (
            "consul",
            &[("CONSUL_HTTP_TOKEN", "hunter2\nhunter2")],
            "CONSUL_HTTP_TOKEN: expected a token alone",
        ),
        (
            "consul",
            &[("CONSUL_HTTP_TOKEN_FILE", "nowhere")],
            "nowhere: No such file",
        ),
        (
            "consul",
            &[("CONSUL_CACERT", "nowhere")],
            "nowhere: No such file",
        ),
        (
            "etcd",
            &[("ETCDCTL_CACERT", "nowhere")],
            "nowhere: No such file",
        ),
    ] {
        let told = refused(&folder, registry, variables);
        assert!(
            told.starts_with(&format!("ringfence: {expected}")),
            "{told}"
        );
    }
}

#[cfg(unix)]
#[test]
fn what_is_no_text_is_refused() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};

    let folder = Folder::new();
    for name in ["CONSUL_HTTP_TOKEN", "CONSUL_HTTP_ADDR"] {
        let mut command = folder.command("inspect --instances consul:///order");
        let ran = command.env(name, OsStr::from_bytes(b"\xff\xfe")).output();
        let ran = ran.expect("it starts");
        assert_eq!(ran.status.code(), Some(2), "{name}");
        let told = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(told, format!("ringfence: {name}: not UTF-8\n"));
    }
}

/// What messages refer to is there.
#[test]
fn the_help_says_what_is_needed() {
    let folder = Folder::new();
    let fault = folder
        .run("inspect --instances consul://me:hunter2@a/b")
        .fault();
    assert!(fault.contains("(ringfence --help says which)"), "{fault}");
    let help = folder.run("--help").done();
    for told in [
        "CONSUL_HTTP_TOKEN",
        "CONSUL_HTTP_TOKEN_FILE",
        "CONSUL_CACERT",
        "NACOS_USERNAME",
        "NACOS_PASSWORD",
        "ETCDCTL_USER",
        "ETCDCTL_CACERT",
        "RINGFENCE_CREDENTIALS",
        "consul-reader",
    ] {
        assert!(help.contains(told), "{told}: {help}");
    }
}
