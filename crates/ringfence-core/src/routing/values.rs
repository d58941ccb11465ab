use super::RequestTags;
use crate::pool::Attribute;

/// Where the values come from that a request asks for: [`RequestTags`], or whatever can give them without making those.
pub trait TagValues {
    /// What is asked of an attribute; trimmed and never empty, as [`RequestTags`] has it.
    fn value(&self, attribute: &Attribute) -> Option<&str>;

    /// All that is asked, each attribute once, in the order of the attributes.
    fn each(&self, visit: &mut dyn FnMut(&Attribute, &str));

    /// Whether nothing is asked.
    fn is_untagged(&self) -> bool;

    /// These tags, where they are [`RequestTags`]: looked up faster.
    fn made(&self) -> Option<&RequestTags> {
        None
    }
}

impl TagValues for RequestTags {
    fn value(&self, attribute: &Attribute) -> Option<&str> {
        self.get(attribute)
    }

    fn each(&self, visit: &mut dyn FnMut(&Attribute, &str)) {
        for (attribute, value) in self.iter() {
            visit(attribute, value);
        }
    }

    #[inline]
    fn is_untagged(&self) -> bool {
        self.is_empty()
    }

    #[inline]
    fn made(&self) -> Option<&RequestTags> {
        Some(self)
    }
}
