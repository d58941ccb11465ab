//! The parameters of a request.

use std::borrow::Cow;

/// Most parameters that are read of a query; the rest is as if it were not there.
const MAX_PARAMETERS: usize = 128;

/// The parameters of one request, percent-decoded.
pub(crate) struct Query<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Query<'a> {
    pub(crate) fn of(query: Option<&'a str>) -> Self {
        let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        Self(pairs.take(MAX_PARAMETERS).collect())
    }

    /// The first value of a parameter; empty ones count.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// All values of a parameter.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let pairs = self.0.iter().filter(move |(known, _)| known == name);
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
        let text = "a=1&".repeat(MAX_PARAMETERS + 50);
        assert_eq!(Query::of(Some(&text)).all("a").count(), MAX_PARAMETERS);
    }

    #[test]
    fn no_bytes_are_too_odd() {
        for text in ["%", "%ff=%ff", "&&&=", "=", "a=%e2%82", "\u{7f}=\u{1f600}"] {
            let query = Query::of(Some(text));
            assert_eq!(query.get("key"), None, "{text:?}");
        }
    }
}
