use std::env;

/// A variable of the environment with something in it.
///
/// # Errors
/// One that is no text is told without its value.
pub(super) fn variable(name: &str) -> Result<Option<String>, String> {
    match env::var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.is_empty())),
        Err(env::VarError::NotPresent) => Ok(None),
        Err(env::VarError::NotUnicode(_)) => Err(format!("{name}: not UTF-8")),
    }
}
