//! What somebody wears, as a few colours: a small histogram that tells one person from another where places cannot.

/// Places of a histogram along each of its three axes: red against green, blue against yellow, brightness.
const HUES: usize = 5;
const LIGHTS: usize = 4;
const BINS: usize = HUES * HUES * LIGHTS;

/// Hues beyond this lie in the outermost places: clothes are duller than signal lights.
const WIDEST_HUE: f32 = 0.3;

/// Added to the brightness that hues are divided by: the hue of the dark is noise.
const DARK: f32 = 48.0;

/// Fewer pixels of a region say nothing.
const MIN_PIXELS: f32 = 12.0;

/// The parts of a person whose colours are kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyRegion {
    /// Between shoulders and hips.
    Torso,
    /// Between hips and knees.
    Thighs,
}

/// What one person wears: a colour histogram of each region. Empty until something was added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Appearance {
    torso: [f32; BINS],
    thighs: [f32; BINS],
    /// Pixels that were added, by region; a mean of several frames counts as one of them.
    pixels: [f32; 2],
}

impl Appearance {
    /// Of nobody.
    pub const UNKNOWN: Self = Self { torso: [0.0; BINS], thighs: [0.0; BINS], pixels: [0.0; 2] };

    /// Adds a pixel, shared out among the places next to its colour: light that changes a little changes the histogram a little.
    pub fn add(&mut self, region: BodyRegion, [r, g, b]: [u8; 3]) {
        let [r, g, b] = [r, g, b].map(f32::from);
        let all = r + g + b + DARK;
        let along = |hue: f32| (0.5 + 0.5 * hue / WIDEST_HUE).clamp(0.0, 1.0) * (HUES - 1) as f32;
        let (u, v) = (along((r - g) / all), along((b - 0.5 * (r + g)) / all));
        // Equal steps of the root of brightness look about equally far apart.
        let light = ((r + g + b) / (3.0 * 255.0)).sqrt() * (LIGHTS - 1) as f32;
        let (histogram, pixels) = match region {
            BodyRegion::Torso => (&mut self.torso, &mut self.pixels[0]),
            BodyRegion::Thighs => (&mut self.thighs, &mut self.pixels[1]),
        };
        for (u, a) in shares(u, HUES) {
            for (v, b) in shares(v, HUES) {
                for (light, c) in shares(light, LIGHTS) {
                    histogram[(u * HUES + v) * LIGHTS + light] += a * b * c;
                }
            }
        }
        *pixels += 1.0;
    }

    /// Whether anything is known.
    pub fn is_known(&self) -> bool {
        self.pixels.iter().any(|&n| n >= MIN_PIXELS)
    }

    /// How alike the two are, 0..=1: the histograms' common part, of the regions that both know; `None` where there is none.
    pub fn likeness(&self, other: &Self) -> Option<f32> {
        let regions = [(&self.torso, &other.torso, 0), (&self.thighs, &other.thighs, 1)];
        let (mut sum, mut n) = (0.0, 0.0);
        for (a, b, k) in regions {
            let (of_a, of_b) = (self.pixels[k], other.pixels[k]);
            if of_a >= MIN_PIXELS && of_b >= MIN_PIXELS {
                sum += a.iter().zip(b).map(|(a, b)| (a / of_a).min(b / of_b)).sum::<f32>();
                n += 1.0;
            }
        }
        (n > 0.0).then(|| sum / n)
    }

    /// Moves towards `seen` by `share` of the way, region by region; what was not known is taken over.
    pub fn learn(&mut self, seen: &Self, share: f32) {
        let regions = [(&mut self.torso, &seen.torso, 0), (&mut self.thighs, &seen.thighs, 1)];
        for (known, new, k) in regions {
            let (had, has) = (self.pixels[k], seen.pixels[k]);
            if has < MIN_PIXELS {
                continue;
            }
            if had < MIN_PIXELS {
                (*known, self.pixels[k]) = (*new, has);
                continue;
            }
            let scale = had / has;
            known.iter_mut().zip(new).for_each(|(a, b)| *a += share * (b * scale - *a));
        }
    }
}

/// The two places next to `at`, and how much of it each has.
fn shares(at: f32, places: usize) -> [(usize, f32); 2] {
    let low = (at as usize).min(places - 2);
    let high = at - low as f32;
    [(low, 1.0 - high), (low + 1, high)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn worn(top: [u8; 3], legs: [u8; 3]) -> Appearance {
        let mut appearance = Appearance::UNKNOWN;
        for _ in 0..40 {
            appearance.add(BodyRegion::Torso, top);
            appearance.add(BodyRegion::Thighs, legs);
        }
        appearance
    }

    #[test]
    fn the_same_clothes_in_a_little_less_light_are_alike_and_others_are_not() {
        let (red, dim, blue) = (
            worn([180, 40, 40], [40, 40, 60]),
            worn([160, 36, 36], [36, 36, 54]),
            worn([40, 60, 180], [200, 200, 190]),
        );
        assert!(red.likeness(&red).unwrap() > 0.999);
        assert!(red.likeness(&dim).unwrap() > 0.8, "{:?}", red.likeness(&dim));
        assert!(red.likeness(&blue).unwrap() < 0.2, "{:?}", red.likeness(&blue));
    }

    #[test]
    fn nobody_is_like_nobody_and_a_region_that_one_does_not_show_does_not_count() {
        assert!(!Appearance::UNKNOWN.is_known());
        assert_eq!(Appearance::UNKNOWN.likeness(&worn([9; 3], [9; 3])), None);
        let mut half = Appearance::UNKNOWN;
        (0..40).for_each(|_| half.add(BodyRegion::Torso, [180, 40, 40]));
        assert!(half.likeness(&worn([180, 40, 40], [0, 255, 0])).unwrap() > 0.999);
    }

    #[test]
    fn what_is_learned_goes_over_to_what_is_seen() {
        let mut known = Appearance::UNKNOWN;
        known.learn(&worn([180, 40, 40], [40; 3]), 0.1);
        let other = worn([40, 60, 180], [40; 3]);
        assert!(known.likeness(&other).unwrap() < 0.7);
        (0..60).for_each(|_| known.learn(&other, 0.1));
        assert!(known.likeness(&other).unwrap() > 0.98);
        let before = known;
        known.learn(&Appearance::UNKNOWN, 0.5);
        assert_eq!(known, before, "nothing seen teaches nothing");
    }

    #[test]
    fn a_region_of_which_less_is_seen_is_learned_in_its_own_measure() {
        let mut known = worn([40, 60, 180], [40; 3]);
        let mut half_hidden = Appearance::UNKNOWN;
        (0..20).for_each(|_| half_hidden.add(BodyRegion::Torso, [180, 40, 40]));
        (0..60).for_each(|_| known.learn(&half_hidden, 0.1));
        let likeness = known.likeness(&half_hidden).unwrap();
        assert!((0.98..1.001).contains(&likeness), "{likeness}");
    }

    #[test]
    fn a_few_pixels_say_nothing_and_are_learned_from_by_nobody() {
        let mut few = Appearance::UNKNOWN;
        (0..5).for_each(|_| few.add(BodyRegion::Torso, [40, 60, 180]));
        let red = worn([180, 40, 40], [40; 3]);
        assert!(!few.is_known());
        assert_eq!((few.likeness(&red), red.likeness(&few)), (None, None));
        let mut known = red;
        known.learn(&few, 0.9);
        assert_eq!(known, red);
        few.learn(&red, 0.1);
        assert_eq!(few, red, "what was hardly known is taken over");
    }

    #[test]
    fn dull_colours_differ_and_what_is_nearly_black_has_none() {
        let alike = |a, b| worn(a, a).likeness(&worn(b, b)).unwrap();
        assert!(alike([150; 3], [190, 190, 70]) < 0.3, "grey and yellow");
        assert!(alike([120, 90, 90], [90, 120, 90]) < 0.6, "reddish and greenish");
        assert!(alike([5, 3, 3], [3, 3, 5]) > 0.5, "black is black, whatever a camera's noise makes of it");
    }

    proptest! {
        #[test]
        fn any_colours_give_a_likeness_within_0_and_1(pixels in prop::collection::vec(any::<[u8; 3]>(), 12..60)) {
            let (mut a, mut b) = (Appearance::UNKNOWN, Appearance::UNKNOWN);
            for (i, p) in pixels.iter().enumerate() {
                a.add(BodyRegion::Torso, *p);
                b.add(BodyRegion::Torso, pixels[pixels.len() - 1 - i]);
            }
            let likeness = a.likeness(&b).unwrap();
            prop_assert!((0.999..1.001).contains(&likeness), "the same in another order: {likeness}");
        }
    }
}
