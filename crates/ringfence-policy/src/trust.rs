//! Who may put requests into gray releases and speak for tenants.

use std::{fmt, sync::Arc};

use ringfence_core::RequestTags;

/// The right to tag requests. The policy is given it once and believes the tokens of this very authority and its clones;
/// keep it in the layer that authenticates callers.
///
/// A program can say the same with the extension [`RequestTags`]; a token also says on whose account, for the audit, and
/// cannot be made by code that was not handed the authority.
///
/// # Examples
/// ```
/// use ringfence_policy::{PolicyContext, TagAuthority};
///
/// let authority = TagAuthority::new();
/// let context = PolicyContext::new().with_authority(&authority);
///
/// let mut request = http::Request::get("/cart").body(())?;
/// request.extensions_mut().insert(authority.gray("checkout-v2", "tester@example"));
/// # let _ = context;
/// # Ok::<(), http::Error>(())
/// ```
///
/// Nobody else can make a tag:
/// ```compile_fail
/// let forged = ringfence_policy::GrayTag { release: "checkout-v2".into(), who: "me".into() };
/// ```
#[derive(Clone, Default)]
pub struct TagAuthority(Arc<Identity>);

/// Told apart by where it lies; without a byte of its own two could lie at one address.
#[derive(Default)]
struct Identity(#[allow(dead_code, reason = "it is there to have a place, not to be read")] u8);

impl TagAuthority {
    /// A new authority, unlike any other.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a request into a gray release, on this caller's account.
    #[must_use]
    pub fn gray(&self, release: impl Into<Arc<str>>, who: impl Into<Arc<str>>) -> GrayTag {
        GrayTag {
            release: release.into(),
            who: who.into(),
            authority: self.clone(),
        }
    }

    /// Tags a request, on this caller's account.
    #[must_use]
    pub fn tags(&self, tags: RequestTags, who: impl Into<Arc<str>>) -> TrustedTags {
        TrustedTags {
            tags,
            who: who.into(),
            authority: self.clone(),
        }
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for TagAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TagAuthority")
    }
}

/// Request extension: puts the request into a gray release. Only a [`TagAuthority`] makes it.
#[derive(Clone, Debug)]
pub struct GrayTag {
    release: Arc<str>,
    who: Arc<str>,
    authority: TagAuthority,
}

impl GrayTag {
    /// The release.
    #[must_use]
    pub fn release(&self) -> &str {
        &self.release
    }

    /// On whose account.
    #[must_use]
    pub fn who(&self) -> &str {
        &self.who
    }

    /// Whether this authority made it.
    #[must_use]
    pub fn is_by(&self, authority: &TagAuthority) -> bool {
        self.authority.is(authority)
    }
}

/// Request extension: tags of the request. Only a [`TagAuthority`] makes it.
#[derive(Clone, Debug)]
pub struct TrustedTags {
    tags: RequestTags,
    who: Arc<str>,
    authority: TagAuthority,
}

impl TrustedTags {
    /// The tags.
    pub fn tags(&self) -> &RequestTags {
        &self.tags
    }

    /// On whose account.
    #[must_use]
    pub fn who(&self) -> &str {
        &self.who
    }

    /// Whether this authority made it.
    #[must_use]
    pub fn is_by(&self, authority: &TagAuthority) -> bool {
        self.authority.is(authority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_authority_itself_is_recognised() {
        let (one, other) = (TagAuthority::new(), TagAuthority::new());
        let gray = one.gray("r", "me");
        let tags = one.tags(RequestTags::new().with_tenant("acme"), "me");
        assert!(gray.is_by(&one.clone()) && tags.is_by(&one.clone()));
        assert!(!gray.is_by(&other) && !tags.is_by(&other));
    }
}
