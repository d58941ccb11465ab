use std::io;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::{Credentials, Etcd, http};

impl Etcd {
    /// The user who may do everything, after [`enable_auth`](Self::enable_auth). A wipe forgets it.
    #[must_use]
    pub fn root(&self) -> Option<&Credentials> {
        self.root.as_ref()
    }

    /// Makes the user `root` and asks for passwords from now on.
    ///
    /// # Errors
    /// Those of asking etcd.
    pub async fn enable_auth(&mut self) -> io::Result<Credentials> {
        let root = Credentials::new("root");
        self.call(
            "auth/user/add",
            json!({ "name": root.user, "password": root.password }),
        )
        .await?;
        self.call(
            "auth/user/grant",
            json!({ "user": root.user, "role": "root" }),
        )
        .await?;
        self.call("auth/enable", json!({})).await?;
        self.root = Some(root.clone());
        Ok(root)
    }

    /// Makes a user who may read the keys that begin with `prefix`, and write them if `write`.
    ///
    /// # Errors
    /// Those of asking etcd.
    pub async fn user(&self, prefix: &str, write: bool) -> io::Result<Credentials> {
        let user = Credentials::new(&format!("user-{}", super::secret()));
        self.call("auth/role/add", json!({ "name": user.user }))
            .await?;
        let permission = json!({
            "permType": if write { "READWRITE" } else { "READ" },
            "key": BASE64_STANDARD.encode(prefix),
            "range_end": BASE64_STANDARD.encode(after(prefix.as_bytes())),
        });
        self.call(
            "auth/role/grant",
            json!({ "name": user.user, "perm": permission }),
        )
        .await?;
        self.call(
            "auth/user/add",
            json!({ "name": user.user, "password": user.password }),
        )
        .await?;
        self.call(
            "auth/user/grant",
            json!({ "user": user.user, "role": user.user }),
        )
        .await?;
        Ok(user)
    }

    /// Puts a key; the revision after it.
    ///
    /// # Errors
    /// Those of asking etcd.
    pub async fn put(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> io::Result<i64> {
        let body = json!({
            "key": BASE64_STANDARD.encode(key),
            "value": BASE64_STANDARD.encode(value),
        });
        revision(&self.call("kv/put", body).await?)
    }

    /// Deletes a key; the revision after it.
    ///
    /// # Errors
    /// Those of asking etcd.
    pub async fn delete(&self, key: impl AsRef<[u8]>) -> io::Result<i64> {
        let body = json!({ "key": BASE64_STANDARD.encode(key) });
        revision(&self.call("kv/deleterange", body).await?)
    }

    /// Deletes the keys that begin with `prefix`, which must not be empty; the revision after it.
    ///
    /// # Errors
    /// Those of asking etcd.
    pub async fn delete_prefix(&self, prefix: impl AsRef<[u8]>) -> io::Result<i64> {
        let body = json!({
            "key": BASE64_STANDARD.encode(&prefix),
            "range_end": BASE64_STANDARD.encode(after(prefix.as_ref())),
        });
        revision(&self.call("kv/deleterange", body).await?)
    }

    /// Asks its JSON API (`/v3/` and `path`), as root if passwords are asked for: the answer.
    ///
    /// # Errors
    /// When it does not answer, or with an error.
    pub async fn call(&self, path: &str, body: Value) -> io::Result<Value> {
        let mut token = None;
        if let Some(root) = &self.root {
            let login = json!({ "name": root.user, "password": root.password });
            let answer =
                http::json(self.address(), "POST", "/v3/auth/authenticate", &[], &login).await?;
            let answer = http::expect_success("login", answer)?;
            token = answer["token"].as_str().map(str::to_owned);
        }
        let headers = token.as_deref().map(|token| ("authorization", token));
        let path = format!("/v3/{path}");
        let answer = http::json(self.address(), "POST", &path, headers.as_slice(), &body).await?;
        http::expect_success(&path, answer)
    }
}

/// The end of the range of keys that begin with `prefix`.
fn after(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if let Some(next) = last.checked_add(1) {
            end.push(next);
            return end;
        }
    }
    vec![0]
}

pub(super) fn revision(answer: &Value) -> io::Result<i64> {
    number(&answer["header"]["revision"])
}

/// A 64-bit number, which is a text in etcd's JSON.
pub(super) fn number(value: &Value) -> io::Result<i64> {
    value
        .as_str()
        .and_then(|text| text.parse().ok())
        .or_else(|| value.as_i64())
        .ok_or_else(|| io::Error::other(format!("no number: {value}")))
}
