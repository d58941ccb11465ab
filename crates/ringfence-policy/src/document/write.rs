use super::PolicyDocument;
use crate::PolicyError;

impl PolicyDocument {
    /// The document as YAML; [`parse`](Self::parse) gives the same document again.
    ///
    /// # Errors
    /// [`PolicyError`] if the writer cannot write it.
    pub fn to_yaml(&self) -> Result<String, PolicyError> {
        serde_saphyr::to_string(self).map_err(|error| PolicyError::new("", error.to_string()))
    }

    /// The document as JSON; [`parse`](Self::parse) gives the same document again.
    ///
    /// # Errors
    /// [`PolicyError`] if the writer cannot write it.
    pub fn to_json(&self) -> Result<String, PolicyError> {
        serde_json::to_string_pretty(self).map_err(|error| PolicyError::new("", error.to_string()))
    }
}
