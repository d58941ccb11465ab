/// A setting of [`NacosConfig`](crate::NacosConfig), or the name of a service, is not legal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} must be {expected}")]
pub struct NacosConfigError {
    field: &'static str,
    expected: &'static str,
}

impl NacosConfigError {
    pub(crate) fn new(field: &'static str, expected: &'static str) -> Self {
        Self { field, expected }
    }
}
