//! The launcher of real registry servers, tried on the servers themselves.

mod real_server;
