//! The parameters of a request.

use std::borrow::Cow;

/// The parameters of one request, percent-decoded.
pub(crate) struct Query<'a> {
    pairs: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    /// There are more than are read.
    is_cut: bool,
}

impl<'a> Query<'a> {
    /// Most parameters that are read of a query.
    pub(crate) const MAX_PARAMETERS: usize = 128;

    pub(crate) fn of(query: Option<&'a str>) -> Self {
        let mut parsed = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        let pairs = parsed.by_ref().take(Self::MAX_PARAMETERS).collect();
        let is_cut = parsed.next().is_some();
        Self { pairs, is_cut }
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The names of the parameters, as often as each is there.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.pairs.iter().map(|(name, _)| &**name)
    }

    /// The first value of a parameter; empty ones count.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// All values of a parameter.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let pairs = self.pairs.iter().filter(move |(known, _)| known == name);
        pairs.map(|(_, value)| &**value)
    }

    /// The values of a parameter that are written `name:value`; spaces around both are taken off.
    ///
    /// # Errors
    /// The first value without a colon.
    pub(crate) fn pairs(&self, name: &str) -> Result<Vec<(&str, &str)>, &str> {
        let split = |value| {
            let (name, value): (&str, &str) = str::split_once(value, ':').ok_or(value)?;
            Ok((name.trim(), value.trim()))
        };
        self.all(name).map(split).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded_once() {
        let query = Query::of(Some(
            "key=a%2Bb+c%2526&key=2&header=x-user:%20al%3Aice&empty=",
        ));
        assert_eq!(query.get("key"), Some("a+b c%26"));
        assert_eq!(query.all("key").count(), 2);
        assert_eq!(query.pairs("header"), Ok(vec![("x-user", "al:ice")]));
        assert_eq!((query.get("empty"), query.get("none")), (Some(""), None));
    }

    #[test]
    fn what_is_no_pair_is_told() {
        let query = Query::of(Some("header=a:b&header=nothing"));
        assert_eq!(query.pairs("header"), Err("nothing"));
    }

    #[test]
    fn no_query_has_more_than_so_many_parameters() {
        let most = Query::MAX_PARAMETERS;
        for (count, is_cut) in [(most, false), (most + 1, true), (10 * most, true)] {
            let text = "a=1&".repeat(count);
            let query = Query::of(Some(&text));
            assert_eq!((query.all("a").count(), query.is_cut()), (most, is_cut));
        }
    }

    #[test]
    fn no_bytes_are_too_odd() {
        for text in ["%", "%ff=%ff", "&&&=", "=", "a=%e2%82", "\u{7f}=\u{1f600}"] {
            let query = Query::of(Some(text));
            assert_eq!(query.get("key"), None, "{text:?}");
        }
    }
}
