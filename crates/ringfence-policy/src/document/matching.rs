use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::is_default;

/// Conditions on a request; all that are set must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RequestMatch {
    /// HTTP methods, compared exactly; default any.
    #[serde(skip_serializing_if = "is_default")]
    pub methods: Vec<String>,
    /// The path, without the query; default any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<TextMatch>,
    /// The gRPC service and method; default any request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grpc: Option<GrpcMatch>,
    /// Headers or gRPC metadata by name. Of a header that is there several times, one value must match.
    #[serde(skip_serializing_if = "is_default")]
    pub headers: BTreeMap<String, TextMatch>,
    /// Trusted tags by name.
    #[serde(skip_serializing_if = "is_default")]
    pub tags: BTreeMap<String, TextMatch>,
}

/// Condition on the path of a gRPC call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrpcMatch {
    /// The full name of the service, package included.
    pub service: String,
    /// The method; default any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
}

/// Condition on a text; upper and lower case differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TextMatch {
    /// This text.
    Exact(String),
    /// One of these texts; at least one.
    OneOf(Vec<String>),
    /// Starts with this text.
    Prefix(String),
    /// The whole text matches this regular expression, in the syntax of the crate `regex`, in time linear in its length. The
    /// compiled pattern takes at most 1 MiB.
    Regex(String),
    /// Whether there is any text.
    Present(bool),
}
