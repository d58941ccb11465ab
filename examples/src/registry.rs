use std::{
    env, fs,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::net::TcpStream;

use crate::BoxError;

/// Where a registry for local development is, and what it asks for. The environment says so, with defaults that fit
/// `tests/registries/up` and `docker-compose.yml`:
///
/// | variable | default |
/// |---|---|
/// | `CONSUL_HTTP_ADDR` | `http://127.0.0.1:8500` |
/// | `ETCD_ENDPOINTS` (the first counts) | `http://127.0.0.1:2379` |
/// | `NACOS_SERVER_ADDR` | `127.0.0.1:8848` |
/// | `RINGFENCE_CREDENTIALS` | `ringfence-registries/credentials` in the folder for temporary files |
#[derive(Debug)]
pub struct Registry {
    name: &'static str,
    address: String,
    credentials: PathBuf,
}

/// Whose credentials.
#[derive(Clone, Copy, Debug)]
pub enum Role {
    /// A client: may read, and write nothing.
    Reader,
    /// A server: may register itself.
    Registrar,
}

impl Registry {
    /// The Consul.
    #[must_use]
    pub fn consul() -> Self {
        Self::new("consul", "CONSUL_HTTP_ADDR", "http://127.0.0.1:8500")
    }

    /// The etcd.
    #[must_use]
    pub fn etcd() -> Self {
        Self::new("etcd", "ETCD_ENDPOINTS", "http://127.0.0.1:2379")
    }

    /// The Nacos.
    #[must_use]
    pub fn nacos() -> Self {
        Self::new("nacos", "NACOS_SERVER_ADDR", "127.0.0.1:8848")
    }

    fn new(name: &'static str, variable: &str, default: &str) -> Self {
        let credentials = env::var_os("RINGFENCE_CREDENTIALS").map_or_else(
            || env::temp_dir().join("ringfence-registries/credentials"),
            PathBuf::from,
        );
        let given = env::var(variable).unwrap_or_default();
        Self {
            name,
            address: address(name, &given, default),
            credentials,
        }
    }

    /// Its address, in the form that its adapter takes.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The file with the credentials of a role: a token of Consul; user, colon and password elsewhere.
    #[must_use]
    pub fn credentials(&self, role: Role) -> PathBuf {
        let role = match role {
            Role::Reader => "reader",
            Role::Registrar => "registrar",
        };
        self.credentials.join(format!("{}-{role}", self.name))
    }

    /// User and password of a role.
    ///
    /// # Errors
    /// When the file is not there, or has something else in it.
    pub fn login(&self, role: Role) -> Result<(String, String), BoxError> {
        let file = self.credentials(role);
        let text = fs::read_to_string(&file).map_err(|error| self.unseeded(&file, &error))?;
        let (user, password) = text
            .trim_end()
            .split_once(':')
            .ok_or_else(|| format!("{} is not of the form user:password", file.display()))?;
        Ok((user.to_owned(), password.to_owned()))
    }

    /// Whether something listens there and the credentials are at hand, at once instead of after all the waits of an outage.
    ///
    /// # Errors
    /// What is missing, and how to get it.
    pub async fn check(&self) -> Result<(), BoxError> {
        let host = self.address.rsplit("://").next().unwrap_or_default();
        let connected = tokio::time::timeout(
            Duration::from_secs(2),
            TcpStream::connect(host.trim_end_matches('/')),
        );
        if !matches!(connected.await, Ok(Ok(_))) {
            let (name, address) = (self.name, &self.address);
            return Err(format!("no {name} answers at {address}; {}", start_one()).into());
        }
        for role in [Role::Reader, Role::Registrar] {
            let file = self.credentials(role);
            fs::metadata(&file).map_err(|error| self.unseeded(&file, &error))?;
        }
        Ok(())
    }

    fn unseeded(&self, file: &Path, error: &std::io::Error) -> String {
        format!(
            "the credentials for {} in {} cannot be read ({error}); {}",
            self.name,
            file.display(),
            start_one()
        )
    }
}

fn address(name: &str, given: &str, default: &str) -> String {
    let first = given.split(',').next().unwrap_or_default().trim();
    if first.is_empty() {
        return default.to_owned();
    }
    // Consul's own programs take an address without a scheme too.
    if name == "consul" && !first.contains("://") {
        return format!("http://{first}");
    }
    first.to_owned()
}

fn start_one() -> &'static str {
    "start one, from the root of the repository, either without Docker:\n  \
       eval \"$(tests/registries/up)\"\n\
     or with it:\n  \
       docker compose up --detach && eval \"$(docker/credentials)\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_as_the_tools_of_each_registry_take_them() {
        for (name, given, expected) in [
            ("consul", "", "default"),
            ("consul", " ", "default"),
            ("consul", "10.0.0.1:8500", "http://10.0.0.1:8500"),
            ("consul", "https://consul:8501", "https://consul:8501"),
            ("etcd", "http://a:2379, http://b:2379", "http://a:2379"),
            ("nacos", "nacos:8848", "nacos:8848"),
        ] {
            assert_eq!(address(name, given, "default"), expected, "{name} {given}");
        }
    }

    #[tokio::test]
    async fn what_is_missing_is_told_with_the_ways_to_get_it() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let folder = env::temp_dir().join(format!("ringfence-no-such-{}", std::process::id()));
        let registry = Registry {
            name: "etcd",
            address: format!("http://{address}/"),
            credentials: folder,
        };
        let unseeded = registry.check().await.unwrap_err().to_string();
        assert!(unseeded.contains("etcd-reader"), "{unseeded}");
        drop(listener);
        let away = registry.check().await.unwrap_err().to_string();
        assert!(away.contains("no etcd answers"), "{away}");
        for error in [unseeded, away] {
            assert!(error.contains("tests/registries/up"), "{error}");
            assert!(error.contains("docker compose up"), "{error}");
        }
    }
}
