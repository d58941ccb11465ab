//! What commands read.

mod fleet;
mod keys;
mod text;

pub(crate) use self::{
    fleet::{Algorithm, Fleet, ring},
    keys::{Keys, generated},
    text::{is_stdin, read_text},
};
