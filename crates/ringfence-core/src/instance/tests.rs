use super::*;

#[test]
fn addresses_parse_or_are_refused_without_a_panic() {
    for (text, shown) in [
        ("10.0.0.1:80", "10.0.0.1:80"),
        ("[::1]:80", "[::1]:80"),
        ("[0:0:0:0:0:0:0:1]:80", "[::1]:80"),
        ("[::ffff:10.0.0.1]:80", "10.0.0.1:80"),
        ("Orders.Internal:443", "orders.internal:443"),
        ("orders.internal.:443", "orders.internal.:443"),
        ("pod_1-a:65535", "pod_1-a:65535"),
    ] {
        let address: Address = text.parse().expect(text);
        assert_eq!(address.to_string(), shown);
        assert_eq!(
            address.to_string().parse::<Address>().as_ref(),
            Ok(&address)
        );
    }
    for text in [
        "",
        ":",
        ":80",
        "10.0.0.1",
        "10.0.0.1:",
        "10.0.0.1:0",
        "10.0.0.1:65536",
        "10.0.0.1:-1",
        "10.0.0.1:+80",
        "10.0.0.256:80",
        "1.2.3:80",
        "::1:80",
        "[::1]",
        "[10.0.0.1]:80",
        "[x]:80",
        "a b:80",
        "a..b:80",
        "user@host:80",
        "http://host:80",
        "host:80/path",
        "h\u{0}st:80",
        "höst:80",
    ] {
        assert!(text.parse::<Address>().is_err(), "{text:?} must be refused");
    }
    assert!(
        format!("{}:80", "a".repeat(300))
            .parse::<Address>()
            .is_err()
    );
}

#[test]
fn errors_keep_no_control_character_of_what_was_given() {
    for error in [
        "h\u{1b}[2J\nforged:80".parse::<Address>().map(drop),
        "ftp\n".parse::<Scheme>().map(drop),
        Tags::try_new([("a\nb", "c")]).map(drop),
    ] {
        let text = error.expect_err("illegal").to_string();
        assert!(!text.chars().any(char::is_control), "{text:?}");
    }
}

#[test]
fn equal_addresses_compare_equal_whatever_their_spelling() {
    let parse = |text: &str| text.parse::<Address>().expect(text);
    assert_eq!(parse("[0::1]:80"), parse("[::1]:80"));
    assert_eq!(parse("HOST:80"), parse("host:80"));
    assert_eq!(
        parse("[::1]:80").socket_addr(),
        Some("[::1]:80".parse().expect("literal"))
    );
    assert_eq!(parse("host:80").socket_addr(), None);
}

#[test]
fn ids_and_labels_are_bounded() {
    assert!(Instance::builder("", "h:1").build().is_err());
    assert!(Instance::builder("x".repeat(256), "h:1").build().is_err());
    assert!(Instance::builder("x".repeat(255), "h:1").build().is_ok());
    assert!(Instance::builder("a\nb", "h:1").build().is_err());
    for builder in [
        Instance::builder("a", "h:1").version("v\u{7}"),
        Instance::builder("a", "h:1").version("v".repeat(257)),
    ] {
        let error = builder.build().expect_err("no version");
        assert_eq!(error, InstanceError::Label { field: "version" });
        assert!(error.to_string().starts_with("version is over 256 bytes"));
    }
    assert!(Instance::builder("a", "h:1").tag("", "v").build().is_err());
    assert!(
        Instance::builder("a", "h:1")
            .tag("k", "v".repeat(4_097))
            .build()
            .is_err()
    );
    assert!(
        Instance::builder("a", "h:1")
            .weight(1_000_001)
            .build()
            .is_err()
    );
    let many = (0..257).map(|i| (format!("k{i}"), "v".to_owned()));
    assert_eq!(
        Instance::builder("a", "h:1").tags(many).build(),
        Err(InstanceError::TooManyTags)
    );
}

#[test]
fn labels_are_trimmed_and_empty_means_absent() {
    let instance = Instance::builder("a", "h:1")
        .version(" gray ")
        .zone("")
        .tag("env", "prod")
        .tag("env", " dev ")
        .tag("lane", "blue")
        .tag("lane", "")
        .build()
        .expect("legal");
    assert_eq!(instance.version(), Some("gray"));
    assert_eq!(instance.zone(), None);
    assert_eq!(instance.tag("env"), Some("dev"));
    assert_eq!(instance.tag("lane"), None);
    assert_eq!(instance.tags().iter().collect::<Vec<_>>(), [("env", "dev")]);
}

#[test]
fn a_builder_made_from_an_instance_gives_it_back() {
    let instance = Instance::builder("a", "[::1]:1")
        .scheme(Scheme::Https)
        .weight(7)
        .version("v")
        .region("r")
        .zone("z")
        .tenant("t")
        .tag("k", "v")
        .healthy(false)
        .enabled(false)
        .build()
        .expect("legal");
    assert_eq!(instance.to_builder().build(), Ok(instance.clone()));
    assert!(!instance.takes_traffic());
    assert_eq!(instance.tenant(), Some("t"));
}

#[test]
fn schemes_of_other_conventions_are_understood() {
    assert_eq!("GRPC".parse(), Ok(Scheme::Http));
    assert_eq!("https".parse(), Ok(Scheme::Https));
    assert!("ftp".parse::<Scheme>().is_err());
}
