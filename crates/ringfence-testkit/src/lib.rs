//! ringfence-testkit
