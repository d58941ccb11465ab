#![doc = include_str!("resilience.md")]
