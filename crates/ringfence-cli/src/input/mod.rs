//! What commands read.

mod fleet;
mod keys;
mod policy;
mod text;

pub(crate) use self::{
    fleet::{Algorithm, Fleet, ring},
    keys::{Keys, generated},
    policy::{context, good_policy, policy},
    text::{check_stdin, read_text},
};
