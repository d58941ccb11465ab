//! One call of each user, and who should be where.

use std::collections::BTreeSet;

use http::Request as Head;
use ringfence::{Balancer, RequestHead};
use ringfence_examples::{Answers, BoxError, Client, request_of};

const USERS: usize = 800;

pub(crate) fn users() -> impl Iterator<Item = String> {
    (0..USERS).map(|n| format!("user-{n:04}"))
}

/// One call of each user.
pub(crate) async fn call_all(client: &Client) -> Result<Answers, BoxError> {
    let requests = users().map(|user| Ok((user.clone(), request_of(&user)?)));
    let requests = requests.collect::<Result<Vec<_>, BoxError>>()?;
    Ok(client.calls(requests).await)
}

/// Users that the gray instances served.
pub(crate) fn in_gray(answers: &Answers) -> BTreeSet<String> {
    let homes = answers.homes.iter();
    let gray = homes.filter(|(_, home)| home.starts_with("gray"));
    gray.map(|(user, _)| user.clone()).collect()
}

/// Users that the policy in force puts into the release.
pub(crate) fn should_be_in(balancer: &Balancer) -> Result<BTreeSet<String>, BoxError> {
    let policy = balancer.policy().ok_or("there is no policy")?;
    let mut inside = BTreeSet::new();
    for user in users() {
        let head = Head::post("/ringfence.echo.v1.Echo/Unary")
            .header("x-user", &user)
            .body(())?;
        let evaluation = policy.evaluate(&RequestHead::of(&head), 0);
        if evaluation.is_some_and(|evaluation| evaluation.gray.is_some()) {
            inside.insert(user);
        }
    }
    Ok(inside)
}
