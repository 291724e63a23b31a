//! How tall somebody is, and how sure that is.

use super::scale::Scale;

/// A person's height, sole to crown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stature {
    /// Metres.
    pub height_m: f64,
    /// Standard deviation, metres.
    pub sigma_m: f64,
}

/// What is left of a size beside the height: limbs are longer in one person than in another.
const SHAPE_SIGMA: f64 = 0.015;
/// Shoes, posture and the tape.
const MEASURED_SIGMA_M: f64 = 0.015;

impl Stature {
    /// Any adult: women and men of the world born in 1996 are 1.59 and 1.71 m on average (NCD Risk Factor Collaboration, eLife 2016), those of
    /// Europe 0.06 m more; of either 0.07 m.
    pub const ADULT: Self = Self { height_m: 1.68, sigma_m: 0.11 };

    /// Of a person who has been measured.
    pub fn measured(height_m: f64) -> Self {
        Self { height_m, sigma_m: MEASURED_SIGMA_M }
    }

    /// What is known of a person's size by this alone.
    pub fn scale(self) -> Scale {
        Scale { log: 0.0, variance: (self.sigma_m / self.height_m).powi(2) + SHAPE_SIGMA.powi(2) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_been_measured_may_have_longer_limbs_than_others_of_that_height() {
        let sigma = |stature: Stature| stature.scale().variance.sqrt();
        assert!(
            sigma(Stature::measured(1.80)) > 1.5 * 0.015 / 1.80,
            "more is open than what the tape leaves"
        );
        assert!(sigma(Stature::measured(1.80)) < 0.5 * sigma(Stature::ADULT));
    }
}
