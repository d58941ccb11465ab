//! What was said of the request and decides nothing.

use ringfence_policy::{CompiledPolicy, Explanation, KeyFrom, KeySource, SampleRequest};

use crate::args::ExplainArgs;

/// What is to be told beside the answer.
pub(super) fn unread(
    args: &ExplainArgs,
    policy: Option<&CompiledPolicy>,
    explanation: &Explanation,
) -> Vec<String> {
    match policy {
        Some(policy) if !explanation.is_off => {
            let keys = of_keys(args, policy, explanation);
            keys.into_iter()
                .chain(of_release(args, policy, explanation))
                .collect()
        }
        Some(_) => without_policy(args, "while the policy is off"),
        None => without_policy(args, "without a policy"),
    }
}

/// Keys and tags of the program are all that counts then.
fn without_policy(args: &ExplainArgs, why: &str) -> Vec<String> {
    let usual = SampleRequest::default();
    let given = [
        ("--header", !args.headers.is_empty()),
        ("--claim", !args.claims.is_empty()),
        ("--peer", args.peer.is_some()),
        ("--path", args.path != usual.path),
        ("--method", args.method != usual.method),
        ("--gray", args.gray.is_some()),
    ];
    let given = given.into_iter().filter(|(_, is_given)| *is_given);
    let told = given.map(|(option, _)| format!("{option} is not read {why}"));
    told.collect()
}

/// What is there to be a key. Headers are left out: they may be those of a whole request, of which a rule reads a few.
fn of_keys(args: &ExplainArgs, policy: &CompiledPolicy, told: &Explanation) -> Vec<String> {
    let key = args.key.iter();
    let key = key.map(|_| ("--key".to_owned(), KeyFrom::Extension));
    let claims = args.claims.iter().filter_map(|claim| {
        let (name, _) = claim.split_once('=')?;
        Some((format!("--claim {name}"), KeyFrom::Claim(name.to_owned())))
    });
    let peer = args.peer.map(|_| ("--peer".to_owned(), KeyFrom::Peer));
    let given = key.chain(claims).chain(peer);

    let rule = policy.document().rules.get(told.rule_index);
    // What a rule without sources has.
    let by_default = [KeySource::extension()];
    let sources = match rule.map(|rule| &*rule.key) {
        None | Some([]) => &by_default,
        Some(sources) => sources,
    };
    let (tried, left) = sources.split_at(told.sources.len().min(sources.len()));
    let unread = given.filter(|(_, place)| !reads(tried, place));
    let told = unread.map(|(option, place)| match &told.key {
        Some(key) if reads(left, &place) => {
            let source = &key.source;
            format!("{option} is not read: {source} has a key, and comes before it")
        }
        _ => format!("{option} is not read: {}", told.where_its_key_is()),
    });
    told.collect()
}

fn reads(sources: &[KeySource], place: &KeyFrom) -> bool {
    sources.iter().any(|source| match &source.from {
        KeyFrom::All(parts) => reads(parts, place),
        from => from == place,
    })
}

/// A release that the policy has, and the request is not in.
fn of_release(args: &ExplainArgs, policy: &CompiledPolicy, told: &Explanation) -> Option<String> {
    let name = args.gray.as_ref()?;
    if told
        .gray
        .as_ref()
        .is_some_and(|(release, _)| release == name)
    {
        return None;
    }
    let document = policy.document();
    let rule = document.rules.get(told.rule_index);
    let why = match document.gray.get(name) {
        _ if !rule.is_some_and(|rule| rule.gray.contains(name)) => {
            format!("the rule `{}` does not name it", told.rule)
        }
        Some(release) if !release.enabled => "it is stopped".to_owned(),
        _ => "it is not the one that the request is in".to_owned(),
    };
    Some(format!("--gray {name} has no effect: {why}"))
}
