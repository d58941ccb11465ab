/// Why metrics could not be registered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MetricsError {
    /// The registry has metrics of these names already: these ones, or others with the same names.
    #[error("the registry does not take the metrics")]
    Registry(#[from] prometheus::Error),
}
