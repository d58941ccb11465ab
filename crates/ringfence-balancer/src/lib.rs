//! ringfence-balancer
