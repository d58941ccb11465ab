use std::{error::Error, fmt, path::PathBuf, sync::Arc};

use http::HeaderValue;
use ringfence_discovery::{DiscoveryError, ErrorKind};

use crate::{ConsulConfigError, NAME};

type Provide = dyn Fn() -> Result<String, Box<dyn Error + Send + Sync>> + Send + Sync;

/// Where the ACL token comes from.
///
/// A file or a function is asked before every request, so a token that is rotated is used from the next request on, at the
/// latest after one `wait`. Neither `Debug` nor any error or log line shows the token.
///
/// # Examples
/// ```
/// use ringfence_consul::ConsulToken;
///
/// let fixed = ConsulToken::value("b1gs33cr3t");
/// assert!(!format!("{fixed:?}").contains("b1gs33cr3t"));
/// let mounted = ConsulToken::file("/var/run/secrets/consul/token");
/// let provided = ConsulToken::from_fn(|| Ok("read from a vault".to_owned()));
/// ```
#[derive(Clone)]
pub struct ConsulToken(Source);

#[derive(Clone)]
enum Source {
    Value(Arc<str>),
    File(PathBuf),
    Function(Arc<Provide>),
}

impl ConsulToken {
    /// This token.
    pub fn value(token: impl AsRef<str>) -> Self {
        Self(Source::Value(token.as_ref().into()))
    }

    /// The content of this file, without white space at its ends.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self(Source::File(path.into()))
    }

    /// What this function returns, without white space at its ends. It runs on the caller's thread before every request: it
    /// must not block, so what it reads from afar it keeps.
    pub fn from_fn(
        provide: impl Fn() -> Result<String, Box<dyn Error + Send + Sync>> + Send + Sync + 'static,
    ) -> Self {
        Self(Source::Function(Arc::new(provide)))
    }

    /// Finds at construction what would fail at every request.
    pub(crate) fn check(&self) -> Result<(), ConsulConfigError> {
        match &self.0 {
            Source::Value(token) => header(token)
                .map(drop)
                .map_err(|reason| ConsulConfigError::Token { reason }),
            Source::File(_) | Source::Function(_) => Ok(()),
        }
    }

    pub(crate) async fn read(&self) -> Result<Secret, DiscoveryError> {
        let refused = |reason: &str| {
            let message = format!("the ACL token {reason}");
            DiscoveryError::new(ErrorKind::Unauthorized, NAME, message)
        };
        let text: Arc<str> = match &self.0 {
            Source::Value(token) => Arc::clone(token),
            Source::File(path) => {
                let path = path.clone();
                let read = tokio::task::spawn_blocking(move || std::fs::read_to_string(path));
                let outcome = read
                    .await
                    .map_err(|error| refused("could not be read").with_cause(error))?;
                outcome
                    .map_err(|error| refused("file cannot be read").with_cause(error))?
                    .into()
            }
            Source::Function(provide) => provide()
                .map_err(|error| refused("function failed").with_cause(error))?
                .into(),
        };
        let header = header(&text).map_err(refused)?;
        Ok(Secret { header, text })
    }
}

/// A token about to be sent.
pub(crate) struct Secret {
    pub(crate) header: HeaderValue,
    text: Arc<str>,
}

impl Secret {
    /// A server or a proxy may send back what it was sent.
    pub(crate) fn redact(&self, text: &str) -> String {
        text.replace(self.text.trim(), "<token>")
    }
}

fn header(token: &str) -> Result<HeaderValue, &'static str> {
    let token = token.trim();
    if token.is_empty() {
        return Err("is empty");
    }
    let mut header =
        HeaderValue::from_str(token).map_err(|_| "has a character that no header may have")?;
    header.set_sensitive(true);
    Ok(header)
}

impl fmt::Debug for ConsulToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Source::Value(_) => f.write_str("ConsulToken(<redacted>)"),
            Source::File(path) => write!(f, "ConsulToken(file {})", path.display()),
            Source::Function(_) => f.write_str("ConsulToken(<function>)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_no_header_may_hold_is_an_error() {
        for bad in ["", "  ", "a\nb", "a\u{0}b"] {
            assert!(ConsulToken::value(bad).check().is_err(), "{bad:?}");
        }
        ConsulToken::value(" padded\n").check().expect("trimmed");
    }

    #[tokio::test]
    async fn a_file_is_read_anew_each_time() {
        let path = std::env::temp_dir().join(format!("ringfence-token-{}", std::process::id()));
        let token = ConsulToken::file(&path);
        let missing = token.read().await.err().expect("no file yet");
        assert_eq!(missing.kind(), ErrorKind::Unauthorized);
        for content in ["first\n", "second\n"] {
            std::fs::write(&path, content).expect("writable");
            let secret = token.read().await.expect("readable");
            assert_eq!(secret.header, content.trim());
            assert!(secret.header.is_sensitive());
        }
        std::fs::remove_file(&path).expect("removable");
    }

    #[tokio::test]
    async fn a_token_that_comes_back_is_not_shown() {
        let secret = ConsulToken::value("s3cr3t").read().await.expect("legal");
        assert_eq!(
            secret.redact("header was s3cr3t, sorry"),
            "header was <token>, sorry"
        );
    }
}
