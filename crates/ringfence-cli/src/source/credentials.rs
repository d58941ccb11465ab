//! Who this is to a registry: from the environment or from files, never from arguments, where others could read it.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use super::Kind;
use crate::failure::Failure;

/// A folder with a file for each registry, as `tests/registries/up` and `docker/credentials` make it.
const FOLDER: &str = "RINGFENCE_CREDENTIALS";

/// The file of a registry's reader in the folder that the environment names, if it is there.
fn file(kind: Kind) -> Option<PathBuf> {
    let folder = env::var_os(FOLDER).filter(|folder| !folder.is_empty())?;
    let file = Path::new(&folder).join(format!("{}-reader", kind.as_str()));
    file.exists().then_some(file)
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// What Consul is given.
#[cfg(feature = "consul")]
pub(super) fn consul() -> Option<ringfence_consul::ConsulToken> {
    use ringfence_consul::ConsulToken;

    // In the order of Consul's own program.
    let named = variable("CONSUL_HTTP_TOKEN_FILE").map(PathBuf::from);
    let value = variable("CONSUL_HTTP_TOKEN").map(ConsulToken::value);
    value.or_else(|| named.or_else(|| file(Kind::Consul)).map(ConsulToken::file))
}

/// User and password; those of the variables before those of the file.
#[cfg(any(feature = "nacos", feature = "etcd"))]
pub(super) fn login(kind: Kind) -> Result<Option<(String, String)>, Failure> {
    let given = match kind {
        Kind::Etcd => variable("ETCDCTL_USER").map(|text| (text, "ETCDCTL_USER".to_owned())),
        Kind::Nacos => {
            let user = variable("NACOS_USERNAME");
            if let (Some(user), Some(password)) = (user, variable("NACOS_PASSWORD")) {
                return Ok(Some((user, password)));
            }
            None
        }
        Kind::Consul => None,
    };
    let given = match (given, file(kind)) {
        (Some(given), _) => given,
        (None, Some(file)) => {
            let text = fs::read_to_string(&file);
            let text = text.map_err(|error| Failure::at(&file, None, error))?;
            (text, file.display().to_string())
        }
        (None, None) => return Ok(None),
    };
    let (text, place) = given;
    let pair = text.trim_end_matches(['\r', '\n']).split_once(':');
    let pair = pair.map(|(user, password)| (user.to_owned(), password.to_owned()));
    let fault = || Failure::new(format_args!("{place}: expected USER:PASSWORD"));
    pair.map(Some).ok_or_else(fault)
}

/// The certificate authority that a variable of the registry's own tools names.
#[cfg(any(feature = "consul", feature = "etcd"))]
pub(super) fn authority(name: &str) -> Result<Option<Vec<u8>>, Failure> {
    let Some(file) = variable(name).map(PathBuf::from) else {
        return Ok(None);
    };
    let pem = fs::read(&file);
    pem.map(Some)
        .map_err(|error| Failure::at(&file, None, error))
}
