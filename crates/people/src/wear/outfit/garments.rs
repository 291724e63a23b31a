//! Garments drawn at random: what they are made of, and how they are cut.

use super::{Bottom, Shoes, Top};
use crate::{
    light::{Colour, linear},
    rng::Rng,
    surface::{Cloth, Pattern},
};

/// What clothes are dyed in: often dark, grey or white.
pub(super) fn dye(rng: &mut Rng) -> Colour {
    let tint = |rng: &mut Rng, v: f32, s: f32| {
        [0, 1, 2].map(|_| ((v + s * rng.normal()).clamp(0.03, 0.97) * 255.0) as u8)
    };
    let kind = rng.unit();
    let [r, g, b] = if kind < 0.24 {
        let v = rng.between(0.09, 0.3);
        tint(rng, v, 0.02)
    } else if kind < 0.46 {
        let v = rng.between(0.68, 0.94);
        tint(rng, v, 0.02)
    } else if kind < 0.58 {
        let v = rng.between(0.35, 0.65);
        tint(rng, v, 0.02)
    } else if kind < 0.72 {
        let k = rng.between(0.5, 1.5);
        [(38.0 * k) as u8, (54.0 * k) as u8, (96.0 * k) as u8] // navy to blue
    } else {
        let (h, s, v) = (rng.unit() * 6.0, rng.between(0.2, 0.72), rng.between(0.3, 0.85));
        let one = |shift: f32| {
            let t = (h + shift) % 6.0;
            let c = ((t - 3.0).abs() - 1.0).clamp(0.0, 1.0);
            (255.0 * v * (1.0 - s + s * c)) as u8
        };
        [one(0.0), one(4.0), one(2.0)]
    };
    linear(r, g, b)
}

pub(super) fn cloth(rng: &mut Rng, patterns: &[Pattern], plain: f32) -> Cloth {
    let pattern = if rng.chance(plain) { Pattern::Plain } else { rng.pick(patterns) };
    let colours = [dye(rng), dye(rng), dye(rng)];
    let small = if pattern == Pattern::Dots { 0.5 } else { 1.0 };
    Cloth {
        pattern,
        colours,
        repeat_m: small * 0.02 * crate::math::exp(rng.between(0.0, 1.7)),
        angle: if rng.chance(0.8) { 0.0 } else { std::f32::consts::FRAC_PI_2 },
        folds: rng.between(0.18, 0.5),
        weave: rng.between(0.2, 1.0),
        gloss: if rng.chance(0.15) { 0.06 } else { 0.0 },
        salt: rng.between(0.0, 30.0),
        placket: false,
    }
}

fn denim(rng: &mut Rng) -> Cloth {
    let k = rng.between(0.35, 1.25);
    let c = |k: f32| linear((44.0 * k) as u8, (66.0 * k) as u8, (108.0 * k).min(255.0) as u8);
    let black = rng.chance(0.2);
    let (a, b) = if black { (linear(26, 26, 29), linear(58, 58, 62)) } else { (c(k), c(k * 1.6)) };
    Cloth {
        pattern: Pattern::Denim,
        colours: [a, b, b],
        weave: 1.0,
        gloss: 0.0,
        ..cloth(rng, &[Pattern::Plain], 1.0)
    }
}

/// A shirt with trousers or a skirt, or a dress.
pub(super) fn above_and_below(female: bool, rng: &mut Rng) -> (Top, Bottom) {
    let all = [
        Pattern::Stripes,
        Pattern::Stripes,
        Pattern::Checks,
        Pattern::Dots,
        Pattern::Print,
        Pattern::Print,
        Pattern::Blotch,
        Pattern::Blocks,
    ];
    let mut bottom = below(female, rng);
    let is_dress = matches!(bottom, Bottom::Skirt { .. }) && rng.chance(0.45);
    let mut top = shirt(female, cloth(rng, &all, 0.55), rng);
    if let (true, Bottom::Skirt { cloth, waist_y, .. }) = (is_dress, &mut bottom) {
        top.cloth = *cloth;
        top.hem_y = 0.02;
        top.loose = 0.2;
        *waist_y = 0.12;
    }
    (top, bottom)
}

/// Over the shirt, open in front.
pub(super) fn jacket(rng: &mut Rng) -> Top {
    let cloth =
        if rng.chance(0.3) { denim(rng) } else { cloth(rng, &[Pattern::Checks, Pattern::Blocks], 0.85) };
    Top {
        sleeve: rng.between(1.85, 2.02),
        sleeve_m: rng.between(0.05, 0.065),
        hem_y: rng.between(-0.14, 0.03),
        neck_m: rng.between(0.075, 0.085),
        vee_m: rng.between(0.0, 0.06),
        collar_m: rng.between(0.0, 0.02),
        ease_m: rng.between(0.022, 0.03),
        loose: 0.9,
        slope: rng.between(0.0, 0.15),
        cloth: Cloth { placket: false, ..cloth },
    }
}

/// Boots, shoes or bare feet.
pub(super) fn shoes(female: bool, colour: Colour, rng: &mut Rng) -> Shoes {
    let are_boots = rng.chance(if female { 0.2 } else { 0.12 });
    Shoes {
        top: if rng.chance(0.05) {
            9.0
        } else if are_boots {
            rng.between(1.5, 1.8)
        } else {
            rng.between(1.9, 2.0)
        },
        colour,
        sole: if rng.chance(0.5) { linear(228, 226, 220) } else { colour * 0.5 },
    }
}

fn shirt(female: bool, cloth: Cloth, rng: &mut Rng) -> Top {
    let kind = rng.unit();
    let tight = female && rng.chance(0.45);
    let sleeve = if kind < 0.5 {
        rng.between(0.45, 0.85)
    } else if kind < 0.9 {
        rng.between(1.75, 2.0)
    } else {
        0.0
    };
    let jumper = kind > 0.7 && sleeve > 1.0;
    Top {
        sleeve,
        sleeve_m: if tight {
            0.0
        } else if sleeve > 1.0 {
            rng.between(0.040, 0.055)
        } else {
            rng.between(0.055, 0.075)
        },
        hem_y: if rng.chance(0.25) { rng.between(0.05, 0.09) } else { rng.between(-0.10, 0.02) },
        neck_m: if sleeve < 0.1 { rng.between(0.095, 0.115) } else { rng.between(0.072, 0.09) },
        vee_m: if rng.chance(0.25) { rng.between(0.10, 0.17) } else { 0.0 },
        collar_m: if jumper && rng.chance(0.3) { 0.02 } else { 0.0 },
        ease_m: if jumper { rng.between(0.012, 0.02) } else { rng.between(0.007, 0.012) },
        loose: if tight { rng.between(0.0, 0.3) } else { rng.between(0.6, 1.0) },
        slope: if jumper { rng.between(0.1, 0.35) } else { rng.between(0.03, 0.3) },
        cloth: Cloth { placket: sleeve > 0.1 && rng.chance(0.22), ..cloth },
    }
}

fn below(female: bool, rng: &mut Rng) -> Bottom {
    let waist_y = rng.between(0.075, 0.12);
    if female && rng.chance(0.22) {
        return Bottom::Skirt {
            length: rng.between(0.45, 1.35),
            waist_y,
            flare: rng.between(0.03, 0.4),
            cloth: cloth(rng, &[Pattern::Stripes, Pattern::Checks, Pattern::Dots, Pattern::Blotch], 0.6),
        };
    }
    let short = rng.chance(0.24);
    let leggings = female && rng.chance(0.3);
    let stuff = if rng.chance(0.5) {
        denim(rng)
    } else {
        cloth(rng, &[Pattern::Stripes, Pattern::Blotch, Pattern::Checks], 0.92)
    };
    Bottom::Trousers {
        leg: if short { rng.between(0.5, 1.05) } else { rng.between(1.86, 2.06) },
        waist_y,
        knee_m: if leggings { 0.0 } else { rng.between(0.066, 0.09) },
        hem_m: if leggings { 0.0 } else { rng.between(0.052, 0.10) },
        ease_m: if leggings { 0.003 } else { rng.between(0.006, 0.011) },
        cloth: stuff,
    }
}
