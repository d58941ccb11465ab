//! ringfence-discovery
