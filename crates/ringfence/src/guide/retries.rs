#![doc = include_str!("retries.md")]
