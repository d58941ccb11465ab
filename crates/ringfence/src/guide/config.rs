#![doc = include_str!("config.md")]

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::{BalancerConfig, RingfenceLayer};

    #[test]
    fn each_code_has_a_section_and_each_section_a_code() {
        let codes = BalancerConfig::finding_codes().into_iter();
        let codes: BTreeSet<_> = codes.chain(RingfenceLayer::finding_codes()).collect();
        let sections = include_str!("config.md").lines();
        let sections = sections.filter_map(|line| line.strip_prefix("## RF-"));
        let sections: Vec<_> = sections.filter_map(|line| line.split(':').next()).collect();
        let told: BTreeSet<_> = sections.iter().map(|code| format!("RF-{code}")).collect();
        assert_eq!(told.len(), sections.len(), "one section for each");
        assert_eq!(told, codes.into_iter().map(str::to_owned).collect());
    }
}
