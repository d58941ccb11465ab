//! ringfence
