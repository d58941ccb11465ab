//! What a selector asks for, one condition at a time.

use super::{Attribute, Match, Selector};

impl Selector {
    /// The conditions, in the order of their attributes. With them a selector can be shown without the values of tags, which are
    /// not for everybody.
    ///
    /// # Examples
    /// ```
    /// use ringfence_core::{Attribute, Match, Selector};
    ///
    /// let selector = Selector::any().and(Attribute::tag("tenant"), Match::is("acme"));
    /// let attributes: Vec<_> = selector.conditions().map(|(attribute, _)| attribute.to_string()).collect();
    /// assert_eq!(attributes, ["tenant"]);
    /// ```
    #[must_use]
    pub fn conditions(&self) -> impl ExactSizeIterator<Item = (&Attribute, &Match)> {
        self.0
            .iter()
            .map(|(attribute, matching)| (attribute, matching))
    }
}
