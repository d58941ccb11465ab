use ringfence_core::Attribute;

/// What a name in the document means: `version`, `zone` and `region` are the fields of an instance, others its tags.
pub(crate) fn attribute(name: &str) -> Attribute {
    match name.trim() {
        "version" => Attribute::Version,
        "zone" => Attribute::Zone,
        "region" => Attribute::Region,
        tag => Attribute::tag(tag),
    }
}
