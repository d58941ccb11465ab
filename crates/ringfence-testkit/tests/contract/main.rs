//! The contract of discovery sources, on those that need no registry of others.

mod faulty;
mod file;
mod fixed;
mod memory;
mod open;
