//! What commands read.

mod fleet;
mod keys;
mod policy;
mod text;

pub(crate) use self::{
    fleet::{Algorithm, Fleet, ring},
    keys::{Keys, generated},
    policy::{check_without_policy, context, good_policy, policy, warn_of_unnamed},
    text::{check_stdin, read_text},
};
