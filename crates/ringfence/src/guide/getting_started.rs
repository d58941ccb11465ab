#![doc = include_str!("getting_started.md")]
