#![doc = include_str!("migration_tonic.md")]
