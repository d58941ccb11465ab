use serde::Serialize;

use crate::{CompiledPolicy, GrayTag, RequestHead, compile::CompiledRule};

/// A request is in a gray release.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrayIn<'a> {
    /// The release.
    pub release: &'a str,
    /// Why.
    pub why: GrayWhy,
    /// Place in the rule's list.
    pub(crate) place: usize,
}

/// Why a request is in a gray release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GrayWhy {
    /// The program says so by a [`GrayTag`].
    Tag,
    /// Its tenant is on the list.
    Tenant,
    /// Its key is in the percentage.
    Percent,
}

impl GrayWhy {
    /// As in serialised explanations.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tag => "tag",
            Self::Tenant => "tenant",
            Self::Percent => "percent",
        }
    }
}

impl CompiledPolicy {
    /// The release of the rule that a request is in: that of its tag, else the first that its tenant or key is in.
    pub(super) fn gray<'a>(
        &'a self,
        rule: &'a CompiledRule,
        head: &RequestHead<'a>,
        tenant: Option<&str>,
        key: Option<&[u8]>,
    ) -> Option<GrayIn<'a>> {
        let releases = || {
            let places = rule.gray.iter().enumerate();
            let releases = places.filter_map(|(place, i)| Some((place, self.releases.get(*i)?)));
            releases.filter(|(_, release)| release.enabled)
        };
        let tag = self.gray_tag(head);
        let tagged = tag.and_then(|tag| {
            let (place, release) =
                releases().find(|(_, release)| *release.name == *tag.release())?;
            Some((place, release, GrayWhy::Tag))
        });
        let chosen = tagged.or_else(|| {
            releases().find_map(|(place, release)| {
                let why = if tenant.is_some_and(|tenant| release.has_tenant(tenant)) {
                    GrayWhy::Tenant
                } else if key.is_some_and(|key| release.has_key(key)) {
                    GrayWhy::Percent
                } else {
                    return None;
                };
                Some((place, release, why))
            })
        });
        chosen.map(|(place, release, why)| GrayIn {
            release: &release.name,
            why,
            place,
        })
    }

    /// The request's tag, if it is one to believe.
    fn gray_tag<'a>(&self, head: &RequestHead<'a>) -> Option<&'a GrayTag> {
        let authority = self.authority.as_ref()?;
        let tag = head.extensions.get::<GrayTag>()?;
        tag.is_by(authority).then_some(tag)
    }
}
