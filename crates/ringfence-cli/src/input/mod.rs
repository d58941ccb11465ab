//! What commands read.

mod fleet;
mod keys;
mod text;

pub(crate) use self::{
    fleet::{Algorithm, Fleet, ring},
    keys::{Keys, generated},
    text::{check_stdin, read_text},
};
