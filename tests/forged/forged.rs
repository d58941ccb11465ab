//! Tokens that only a `TagAuthority` makes cannot be made, nor changed, without it.

use ringfence_core::RequestTags;
use ringfence_policy::{GrayTag, TagAuthority, TrustedTags};

#[test]
fn forging_a_token_does_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("cases/*.rs");
}

// So that the cases fail for no other reason than that they forge. A case of trybuild's would build all once more.
#[test]
fn the_authority_makes_tokens() {
    let authority = TagAuthority::new();
    let gray: GrayTag = authority.gray("checkout-v2", "tester");
    let tags: TrustedTags = authority.tags(RequestTags::new().with_tenant("acme"), "tester");
    assert_eq!((gray.release(), gray.who()), ("checkout-v2", "tester"));
    assert!(gray.is_by(&authority) && tags.is_by(&authority));
}
