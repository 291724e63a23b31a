//! What people look like, drawn at random by what is known of them: skin, face and hair.

use super::{Hair, garments::dye};
use crate::{
    asset::Traits,
    light::{Colour, linear},
    math::Vec3,
    rng::Rng,
    surface::{Glasses, Skin},
};

/// Skin from light to dark, sRGB.
const TONES: [[u8; 3]; 9] = [
    [240, 208, 188],
    [232, 194, 170],
    [224, 180, 152],
    [211, 162, 130],
    [192, 142, 108],
    [166, 116, 84],
    [132, 88, 62],
    [100, 66, 47],
    [74, 49, 37],
];

/// Hair, grey last, sRGB.
const HAIRS: [[u8; 3]; 8] = [
    [22, 19, 18],
    [34, 26, 21],
    [56, 39, 28],
    [84, 58, 38],
    [122, 88, 54],
    [176, 140, 90],
    [112, 54, 30],
    [150, 147, 143],
];

fn is_grown(traits: &Traits) -> bool {
    traits.years >= 16
}

/// Of the skin.
pub(super) fn tone(traits: &Traits, rng: &mut Rng) -> Colour {
    // All tones, light ones more often; the shape of the face weighs in.
    let share = traits.african / (traits.african + traits.asian + 0.5);
    let u = 0.45 * share + 0.55 * rng.unit();
    let k = (8.4 * u * u.sqrt() + 0.5 * rng.normal()).clamp(0.0, 7.99);
    let (a, b) = (TONES[k as usize], TONES[k as usize + 1]);
    let of = |c: [u8; 3]| linear(c[0], c[1], c[2]);
    of(a).mix(of(b), k - k.floor())
}

/// Of somebody with skin of that `tone`; whether they go bald, too.
pub(super) fn hair(traits: &Traits, female: bool, tone: Colour, rng: &mut Rng) -> (Hair, bool) {
    let is_dark = tone.x < 0.25;
    let grey = traits.years > 45 && rng.chance((f32::from(traits.years) - 40.0) / 45.0);
    let hair_index = if grey {
        7
    } else if is_dark || rng.chance(traits.asian) {
        rng.below(3)
    } else {
        rng.below(7)
    };
    let hair_colour = {
        let [r, g, b] = HAIRS[hair_index];
        linear(r, g, b) * rng.between(0.75, 1.25)
    };
    let style =
        if female { rng.pick(&[1, 2, 2, 3, 3, 3, 4, 4, 5]) } else { rng.pick(&[0, 0, 1, 1, 1, 1, 1, 3]) };
    let is_bald = !female && is_grown(traits) && traits.years > 28 && rng.chance(0.14);
    let hair = Hair {
        style: if is_bald && rng.chance(0.5) {
            9
        } else if is_bald {
            0
        } else {
            style
        },
        colour: hair_colour,
        thick_m: match style {
            0 => rng.between(0.003, 0.008),
            1 => rng.between(0.009, 0.028),
            _ => rng.between(0.010, 0.022),
        } * if is_dark && style == 1 && rng.chance(0.4) { 2.2 } else { 1.0 },
        length_m: match style {
            2 => rng.between(0.03, 0.11),
            4 => rng.between(0.14, 0.34),
            _ => rng.between(0.14, 0.36),
        },
        streaks: rng.between(0.5, 1.0),
    };
    (hair, is_bald)
}

/// Skin of that `tone` and the face.
pub(super) fn skin(traits: &Traits, female: bool, tone: Colour, hair_colour: Colour, rng: &mut Rng) -> Skin {
    let bearded = !female && is_grown(traits) && rng.chance(0.4);
    Skin {
        tone,
        hair: hair_colour * 0.8,
        lips: tone.times(Vec3 { x: 0.82, y: 0.48, z: 0.50 }) * if female { 1.0 } else { 1.08 },
        beard: if bearded { rng.pick(&[0.25, 0.35, 0.8, 0.95]) } else { 0.0 },
        brows: if female { 0.7 } else { 0.85 },
        years: f32::from(traits.years),
        salt: rng.between(0.0, 30.0),
        under: dye(rng) * 0.6,
        mask: rng
            .chance(0.03)
            .then(|| rng.pick(&[linear(120, 170, 205), linear(225, 228, 230), linear(24, 24, 26)])),
        glasses: rng.chance(0.14).then(|| Glasses {
            frame: rng.pick(&[linear(18, 17, 17), linear(60, 40, 28), linear(150, 148, 145)]),
            dark: if rng.chance(0.4) { rng.between(0.7, 0.97) } else { 0.05 },
            half_m: [rng.between(0.021, 0.027), rng.between(0.014, 0.022)],
        }),
    }
}
