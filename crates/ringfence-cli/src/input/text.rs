use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use crate::failure::Failure;

/// Largest file that is read as a whole.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Fails where two of the files are standard input, which can be read once.
pub(crate) fn check_stdin<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<(), Failure> {
    let from_stdin = paths.into_iter().filter(|path| is_stdin(path));
    match from_stdin.count() {
        0 | 1 => Ok(()),
        _ => Err(Failure::new("only one file can come from standard input")),
    }
}

pub(super) fn open(path: &Path) -> Result<Box<dyn Read>, Failure> {
    if is_stdin(path) {
        return Ok(Box::new(io::stdin().lock()));
    }
    let file = File::open(path).map_err(|error| Failure::at(path, None, error))?;
    Ok(Box::new(file))
}

/// The whole text of a file of moderate size.
pub(crate) fn read_text(path: &Path) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let mut limited = open(path)?.take(MAX_BYTES + 1);
    let read = limited.read_to_end(&mut bytes);
    read.map_err(|error| Failure::at(path, None, error))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Failure::at(path, None, "larger than 64 MiB"));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = error.as_bytes().get(..error.utf8_error().valid_up_to());
        let lines = before.unwrap_or_default().iter().filter(|b| **b == b'\n');
        Failure::at(path, Some(lines.count() as u64 + 1), "not UTF-8")
    })?;
    // Some editors write it before everything else.
    match text.strip_prefix('\u{feff}') {
        Some(text) => Ok(text.to_owned()),
        None => Ok(text),
    }
}
