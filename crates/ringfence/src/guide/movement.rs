#![doc = include_str!("movement.md")]
