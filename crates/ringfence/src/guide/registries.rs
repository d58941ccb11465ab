#![cfg_attr(
    all(
        feature = "consul",
        feature = "etcd",
        feature = "nacos",
        feature = "register"
    ),
    doc = include_str!("registries.md")
)]
#![cfg_attr(
    not(all(
        feature = "consul",
        feature = "etcd",
        feature = "nacos",
        feature = "register"
    )),
    doc = "Consul, Nacos and etcd. This guide is in the documentation with the features `consul`, `etcd`, `nacos` and `register`."
)]
