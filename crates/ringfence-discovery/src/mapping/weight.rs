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
    // Multiplied first: that is exact, and leaves one rounding.
    (f64::from(weight) * f64::from(ordinary) / ORDINARY).to_string()
}

#[cfg(all(test, feature = "register"))]
mod tests {
    use super::*;

    /// Others read it too, and whole numbers are what they expect.
    #[test]
    fn a_weight_is_written_without_the_noise_of_fractions() {
        for weight in (0..=20_000).chain([999_999, 1_000_000]) {
            assert_eq!(unparse(weight, 100), weight.to_string());
            let of_one = unparse(weight, 1);
            assert!(of_one.len() <= weight.to_string().len() + 3, "{of_one}");
            assert_eq!(parse(&of_one, 1), Ok(weight));
        }
    }
}
