//! The evenness by points, as a curve.

use super::{measured::Sample, svg::Picture};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 44.0;

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
    let highest = curve
        .iter()
        .flat_map(|s| [s.evenness.cv, s.evenness.max_over_mean - 1.0]);
    let highest = highest.fold(0.01, f64::max);
    let (top, step) = scale(highest);
    let right = f64::from(last.points).max(2.0).log10();
    let x = |points: u32| LEFT + f64::from(points).log10() / right * (WIDTH - LEFT - RIGHT);
    let y = |value: f64| HEIGHT - BOTTOM - (value / top).min(1.0) * (HEIGHT - TOP - BOTTOM);

    let mut picture = Picture::new(WIDTH, HEIGHT, &title);
    let mut value = 0.0;
    while value <= top + step / 2.0 {
        let at = y(value);
        picture.line("grid", (LEFT, at), (WIDTH - RIGHT, at));
        picture.label(
            "tick",
            "end",
            (LEFT - 8.0, at + 4.0),
            &format!("{:.0} %", value * 100.0),
        );
        value += step;
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

/// A round top of the axis and the distance of its lines.
fn scale(highest: f64) -> (f64, f64) {
    let steps = [0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 5.0];
    let fitting = steps.into_iter().find(|step| highest <= step * 6.0);
    let step = fitting.unwrap_or(10.0);
    ((highest / step).ceil().max(1.0) * step, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_holds_the_curve_with_few_lines() {
        for highest in [0.001, 0.06, 0.5, 0.93, 3.0, 29.0] {
            let (top, step) = scale(highest);
            assert!(
                top >= highest && top / step <= 6.5,
                "{highest}: {top} {step}"
            );
        }
    }
}
