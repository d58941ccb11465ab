//! Programs of the README that its doc tests leave out are compiled elsewhere, word for word.

use crate::support::{blocks, text};

#[test]
fn what_the_doc_tests_of_the_readme_leave_out_is_a_doc_test_of_the_facade() {
    let readme = text("README.md");
    let guide = text("crates/ringfence/src/guide/registries.md");
    let ignored = blocks(&readme, "rust,ignore");
    assert_eq!(ignored.len(), 2);
    assert_eq!(readme.matches("ignore\n").count(), 2, "of whatever fence");
    assert_eq!(ignored, blocks(&guide, "no_run"));
}
