#![doc = include_str!("operations.md")]

#[cfg(test)]
mod tests {
    use crate::{
        balancer::{CallOutcome, InstanceState},
        discovery::ErrorKind,
    };

    #[test]
    fn values_of_labels_are_explained() {
        let guide = include_str!("operations.md");
        let outcomes = CallOutcome::ALL.map(CallOutcome::as_str);
        let kinds = ErrorKind::ALL.map(ErrorKind::as_str);
        let states = InstanceState::ALL.map(InstanceState::as_str);
        for value in outcomes.into_iter().chain(kinds).chain(states) {
            assert!(guide.contains(&format!("`{value}`")), "{value}");
        }
    }
}
