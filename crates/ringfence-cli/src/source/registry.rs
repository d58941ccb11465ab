//! A client of the registry that an address names.

#[cfg(any(feature = "consul", feature = "nacos", feature = "etcd"))]
use std::sync::Arc;

#[cfg(any(feature = "consul", feature = "nacos", feature = "etcd"))]
use ringfence_discovery::ServiceKey;

use super::{Connected, Kind, RegistryAddress};
use crate::failure::Failure;

pub(super) fn connect(address: &RegistryAddress) -> Result<Connected, Failure> {
    match address.kind {
        Kind::Consul => consul(address),
        Kind::Nacos => nacos(address),
        Kind::Etcd => etcd(address),
    }
}

/// The service, in the namespace that its source knows.
#[cfg(any(feature = "consul", feature = "nacos", feature = "etcd"))]
fn key(address: &RegistryAddress) -> ServiceKey {
    let key = ServiceKey::new(&address.service);
    match address.scope.last() {
        Some(scope) => key.with_namespace(scope),
        None => key,
    }
}

#[cfg(any(feature = "consul", feature = "nacos", feature = "etcd"))]
fn wrong(address: &RegistryAddress, fault: impl std::fmt::Display) -> Failure {
    Failure::new(format_args!("{address}: {fault}"))
}

#[cfg(not(all(feature = "consul", feature = "nacos", feature = "etcd")))]
fn without(kind: Kind) -> Failure {
    let name = kind.as_str();
    Failure::new(format_args!(
        "this `ringfence` was built without {name}: cargo install --path crates/ringfence-cli --features {name}"
    ))
}

#[cfg(feature = "consul")]
fn consul(address: &RegistryAddress) -> Result<Connected, Failure> {
    use ringfence_consul::{Consistency, ConsulConfig, ConsulDiscovery, ConsulTls};

    let scheme = if address.is_tls { "https" } else { "http" };
    let mut config = ConsulConfig::new(format!("{scheme}://{}", address.hosts.join(",")));
    if let Some(token) = super::credentials::consul()? {
        config = config.with_token(token);
    }
    if let Some(pem) = super::credentials::authority("CONSUL_CACERT")? {
        config = config.with_tls(ConsulTls::default().with_ca_pem(pem));
    }
    for tag in address.option("tag") {
        config = config.with_required_tag(tag);
    }
    for filter in address.option("filter") {
        config = config.with_filter(filter);
    }
    for namespace in address.option("namespace") {
        config = config.with_namespace(namespace);
    }
    for partition in address.option("partition") {
        config = config.with_partition(partition);
    }
    for consistency in address.option("consistency") {
        config = config.with_consistency(match consistency {
            "leader" => Consistency::Leader,
            "consistent" => Consistency::Consistent,
            "stale" => Consistency::Stale,
            other => {
                let hint = ringfence_core::did_you_mean(other, ["leader", "consistent", "stale"]);
                return Err(wrong(
                    address,
                    format_args!("no consistency `{other}`{hint}"),
                ));
            }
        });
    }
    let source = ConsulDiscovery::new(config).map_err(|error| wrong(address, error))?;
    Ok((Arc::new(source), key(address)))
}

#[cfg(not(feature = "consul"))]
fn consul(address: &RegistryAddress) -> Result<Connected, Failure> {
    Err(without(address.kind))
}

#[cfg(feature = "nacos")]
fn nacos(address: &RegistryAddress) -> Result<Connected, Failure> {
    use ringfence_nacos::{NacosConfig, NacosDiscovery, NacosLogin};

    if address.is_tls {
        return Err(wrong(address, "Nacos has no TLS"));
    }
    let mut config = NacosConfig::new(&address.hosts).map_err(|error| wrong(address, error))?;
    if let [namespace, _] = &*address.scope {
        let config_in = config.with_namespace(namespace);
        config = config_in.map_err(|error| wrong(address, error))?;
    }
    let clusters: Vec<&str> = address.option("cluster").collect();
    if !clusters.is_empty() {
        let config_of = config.with_clusters(clusters);
        config = config_of.map_err(|error| wrong(address, error))?;
    }
    if let Some((user, password)) = super::credentials::login(address.kind)? {
        config = config.with_login(NacosLogin::new(user, password));
    }
    Ok((Arc::new(NacosDiscovery::new(config)), key(address)))
}

#[cfg(not(feature = "nacos"))]
fn nacos(address: &RegistryAddress) -> Result<Connected, Failure> {
    Err(without(address.kind))
}

#[cfg(feature = "etcd")]
fn etcd(address: &RegistryAddress) -> Result<Connected, Failure> {
    use ringfence_etcd::{
        EtcdConfig, EtcdDiscovery, EtcdTls, GrpcNamingCodec, KitexCodec, KratosCodec, NativeCodec,
    };

    let scheme = if address.is_tls { "https" } else { "http" };
    let hosts = address
        .hosts
        .iter()
        .map(|host| format!("{scheme}://{host}"));
    let mut config = EtcdConfig::new(hosts);
    if let Some((user, password)) = super::credentials::login(address.kind)? {
        config = config.with_user(user, password);
    }
    if let Some(pem) = super::credentials::authority("ETCDCTL_CACERT")? {
        let tls = EtcdTls::with_ca(pem).map_err(|error| wrong(address, error))?;
        config = config.with_tls(tls);
    }
    let root = address.option("root").last();
    let codec = address.option("codec").last().unwrap_or("ringfence");
    if root.is_some() && codec != "ringfence" {
        return Err(wrong(
            address,
            "`root` is an option of the codec `ringfence`",
        ));
    }
    config = match codec {
        "ringfence" => match root {
            Some(root) => config.with_codec(NativeCodec::default().with_root(root)),
            None => config,
        },
        "grpc" => config.with_codec(GrpcNamingCodec::default()),
        "kitex" => config.with_codec(KitexCodec::default()),
        "kratos" => config.with_codec(KratosCodec::default()),
        other => {
            let known = ["ringfence", "grpc", "kitex", "kratos"];
            let hint = ringfence_core::did_you_mean(other, known);
            return Err(wrong(address, format_args!("no codec `{other}`{hint}")));
        }
    };
    let source = EtcdDiscovery::new(config).map_err(|error| wrong(address, error))?;
    Ok((Arc::new(source), key(address)))
}

#[cfg(not(feature = "etcd"))]
fn etcd(address: &RegistryAddress) -> Result<Connected, Failure> {
    Err(without(address.kind))
}
