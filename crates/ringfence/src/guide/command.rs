#![doc = include_str!("command.md")]
