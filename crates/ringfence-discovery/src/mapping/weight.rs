use ringfence_core::Weight;

const MAX: f64 = 1_000_000.0;
const ORDINARY: f64 = 100.0;

/// Brings a weight to the scale where an ordinary instance has 100: rounded, at least 1 unless it is 0, at most
/// [`Weight::MAX`].
///
/// # Errors
/// A reason, when it is negative or not a number.
pub(super) fn scale(value: f64, ordinary: f64) -> Result<u32, String> {
    if !value.is_finite() || value < 0.0 {
        return Err(format!("weight {value} is not a number from 0"));
    }
    if value == 0.0 {
        return Ok(Weight::ZERO.get());
    }
    let ordinary = if ordinary.is_finite() && ordinary > 0.0 {
        ordinary
    } else {
        1.0
    };
    let scaled = (value / ordinary * ORDINARY).round().clamp(1.0, MAX);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to 1..=1,000,000 and whole"
    )]
    Ok(scaled as u32)
}

/// The same for the text of a metadata key or tag.
pub(super) fn parse(text: &str, ordinary: u32) -> Result<u32, String> {
    match text.parse::<f64>() {
        Ok(value) => scale(value, f64::from(ordinary)),
        Err(_) => Err(format!("weight {:?} is not a number", super::clip(text))),
    }
}

/// The reverse of [`parse`]; the shortest text that gives `weight` back.
#[cfg(feature = "register")]
pub(super) fn unparse(weight: u32, ordinary: u32) -> String {
    (f64::from(weight) / ORDINARY * f64::from(ordinary)).to_string()
}
