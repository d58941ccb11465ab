use std::{
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use super::text::open;
use crate::failure::Failure;

/// Longest key, so that a file without line ends is not read as one.
const MAX_KEY: usize = 1024 * 1024;

/// What some editors write before the first key.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The keys of a file, one a line, read as they are asked for.
pub(crate) struct Keys {
    path: PathBuf,
    reader: BufReader<Box<dyn Read>>,
    line: u64,
    key: Vec<u8>,
}

impl Keys {
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        Ok(Self {
            path: path.to_owned(),
            reader: BufReader::with_capacity(64 * 1024, open(path)?),
            line: 0,
            key: Vec::new(),
        })
    }

    /// Whether the next key has to be waited for, as one of a pipe may have to be.
    pub(crate) fn must_read(&self) -> bool {
        self.reader.buffer().is_empty()
    }

    /// The next key: the bytes of a line that is not empty, without `\n` or `\r\n`.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, Failure> {
        loop {
            self.line += 1;
            self.key.clear();
            // One byte more than a key with its line end may have.
            let mut limited = (&mut self.reader).take(MAX_KEY as u64 + 3);
            let read = limited.read_until(b'\n', &mut self.key);
            let read = read.map_err(|error| Failure::at(&self.path, Some(self.line), error))?;
            if read == 0 {
                return Ok(None);
            }
            if self.line == 1 && self.key.starts_with(BYTE_ORDER_MARK) {
                self.key.drain(..BYTE_ORDER_MARK.len());
            }
            if self.key.ends_with(b"\n") {
                self.key.pop();
                if self.key.ends_with(b"\r") {
                    self.key.pop();
                }
            }
            if self.key.len() > MAX_KEY {
                let fault = "a key longer than 1 MiB";
                return Err(Failure::at(&self.path, Some(self.line), fault));
            }
            if !self.key.is_empty() {
                return Ok(Some(&self.key));
            }
        }
    }
}

/// A key that follows from a seed and a number: 16 hexadecimal digits without a pattern, the outputs of SplitMix64 (Steele,
/// Lea, Flood, OOPSLA 2014).
pub(crate) fn generated(seed: u64, number: u64) -> String {
    let z = seed.wrapping_add(number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    format!("{:016x}", z ^ (z >> 31))
}
