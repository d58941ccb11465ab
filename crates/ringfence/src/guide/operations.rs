#![doc = include_str!("operations.md")]
