#![doc = include_str!("outliers.md")]
