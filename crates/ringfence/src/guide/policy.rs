#![doc = include_str!("policy.md")]

#[cfg(test)]
mod tests;
