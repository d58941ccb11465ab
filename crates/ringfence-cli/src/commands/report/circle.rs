//! The ring as a picture: who has which part of the circle, and within it the shares.

use std::f64::consts::TAU;

use ringfence_core::{HashAlgorithm, KeyHash, Ring};

use crate::commands::inspect::space;

use super::{
    measured::{Measured, Row},
    svg::{Picture, color, text},
};

const SIZE: f64 = 460.0;
const OUTER: (f64, f64) = (162.0, 218.0);
const INNER: (f64, f64) = (104.0, 150.0);

/// Parts of the circle for which the owner of the middle stands, where there are more points than can be seen.
const CELLS: u16 = 1_440;

pub(super) fn of(measured: &Measured) -> Picture {
    let biggest = measured
        .rows
        .iter()
        .max_by(|a, b| a.share.total_cmp(&b.share));
    let biggest = biggest.map_or(String::new(), |row| {
        format!(
            " The largest share has {}: {:.1} %.",
            row.id,
            row.share * 100.0
        )
    });
    let title = format!(
        "The ring of {} instances with {} points.{biggest}",
        measured.rows.len(),
        measured.points
    );
    let mut picture = Picture::new(SIZE, SIZE, &title);
    let arcs = arcs(&measured.ring);
    let has_circle = !arcs.is_empty();
    for (from, to, member) in arcs {
        if let Some(row) = measured.rows.get(member as usize) {
            sector(&mut picture, OUTER, (from, to), member as usize, row);
        }
    }
    let mut at = 0.0;
    let band = if has_circle {
        INNER
    } else {
        (INNER.0, OUTER.1)
    };
    for (place, row) in measured.rows.iter().enumerate() {
        sector(&mut picture, band, (at, at + row.share), place, row);
        at += row.share;
    }
    let middle = SIZE / 2.0;
    picture.label(
        "big",
        "middle",
        (middle, middle - 6.0),
        &measured.points.to_string(),
    );
    let entries = match measured.ring.config().algorithm() {
        HashAlgorithm::Maglev(_) | HashAlgorithm::Slots(_) => "slots",
        HashAlgorithm::Jump(_) => "buckets",
        HashAlgorithm::Rendezvous => "seeds",
        _ => "points",
    };
    picture.label("axis", "middle", (middle, middle + 16.0), entries);
    picture
}

/// Whether there is a circle with owners of its parts.
pub(super) fn is_divided(ring: &Ring) -> bool {
    space(ring).is_some()
}

/// The parts of the circle, from and to as parts of a turn, with their member.
fn arcs(ring: &Ring) -> Vec<(f64, f64, u32)> {
    let Some(space) = space(ring) else {
        return Vec::new();
    };
    let mut arcs: Vec<(f64, f64, u32)> = Vec::new();
    let cells = f64::from(CELLS);
    for cell in 0..CELLS {
        let (from, to) = (f64::from(cell) / cells, f64::from(cell + 1) / cells);
        let middle = u128::from(space) * (2 * u128::from(cell) + 1) / (2 * u128::from(CELLS));
        let middle = u64::try_from(middle).unwrap_or(space);
        let Some(owner) = ring.owner(KeyHash::from_raw(middle)) else {
            continue;
        };
        match arcs.last_mut() {
            Some((_, end, last)) if *last == owner => *end = to,
            _ => arcs.push((from, to, owner)),
        }
    }
    arcs
}

fn sector(
    picture: &mut Picture,
    (inner, outer): (f64, f64),
    (from, to): (f64, f64),
    place: usize,
    row: &Row,
) {
    let width = to - from;
    if width <= 0.0 {
        return;
    }
    // An arc that ends where it begins is nothing: a whole turn stops a little before.
    let to = from + width.min(0.999_9);
    let at = |radius: f64, turn: f64| {
        let (sin, cos) = (turn * TAU).sin_cos();
        (SIZE / 2.0 + radius * sin, SIZE / 2.0 - radius * cos)
    };
    let large = u8::from(to - from > 0.5);
    let ((ax, ay), (bx, by)) = (at(outer, from), at(outer, to));
    let ((cx, cy), (dx, dy)) = (at(inner, to), at(inner, from));
    let fill = color(place);
    let told = text(&format!("{}: {:.2} %", row.id, row.share * 100.0));
    picture.add(format_args!(
        r#"<path class="arc" fill="{fill}" d="M{ax:.1} {ay:.1}A{outer} {outer} 0 {large} 1 {bx:.1} {by:.1}L{cx:.1} {cy:.1}A{inner} {inner} 0 {large} 0 {dx:.1} {dy:.1}Z"><title>{told}</title></path>"#
    ));
}
