//! The routing policy of Ringfence as data: which requests go to which instances, by which key, and who may say so.
//!
//! A [`PolicyDocument`] is read from YAML or JSON, or built in code of the same types; [compiling](PolicyDocument::compile)
//! it checks everything once and gives a [`CompiledPolicy`], which [evaluates](CompiledPolicy::evaluate) requests. Nothing
//! here does I/O, reads a clock or draws a random number.
//!
//! # A document
//! ```
//! # let text = r#"
//! ringfence: 1
//! zone: { prefer_local: true }
//! gray:
//!   checkout-v2: { to: { version: gray }, percent: 5, tenants: [globex] }
//! tenants:
//!   acme:    { mode: dedicated, strict: true }
//!   default: { mode: shuffle_shard, size: 4 }
//! rules:
//!   - name: checkout
//!     match: [{ grpc: { service: shop.v1.Checkout } }, { path: { prefix: /pay }, methods: [POST] }]
//!     key: [{ claim: sub }, { header: x-user, normalise: [trim, uuid_lower] }]
//!     gray: [checkout-v2]
//!     pools: [{ require: { version: stable }, min_usable: 2 }, {}]
//!   - name: experiments
//!     match: [{ path: { prefix: /lab/ } }]
//!     mode: observe
//! # "#;
//! # use ringfence_policy::{PolicyContext, PolicyDocument};
//! # let policy = PolicyDocument::parse_and_compile(text, &PolicyContext::new().with_zone("az-1"))?;
//! # assert_eq!(policy.document().rules.len(), 2);
//! # Ok::<(), ringfence_policy::PolicyError>(())
//! ```
//!
//! # Guarantees
//! | what | how |
//! |---|---|
//! | a document means what it says | unknown fields, names and values are refused with path, line, column and the nearest known name |
//! | a gray release is sticky and only grows | a key is in by a hash that is neither the ring's nor another release's |
//! | nobody gets to gray or dedicated instances by accident | every pool leaves them out; tags count only from the program, its [`TagAuthority`] or trusted headers |
//! | deciding allocates nothing | but for regular expressions, and for keys of more than 128 bytes that must be changed |
//! | nothing that clients send panics or grows anything | keys are bounded, everything else is only looked at |
//!
//! # Formats
//! Clients in other processes and languages decide alike when they compute alike:
//!
//! | what | how |
//! |---|---|
//! | in a release's percentage | xxh3_64(key, seed = xxh3_64(release name, seed = `0x67726179`)) / 2^64 is below it |
//! | in `enforce_percent` | xxh3_64(key, seed = `0x656e666f726365`) / 2^64 is below it |
//! | salt, ring and shard of a tenant | [`ringfence_core::name_seed`] of its name |
//! | several values of a header | joined by a zero byte |
//! | several parts of a key, several binary values | each preceded by its length in four bytes, least first |
//! | keyed hash | SipHash-2-4, eight bytes, least first |

mod audit;
mod compile;
mod context;
mod document;
mod dry_run;
mod dump;
mod error;
mod evaluate;
mod explain;
mod extensions;
mod head;
pub mod import;
mod keys;
mod lint;
mod observe;
mod place;
mod routing_key;
mod trust;

pub use self::{
    audit::{AuditDecision, AuditEvent, AuditQueue, AuditReason, AuditSink},
    compile::{CompiledPolicy, PlanUse, PolicyWarning},
    context::{KeySecret, PolicyContext},
    document::{
        DocumentVersion, GrayElse, GrayRelease, GrpcMatch, KeyFrom, KeySource, Limits, MissingKey,
        Mode, Normaliser, Percent, PolicyDocument, PoolStage, RequestMatch, RingAlgorithm,
        RingHash, RingHostOrder, RingSettings, RingSlots, RingVariant, Rule, TagFromHeader,
        TagMatch, TenantMode, Tenants, TextMatch, ZonePolicy,
    },
    dry_run::{Cause, DryRun, Move, Place, SampleRequest, SampleRequestError, dry_run},
    dump::{Disagreement, DumpError, DumpedInstance, RingDump},
    error::PolicyError,
    evaluate::{Decides, Evaluation, GrayIn, GrayWhy, TrustedView},
    explain::{
        ExplainLimits, Explanation, KeyExplanation, Refusal, SourceExplanation, StageExplanation,
        StepExplanation, TagExplanation,
    },
    extensions::{PeerAddress, VerifiedClaims},
    head::RequestHead,
    keys::{FoundKey, KeyBytes},
    lint::{KeyFinding, KeyLint},
    observe::{CacheHits, Comparison, InstanceShare, ObserveReport, Observed},
    routing_key::RoutingKey,
    trust::{GrayTag, TagAuthority, TrustedTags},
};
