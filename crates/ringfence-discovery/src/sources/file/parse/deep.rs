//! Texts that are nested deeply must not need more stack than a thread has.

use std::thread;

use super::parse_instances_file;

/// Half of what threads of tokio and of the standard library have; debug builds need much more than others.
const STACK: usize = 1_024 * 1_024;

fn nested(open: &str, close: &str, depth: usize) -> String {
    format!("{}{}", open.repeat(depth), close.repeat(depth))
}

#[test]
fn depth_needs_no_more_than_half_of_a_usual_stack() {
    let worker = thread::Builder::new().stack_size(STACK).spawn(|| {
        for depth in [8, 24, 64, 500, 1_900, 50_000] {
            for (open, close) in [
                ("[", "]"),
                ("{a: ", "}"),
                ("? [", "]"),
                ("{? [", "]}"),
                ("- ", ""),
                ("&a [", "]"),
                ("!t [", "]"),
                ("[*a, ", "]"),
            ] {
                let nested = nested(open, close, depth);
                for text in [
                    nested.clone(),
                    format!("services: {nested}"),
                    format!("services:\n  order: {nested}"),
                    format!("services:\n  order:\n    - {nested}"),
                    format!("services:\n  order:\n    - id: {nested}"),
                    format!("services:\n  order:\n    - {{id: a, address: 'h:1', tags: {{a: {nested}}}}}"),
                    format!("services:\n  order:\n    - {{id: a, address: 'h:1', tags: {{{nested}: a}}}}"),
                    format!("services:\n  ? {nested}\n  : []"),
                    format!("anchor: &a {nested}\nservices: *a"),
                    format!("services: {{<<: {nested}}}"),
                ] {
                    // Whether it is legal does not matter, only that there is an answer.
                    let _ = parse_instances_file(&text);
                }
            }
        }
    });
    worker.expect("a thread").join().expect("no panic");
}
