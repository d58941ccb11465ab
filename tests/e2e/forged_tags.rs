//! What a client claims in headers gets it nowhere, on real servers (B21).

use ringfence::{
    Balancer, Instance, PolicyContext, PolicyDocument, RequestTags, RingfenceLayer, TagAuthority,
    TonicConnector,
};
use ringfence_echo::{EchoClient, EchoRequest};
use ringfence_tests::{
    client::{Echo, registry, service},
    fleet::Fleet,
};
use tonic::Request;

const POLICY: &str = "
ringfence: 1
gray:
  next:  { to: { version: gray } }
  lanes: { to: { lane: blue } }
tenants: { acme: { mode: dedicated } }
rules:
  - name: all
    key: [{ header: x-user }]
    gray: [next, lanes]
    tags_from_headers:
      x-version: { tag: version }
      x-gray: { tag: gray }
      x-lane: { tag: lane }
      x-tenant: { tag: tenant }
";
/// Of the policy, and ones that other systems use.
const HEADERS: [&str; 10] = [
    "x-version",
    "x-gray",
    "x-lane",
    "x-tenant",
    "version",
    "gray",
    "lane",
    "tenant",
    "x-canary",
    "ringfence-tags",
];
const VALUES: [&str; 7] = [
    "gray",
    "next",
    "lanes",
    "blue",
    "acme",
    "always",
    "version=gray",
];

async fn client(fleet: &Fleet, authority: &TagAuthority) -> Echo {
    let instances: Vec<Instance> = [
        fleet.instance("stable"),
        fleet.instance("gray").version("gray"),
        fleet.instance("blue").tag("lane", "blue"),
        fleet.instance("acme").tenant("acme"),
    ]
    .into_iter()
    .map(|instance| instance.build().unwrap())
    .collect();
    let context = PolicyContext::new().with_authority(authority);
    let policy = PolicyDocument::parse_and_compile(POLICY, &context).unwrap();
    let balancer = Balancer::builder(registry(instances), service())
        .with_policy(policy)
        .build()
        .unwrap();
    balancer.ready().await.unwrap();
    EchoClient::new(RingfenceLayer::new(balancer).wrap(TonicConnector::new()))
}

async fn served_by(echo: &Echo, request: Request<EchoRequest>) -> String {
    let answer = echo.clone().unary(request).await.unwrap();
    answer.into_inner().instance
}

#[tokio::test]
async fn forged_headers_land_on_stable_and_do_not_reach_it() {
    let fleet = Fleet::start(["stable", "gray", "blue", "acme"]).await;
    let echo = client(&fleet, &TagAuthority::new()).await;
    for header in HEADERS {
        for value in VALUES {
            let mut request = Request::new(EchoRequest::new("x"));
            request
                .metadata_mut()
                .insert("x-user", "alice".parse().unwrap());
            request
                .metadata_mut()
                .insert(header, value.parse().unwrap());
            assert_eq!(
                served_by(&echo, request).await,
                "stable",
                "{header}: {value}"
            );
        }
    }
    for id in ["gray", "blue", "acme"] {
        assert_eq!(fleet.server(id).requests(), 0, "{id}");
    }
    let calls = fleet.server("stable").calls();
    assert_eq!(calls.len(), HEADERS.len() * VALUES.len());
    for call in calls {
        for header in ["x-version", "x-gray", "x-lane", "x-tenant"] {
            assert_eq!(call.header(header), None, "nobody behind is to believe it");
        }
    }
}

#[tokio::test]
async fn tokens_count_if_the_policys_own_authority_made_them() {
    let fleet = Fleet::start(["stable", "gray", "blue", "acme"]).await;
    let (ours, foreign) = (TagAuthority::new(), TagAuthority::new());
    let echo = client(&fleet, &ours).await;
    for (authority, expected) in [
        (&ours, ["gray", "blue", "acme"]),
        (&foreign, ["stable", "stable", "stable"]),
    ] {
        let [gray, blue, acme] = expected;
        for (release, expected) in [("next", gray), ("lanes", blue)] {
            let mut request = Request::new(EchoRequest::new("x"));
            request
                .extensions_mut()
                .insert(authority.gray(release, "tester"));
            assert_eq!(served_by(&echo, request).await, expected);
        }
        let mut request = Request::new(EchoRequest::new("x"));
        let tags = RequestTags::new().with_tenant("acme");
        request
            .extensions_mut()
            .insert(authority.tags(tags, "tester"));
        assert_eq!(served_by(&echo, request).await, acme);
    }
}
