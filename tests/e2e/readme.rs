//! Programs of the README that its doc tests leave out are compiled elsewhere, word for word.

use std::{fs, path::Path};

fn text(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn programs<'a>(text: &'a str, fence: &str) -> Vec<&'a str> {
    let opening = format!("```{fence}\n");
    let blocks = text.split(&opening).skip(1);
    blocks
        .map(|block| block.split_once("```").expect("it ends").0)
        .collect()
}

#[test]
fn what_the_doc_tests_of_the_readme_leave_out_is_a_doc_test_of_the_facade() {
    let (readme, facade) = (text("README.md"), text("crates/ringfence/src/registry.md"));
    let ignored = programs(&readme, "rust,ignore");
    assert_eq!(ignored.len(), 2);
    assert_eq!(readme.matches("ignore\n").count(), 2, "of whatever fence");
    assert_eq!(ignored, programs(&facade, "no_run"));
}
