//! Against a real server that speaks Nacos's protocol. Each test starts its own; a missing one fails the test.

mod real_server;
