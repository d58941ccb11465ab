#![doc = include_str!("load.md")]
