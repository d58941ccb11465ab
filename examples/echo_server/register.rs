use std::sync::Arc;

use ringfence::discovery::Registrar;
use ringfence_examples::BoxError;
#[cfg(any(feature = "consul", feature = "nacos", feature = "etcd"))]
use ringfence_examples::{Registry, Role};

/// The registrars of these registries, none of which is contacted yet.
pub(crate) fn registrars(names: &[String]) -> Result<Vec<Arc<dyn Registrar>>, BoxError> {
    names.iter().map(|name| registrar(name)).collect()
}

fn registrar(name: &str) -> Result<Arc<dyn Registrar>, BoxError> {
    match name {
        #[cfg(feature = "consul")]
        "consul" => consul(),
        #[cfg(feature = "nacos")]
        "nacos" => nacos(),
        #[cfg(feature = "etcd")]
        "etcd" => etcd(),
        #[allow(
            unreachable_patterns,
            reason = "each is reached where its feature is off"
        )]
        "consul" | "nacos" | "etcd" => Err(format!(
            "this echo_server was built without {name}: add `--features {name}`"
        )
        .into()),
        _ => Err(format!("{name} is no registry: consul, nacos and etcd are").into()),
    }
}

#[cfg(feature = "consul")]
fn consul() -> Result<Arc<dyn Registrar>, BoxError> {
    use ringfence::consul::{ConsulConfig, ConsulRegisterConfig, ConsulRegistrar, ConsulToken};

    let registry = Registry::consul();
    let token = ConsulToken::file(registry.credentials(Role::Registrar));
    let config = ConsulConfig::new(registry.address()).with_token(token);
    let keeping = ConsulRegisterConfig::default();
    Ok(Arc::new(ConsulRegistrar::new(config, keeping)?))
}

#[cfg(feature = "nacos")]
fn nacos() -> Result<Arc<dyn Registrar>, BoxError> {
    use ringfence::nacos::{NacosConfig, NacosLogin, NacosRegistrar};

    let registry = Registry::nacos();
    let (user, password) = registry.login(Role::Registrar)?;
    let config =
        NacosConfig::new([registry.address()])?.with_login(NacosLogin::new(user, password));
    Ok(Arc::new(NacosRegistrar::new(config)))
}

#[cfg(feature = "etcd")]
fn etcd() -> Result<Arc<dyn Registrar>, BoxError> {
    use ringfence::etcd::{EtcdConfig, EtcdRegistrar};

    let registry = Registry::etcd();
    let (user, password) = registry.login(Role::Registrar)?;
    let config = EtcdConfig::new([registry.address()]).with_user(user, password);
    Ok(Arc::new(EtcdRegistrar::new(config)?))
}
