//! What a person finder and a keypoint network say together of whether somebody is there.

use serde::Deserialize;

/// How finds count beside a keypoint network that says of its crop whether it shows a person. Their odds are multiplied, as those of two
/// witnesses are: a find above `neutral` speaks for somebody and needs little presence, one below against, and needs much.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WithPresence {
    /// Instead of the codec's: weaker finds are worth a look at their crop.
    pub threshold: f32,
    /// The find's score that says nothing either way.
    pub neutral: f32,
    /// The power of the finder's odds against that.
    pub weight: f32,
}

impl WithPresence {
    /// Probability, 0..=1, that somebody is there whom the finder gave the score `found` and the keypoint network `presence`.
    pub fn both(self, found: f32, presence: f32) -> f32 {
        let yes = presence * (found * (1.0 - self.neutral)).powf(self.weight);
        let no = (1.0 - presence) * ((1.0 - found) * self.neutral).powf(self.weight);
        // Where one is certain of the one and the other of the other, the keypoint network has looked closer.
        if yes + no > 0.0 { yes / (yes + no) } else { presence }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_networks_are_believed_as_two_witnesses_are() {
        let even = WithPresence { threshold: 0.25, neutral: 0.5, weight: 3.0 };
        let rule = WithPresence { neutral: 0.2, ..even };
        assert!((rule.both(0.2, 0.3) - 0.3).abs() < 1e-6, "says nothing either way");
        // Odds of 2 to 3 are eight thirds of those of 1 to 4.
        let eight_thirds = (8.0_f32 / 3.0).powi(3);
        assert!((rule.both(0.4, 0.5) - eight_thirds / (1.0 + eight_thirds)).abs() < 1e-6);
        let same = |found, presence, both: f32| {
            let said = even.both(found, presence);
            assert!((said - both).abs() < 1e-6, "{found}, {presence}: {said}");
        };
        same(0.5, 0.3, 0.3);
        // Odds of 8 are 2 to the power of 3.
        same(2.0 / 3.0, 0.5, 8.0 / 9.0);
        same(1.0 / 3.0, 0.5, 1.0 / 9.0);
        same(1.0, 0.2, 1.0);
        same(0.0, 0.9, 0.0);
        same(1.0, 0.0, 0.0);
        same(0.0, 1.0, 1.0);
    }
}
