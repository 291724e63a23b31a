//! Somebody who falls: how their trunk came to lie.

use core::f32::consts::PI;

use super::{Held, LYING_RAD, lean_rad};
use crate::Pose;

/// From standing to lying takes a fall at most this long; lying down to sleep takes longer.
const WITHIN_US: i64 = 1_500_000;

/// So much further than before leans whose trunk went down suddenly: 40 degrees. It is the way that is judged and not where it begins:
/// where a camera looks down, or hangs askew, whoever stands at the picture's sides leans by 30 degrees and more.
const SUDDEN_RAD: f32 = 40.0 / 180.0 * PI;

/// Notices that somebody lies whose trunk went down suddenly.
///
/// What counts is how they came to lie: their trunk may be out of sight for any time afterwards.
///
/// Nothing here is a medical device: who sits down slowly behind a table, was bent far over before, or falls where nobody can be made
/// out, is missed, and who throws themselves onto a sofa, or bends down fast and stays there, is not.
#[derive(Clone, Copy, Debug)]
pub struct Fall {
    lying: Held,
    least: Least,
    /// When they lay last after a sudden way down.
    sudden_us: Option<i64>,
    /// Whether the trunk lay when it was seen last.
    is_down: bool,
    /// Whether it came to lie suddenly.
    is_sudden: bool,
    /// Being on: from the fall until they are up again.
    is_fallen: bool,
}

impl Default for Fall {
    fn default() -> Self {
        Self::new()
    }
}

impl Fall {
    /// Nobody has fallen.
    pub const fn new() -> Self {
        Self {
            // A second: who stumbles and catches themselves is no fall. Who sits up for a moment is not up again.
            lying: Held::new(1_000_000, 300_000),
            least: Least::new(),
            sudden_us: None,
            is_down: false,
            is_sudden: false,
            is_fallen: false,
        }
    }

    /// Takes the pose of `now_us` and says whether they lie after a fall.
    pub fn update(&mut self, pose: &Pose, now_us: i64) -> bool {
        let lean_rad = lean_rad(pose);
        let lies = lean_rad.map(|lean_rad| lean_rad > LYING_RAD);
        if let Some(lean_rad) = lean_rad {
            let further_rad = lean_rad - self.least.with(lean_rad, now_us);
            self.go(lean_rad > LYING_RAD, further_rad >= SUDDEN_RAD, now_us);
        }
        let was_lying = self.lying.is_on;
        let is_lying = self.lying.update(lies, now_us);
        if is_lying && !was_lying {
            self.is_fallen = self.is_sudden;
        }
        self.is_fallen &= is_lying;
        self.is_fallen
    }

    fn go(&mut self, lies: bool, went_far: bool, now_us: i64) {
        if lies && !self.is_down {
            // Who lay a moment ago is on their way down as before: a trunk near the limit crosses it to and fro.
            self.is_sudden = self.sudden_us.is_some_and(|at_us| is_recent(at_us, now_us));
        }
        // Who leant before lies already when half of the way is left. Who has lain for a while and rolls over has not fallen.
        self.is_sudden |= lies && went_far && !self.lying.is_on;
        if lies && self.is_sudden {
            self.sudden_us = Some(now_us);
        }
        self.is_down = lies;
    }
}

/// The least lean of the last 1.5 s. Of each tenth of a second the least is kept, with its moment.
#[derive(Clone, Copy, Debug)]
struct Least {
    /// Microseconds, and radians: infinity where nothing is kept.
    leans: [(i64, f32); Self::TENTHS],
}

impl Least {
    /// One more than the window has: the tenths at its two ends are parts.
    const TENTHS: usize = 16;
    const TENTH_US: i64 = WITHIN_US / (Self::TENTHS as i64 - 1);

    const fn new() -> Self {
        Self { leans: [(0, f32::INFINITY); Self::TENTHS] }
    }

    /// Takes the lean of `now_us` and gives the least, which may be that.
    fn with(&mut self, lean_rad: f32, now_us: i64) -> f32 {
        for (at_us, kept_rad) in &mut self.leans {
            if !is_recent(*at_us, now_us) {
                *kept_rad = f32::INFINITY;
            }
        }
        let tenth = now_us.div_euclid(Self::TENTH_US).rem_euclid(Self::TENTHS as i64);
        let kept = &mut self.leans[tenth as usize];
        if lean_rad <= kept.1 {
            *kept = (now_us, lean_rad);
        }
        self.leans.iter().fold(f32::INFINITY, |least, &(_, lean_rad)| least.min(lean_rad))
    }
}

/// At most 1.5 s ago, and not after now, as by a clock that went back.
fn is_recent(at_us: i64, now_us: i64) -> bool {
    (0..=WITHIN_US).contains(&now_us.saturating_sub(at_us))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Least;

    proptest! {
        #[test]
        fn the_least_of_the_window_is_known_to_a_tenth_of_a_second(
            mut moves in prop::collection::vec((0i64..400_000, 0.0f32..3.0), 1..200), start_us in -10_000_000i64..10_000_000,
        ) {
            let (mut least, mut now_us) = (Least::new(), start_us);
            for i in 0..moves.len() {
                now_us += moves[i].0;
                moves[i].0 = now_us;
                let of_last = |us: i64| {
                    let recent = moves[..=i].iter().filter(|(at_us, _)| now_us - at_us <= us);
                    recent.fold(f32::INFINITY, |least, &(_, lean_rad)| least.min(lean_rad))
                };
                let known = least.with(moves[i].1, now_us);
                prop_assert!((of_last(1_500_000)..=of_last(1_400_000)).contains(&known), "{known} at {now_us}");
            }
        }
    }
}
