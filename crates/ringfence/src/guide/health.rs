#![doc = include_str!("health.md")]
