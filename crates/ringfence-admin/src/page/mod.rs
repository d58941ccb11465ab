//! The page: one document with its style and its script in it, which asks for nothing but the JSON documents beside it.

use std::sync::LazyLock;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use sha2::{Digest as _, Sha256};

use crate::respond::{self, Answer};

const STYLE: &str = include_str!("style.css");
/// One block, so that nothing of it is global.
const SCRIPT: &str = concat!(
    "\"use strict\";\n{\n",
    include_str!("script/elements.js"),
    include_str!("script/words.js"),
    include_str!("script/server.js"),
    include_str!("script/summary.js"),
    include_str!("script/instances.js"),
    include_str!("script/ring.js"),
    include_str!("script/explain.js"),
    include_str!("script/lists.js"),
    include_str!("script/controls.js"),
    "}\n",
);
/// Where style and script go.
const FRAME: &str = include_str!("index.html");

static PAGE: LazyLock<Page> = LazyLock::new(Page::assemble);

struct Page {
    html: Bytes,
    /// Allows this style and this script, and no other.
    policy: HeaderValue,
}

impl Page {
    fn assemble() -> Self {
        let html = FRAME.replacen("{style}", STYLE, 1);
        let html = html.replacen("{script}", SCRIPT, 1);
        let policy = format!(
            "default-src 'none'; connect-src 'self'; img-src data:; style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            hash_of(STYLE),
            hash_of(SCRIPT)
        );
        Self {
            html: Bytes::from(html),
            // It is ASCII, so this cannot fail; a page without a policy of its own would run nothing.
            policy: HeaderValue::try_from(policy)
                .unwrap_or(HeaderValue::from_static("default-src 'none'")),
        }
    }
}

/// As a Content-Security-Policy names what it allows.
fn hash_of(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

pub(crate) fn answer() -> Answer {
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    let mut answer = respond::answer(StatusCode::OK, html, PAGE.html.clone());
    let policy = PAGE.policy.clone();
    answer
        .headers_mut()
        .insert(header::CONTENT_SECURITY_POLICY, policy);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_whole_and_asks_for_nothing_outside() {
        let html = String::from_utf8(PAGE.html.to_vec()).expect("text");
        assert!(html.contains(STYLE) && html.contains(SCRIPT));
        // A namespace is a name, not an address that is asked.
        let foreign = html.replace("http://www.w3.org/2000/svg", "");
        for asked in ["http:", "https:", "//cdn", "@import", "url(http", "src=\"/"] {
            assert!(!foreign.contains(asked), "{asked}");
        }
    }

    #[test]
    fn no_text_becomes_markup() {
        let ways = [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
        ];
        for way in ways {
            assert!(!SCRIPT.contains(way), "{way}");
        }
        // An end tag in either would end it early, and the policy's hash would not match.
        assert!(!SCRIPT.contains("</") && !STYLE.contains("</"));
    }

    #[test]
    fn the_policy_names_the_hashes() {
        let known = hash_of("alert(1)");
        assert_eq!(known, "sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI=");
        let policy = PAGE.policy.to_str().expect("ASCII");
        assert!(policy.contains(&hash_of(SCRIPT)) && policy.contains(&hash_of(STYLE)));
        assert!(!policy.contains("unsafe"));
    }
}
