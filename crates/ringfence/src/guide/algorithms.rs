#![doc = include_str!("algorithms.md")]

#[cfg(test)]
mod tests {
    use crate::{HashAlgorithm, RingConfig, core::SlotTable};

    #[test]
    fn every_algorithm_is_in_each_table() {
        let guide = include_str!("algorithms.md");
        for name in HashAlgorithm::NAMES {
            let row = format!("\n| `{name}` |");
            assert_eq!(
                guide.matches(&row).count(),
                if is_told_alone(name) { 3 } else { 2 },
                "{name}"
            );
        }
    }

    /// The table of what must be equal has the other ones in one row, and nothing of the own ring.
    fn is_told_alone(name: &str) -> bool {
        ["envoy-ring", "maglev", "nginx", "ketama"].contains(&name)
    }

    #[test]
    fn numbers_are_those_of_the_code() {
        assert_eq!(SlotTable::SLOTS, 16_384);
        let usual = RingConfig::default();
        assert_eq!(usual.algorithm(), &HashAlgorithm::Ring);
        assert_eq!((usual.points_per_instance(), usual.probes()), (160, 1));
    }
}
