//! What a board says of true places: the error of the whole program (networks and smoother), as parts of the person's extent.
//!
//! [`Level::Rendered`] is drawn so that its PCK.05 and PCK.1 among persons who were found are those of `posewire eval films --rendered`
//! (`benches/results/films.json`); [`Level::Blurred`] those of J-HMDB's small, blurred films. The error lasts: a part of it about three
//! frames, a part about a second, as that of a smoothed answer does.

use pose::{JOINTS, Joint, MIRROR};

use crate::V2;

/// Spread by joint: faces are sharp, hips are vague, wrists move. As the smoother's training has it.
const SPREAD: [f64; JOINTS] = [
    0.010, 0.010, 0.010, 0.012, 0.012, 0.016, 0.016, 0.020, 0.020, 0.026, 0.026, 0.024, 0.024, 0.022, 0.022,
    0.026, 0.026,
];
const ARMS: [usize; 6] = Joint::indices(Joint::ARMS);
const LEGS: [usize; 6] = Joint::indices(Joint::LEGS);
const LIMBS: [&[usize]; 9] =
    [&[7, 9], &[8, 10], &[9], &[10], &[13, 15], &[14, 16], &LEGS, &ARMS, &[0, 1, 2, 3, 4]];

/// From here on, as a share of the extent, the right shoulder lies right of the left one in the picture of somebody's back.
const BEHIND: f64 = 0.06;

/// How good the pictures are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// No error at all.
    Exact,
    /// A camera of today in a lit room.
    Rendered,
    /// 320 × 240, compressed, moved.
    Blurred,
}

impl Level {
    /// Sigma in units of [`SPREAD`].
    fn factor(self) -> f64 {
        match self {
            Level::Exact => 0.0,
            Level::Rendered => 0.76,
            Level::Blurred => 2.93,
        }
    }
}

/// One joint as the board says it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    /// Pixels.
    pub at: V2,
    /// 0..=1; 0: absent.
    pub score: f64,
    /// Pixels.
    pub sigma: f64,
    /// Seen in this frame.
    pub measured: bool,
}

/// The error that lasts from frame to frame: one camera's of one person.
#[derive(Clone, Debug)]
pub struct Detector {
    rng: fastrand::Rng,
    level: Level,
    /// Of the pictures of their back, those in which sides are exchanged.
    exchanged_share: f64,
    /// Errors of about three frames and about a second, in units of sigma; and how wild a joint is just now.
    short: [V2; JOINTS],
    long: [V2; JOINTS],
    wild: [f64; JOINTS],
    /// Until when, in seconds, and what: hidden limbs, exchanged sides, a joint elsewhere, nobody at all.
    hidden: Vec<(f64, &'static [usize], bool)>,
    exchanged: Option<(f64, bool, bool)>,
    /// Taken for somebody who faces the camera, though it sees their back.
    is_exchanged_from_behind: bool,
    elsewhere: Option<(f64, usize, V2)>,
    gone_until: f64,
    last_s: f64,
}

impl Detector {
    /// Of one person before one camera; `exchanged_share`: of pictures of their back in which sides are exchanged.
    pub fn new(level: Level, exchanged_share: f64, seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut start = || std::array::from_fn(|_| normal2(&mut rng));
        let (short, long) = (start(), start());
        Self {
            rng,
            level,
            exchanged_share: exchanged_share.clamp(0.0, 0.95),
            short,
            long,
            wild: [0.0; JOINTS],
            hidden: Vec::new(),
            exchanged: None,
            is_exchanged_from_behind: false,
            elsewhere: None,
            gone_until: 0.0,
            last_s: 0.0,
        }
    }

    /// What is said at `t_s` of joints that are truly at `places` in a picture of `size`; `None`: nobody is found.
    pub fn see(&mut self, t_s: f64, places: &[V2; JOINTS], size: V2) -> Option<[Shown; JOINTS]> {
        let extent = {
            let low = places.iter().fold(places[0], |a, b| a.inf(b));
            let high = places.iter().fold(places[0], |a, b| a.sup(b));
            (high - low).max()
        };
        let inside = |p: &V2| p.x >= 0.0 && p.y >= 0.0 && p.x < size.x && p.y < size.y;
        if places.iter().filter(|p| inside(p)).count() < 6 {
            return None;
        }
        let factor = self.level.factor();
        if factor == 0.0 {
            return Some(places.map(|at| Shown {
                at,
                score: if inside(&at) { 0.95 } else { 0.0 },
                sigma: 0.006 * extent,
                measured: true,
            }));
        }
        // The person's left in the left of the picture: their back.
        let is_behind = places[6].x - places[5].x > BEHIND * extent;
        self.go_on(t_s, is_behind);
        if t_s < self.gone_until {
            return None;
        }
        let mut shown: [Shown; JOINTS] = std::array::from_fn(|j| {
            let sigma = factor * SPREAD[j] * extent * (0.5 * self.wild[j] - 0.1).exp();
            let error = self.short[j] * 0.6 + self.long[j] * 0.65 + normal2(&mut self.rng) * 0.45;
            let mut at = places[j] + error * sigma;
            let mut told = sigma * (0.25 * normal(&mut self.rng)).exp();
            let (mut score, mut measured) = (0.95 - 6.0 * (error.norm() * sigma / extent).min(0.12), true);
            for (_, limb, lost) in &self.hidden {
                if limb.contains(&j) {
                    (score, measured) = (if *lost { 0.0 } else { 0.35 * score }, false);
                    at += (self.long[j] + self.short[j]) * (0.04 * extent);
                    told = 0.06 * extent;
                }
            }
            if let Some((_, joint, by)) = self.elsewhere
                && joint == j
            {
                at += by * extent;
            }
            if !inside(&at) {
                score = 0.0;
            }
            Shown { at, score, sigma: told, measured }
        });
        let from_behind = self.is_exchanged_from_behind.then_some((0.0, true, true));
        if let Some((_, arms, legs)) = self.exchanged.or(from_behind) {
            let before = shown;
            for (limb, now) in [(&ARMS, arms), (&LEGS, legs)] {
                for &j in limb.iter().filter(|_| now) {
                    shown[j] = before[MIRROR[j]];
                }
            }
        }
        Some(shown)
    }

    /// Lets errors change and things happen until `t_s`.
    fn go_on(&mut self, t_s: f64, is_behind: bool) {
        let frames = ((t_s - self.last_s) * 30.0).clamp(0.0, 300.0);
        self.last_s = t_s;
        let (rng, share) = (&mut self.rng, self.exchanged_share);
        let (k3, k25) = ((-frames / 3.0).exp(), (-frames / 25.0).exp());
        for j in 0..JOINTS {
            self.short[j] = self.short[j] * k3 + normal2(rng) * (1.0 - k3 * k3).sqrt();
            self.long[j] = self.long[j] * k25 + normal2(rng) * (1.0 - k25 * k25).sqrt();
            let k6 = (-frames / 6.0).exp();
            self.wild[j] = self.wild[j] * k6 + normal(rng) * (1.0 - k6 * k6).sqrt();
        }
        let mut happens = |a_frame: f64| rng.f64() < a_frame * frames;
        if share > 0.0 {
            let (mistaken, noticed) = (happens(share / (1.0 - share) / 25.0), happens(1.0 / 25.0));
            self.is_exchanged_from_behind =
                is_behind && if self.is_exchanged_from_behind { !noticed } else { mistaken };
        }
        let (hide, exchange, away, gone) = (happens(0.012), happens(0.004), happens(0.03), happens(0.001));
        let lasts = |rng: &mut fastrand::Rng, frames: f64| t_s - frames / 30.0 * (1.0 - rng.f64()).ln();
        self.hidden.retain(|h| h.0 > t_s);
        if hide {
            let limb = LIMBS[rng.usize(..LIMBS.len())];
            self.hidden.push((lasts(rng, 12.0), limb, rng.f64() < 0.5));
        }
        self.exchanged = self.exchanged.filter(|e| e.0 > t_s);
        if exchange {
            let which = rng.usize(..3);
            self.exchanged = Some((lasts(rng, 5.0), which != 0, which != 1));
        }
        self.elsewhere = self.elsewhere.filter(|e| e.0 > t_s);
        if away {
            let by = normal2(rng) * 0.15;
            self.elsewhere = Some((lasts(rng, 3.0), rng.usize(..JOINTS), by));
        }
        if gone {
            self.gone_until = lasts(rng, 15.0);
        }
    }
}

/// Of unit variance, by Box and Muller.
pub(super) fn normal(rng: &mut fastrand::Rng) -> f64 {
    (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (std::f64::consts::TAU * rng.f64()).cos()
}

fn normal2(rng: &mut fastrand::Rng) -> V2 {
    V2::new(normal(rng), normal(rng))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares of joints within a twentieth and a tenth of the extent, and of coordinates within sigma.
    fn measured(level: Level) -> [f64; 3] {
        let places: [V2; JOINTS] =
            std::array::from_fn(|j| V2::new(200.0 + 10.0 * j as f64, 50.0 + 20.0 * j as f64));
        let extent = 320.0;
        let (mut counts, mut all) = ([0.0; 3], 0.0);
        for seed in 0..40 {
            let mut d = Detector::new(level, 0.0, seed);
            for k in 0..900 {
                let Some(shown) = d.see(f64::from(k) / 30.0, &places, V2::new(640.0, 480.0)) else {
                    continue;
                };
                for (s, p) in shown.iter().zip(&places) {
                    let off = s.at - p;
                    all += 1.0;
                    counts[0] += f64::from(s.score > 0.0 && off.norm() < 0.05 * extent);
                    counts[1] += f64::from(s.score > 0.0 && off.norm() < 0.10 * extent);
                    counts[2] += f64::from(off.x.abs() < s.sigma);
                }
            }
        }
        counts.map(|c: f64| c / all)
    }

    /// PCK.05 and PCK.1 of the persons who were found, as the whole program ships, on one set of `films.json`.
    fn kept(set: &str) -> [f64; 2] {
        let kept: serde_json::Value =
            serde_json::from_str(include_str!("../../../../benches/results/films.json")).unwrap();
        let is_pair = |pair: &&serde_json::Value| pair[0] == set;
        let rows = &kept["sets"].as_array().unwrap().iter().find(is_pair).unwrap()[1];
        let shipped = rows.as_array().unwrap().iter().find(|row| row["setting"] == "as shipped").unwrap();
        let found = 1.0 - shipped["missed_persons"]["value"].as_f64().unwrap();
        ["pck_05", "pck_10"].map(|name| shipped[name]["value"].as_f64().unwrap() / found)
    }

    #[test]
    fn errors_are_as_films_measured_them() {
        for (level, set) in [(Level::Rendered, "rendered"), (Level::Blurred, "jhmdb-val")] {
            let [a, b, within] = measured(level);
            let [pck_05, pck_10] = kept(set);
            assert!(
                (a - pck_05).abs() < 0.02 && (b - pck_10).abs() < 0.02,
                "{set}: {a} {b}, {pck_05} {pck_10}"
            );
            assert!((0.6..0.8).contains(&within), "{set}: {within}");
        }
    }

    #[test]
    fn without_error_places_are_true() {
        let places: [V2; JOINTS] = std::array::from_fn(|j| V2::new(100.0, 20.0 * j as f64));
        let shown = Detector::new(Level::Exact, 0.0, 1).see(0.0, &places, V2::new(640.0, 480.0)).unwrap();
        assert!(shown.iter().zip(&places).all(|(s, p)| s.at == *p));
        assert!(Detector::new(Level::Exact, 0.0, 1).see(0.0, &places, V2::new(50.0, 480.0)).is_none());
    }
}
