#![doc = include_str!("admin.md")]
