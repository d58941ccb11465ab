//! Files of the workspace, and what is cut out of them.

use std::{
    fs,
    path::{Path, PathBuf},
};

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

pub(crate) fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The blocks of code behind this fence, without the indentation of lists that they stand in.
pub(crate) fn blocks(text: &str, fence: &str) -> Vec<String> {
    let opening = format!("```{fence}");
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let trimmed = line.trim_start();
        if !trimmed.starts_with("```") {
            continue;
        }
        let indent = line.len() - trimmed.len();
        let block = lines.by_ref().take_while(|line| line.trim() != "```");
        let block: String = block
            .map(|line| format!("{}\n", line.get(indent..).unwrap_or_default()))
            .collect();
        if trimmed == opening {
            blocks.push(block);
        }
    }
    blocks
}
