//! Guides: how the parts work together. There is nothing here to call.
//!
//! In the order in which one needs them:
//!
//! | guide | answers |
//! |---|---|
//! | [`getting_started`] | how do I make a first call? |
//! | [`registries`] | what do I set up in Consul, Nacos or etcd, and what happens when it is away? |
//! | [`choosing_a_key`] | which key do I route by? |
//! | [`resilience`] | what happens when something fails? |
//! | [`gray_release`] | how do I switch it on, or release a version, without risk? |
//! | [`migration_tonic`], [`migration_envoy`] | how do I get here from `balance_list`, or from a sidecar? |
//! | [`operations`] | what do I look at, and what do I do about it? |
#![cfg_attr(feature = "admin", doc = "| [`admin`] | what does the page show? |")]
//! | [`command`] | what does the command `ringfence` tell at a prompt? |
//! | [`policy`] | what can a policy document say? The reference |
//! | [`algorithms`] | how are keys mapped to instances, and which algorithm is for me? |
//! | [`movement`] | which keys does a change move, and what about their data? |
//! | [`retries`] | what is sent again, when, and which error means what? |
//! | [`outliers`], [`health`] | who gets requests, and who does not? |
//! | [`load`] | what about hot keys, full and new instances, and connections? |
//! | [`config`] | which settings contradict each other? |

#[cfg(feature = "admin")]
pub mod admin;
pub mod algorithms;
pub mod choosing_a_key;
pub mod command;
pub mod config;
pub mod getting_started;
pub mod gray_release;
pub mod health;
pub mod load;
pub mod migration_envoy;
pub mod migration_tonic;
pub mod movement;
pub mod operations;
pub mod outliers;
pub mod policy;
pub mod registries;
pub mod resilience;
pub mod retries;
