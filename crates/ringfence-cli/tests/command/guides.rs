//! Commands that the guides and the README show are such that this one takes.

use std::{collections::BTreeSet, fs, path::Path};

use crate::support::*;

/// The subcommand and options of each command line in `text`.
fn shown(text: &str) -> Vec<(String, Vec<String>)> {
    let starts = text.match_indices("ringfence ").filter(|(at, _)| {
        // In a block at the start of a line, or in backquotes.
        *at == 0 || matches!(text.as_bytes()[at - 1], b'\n' | b'`')
    });
    starts
        .filter_map(|(at, start)| {
            let line = text[at + start.len()..].split(['\n', '`', '#']).next()?;
            let mut words = line.split_whitespace();
            let command = words.next()?;
            let known = [
                "route", "plan", "simulate", "dump", "diff", "watch", "inspect", "explain",
                "report", "lint",
            ];
            known.contains(&command).then(|| {
                let options = words.filter(|word| word.starts_with("--"));
                (command.to_owned(), options.map(str::to_owned).collect())
            })
        })
        .collect()
}

#[test]
fn options_that_are_shown_are_options() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut texts = vec![root.join("README.md")];
    for entry in fs::read_dir(root.join("crates/ringfence/src/guide")).expect("guides") {
        let path = entry.expect("a file").path();
        if path.extension().is_some_and(|ending| ending == "md") {
            texts.push(path);
        }
    }
    let folder = Folder::new();
    let mut commands = BTreeSet::new();
    for path in texts {
        for (command, options) in shown(&fs::read_to_string(&path).expect("a text")) {
            let help = folder.run(&format!("{command} --help")).done();
            for option in options {
                let of_help = help.split(|c: char| !(c.is_alphanumeric() || c == '-'));
                assert!(
                    of_help.into_iter().any(|word| word == option),
                    "{}: {command} has no {option}",
                    path.display()
                );
            }
            commands.insert(command);
        }
    }
    assert!(commands.len() > 5, "{commands:?}");
}
