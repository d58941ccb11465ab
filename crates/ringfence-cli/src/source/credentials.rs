//! Who this is to a registry: from the environment or from files, never from arguments, where others could read it. No message shows
//! anything of them.

use std::{
    env, fmt, fs,
    path::{Path, PathBuf},
};

use super::{Kind, warn};
use crate::failure::Failure;

/// A folder with a file for each registry, as `tests/registries/up` and `docker/credentials` make it.
const FOLDER: &str = "RINGFENCE_CREDENTIALS";

/// The file of a registry's reader in the folder that the environment names. A folder without it may be for others, which is told.
fn file(kind: Kind) -> Result<Option<PathBuf>, Failure> {
    let Some(folder) = env::var_os(FOLDER).filter(|folder| !folder.is_empty()) else {
        return Ok(None);
    };
    let folder = Path::new(&folder);
    let fault = |path: &Path, fault: &dyn fmt::Display| {
        Failure::new(format_args!("{FOLDER}: {}: {fault}", path.display()))
    };
    let registry = kind.as_str();
    let name = format!("{registry}-reader");
    let found = fs::metadata(folder).map_err(|error| fault(folder, &error))?;
    if !found.is_dir() {
        let expected = format!("expected a folder with a file {name}");
        return Err(fault(folder, &expected));
    }
    let file = folder.join(&name);
    match file.try_exists() {
        Ok(true) => Ok(Some(file)),
        Ok(false) => {
            let folder = folder.display();
            warn(format_args!(
                "{FOLDER}: {folder} has no file {name}: {registry} is asked without credentials"
            ));
            Ok(None)
        }
        Err(error) => Err(fault(&file, &error)),
    }
}

fn variable(name: &str) -> Result<Option<String>, Failure> {
    super::environment::variable(name).map_err(Failure::new)
}

fn text_of(file: &Path) -> Result<String, Failure> {
    fs::read_to_string(file).map_err(|error| Failure::at(file, None, error))
}

/// What Consul is given.
#[cfg(feature = "consul")]
pub(super) fn consul() -> Result<Option<ringfence_consul::ConsulToken>, Failure> {
    use ringfence_consul::ConsulToken;

    // As the adapter reads it: in one header, without white space at its ends.
    let is_token = |text: &str| {
        let text = text.trim();
        !text.is_empty() && !text.contains(|c: char| c.is_control() || c.is_whitespace())
    };
    let fault =
        |place: &dyn fmt::Display| Failure::new(format_args!("{place}: expected a token alone"));
    // In the order of Consul's own program.
    let named = variable("CONSUL_HTTP_TOKEN_FILE")?.map(PathBuf::from);
    let name = "CONSUL_HTTP_TOKEN";
    if named.is_none()
        && let Some(token) = variable(name)?
    {
        return match is_token(&token) {
            true => Ok(Some(ConsulToken::value(token))),
            false => Err(fault(&name)),
        };
    }
    let given = match named {
        Some(named) => Some(named),
        None => file(Kind::Consul)?,
    };
    match given {
        // It is read anew for each request, since tokens are rotated.
        Some(file) => match is_token(&text_of(&file)?) {
            true => Ok(Some(ConsulToken::file(file))),
            false => Err(fault(&file.display())),
        },
        None => Ok(None),
    }
}

/// User and password; those of the variables before those of the file.
#[cfg(any(feature = "nacos", feature = "etcd"))]
pub(super) fn login(kind: Kind) -> Result<Option<(String, String)>, Failure> {
    if kind == Kind::Nacos
        && let Some(pair) = pair_of("NACOS_USERNAME", "NACOS_PASSWORD")?
    {
        return Ok(Some(pair));
    }
    let name = "ETCDCTL_USER";
    let given = match kind {
        Kind::Etcd => variable(name)?.map(|text| (text, name.to_owned())),
        Kind::Nacos | Kind::Consul => None,
    };
    let given = match given {
        Some(given) => Some(given),
        None => match file(kind)? {
            Some(file) => Some((text_of(&file)?, file.display().to_string())),
            None => None,
        },
    };
    let Some((text, place)) = given else {
        return Ok(None);
    };
    let pair = text.trim_end_matches(['\r', '\n']).split_once(':');
    let pair = pair.filter(|(user, password)| !user.is_empty() && !password.is_empty());
    let pair = pair.map(|(user, password)| (user.to_owned(), password.to_owned()));
    let fault = || Failure::new(format_args!("{place}: expected USER:PASSWORD"));
    pair.map(Some).ok_or_else(fault)
}

/// Two variables that are there together.
#[cfg(any(feature = "nacos", feature = "etcd"))]
fn pair_of(first: &str, second: &str) -> Result<Option<(String, String)>, Failure> {
    let alone =
        |given: &str, missing: &str| Failure::new(format_args!("{given}: {missing} is missing"));
    match (variable(first)?, variable(second)?) {
        (Some(user), Some(password)) => Ok(Some((user, password))),
        (None, None) => Ok(None),
        (Some(_), None) => Err(alone(first, second)),
        (None, Some(_)) => Err(alone(second, first)),
    }
}

/// The certificate authority that a variable of the registry's own tools names.
#[cfg(any(feature = "consul", feature = "etcd"))]
pub(super) fn authority(name: &str) -> Result<Option<Vec<u8>>, Failure> {
    let Some(file) = variable(name)?.map(PathBuf::from) else {
        return Ok(None);
    };
    let pem = fs::read(&file);
    pem.map(Some)
        .map_err(|error| Failure::at(&file, None, error))
}
