use std::{
    env, io,
    path::{Path, PathBuf},
};

/// Finds the program of a registry server: in the folder that `RINGFENCE_REGISTRIES` names, on `PATH`, or where
/// `tests/registries/install` puts it.
///
/// # Errors
/// When it is nowhere; in one line that says how to get it.
pub fn program(name: &str) -> io::Result<PathBuf> {
    let chosen = env::var_os("RINGFENCE_REGISTRIES").map(PathBuf::from);
    let on_path = env::var_os("PATH");
    let cache = env::var_os("XDG_CACHE_HOME")
        .filter(|cache| !cache.is_empty())
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cache")))
        .map(|cache| cache.join("ringfence/registries/bin"));
    chosen
        .into_iter()
        .flat_map(|folder| [folder.join("bin"), folder])
        .chain(on_path.iter().flat_map(env::split_paths))
        .chain(cache)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
        .ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::NotFound,
                format!("{name} is missing: run tests/registries/install, which brings it"),
            )
        })
}
