//! `ringfence completions`, `ringfence man`, and colours

use std::process::{Command, Stdio};

use crate::support::*;

#[test]
fn completions_know_every_command() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = folder.run(&format!("completions {shell}")).done();
        for command in COMMANDS {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
    let script = folder.run("completions bash").done();
    folder.write("ringfence.bash", &script);
    let checked = Command::new("bash")
        .arg("-n")
        .arg(folder.path("ringfence.bash"))
        .output();
    let checked = checked.expect("bash is there");
    assert!(
        checked.status.success(),
        "{}",
        String::from_utf8_lossy(&checked.stderr)
    );
    let asked = "source ringfence.bash; COMP_WORDS=(ringfence exp); COMP_CWORD=1; _ringfence ringfence exp ringfence; echo \"${COMPREPLY[@]}\"";
    let told = Command::new("bash")
        .current_dir(folder.path("."))
        .args(["-c", asked])
        .output();
    let told = told.expect("bash is there");
    assert_eq!(String::from_utf8_lossy(&told.stdout).trim(), "explain");
    assert_eq!(folder.run("completions csh").code, Some(2));
}

#[test]
fn the_manual_has_a_page_for_each_command() {
    let folder = Folder::new();
    let page = folder.run("man").done();
    for part in [
        ".SH NAME",
        ".SH SYNOPSIS",
        ".SH OPTIONS",
        "Exit codes",
        "CONSUL_HTTP_TOKEN",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    std::fs::create_dir(folder.path("man1")).expect("made");
    assert_eq!(folder.run("man man1").done(), "");
    for command in COMMANDS {
        let page = folder.read(&format!("man1/ringfence-{command}.1"));
        assert!(
            page.contains(".SH SYNOPSIS") && page.contains("Examples"),
            "{command}"
        );
    }
    assert!(folder.run("man nowhere").fault().starts_with("nowhere: "));
    // Where there is a formatter, it has nothing to complain of.
    let formatted = Command::new("man")
        .args(["--warnings", "-l"])
        .arg(folder.path("man1/ringfence-watch.1"))
        .env("MANWIDTH", "100")
        .stdin(Stdio::null())
        .output();
    if let Ok(formatted) = formatted
        && formatted.status.success()
    {
        assert_eq!(String::from_utf8_lossy(&formatted.stderr), "");
        let text = String::from_utf8_lossy(&formatted.stdout).into_owned();
        assert!(text.contains("ringfence-watch"), "{text}");
    }
}

#[test]
fn the_guide_has_a_section_for_each_command_and_all_exit_codes() {
    let guide = include_str!("../../../ringfence/src/guide/command.md");
    let sections: Vec<&str> = guide
        .lines()
        .filter_map(|line| line.strip_prefix("# "))
        .collect();
    for command in COMMANDS {
        let has = |section: &&str| section.split(' ').any(|word| word == command);
        assert_eq!(
            sections.iter().filter(|section| has(section)).count(),
            1,
            "{command}"
        );
    }
    let help = Folder::new().run("--help").done();
    for code in 0..=3 {
        assert!(
            guide.contains(&format!("\n| {code} | ")) && help.contains(&format!("\n  {code}  ")),
            "{code}"
        );
    }
}

#[test]
fn there_are_colours_only_where_they_are_wanted() {
    let folder = Folder::new();
    folder.write("fleet.yaml", SHOP);
    let args = "watch --once --instances fleet.yaml";
    let plain = folder.run(args).done();
    assert!(!plain.contains('\u{1b}'), "a pipe has none");
    let always = folder.run(&format!("{args} --color always")).done();
    assert!(always.contains("\u{1b}["));
    assert_eq!(folder.run(&format!("{args} --color never")).done(), plain);
    let mut forced = folder.command(args);
    let forced = forced
        .env("CLICOLOR_FORCE", "1")
        .output()
        .expect("it starts");
    assert!(forced.stdout.contains(&0x1b));
    let mut refused = folder.command(args);
    let refused = refused
        .env("CLICOLOR_FORCE", "1")
        .env("NO_COLOR", "1")
        .output()
        .expect("it starts");
    assert!(!refused.stdout.contains(&0x1b));
}
