//! The evenness by points, as a curve.

use super::{measured::Sample, svg::Picture};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 44.0;
/// Marks of the axis of values.
const TICKS: [f64; 16] = [
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0,
];

/// Both are parts of the mean: the standard deviation, and how far the largest share is above it.
pub(super) fn of(curve: &[Sample], chosen: Option<u32>) -> Option<Picture> {
    let last = curve.last()?;
    let (cv, max) = (last.evenness.cv, last.evenness.max_over_mean);
    let title = format!(
        "Evenness by points for each instance: with {} points the standard deviation is {:.1} % of the mean and the largest share \
         {max:.2} times the mean.",
        last.points,
        cv * 100.0
    );
    let values = curve
        .iter()
        .flat_map(|s| [s.evenness.cv, s.evenness.max_over_mean - 1.0]);
    let (least, most) = scale(values);
    let right = f64::from(last.points).max(2.0).log10();
    let x = |points: u32| LEFT + f64::from(points).log10() / right * (WIDTH - LEFT - RIGHT);
    // Both axes are logarithmic, on which 1/√points is a straight line.
    let y = |value: f64| {
        let part = (value.clamp(least, most) / least).log10() / (most / least).log10();
        HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)
    };

    let mut picture = Picture::new(WIDTH, HEIGHT, &title);
    for value in TICKS {
        if (least..=most).contains(&value) {
            let at = y(value);
            picture.line("grid", (LEFT, at), (WIDTH - RIGHT, at));
            let label = format!("{} %", value * 100.0);
            picture.label("tick", "end", (LEFT - 8.0, at + 4.0), &label);
        }
    }
    for points in [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000] {
        if points <= last.points {
            picture.label(
                "tick",
                "middle",
                (x(points), HEIGHT - BOTTOM + 18.0),
                &points.to_string(),
            );
        }
    }
    let middle = (LEFT + WIDTH - RIGHT) / 2.0;
    picture.label(
        "axis",
        "middle",
        (middle, HEIGHT - 8.0),
        "points for each instance of weight 100",
    );
    if let Some(chosen) = chosen.filter(|chosen| (1..=last.points).contains(chosen)) {
        let at = x(chosen);
        picture.line("mark", (at, TOP - 6.0), (at, HEIGHT - BOTTOM));
        let anchor = if at > WIDTH / 2.0 { "end" } else { "start" };
        let beside = if at > WIDTH / 2.0 { -6.0 } else { 6.0 };
        picture.label(
            "axis",
            anchor,
            (at + beside, TOP + 4.0),
            &format!("here: {chosen}"),
        );
    }
    let law = curve
        .iter()
        .map(|s| (x(s.points), y(1.0 / f64::from(s.points).sqrt())));
    picture.path("law", law);
    let above = curve
        .iter()
        .map(|s| (x(s.points), y(s.evenness.max_over_mean - 1.0)));
    picture.path("series-b", above);
    let deviation = curve.iter().map(|s| (x(s.points), y(s.evenness.cv)));
    picture.path("series-a", deviation);
    for sample in curve {
        let (points, evenness) = (sample.points, sample.evenness);
        let (cv, max) = (evenness.cv, evenness.max_over_mean);
        let told = format!("{points} points: largest share {max:.3} times the mean");
        picture.dot("dot-b", (x(points), y(max - 1.0)), &told);
        let told = format!("{points} points: standard deviation {:.2} %", cv * 100.0);
        picture.dot("dot-a", (x(points), y(cv)), &told);
    }
    let legend = [
        ("series-a", "standard deviation"),
        ("series-b", "largest share above the mean"),
        ("law", "1/√points"),
    ];
    let mut at = LEFT;
    for (class, label) in legend {
        picture.line(class, (at, 12.0), (at + 22.0, 12.0));
        picture.label("axis", "start", (at + 28.0, 16.0), label);
        at += 52.0 + 6.6 * f64::from(u32::try_from(label.chars().count()).unwrap_or_default());
    }
    Some(picture)
}

/// The ends of the axis, which are marks of it.
fn scale(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let positive = values.filter(|value| *value > 0.0);
    let lowest = positive.clone().fold(0.01, f64::min);
    let highest = positive.fold(0.1, f64::max);
    let below = TICKS.into_iter().rev().find(|tick| *tick <= lowest);
    let above = TICKS.into_iter().find(|tick| *tick >= highest);
    let [first, .., last] = TICKS;
    (below.unwrap_or(first), above.unwrap_or(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_holds_the_curve() {
        assert_eq!(scale([0.03, 0.7].into_iter()), (0.01, 1.0));
        assert_eq!(scale([0.004, 2.5].into_iter()), (0.002, 5.0));
        assert_eq!(
            scale([0.0, f64::MIN_POSITIVE, 1e9].into_iter()),
            (0.001, 100.0)
        );
        assert_eq!(scale(std::iter::empty()), (0.01, 0.1));
    }
}
