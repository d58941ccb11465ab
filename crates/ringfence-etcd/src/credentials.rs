use std::{fmt, sync::Arc};

type Source = dyn Fn() -> Option<(String, String)> + Send + Sync;

/// The user and password for etcd, or where to get them. `Debug` shows neither.
///
/// # Examples
/// ```
/// use ringfence_etcd::Credentials;
///
/// let fixed = Credentials::new("reader", "hunter2");
/// assert!(!format!("{fixed:?}").contains("hunter2"));
///
/// // asked before every login, so a rotated password is picked up
/// let rotated = Credentials::from_fn(|| {
///     let password = std::fs::read_to_string("/run/secrets/etcd").ok()?;
///     Some(("reader".to_owned(), password.trim().to_owned()))
/// });
/// # let _ = rotated;
/// ```
#[derive(Clone)]
pub struct Credentials(Arc<Source>);

impl Credentials {
    /// A user and a password that stay as they are.
    pub fn new(user: impl Into<String>, password: impl Into<String>) -> Self {
        let pair = (user.into(), password.into());
        Self(Arc::new(move || Some(pair.clone())))
    }

    /// Asks `source` for `(user, password)` before every login; it must not block for long. `None` means that they cannot be
    /// had now, which fails the login.
    pub fn from_fn(source: impl Fn() -> Option<(String, String)> + Send + Sync + 'static) -> Self {
        Self(Arc::new(source))
    }

    pub(crate) fn get(&self) -> Option<(String, String)> {
        (self.0)()
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(..)")
    }
}
