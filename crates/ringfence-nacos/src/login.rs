use std::{
    error::Error,
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

type Ask = dyn Fn() -> Result<(String, String), Box<dyn Error + Send + Sync>> + Send + Sync;

/// The user that logs in at the Nacos server. Never shown: not in `Debug`, not in a log, not in a URL.
///
/// ```
/// use ringfence_nacos::NacosLogin;
///
/// let login = NacosLogin::new("reader", "hunter2");
/// assert!(!format!("{login:?}").contains("hunter2"));
/// ```
#[derive(Clone)]
pub struct NacosLogin(Source);

#[derive(Clone)]
enum Source {
    Fixed { user: Arc<str>, password: Arc<str> },
    Asked(Arc<Ask>),
}

impl NacosLogin {
    /// This user and this password.
    pub fn new(user: impl Into<Arc<str>>, password: impl Into<Arc<str>>) -> Self {
        Self(Source::Fixed {
            user: user.into(),
            password: password.into(),
        })
    }

    /// Asks for user and password at every login, so that they can come from a file or a vault and change meanwhile. `ask` is
    /// called on a thread of the runtime and must not block for long.
    pub fn from_fn<F>(ask: F) -> Self
    where
        F: Fn() -> Result<(String, String), Box<dyn Error + Send + Sync>> + Send + Sync + 'static,
    {
        Self(Source::Asked(Arc::new(ask)))
    }

    /// User and password as they are now.
    pub(crate) fn current(&self) -> Result<(String, String), Box<dyn Error + Send + Sync>> {
        match &self.0 {
            Source::Fixed { user, password } => Ok((user.to_string(), password.to_string())),
            Source::Asked(ask) => ask(),
        }
    }
}

impl PartialEq for NacosLogin {
    /// Fixed logins are equal by value, functions only to themselves.
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (
                Source::Fixed { user, password },
                Source::Fixed {
                    user: other_user,
                    password: other_password,
                },
            ) => user == other_user && password == other_password,
            (Source::Asked(ask), Source::Asked(other)) => Arc::ptr_eq(ask, other),
            _ => false,
        }
    }
}

impl Eq for NacosLogin {}

impl Hash for NacosLogin {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Equality decides; the password needs no part in it.
        if let Source::Fixed { user, .. } = &self.0 {
            user.hash(state);
        }
    }
}

impl fmt::Debug for NacosLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NacosLogin(..)")
    }
}
