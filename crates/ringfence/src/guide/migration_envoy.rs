#![doc = include_str!("migration_envoy.md")]
