#![doc = include_str!("gray_release.md")]
