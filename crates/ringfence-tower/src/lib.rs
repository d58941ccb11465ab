//! ringfence-tower
