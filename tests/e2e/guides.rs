//! What a reader copies out of the guides, beside the code that the doc tests of the facade run: documents, files and log lines.

use std::{fs, path::Path, process::Command};

use ringfence::{
    FileDiscovery, PolicyContext, PolicyDocument, ServiceKey, discovery::Discovery as _,
};

use crate::support::{blocks, root, text};

fn guides() -> Vec<(String, String)> {
    let folder = root().join("crates/ringfence/src/guide");
    let mut guides: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    guides.sort();
    assert!(guides.len() > 12);
    guides
}

/// What is left out by the doc tests of the facade would be compiled nowhere.
#[test]
fn no_block_of_rust_is_left_out() {
    for (name, guide) in guides() {
        let left_out = guide
            .lines()
            .find(|line| line.starts_with("```") && line.contains("ignore"));
        assert_eq!(left_out, None, "{name}");
    }
}

/// A document that is cut out of a guide is one: all have been compiled, none is checked by its look alone.
#[tokio::test]
async fn documents_are_what_their_readers_take_them_for() {
    let (mut policies, mut lists, mut others) = (0, 0, Vec::new());
    for (name, guide) in guides() {
        for block in blocks(&guide, "yaml") {
            if block.starts_with("ringfence: 1\n") {
                let context = PolicyContext::new().with_zone("az-1");
                if let Err(error) = PolicyDocument::parse_and_compile(&block, &context) {
                    panic!("{name}: {error}\n{block}");
                }
                policies += 1;
            } else if block.starts_with("services:\n") {
                let folder = tempfile::tempdir().unwrap();
                let file = folder.path().join("services.yaml");
                fs::write(&file, block).unwrap();
                let source = FileDiscovery::new(&file);
                let update = source.fetch(&ServiceKey::new("orders")).await.unwrap();
                assert_eq!(update.state.instance_count(), 2, "{name}");
                assert!(update.rejected.is_empty(), "{name}");
                lists += 1;
            } else {
                others.push((name.clone(), block));
            }
        }
    }
    assert!(policies > 6, "{policies}");
    assert_eq!(lists, 1);
    // Settings that the command reads, and Envoy's own.
    let of: Vec<_> = others.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(of, ["command", "migration_envoy"], "{others:?}");
    for (name, block) in &others {
        let parsed = serde_saphyr::from_str::<serde_json::Value>(block);
        assert!(parsed.is_ok(), "{name}: {parsed:?}");
    }
}

#[test]
fn dependencies_are_those_that_the_programs_are_compiled_with() {
    let readme = text("README.md");
    let known: Vec<&str> = readme.lines().collect();
    let blocks = blocks(
        &text("crates/ringfence/src/guide/getting_started.md"),
        "toml",
    );
    assert_eq!(blocks.len(), 2);
    for line in blocks.iter().flat_map(|block| block.lines()) {
        assert!(known.contains(&line), "the README does not say {line}");
    }
    // Versions of the README are those of the workspace.
    let workspace = text("Cargo.toml");
    for (name, version) in [
        ("tonic", "0.14"),
        ("tonic-health", "0.14"),
        ("tokio", "1"),
        ("hyper-util", "0.1"),
        ("http-body-util", "0.1"),
        ("http", "1"),
        ("bytes", "1"),
    ] {
        let line = |text: &str| {
            let line = text
                .lines()
                .find(|line| line.starts_with(&format!("{name} = ")));
            line.unwrap_or_else(|| panic!("{name}")).to_owned()
        };
        assert!(line(&readme).contains(&format!("\"{version}\"")), "{name}");
        let ours = line(&workspace);
        assert!(
            ours.contains(&format!("\"{version}\"")) || ours.contains(&format!("\"{version}.")),
            "{name}: {ours}"
        );
    }
}

/// In the code, words of a log line that begin a guide's cell in backquotes; where parts of it vary, the guide leaves them out.
#[test]
fn log_lines_are_those_of_the_code() {
    let mut sources = String::new();
    for folder in ["balancer", "discovery", "tower", "policy"] {
        collect(
            &root().join(format!("crates/ringfence-{folder}/src")),
            &mut sources,
        );
    }
    let operations = text("crates/ringfence/src/guide/operations.md");
    let (_, logs) = operations.split_once("\n# Logs\n").unwrap();
    let (logs, _) = logs.split_once("\n# ").unwrap();
    let lines: Vec<&str> = logs
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(line, _)| line)
        .collect();
    assert!(lines.len() > 15, "{}", lines.len());
    for line in lines {
        assert!(sources.contains(line), "nobody logs: {line}");
    }
}

fn collect(folder: &Path, into: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, into);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            into.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

/// Setters that a guide names, in code or in a table, are there.
#[test]
fn setters_that_are_named_exist() {
    let mut sources = String::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        collect(&entry.unwrap().path().join("src"), &mut sources);
    }
    let mut named = 0;
    for (name, guide) in guides() {
        let words = guide.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        for word in words.filter(|word| word.starts_with("with_") && word.len() > 5) {
            let is_there = ["(", "<"].map(|after| sources.contains(&format!("fn {word}{after}")));
            assert!(is_there.contains(&true), "{name}: {word}");
            named += 1;
        }
    }
    assert!(named > 100, "{named}");
}

/// The examples that guides send their readers to.
#[test]
fn examples_and_scripts_that_are_named_exist() {
    let manifest = text("examples/Cargo.toml");
    let mut named = 0;
    for (name, guide) in guides() {
        for (at, _) in guide.match_indices("cargo run --example ") {
            let rest = &guide[at + "cargo run --example ".len()..];
            let example: String = rest
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            assert!(
                manifest.contains(&format!("name = \"{example}\"")),
                "{name}: no example {example}"
            );
            named += 1;
        }
        for script in ["tests/run", "tests/registries/up", "docker/credentials"] {
            if guide.contains(script) {
                assert!(root().join(script).exists(), "{name}: {script}");
            }
        }
    }
    assert!(named > 2, "{named}");
}

/// Each guide is in the index, and in the same order everywhere.
#[test]
fn the_index_has_every_guide_in_one_order() {
    let order = |text: &str, before: &str| -> Vec<String> {
        let mut order: Vec<String> = Vec::new();
        for (at, _) in text.match_indices(before) {
            let rest = &text[at + before.len()..];
            let name: String = rest
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            if !order.contains(&name) {
                order.push(name);
            }
        }
        order
    };
    let index = order(&text("crates/ringfence/src/guide/mod.rs"), "[`");
    let mut sorted = index.clone();
    sorted.sort();
    let names: Vec<_> = guides().into_iter().map(|(name, _)| name).collect();
    assert_eq!(sorted, names);

    let facade = text("crates/ringfence/src/lib.rs");
    let (_, facade) = facade.split_once("//! # Guides\n").unwrap();
    assert_eq!(order(facade, "(guide::"), index);
    let readme = text("README.md");
    let (_, readme) = readme.split_once("\n## Guides\n").unwrap();
    let (readme, _) = readme.split_once("\n## ").unwrap();
    assert_eq!(order(readme, "crates/ringfence/src/guide/"), index);
}

/// As rustdoc makes it of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().replace(' ', "-").to_lowercase()
}

fn anchors(guide: &str) -> Vec<String> {
    let mut in_block = false;
    let headings = guide.lines().filter_map(|line| {
        in_block ^= line.trim_start().starts_with("```");
        let text = line.trim_start_matches('#');
        let is_heading = !in_block && text.len() < line.len() && text.starts_with(' ');
        is_heading.then(|| anchor(text.trim()))
    });
    headings.collect()
}

/// rustdoc checks that the guide of a link is there, and not that it has the section.
#[test]
fn sections_that_are_linked_exist() {
    let guides = guides();
    let mut links = 0;
    for (name, guide) in &guides {
        for (at, _) in guide.match_indices("](") {
            let link = guide[at + 2..].split(')').next().unwrap();
            let Some((page, section)) = link.split_once('#') else {
                continue;
            };
            let page = match page.strip_prefix("super::") {
                Some(page) => page,
                None if page.is_empty() => name,
                None => continue,
            };
            let (_, target) = guides.iter().find(|(name, _)| name == page).unwrap();
            assert!(
                anchors(target).iter().any(|known| known == section),
                "{name}: {link}"
            );
            links += 1;
        }
    }
    assert!(links > 30, "{links}");
}

/// Commands for a shell are at least such; what they do, other tests tell.
#[test]
fn shell_blocks_are_shell() {
    for (name, guide) in guides() {
        for block in blocks(&guide, "sh") {
            let checked = Command::new("bash").args(["-n", "-c", &block]).status();
            assert!(checked.unwrap().success(), "{name}: {block}");
        }
    }
}
