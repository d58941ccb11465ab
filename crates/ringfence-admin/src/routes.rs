//! What there is, and which parameters it takes.

use ringfence_core::{clip, did_you_mean};

use crate::query::Query;

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    Page,
    Services,
    Metrics,
    Healthz,
    State,
    Of(Document),
}

/// Documents of one balancer that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Document {
    Snapshot,
    Ring,
    Dump,
    Pools,
    Explain,
    Observe,
    Decisions,
    Changes,
    HotKeys,
}

const NONE: &[&str] = &[];
const SERVICE: &[&str] = &["service"];
const REQUEST: &[&str] = &[
    "service", "key", "method", "path", "peer", "header", "tag", "claim",
];

/// Those that may be there several times.
const REPEATED: &[&str] = &["header", "tag", "claim"];

impl Known {
    /// `None` where there is nothing.
    pub(crate) fn at(path: &str) -> Option<Self> {
        Some(match path {
            "" | "/" => Self::Page,
            "/state" => Self::State,
            "/services" => Self::Services,
            "/snapshot" => Self::Of(Document::Snapshot),
            "/ring" => Self::Of(Document::Ring),
            "/dump" => Self::Of(Document::Dump),
            "/pools" => Self::Of(Document::Pools),
            "/explain" => Self::Of(Document::Explain),
            "/observe" => Self::Of(Document::Observe),
            "/decisions" => Self::Of(Document::Decisions),
            "/changes" => Self::Of(Document::Changes),
            "/hot-keys" => Self::Of(Document::HotKeys),
            "/metrics" => Self::Metrics,
            "/healthz" => Self::Healthz,
            _ => return None,
        })
    }

    fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::Services | Self::Metrics | Self::Healthz => NONE,
            Self::Of(Document::Explain) => REQUEST,
            Self::Page | Self::State | Self::Of(_) => SERVICE,
        }
    }

    /// Refuses what would have no effect: who misspells a parameter would take the answer for one that heeds it. Probes and scrapers add
    /// some of their own, and nobody writes theirs by hand.
    ///
    /// # Errors
    /// What is wrong with the query, for people.
    pub(crate) fn check(self, query: &Query<'_>) -> Result<(), String> {
        if matches!(self, Self::Metrics | Self::Healthz) {
            return Ok(());
        }
        if query.is_cut() {
            let most = Query::MAX_PARAMETERS;
            return Err(format!("there are more than {most} parameters"));
        }
        let known = self.parameters();
        if let Some(name) = query.names().find(|name| !known.contains(name)) {
            let hint = did_you_mean(name, known.iter().copied());
            return Err(format!("there is no parameter `{}`{hint}", clip(name)));
        }
        let mut single = known.iter().filter(|name| !REPEATED.contains(name));
        match single.find(|name| query.all(name).nth(1).is_some()) {
            None => Ok(()),
            Some(name) => Err(format!("the parameter `{name}` is there twice")),
        }
    }
}
