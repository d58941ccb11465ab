use super::*;

fn parse(text: &str) -> Result<RegistryAddress, String> {
    let (scheme, rest) = text.split_once("://").unwrap();
    RegistryAddress::of(scheme, rest, |_| Ok(None))
}

#[test]
fn hosts_scopes_service_and_options_are_told_apart() {
    for (text, hosts, scope, service) in [
        (
            "consul://10.0.0.1:8501/order",
            &["10.0.0.1:8501"][..],
            &[][..],
            "order",
        ),
        ("consul:///order", &["127.0.0.1:8500"], &[], "order"),
        (
            "consul://[::1]/dc1/order",
            &["[::1]:8500"],
            &["dc1"],
            "order",
        ),
        (
            "nacos://a,b:8849/order",
            &["a:8848", "b:8849"],
            &[],
            "order",
        ),
        (
            "nacos://a/ns/group/order",
            &["a:8848"],
            &["ns", "group"],
            "order",
        ),
        (
            "etcd://a:1,b:2/prod/shop%2Forder",
            &["a:1", "b:2"],
            &["prod"],
            "shop/order",
        ),
    ] {
        let address = parse(text).unwrap();
        assert_eq!(address.hosts, hosts, "{text}");
        assert_eq!(address.scope, scope, "{text}");
        assert_eq!(address.service, service, "{text}");
        assert!(!address.is_tls, "{text}");
    }
    let address = parse("consul+https://a/order?tag=v1&tag=blue%20one&filter=x").unwrap();
    assert!(address.is_tls);
    assert!(address.option("tag").eq(["v1", "blue one"]));
    assert_eq!(address.to_string(), "consul+https://a:8500/order");
}

#[test]
fn the_environment_says_where_it_is_unless_the_address_does() {
    let of = |scheme: &str, rest: &str, given: &str| {
        RegistryAddress::of(scheme, rest, |name| {
            assert!(["CONSUL_HTTP_ADDR", "ETCD_ENDPOINTS"].contains(&name));
            Ok(Some(given.to_owned()))
        })
        .unwrap()
    };
    let address = of("consul", "/order", "https://consul:8501");
    assert_eq!(
        (address.hosts, address.is_tls),
        (vec!["consul:8501".to_owned()], true)
    );
    let address = of("etcd", "/order", "http://a:1, http://b:2");
    assert_eq!(address.hosts, ["a:1", "b:2"]);
    assert_eq!(of("etcd", "c:3/order", "a:1").hosts, ["c:3"]);
}

#[test]
fn what_is_wrong_is_told_and_credentials_are_never_repeated() {
    for (text, told) in [
        (
            "consol://a/b",
            "no registry `consol`, did you mean `consul`?",
        ),
        ("consul://a/b/c/d", "at most 1 names"),
        ("consul://a,b/c", "one address"),
        ("nacos://a/b?clustre=c", "did you mean `cluster`?"),
        ("nacos://a/b?cluster", "has no value"),
        ("etcd://a/%ff", "not UTF-8"),
    ] {
        let fault = parse(text).unwrap_err();
        assert!(fault.contains(told), "{fault}");
    }
    for scheme in ["consul", "nacos", "etcd"] {
        for secret in ["hunter2", "hunt?er2", "hunt/er2", "hunt#er2", "hunt&er2=x"] {
            let fault = parse(&format!("{scheme}://me:{secret}@a/b")).unwrap_err();
            assert!(
                fault.contains("environment") && !fault.contains("hunt"),
                "{fault}"
            );
        }
    }
    for text in ["me:hunter2@consul://a/b", "consul://a/b?me:hunter2=x"] {
        let fault = parse(text).unwrap_err();
        assert!(!fault.contains("hunter2"), "{fault}");
    }
    let filter = parse("consul://a/b?filter=Meta.owner==me%40shop").unwrap();
    assert!(filter.option("filter").eq(["Meta.owner==me@shop"]));
}

#[test]
fn credentials_of_the_environment_are_not_repeated_either() {
    for (scheme, variable) in [
        ("consul", "CONSUL_HTTP_ADDR"),
        ("nacos", "NACOS_SERVER_ADDR"),
        ("etcd", "ETCD_ENDPOINTS"),
    ] {
        for given in [
            "http://me:hunter2@127.0.0.1:1",
            "me:hunter2@127.0.0.1",
            "http://127.0.0.1:1,http://me:hunt,er2@127.0.0.2:1",
        ] {
            let address = RegistryAddress::of(scheme, "/order", |_| Ok(Some(given.to_owned())));
            let fault = address.unwrap_err();
            assert!(
                fault.contains(variable) && !fault.contains("hunt") && !fault.contains("me:"),
                "{fault}"
            );
        }
    }
}

#[test]
fn a_service_that_is_named_twice_must_be_the_same() {
    let bare = parse("etcd://a/").unwrap();
    assert_eq!(bare.clone().with_service(Some("x")).unwrap().service, "x");
    assert!(
        bare.with_service(None)
            .unwrap_err()
            .contains("which service?")
    );
    let full = parse("etcd://a/x").unwrap();
    assert!(
        full.clone().with_service(Some("x")).is_ok() && full.clone().with_service(None).is_ok()
    );
    assert!(full.with_service(Some("y")).is_err());
}
