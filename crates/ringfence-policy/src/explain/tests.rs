use std::sync::Arc;

use http::Request;
use ringfence_core::{Instance, RequestTags, Snapshot, ViewConfig};

use super::*;
use crate::{GrayWhy, PolicyContext, PolicyDocument, TenantMode};

const POLICY: &str = "
ringfence: 1
gray:
  next: { to: { version: v2 }, tenants: [acme] }
tenants:
  acme: { mode: salted }
rules:
  - name: checkout
    tags_from_headers: { x-tenant: { tag: tenant, trusted: true } }
    key: [{ cookie: sid }, { header: k-bin }, { header: x-user, normalise: [trim, case_fold_ascii] }]
    gray: [next]
    pools: [{ require: { version: v1 } }]
    limits: { max_attempts: 2 }
";

fn view(policy: &CompiledPolicy) -> View {
    let instance = |id: &str, version: &str, healthy: bool| {
        let address = format!("{id}:80");
        Instance::builder(id, address)
            .version(version)
            .healthy(healthy)
            .build()
            .expect("legal")
    };
    let instances = (0..4)
        .map(|i| instance(&format!("v1-{i}"), "v1", i != 0))
        .chain((0..2).map(|i| instance(&format!("v2-{i}"), "v2", true)));
    let snapshot = Arc::new(Snapshot::new(instances));
    View::first(
        ViewConfig::default(),
        policy.plans().clone(),
        snapshot,
        |_| None,
    )
}

fn policy() -> CompiledPolicy {
    PolicyDocument::parse_and_compile(POLICY, &PolicyContext::new()).expect("legal")
}

fn explain(policy: &CompiledPolicy, request: &Request<()>) -> Explanation {
    let view = view(policy);
    policy
        .explain(&RequestHead::of(request), 0, &view, 3)
        .expect("not off")
}

#[test]
fn the_whole_chain_is_told() {
    let policy = policy();
    let request = Request::get("/")
        .header("x-tenant", "acme")
        .header("k-bin", "?")
        .header("x-user", " Alice ")
        .body(())
        .expect("legal");
    let explanation = explain(&policy, &request);
    let outcomes: Vec<_> = explanation
        .sources
        .iter()
        .map(|s| (&*s.source, s.outcome))
        .collect();
    assert_eq!(
        outcomes,
        [
            ("cookie sid", "absent"),
            ("header k-bin", "malformed"),
            ("header x-user", "key")
        ]
    );
    let key = explanation.key.as_ref().expect("there is one");
    // White space at the ends of a header is gone before anybody can see it.
    assert_eq!(
        (&*key.normalised, key.salt),
        ("alice", ringfence_core::name_seed("acme"))
    );
    assert_eq!(explanation.gray, Some(("next".to_owned(), GrayWhy::Tenant)));
    assert_eq!(
        explanation.tenant,
        Some(("acme".to_owned(), TenantMode::Salted))
    );
    assert_eq!(explanation.tags[0].because, AuditReason::TrustedHeader);
    assert_eq!((explanation.stages.len(), explanation.chosen), (1, Some(0)));
    assert_eq!(
        (explanation.stages[0].usable, explanation.stages[0].members),
        (2, 2)
    );
    // The rule allows two attempts: one of the release, and one behind it.
    let versions: Vec<_> = explanation.candidates.iter().map(|id| &id[..2]).collect();
    assert_eq!(versions, ["v2", "v1"]);
    let last = explanation.walk.last().expect("two at least");
    assert_eq!(last.verdict, "candidate of a later pool");
    assert!(
        explanation
            .walk
            .iter()
            .any(|step| step.verdict == "not a member")
    );

    let text = explanation.to_string();
    for line in [
        "rule      checkout (policy ",
        "tag       tenant=acme (trusted_header)",
        "tenant    acme: salted",
        "gray      in next (tenant)",
        "source    header k-bin: malformed",
        "-> \"alice\", salt ",
        "2 usable of 2 <- serves",
        "tried     v2-",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    let json = serde_json::to_value(&explanation).expect("it can be");
    assert_eq!(json["candidates"].as_array().map(Vec::len), Some(2));
    assert_eq!(json["gray"][1], "tenant");
}

#[test]
fn it_is_what_a_request_gets() {
    let policy = policy();
    let view = view(&policy);
    for i in 0..1_000 {
        let mut request = Request::get("/")
            .header("x-user", format!("user-{i}"))
            .body(())
            .expect("legal");
        if i % 3 == 0 {
            request
                .extensions_mut()
                .insert(RequestTags::new().with_tenant("acme"));
        }
        let head = RequestHead::of(&request);
        let explanation = policy.explain(&head, 0, &view, 3).expect("not off");
        let evaluation = policy.evaluate(&head, 0).expect("not off");
        let route = view.resolve(&view.key(evaluation.plan, &evaluation.tags));
        let chosen = route
            .choose(evaluation.key_bytes(), || 0)
            .expect("some are usable");
        let key = evaluation.key_bytes().expect("there is a key");
        let walk = chosen.walk(key, evaluation.salt, 2);
        let picked: Vec<_> = walk
            .filter_map(|(pool, member)| pool.pool().instance(member))
            .map(|instance| instance.id().to_string())
            .collect();
        assert_eq!(explanation.candidates, picked, "{explanation}");
        let passed: Vec<_> = explanation
            .walk
            .iter()
            .filter(|step| step.verdict.starts_with("candidate"))
            .collect();
        assert!(
            passed.iter().map(|step| &step.instance).eq(&picked),
            "{explanation}"
        );
    }
}

#[test]
fn a_request_without_a_key_has_no_walk() {
    let policy = policy();
    let explanation = explain(&policy, &Request::get("/").body(()).expect("legal"));
    assert_eq!(explanation.key, None);
    assert!(explanation.candidates.is_empty() && explanation.walk.is_empty());
    assert_eq!(explanation.chosen, Some(0));
    let text = explanation.to_string();
    for line in [
        "key       none\n",
        "tried     of two usable instances drawn at random the less busy one\n",
        "<- serves",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
}

#[test]
fn no_stage_serves_a_request_that_is_refused() {
    let text = POLICY.replace("    limits:", "    missing_key: reject\n    limits:");
    let policy = PolicyDocument::parse_and_compile(&text, &PolicyContext::new()).expect("legal");
    let explanation = explain(&policy, &Request::get("/").body(()).expect("legal"));
    assert_eq!(explanation.refused, Some(Refusal::KeyRequired));
    let text = explanation.to_string();
    assert!(text.contains("refused   a key is required"), "{text}");
    assert!(
        !text.contains("serves") && !text.contains("tried"),
        "{text}"
    );
}

#[test]
fn without_a_policy_it_says_whether_there_is_one() {
    let policy = policy();
    let view = view(&policy);
    let request = Request::get("/").body(()).expect("legal");
    let limits = ExplainLimits {
        attempts: 3,
        max_key_len: 100,
        missing_key: MissingKey::RoundRobin,
    };
    let head = RequestHead::of(&request);
    let none = Explanation::without_policy(&head, 0, &view, limits);
    let text = none.to_string();
    assert!(
        text.starts_with("rule      none (view 1): there is no policy\n"),
        "{text}"
    );
    assert!(
        text.contains("tried     the usable instance whose turn it is"),
        "{text}"
    );
    assert!(!text.contains("gray      in"), "{text}");
    let off = none.with_policy_off(&policy).to_string();
    assert!(
        off.contains("): the policy is off, the baseline decides\n"),
        "{off}"
    );
}

#[test]
fn a_tenants_mode_is_told_in_words() {
    for (mode, told) in [
        ("{ mode: dedicated }", "acme: dedicated, and nothing else"),
        (
            "{ mode: dedicated, strict: false }",
            "acme: dedicated, else shared",
        ),
        ("{ mode: shuffle_shard, size: 2 }", "acme: a shard of 2"),
        (
            "{ mode: shuffle_shard, size: 2, strict: false }",
            "acme: a shard of 2, else shared",
        ),
        ("{ mode: own_ring }", "acme: a ring of its own"),
    ] {
        let text = POLICY.replace("{ mode: salted }", mode);
        let policy = PolicyDocument::parse_and_compile(&text, &PolicyContext::new());
        let request = Request::get("/").header("x-tenant", "acme").body(());
        let text = explain(&policy.expect("legal"), &request.expect("legal")).to_string();
        assert!(text.contains(told), "{told} in\n{text}");
    }
}

#[test]
fn what_the_baseline_decides_is_told_as_what_the_policy_would_do() {
    let request = Request::get("/").header("x-user", "alice");
    let request = request.body(()).expect("legal");
    for (mode, head) in [
        (
            "observe",
            "the baseline decides, the policy is observed; it would do this",
        ),
        (
            "{ enforce_percent: 0 }",
            "the baseline decides; the policy would do this",
        ),
    ] {
        let text = POLICY.replace("ringfence: 1", &format!("ringfence: 1\nmode: {mode}"));
        let policy = PolicyDocument::parse_and_compile(&text, &PolicyContext::new());
        let told = explain(&policy.expect("legal"), &request);
        assert!(told.is_suggested && told.candidates.len() == 2);
        let text = told.to_string();
        let tried = format!("\nwould be tried: {}\n", told.candidates.join(", then "));
        for line in [head, " <- would serve\n", &tried] {
            assert!(text.contains(line), "{line} in\n{text}");
        }
        for real in ["<- serves", "\ntried"] {
            assert!(!text.contains(real), "{real} in\n{text}");
        }
    }
    let strict = POLICY.replace("    limits:", "    missing_key: reject\n    limits:");
    let strict = strict.replace("ringfence: 1", "ringfence: 1\nmode: observe");
    let policy = PolicyDocument::parse_and_compile(&strict, &PolicyContext::new());
    let none = Request::get("/").body(()).expect("legal");
    let text = explain(&policy.expect("legal"), &none).to_string();
    assert!(
        text.ends_with("\nwould be refused: a key is required\n"),
        "{text}"
    );
    assert!(!explain(&self::policy(), &request).is_suggested);
}
