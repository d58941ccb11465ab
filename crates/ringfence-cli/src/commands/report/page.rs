//! The report as one HTML file that needs nothing else.

use std::fmt::Write as _;

use ringfence_policy::RingAlgorithm;

use super::{
    bars, circle, curve,
    measured::{Measured, Row},
    svg::{Picture, color, text},
};
use crate::output::percent;

const STYLE: &str = include_str!("style.css");

/// Points of an own ring where none are set.
const USUAL_POINTS: u32 = 160;

pub(super) struct About<'a> {
    pub(super) source: &'a str,
    pub(super) service: &'a str,
    pub(super) made_at: &'a str,
    /// Records of the registry that are no instances.
    pub(super) rejected: usize,
    pub(super) measured: &'a Measured,
}

pub(super) fn of(about: &About<'_>) -> String {
    let measured = about.measured;
    let service = text(about.service);
    let parts = [
        head(about),
        facts(about),
        shares(measured),
        ring(measured),
        balance(measured),
        movement(measured),
    ];
    format!(
        r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{service}: ring report</title>
<style>
{STYLE}</style>
</head>
<body>
<main>
{}</main>
</body>
</html>
"#,
        parts.concat()
    )
}

fn head(about: &About<'_>) -> String {
    let (service, source, made_at) = (text(about.service), text(about.source), text(about.made_at));
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "<h1>{service}</h1>\n<p class=\"faint\">{source}, seen at {made_at} by ringfence {version}</p>\n"
    )
}

fn facts(about: &About<'_>) -> String {
    let measured = about.measured;
    let takers = measured
        .rows
        .iter()
        .filter(|row| row.expected.is_some())
        .count();
    let settings = serde_json::to_value(&measured.settings).unwrap_or_default();
    let settings = settings.as_object().into_iter().flatten();
    let settings = settings.filter(|(name, _)| *name != "algorithm");
    let settings: Vec<String> = settings
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    let shares = match measured.sample {
        Some(keys) => format!("counted over {keys} generated keys"),
        None => "exact".to_owned(),
    };
    let facts = [
        (
            "Instances",
            format!("{}, {takers} take traffic", measured.rows.len()),
            "",
        ),
        (
            "Algorithm",
            measured.settings.algorithm.as_str().to_owned(),
            "",
        ),
        ("Points", measured.points.to_string(), ""),
        ("Standard deviation", percent(measured.evenness.cv), ""),
        (
            "Largest share / mean",
            format!("{:.3}", measured.evenness.max_over_mean),
            "",
        ),
        ("Shares", shares, ""),
        ("Fingerprint", measured.fingerprint.clone(), "long"),
        ("Settings", settings.join(", "), "long"),
    ];
    let mut html = String::from("<dl>\n");
    for (name, value, class) in facts.iter().filter(|(_, value, _)| !value.is_empty()) {
        let value = text(value);
        let _ = writeln!(
            html,
            "<div><dt>{name}</dt><dd class=\"{class}\">{value}</dd></div>"
        );
    }
    html.push_str("</dl>\n");
    if about.rejected > 0 {
        let count = about.rejected;
        let _ = writeln!(
            html,
            "<p class=\"bad\">{count} records of the registry are no instances and were left out.</p>"
        );
    }
    html
}

fn shares(measured: &Measured) -> String {
    let largest = measured
        .rows
        .iter()
        .map(|row| row.share)
        .fold(0.0, f64::max);
    let mut html = String::from(
        "<h2>Shares</h2>\n<p>The part of all keys that each instance has, beside what its weight promises.</p>\n\
         <div class=\"scroll\"><table>\n<thead><tr><th class=\"t\">instance</th><th class=\"t\">address</th><th class=\"t\">zone</th>\
         <th class=\"t\">version</th><th class=\"t\">state</th><th>weight</th><th>points</th><th>share</th><th>expected</th>\
         <th>relative</th><th class=\"t\"></th></tr></thead>\n<tbody>\n",
    );
    for (place, row) in measured.rows.iter().enumerate() {
        html.push_str(&share(place, row, largest));
    }
    html.push_str("</tbody></table></div>\n");
    html
}

fn share(place: usize, row: &Row, largest: f64) -> String {
    let fill = color(place);
    let names = [&row.id, &row.address, &row.zone, &row.version].map(|name| text(name));
    let [id, address, zone, version] = names;
    let class = if row.state == "usable" { "t" } else { "t bad" };
    let (state, weight, points) = (row.state, row.weight, row.points);
    let share = percent(row.share);
    let expected = row.expected.map_or("-".to_owned(), percent);
    let relative = row.expected.map_or("-".to_owned(), |expected| {
        format!("{:.3}", row.share / expected)
    });
    let bar = if largest > 0.0 {
        row.share / largest * 4.0
    } else {
        0.0
    };
    format!(
        "<tr><td class=\"t\"><span class=\"swatch\" style=\"background:{fill}\"></span>{id}</td><td class=\"t\">{address}</td>\
         <td class=\"t\">{zone}</td><td class=\"t\">{version}</td><td class=\"{class}\">{state}</td><td>{weight}</td><td>{points}</td>\
         <td>{share}</td><td>{expected}</td><td>{relative}</td><td class=\"t\"><span class=\"bar\" style=\"width:{bar:.2}em\"></span></td></tr>\n"
    )
}

fn ring(measured: &Measured) -> String {
    let about = if circle::is_divided(&measured.ring) {
        "Outside the ring as it is, clockwise from position 0; where there are several points in a quarter of a degree, the owner \
         of its middle stands for all. Inside what each instance has in all. Colours are those of the table; hover for names."
    } else {
        "What each instance has in all; with these settings there is no circle. Colours are those of the table; hover for names."
    };
    format!(
        "<h2>The ring</h2>\n<p>{about}</p>\n{}",
        figure(Some(circle::of(measured)), "")
    )
}

fn balance(measured: &Measured) -> String {
    let (chosen, about) = match measured.settings.algorithm {
        RingAlgorithm::Ring => (
            Some(
                measured
                    .settings
                    .points_per_instance
                    .unwrap_or(USUAL_POINTS),
            ),
            "How even the shares of this very service would be with other numbers of points for each instance. More points cost \
             memory. Both axes are logarithmic.",
        ),
        _ => (
            None,
            "How even the shares of this very service would be on Ringfence's own ring, by points for each instance; the algorithm in \
             use has other settings.",
        ),
    };
    let picture = curve::of(&measured.curve, chosen);
    format!(
        "<h2>Balance by points</h2>\n<p>{about}</p>\n{}",
        figure(picture, "wide")
    )
}

fn movement(measured: &Measured) -> String {
    let picture = bars::of(&measured.changes);
    let mut html = String::from(
        "<h2>Movement by change</h2>\n<p>What part of the keys gets another owner if an instance comes, leaves or has its weight halved, \
         beside the least that had to move by the weights. What moves between instances that did not change is movement in vain.</p>\n",
    );
    if let Some(keys) = measured.changes_sample {
        let _ = writeln!(
            html,
            "<p class=\"faint\">Counted over {keys} generated keys.</p>"
        );
    }
    if measured.left_out > 0 {
        let (shown, more) = (measured.shown, measured.left_out);
        let _ = writeln!(
            html,
            "<p class=\"faint\">The {shown} largest instances; {more} more are left out (--changes).</p>"
        );
    }
    html.push_str(&figure(picture, "wide"));
    html
}

fn figure(picture: Option<Picture>, class: &str) -> String {
    match picture {
        Some(picture) => format!("<figure class=\"{class}\">\n{picture}\n</figure>\n"),
        None => "<p class=\"faint\">There is nothing to show.</p>\n".to_owned(),
    }
}
