use ringfence_core::Scheme;

use super::*;

fn decode(
    codec: &dyn Codec,
    name: &str,
    value: impl AsRef<[u8]>,
) -> Result<Option<Instance>, String> {
    let service = ServiceKey::new("order");
    let record = Record::new(&service, name, value.as_ref());
    codec.decode(&record).map_err(|error| error.to_string())
}

fn instance(codec: &dyn Codec, name: &str, value: &str) -> Instance {
    decode(codec, name, value)
        .expect(value)
        .expect("an instance")
}

fn golden() -> Instance {
    Instance::builder("order-1", "10.0.0.1:8080")
        .scheme(Scheme::Https)
        .weight(250)
        .version("gray")
        .region("eu")
        .zone("az-1")
        .tenant("acme")
        .tag("lane", "blue")
        .healthy(false)
        .build()
        .expect("legal")
}

const GOLDEN: &str = include_str!("../../tests/golden/native_v1.json");

#[test]
fn version_1_of_the_native_format_is_read_as_ever() {
    assert_eq!(
        instance(&NativeCodec::default(), "order-1", GOLDEN),
        golden()
    );
}

#[test]
fn the_native_format_has_defaults_and_ignores_what_it_does_not_know() {
    let codec = NativeCodec::default();
    let least = instance(&codec, "a", r#"{"v":1,"address":"h:1","later":{"x":[1]}}"#);
    assert_eq!(Ok(least), Instance::builder("a", "h:1").build());
    let escaped = instance(&codec, "a%2Fb%20%C3%A9", r#"{"v":1,"address":"h\u002e:1"}"#);
    assert_eq!(escaped.id().as_str(), "a/b é");
    assert_eq!(decode(&codec, "a/b", "whatever"), Ok(None));
}

#[test]
fn bad_native_values_are_told_apart() {
    for (value, reason) in [
        ("", "EOF"),
        ("{", "EOF"),
        ("[]", "JSON"),
        (r#"{"v":2,"address":7}"#, "version 2"),
        (r#"{"address":"h:1"}"#, "missing field `v`"),
        (r#"{"v":1}"#, "missing field `address`"),
        (r#"{"v":1,"address":"h:70000"}"#, "not an address"),
        (r#"{"v":1,"address":"h:1","weight":NaN}"#, "JSON"),
        (r#"{"v":1,"address":"h:1","weight":-1}"#, "JSON"),
        (
            r#"{"v":1,"address":"h:1","weight":1000001}"#,
            "over 1000000",
        ),
        (
            r#"{"v":1,"address":"h:1","scheme":"ftp"}"#,
            "unknown scheme",
        ),
        (r#"{"v":1,"v":1,"address":"h:1"}"#, "duplicate"),
    ] {
        let error = decode(&NativeCodec::default(), "a", value).expect_err(value);
        assert!(error.contains(reason), "{value}: {error}");
    }
    let codec = NativeCodec::default();
    assert!(decode(&codec, "a", b"\xff\xfe").is_err_and(|error| error.contains("UTF-8")));
    for broken in ["%", "%2", "%zz", "%FF"] {
        assert!(decode(&codec, broken, GOLDEN).is_err(), "{broken}");
    }
    let deep = "[".repeat(100_000);
    assert!(decode(&codec, "a", deep).is_err());
}

#[test]
fn prefixes_separate_services_and_refuse_impossible_ones() {
    let native = NativeCodec::default().with_root("/rf/");
    let prefix = |codec: &dyn Codec, service: ServiceKey| codec.prefix(&service);
    assert_eq!(
        prefix(&native, "order".into()).as_deref(),
        Some("/rf/default/order/")
    );
    assert_eq!(prefix(&native, "".into()), None);
    assert_eq!(
        prefix(&native, "../x y".into()).as_deref(),
        Some("/rf/default/..%2Fx%20y/")
    );
    let kratos = KratosCodec::default();
    assert_eq!(
        prefix(&kratos, "order".into()).as_deref(),
        Some("/microservices/order/")
    );
    let elsewhere = ServiceKey::new("order").with_namespace("/prod");
    assert_eq!(prefix(&kratos, elsewhere).as_deref(), Some("/prod/order/"));
    assert_eq!(prefix(&kratos, "/".into()), None);
    let kitex = KitexCodec::default();
    assert_eq!(
        prefix(&kitex, "order".into()).as_deref(),
        Some("kitex/registry-etcd/order/")
    );
    let naming = GrpcNamingCodec::default();
    assert_eq!(
        prefix(&naming, "shop/order".into()).as_deref(),
        Some("shop/order/")
    );
    assert_eq!(prefix(&naming, "".into()), None);
}

#[test]
fn kratos_chooses_its_endpoint_and_reads_metadata() {
    let codec = KratosCodec::default();
    let both = r#"{"id":"lies","name":"order","version":"v2","metadata":{"weight":"50","zone":"az-1","lane":"blue","n":3,"o":{}},
        "endpoints":["http://10.0.0.1:8000?isSecure=false","grpc://10.0.0.1:9000?isSecure=false"]}"#;
    let read = instance(&codec, "order-1", both);
    assert_eq!(read.id().as_str(), "order-1", "the key is the identity");
    assert_eq!(read.address().port(), 9000);
    assert_eq!(
        (read.weight().get(), read.version(), read.zone()),
        (50, Some("v2"), Some("az-1"))
    );
    assert_eq!(
        (read.tag("lane"), read.tag("n"), read.tag("o")),
        (Some("blue"), Some("3"), None)
    );
    let http = codec.clone().with_protocols(["http"]);
    assert_eq!(instance(&http, "a", both).address().port(), 8000);
    for secure in [
        "grpc://h:1?isSecure=true",
        "grpcs://h:1",
        "https://h:1/",
        "grpc://h:1?a=b&issecure=TRUE",
    ] {
        let value = format!(r#"{{"endpoints":["{secure}"]}}"#);
        assert_eq!(
            instance(&codec, "a", &value).scheme(),
            Scheme::Https,
            "{secure}"
        );
    }
    for bad in [
        r#"{"endpoints":null}"#,
        r#"{"endpoints":["h:1"]}"#,
        r#"{"endpoints":["tcp://h:1"]}"#,
        r#"{"endpoints":["grpc://h:70000"]}"#,
        r#"{"endpoints":["grpc://user:pw@h:1"]}"#,
        r#"{"endpoints":["grpc://h:1"],"metadata":{"weight":"NaN"}}"#,
        r#"{"endpoints":["grpc://h:1"],"metadata":{"weight":"-1"}}"#,
    ] {
        assert!(decode(&codec, "a", bad).is_err(), "{bad}");
    }
}

#[test]
fn kitex_weights_and_tags_are_each_records_own() {
    let codec = KitexCodec::default();
    let with_tags =
        r#"{"network":"tcp","address":"10.0.0.1:80","weight":20,"tags":{"lane":"blue"}}"#;
    assert_eq!(
        instance(&codec, "10.0.0.1:80", with_tags).tag("lane"),
        Some("blue")
    );
    let without = r#"{"network":"tcp","address":"10.0.0.2:80","weight":-3,"tags":null}"#;
    let second = instance(&codec, "10.0.0.2:80", without);
    assert!(second.tags().is_empty(), "nothing sticks: {second:?}");
    assert_eq!(second.weight().get(), 100);
    let bare = instance(&codec, "10.0.0.3:80", "{}");
    assert_eq!(
        (bare.address().to_string().as_str(), bare.weight().get()),
        ("10.0.0.3:80", 100)
    );
    for bad in [
        r#"{"network":"unix","address":"/run/x"}"#,
        r#"{"address":":80"}"#,
        r#"{"weight":"NaN"}"#,
        r#"{"weight":1e999}"#,
    ] {
        assert!(decode(&codec, "10.0.0.1:80", bad).is_err(), "{bad}");
    }
}

#[test]
fn grpc_naming_takes_any_metadata() {
    let codec = GrpcNamingCodec::default();
    for metadata in ["null", "7", r#""text""#, "[1]", "{}"] {
        let value = format!(r#"{{"Op":0,"Addr":"h:1","Metadata":{metadata}}}"#);
        assert_eq!(
            instance(&codec, "a/b", &value).id().as_str(),
            "a/b",
            "{metadata}"
        );
    }
    for bad in [
        r#"{"Op":1,"Addr":"h:1"}"#,
        r#"{"Op":0}"#,
        r#"{"Addr":"h"}"#,
        r#"{"Addr":"h:1","Metadata":{"weight":"heavy"}}"#,
    ] {
        assert!(decode(&codec, "a", bad).is_err(), "{bad}");
    }
}

#[cfg(feature = "register")]
mod encoding {
    use super::*;

    fn encode(codec: &dyn Codec, instance: &Instance) -> Option<(String, String)> {
        let record = codec.encode(&"order".into(), instance).expect("fits")?;
        let value = String::from_utf8(record.value().to_vec()).expect("UTF-8");
        Some((codec.record_name(instance).expect("has a name"), value))
    }

    #[test]
    fn version_1_of_the_native_format_is_written_as_ever() {
        let (name, value) = encode(&NativeCodec::default(), &golden()).expect("always listed");
        assert_eq!(
            (name.as_str(), value.as_str()),
            ("order-1", GOLDEN.trim_end())
        );
    }

    #[test]
    fn what_a_layout_writes_it_reads() {
        let healthy = golden().to_builder().healthy(true).build().expect("legal");
        let codecs: [&dyn Codec; 4] = [
            &NativeCodec::default(),
            &KratosCodec::default(),
            &KitexCodec::default(),
            &GrpcNamingCodec::default(),
        ];
        for codec in codecs {
            let (name, value) = encode(codec, &healthy).expect("takes traffic");
            assert_eq!(instance(codec, &name, &value), healthy, "{codec:?}");
        }
    }

    #[test]
    fn a_drained_instance_is_listed_only_where_that_has_a_word() {
        let drained = Instance::builder("a", "h:1")
            .weight(0)
            .build()
            .expect("legal");
        assert_eq!(
            instance(
                &NativeCodec::default(),
                "a",
                &encode(&NativeCodec::default(), &drained).expect("listed").1
            ),
            drained
        );
        let kratos = KratosCodec::default();
        assert_eq!(
            instance(&kratos, "a", &encode(&kratos, &drained).expect("listed").1)
                .weight()
                .get(),
            0
        );
        assert_eq!(encode(&KitexCodec::default(), &drained), None);
        assert_eq!(encode(&GrpcNamingCodec::default(), &drained), None);
    }

    #[test]
    fn ids_are_keys_of_their_own() {
        let odd = Instance::builder("a/b", "h:1").build().expect("legal");
        assert_eq!(
            NativeCodec::default().record_name(&odd).as_deref(),
            Ok("a%2Fb")
        );
        assert!(KratosCodec::default().record_name(&odd).is_err());
    }
}
