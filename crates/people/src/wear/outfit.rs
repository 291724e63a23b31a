//! What somebody wears, drawn at random or chosen.

use crate::{
    asset::Traits,
    light::{Colour, linear},
    math::Vec3,
    rng::Rng,
    surface::{Cloth, Glasses, Pattern, Skin},
};

/// Shirts, jumpers, dresses' upper parts, jackets. Heights are of the mean body, whose hips are at 0 and neck at .56.
#[derive(Debug, Clone, Copy)]
pub struct Top {
    /// Where sleeves end: 1 elbow, 2 wrist; below .1 there are none.
    pub sleeve: f32,
    /// Least radius of a sleeve, metres.
    pub sleeve_m: f32,
    /// Where it ends below.
    pub hem_y: f32,
    /// Radius of the hole for the neck.
    pub neck_m: f32,
    /// How far a V reaches down the front. Of a jacket: half of the gap at the front.
    pub vee_m: f32,
    /// How high a collar stands.
    pub collar_m: f32,
    /// Distance from the skin.
    pub ease_m: f32,
    /// 0 follows the body, 1 hangs.
    pub loose: f32,
    /// How much it falls inwards below what it hangs from.
    pub slope: f32,
    /// Its cloth.
    pub cloth: Cloth,
}

/// What is worn below the waist.
#[derive(Debug, Clone, Copy)]
pub enum Bottom {
    /// Trousers, shorts, leggings.
    Trousers {
        /// Where legs end: 1 knee, 2 ankle.
        leg: f32,
        /// Upper edge.
        waist_y: f32,
        /// Least radius at the knee.
        knee_m: f32,
        /// Least radius at the ankle.
        hem_m: f32,
        /// Distance from the skin.
        ease_m: f32,
        /// Its cloth.
        cloth: Cloth,
    },
    /// A skirt, or the lower part of a dress.
    Skirt {
        /// Where it ends: 1 knee.
        length: f32,
        /// Upper edge.
        waist_y: f32,
        /// Metres outwards a metre down.
        flare: f32,
        /// Its cloth.
        cloth: Cloth,
    },
}

/// Shoes; none with `top` above 3.
#[derive(Debug, Clone, Copy)]
pub struct Shoes {
    /// Where they end: 2 ankle, 1 knee.
    pub top: f32,
    /// Upper.
    pub colour: Colour,
    /// Sole and laces.
    pub sole: Colour,
}

/// Hair of the head.
#[derive(Debug, Clone, Copy)]
pub struct Hair {
    /// 0 cropped, 1 short, 2 bob, 3 long, 4 ponytail, 5 bun, 9 none.
    pub style: u8,
    /// Colour.
    pub colour: Colour,
    /// How thick it lies.
    pub thick_m: f32,
    /// Below the ears.
    pub length_m: f32,
    /// Contrast of its strands.
    pub streaks: f32,
}

/// Hats.
#[derive(Debug, Clone, Copy)]
pub enum Hat {
    /// None.
    None,
    /// Knitted.
    Beanie(Cloth),
    /// With a brim ahead.
    Cap(Cloth),
}

/// All of it.
#[derive(Debug, Clone, Copy)]
pub struct Outfit {
    /// Skin and face.
    pub skin: Skin,
    /// Irises.
    pub iris: Colour,
    /// Upper body.
    pub top: Top,
    /// Nothing on the upper body.
    pub is_bare: bool,
    /// Over the hands.
    pub gloves: Option<Cloth>,
    /// On the back: cloth, and width, height and depth in metres of a person 1.62 m high.
    pub pack: Option<(Cloth, [f32; 3])>,
    /// Round neck and shoulders.
    pub scarf: Option<Cloth>,
    /// Over the top.
    pub jacket: Option<Top>,
    /// Below the waist.
    pub bottom: Bottom,
    /// Feet.
    pub shoes: Shoes,
    /// Head.
    pub hair: Hair,
    /// How far the hairline has gone back; above .9 the crown is bare.
    pub recede: f32,
    /// Hat.
    pub hat: Hat,
}

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

/// What clothes are dyed in: often dark, grey or white.
pub fn dye(rng: &mut Rng) -> Colour {
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

fn cloth(rng: &mut Rng, patterns: &[Pattern], plain: f32) -> Cloth {
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

impl Outfit {
    /// Somebody's of those traits.
    pub fn draw(traits: &Traits, rng: &mut Rng) -> Self {
        let female = rng.chance(0.06) != (traits.gender > 0.5);
        let grown = traits.years >= 16;
        let tone = {
            // All tones, light ones more often; the shape of the face weighs in.
            let share = traits.african / (traits.african + traits.asian + 0.5);
            let u = 0.45 * share + 0.55 * rng.unit();
            let k = (8.4 * u * u.sqrt() + 0.5 * rng.normal()).clamp(0.0, 7.99);
            let (a, b) = (TONES[k as usize], TONES[k as usize + 1]);
            let of = |c: [u8; 3]| linear(c[0], c[1], c[2]);
            of(a).mix(of(b), k - k.floor())
        };
        let dark_skin = tone.x < 0.25;
        let grey = traits.years > 45 && rng.chance((f32::from(traits.years) - 40.0) / 45.0);
        let hair_index = if grey {
            7
        } else if dark_skin || rng.chance(traits.asian) {
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
        let bald = !female && grown && traits.years > 28 && rng.chance(0.14);
        let hair = Hair {
            style: if bald && rng.chance(0.5) {
                9
            } else if bald {
                0
            } else {
                style
            },
            colour: hair_colour,
            thick_m: match style {
                0 => rng.between(0.003, 0.008),
                1 => rng.between(0.009, 0.028),
                _ => rng.between(0.010, 0.022),
            } * if dark_skin && style == 1 && rng.chance(0.4) { 2.2 } else { 1.0 },
            length_m: match style {
                2 => rng.between(0.03, 0.11),
                4 => rng.between(0.14, 0.34),
                _ => rng.between(0.14, 0.36),
            },
            streaks: rng.between(0.5, 1.0),
        };
        let bearded = !female && grown && rng.chance(0.4);
        let skin = Skin {
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
        };
        let iris = rng.pick(&[[66, 42, 26], [52, 34, 24], [80, 60, 36], [70, 92, 110], [84, 100, 74]]);
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
        let bottom = Self::bottom(female, rng);
        let dress = matches!(bottom, Bottom::Skirt { .. }) && rng.chance(0.45);
        let mut top = Self::shirt(female, cloth(rng, &all, 0.55), rng);
        let mut bottom = bottom;
        if let (true, Bottom::Skirt { cloth, waist_y, .. }) = (dress, &mut bottom) {
            top.cloth = *cloth;
            top.hem_y = 0.02;
            top.loose = 0.2;
            *waist_y = 0.12;
        }
        let jacket = rng.chance(0.2).then(|| {
            let cloth = if rng.chance(0.3) {
                denim(rng)
            } else {
                cloth(rng, &[Pattern::Checks, Pattern::Blocks], 0.85)
            };
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
        });
        let shoe = if rng.chance(0.5) {
            dye(rng)
        } else {
            rng.pick(&[linear(30, 28, 27), linear(225, 225, 222), linear(70, 48, 34)])
        };
        let is_bare =
            !female && jacket.is_none() && matches!(bottom, Bottom::Trousers { .. }) && rng.chance(0.05);
        let gloves = rng.chance(0.05).then(|| cloth(rng, &[Pattern::Plain], 1.0));
        let pack = rng.chance(0.07).then(|| {
            (
                cloth(rng, &[Pattern::Blocks], 0.8),
                [rng.between(0.13, 0.17), rng.between(0.32, 0.46), rng.between(0.09, 0.17)],
            )
        });
        let scarf =
            (!is_bare && rng.chance(0.05)).then(|| cloth(rng, &[Pattern::Stripes, Pattern::Checks], 0.5));
        let boots = rng.chance(if female { 0.2 } else { 0.12 });
        let shoes = Shoes {
            top: if rng.chance(0.05) {
                9.0
            } else if boots {
                rng.between(1.5, 1.8)
            } else {
                rng.between(1.9, 2.0)
            },
            colour: shoe,
            sole: if rng.chance(0.5) { linear(228, 226, 220) } else { shoe * 0.5 },
        };
        let hat = match rng.unit() {
            u if u < 0.06 => Hat::Beanie(cloth(rng, &[Pattern::Stripes], 0.8)),
            u if u < 0.13 => Hat::Cap(cloth(rng, &[Pattern::Blocks], 0.9)),
            _ => Hat::None,
        };
        let hair =
            if matches!(hat, Hat::None) { hair } else { Hair { thick_m: hair.thick_m.min(0.010), ..hair } };
        Self {
            skin,
            iris: linear(iris[0], iris[1], iris[2]),
            top,
            is_bare,
            gloves,
            pack,
            scarf,
            jacket,
            bottom,
            shoes,
            recede: if bald {
                rng.between(0.3, 1.4)
            } else if !female && traits.years > 35 {
                rng.between(0.0, 0.4)
            } else {
                0.0
            },
            hair,
            hat,
        }
    }

    /// Each garment of a photograph with that chance; says which garments are: [`Pattern::Photo`] 0 above, 1 below, 2 over it.
    pub fn printed(&mut self, share: f32, rng: &mut Rng) -> [bool; 3] {
        let mut are = [0, 1, 2].map(|_| rng.chance(share));
        let (Bottom::Trousers { cloth, .. } | Bottom::Skirt { cloth, .. }) = &mut self.bottom;
        // A dress is of one piece.
        let is_dress = cloth.salt == self.top.cloth.salt;
        are[1] &= !is_dress;
        are[0] &= !self.is_bare;
        if are[1] || is_dress && are[0] {
            cloth.pattern = Pattern::Photo(u8::from(!is_dress));
        }
        if are[0] {
            self.top.cloth.pattern = Pattern::Photo(0);
        }
        match &mut self.jacket {
            Some(jacket) if are[2] => jacket.cloth.pattern = Pattern::Photo(2),
            _ => are[2] = false,
        }
        are
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

    fn bottom(female: bool, rng: &mut Rng) -> Bottom {
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
}
