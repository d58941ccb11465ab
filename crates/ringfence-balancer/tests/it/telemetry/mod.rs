//! What a balancer tells of itself.

mod asked;
mod observed;
