use std::{
    collections::hash_map::RandomState,
    fmt,
    hash::{BuildHasher as _, Hasher as _},
};

/// A user of a registry, made for one test.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// Its name.
    pub user: String,
    /// Its password.
    pub password: String,
}

impl Credentials {
    pub(super) fn new(user: &str) -> Self {
        Self {
            user: user.to_owned(),
            password: secret(),
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// A secret in the form of a UUID, which no other test has: what a test greps logs for.
#[must_use]
pub fn secret() -> String {
    // Each state is seeded by the system.
    let draw = || RandomState::new().build_hasher().finish();
    let (high, low) = (draw(), draw());
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xfff,
        low >> 52,
        low & 0xffff_ffff_ffff
    )
}
