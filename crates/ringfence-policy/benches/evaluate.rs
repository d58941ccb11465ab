//! What deciding a request costs.
fn main() {}
