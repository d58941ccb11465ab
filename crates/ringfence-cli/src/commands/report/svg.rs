//! The little of SVG that the plots need.

use std::fmt::{self, Display};

use crate::output::is_hidden;

/// A text as HTML and SVG show it, whatever is in it.
pub(super) fn text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if is_hidden(c) => escaped.extend(c.escape_default()),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A picture with a text for those who do not see it.
pub(super) struct Picture {
    width: f64,
    height: f64,
    title: String,
    body: String,
}

impl Picture {
    pub(super) fn new(width: f64, height: f64, title: &str) -> Self {
        Self {
            width,
            height,
            title: text(title),
            body: String::new(),
        }
    }

    pub(super) fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        self.add(format_args!(
            r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#
        ));
    }

    pub(super) fn rect(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
        self.add(format_args!(
            r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" rx="2"/>"#
        ));
    }

    /// `anchor` is `start`, `middle` or `end`.
    pub(super) fn label(&mut self, class: &str, anchor: &str, (x, y): (f64, f64), label: &str) {
        let label = text(label);
        self.add(format_args!(
            r#"<text class="{class}" text-anchor="{anchor}" x="{x:.1}" y="{y:.1}">{label}</text>"#
        ));
    }

    /// A line through points.
    pub(super) fn path(&mut self, class: &str, points: impl IntoIterator<Item = (f64, f64)>) {
        let points = points.into_iter().map(|(x, y)| format!("{x:.1},{y:.1}"));
        let points: Vec<String> = points.collect();
        let points = points.join(" ");
        self.add(format_args!(
            r#"<polyline class="{class}" points="{points}"/>"#
        ));
    }

    pub(super) fn dot(&mut self, class: &str, (x, y): (f64, f64), told: &str) {
        let told = text(told);
        self.add(format_args!(
            r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="3.5"><title>{told}</title></circle>"#
        ));
    }

    pub(super) fn add(&mut self, element: impl Display) {
        self.body.push_str(&element.to_string());
        self.body.push('\n');
    }
}

impl Display for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (width, height, title, body) = (self.width, self.height, &self.title, &self.body);
        write!(
            f,
            r#"<svg role="img" aria-label="{title}" viewBox="0 0 {width:.0} {height:.0}" style="max-width:{width:.0}px">
<title>{title}</title>
{body}</svg>"#
        )
    }
}

/// A colour for the n-th of many, told apart as well as may be: hues by the golden angle, in two lightnesses.
pub(super) fn color(number: usize) -> String {
    let turns = u32::try_from(number % 1_000).unwrap_or_default();
    let hue = f64::from(turns) * 137.508 % 360.0;
    let light = if number.is_multiple_of(2) { 46 } else { 60 };
    format!("hsl({hue:.0} 62% {light}%)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_is_markup() {
        assert_eq!(
            text("<b a=\"'\">&\u{1b}"),
            "&lt;b a=&quot;&#39;&quot;&gt;&amp;\\u{1b}"
        );
        assert_eq!(
            text("a\u{202e}b\u{2066}\u{feff}"),
            "a\\u{202e}b\\u{2066}\\u{feff}"
        );
        let mut picture = Picture::new(10.0, 10.0, "<script>");
        picture.label("a", "end", (0.0, 0.0), "</text><script>");
        picture.dot("a", (0.0, 0.0), "<script>");
        assert!(!picture.to_string().contains("<script>"), "{picture}");
    }
}
