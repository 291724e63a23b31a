//! What somebody wears, drawn at random or chosen.

mod garments;
mod looks;

use garments::{cloth, dye};

use crate::{
    asset::Traits,
    light::{Colour, linear},
    rng::Rng,
    surface::{Cloth, Pattern, Skin},
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

impl Outfit {
    /// Somebody's of those traits.
    pub fn draw(traits: &Traits, rng: &mut Rng) -> Self {
        let female = rng.chance(0.06) != (traits.gender > 0.5);
        let tone = looks::tone(traits, rng);
        let (hair, is_bald) = looks::hair(traits, female, tone, rng);
        let skin = looks::skin(traits, female, tone, hair.colour, rng);
        let iris = rng.pick(&[[66, 42, 26], [52, 34, 24], [80, 60, 36], [70, 92, 110], [84, 100, 74]]);
        let (top, bottom) = garments::above_and_below(female, rng);
        let jacket = rng.chance(0.2).then(|| garments::jacket(rng));
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
        let shoes = garments::shoes(female, shoe, rng);
        let hat = match rng.unit() {
            u if u < 0.06 => Hat::Beanie(cloth(rng, &[Pattern::Stripes], 0.8)),
            u if u < 0.13 => Hat::Cap(cloth(rng, &[Pattern::Blocks], 0.9)),
            _ => Hat::None,
        };
        let hair =
            if matches!(hat, Hat::None) { hair } else { Hair { thick_m: hair.thick_m.min(0.010), ..hair } };
        let recede = if is_bald {
            rng.between(0.3, 1.4)
        } else if !female && traits.years > 35 {
            rng.between(0.0, 0.4)
        } else {
            0.0
        };
        let iris = linear(iris[0], iris[1], iris[2]);
        Self { skin, iris, top, is_bare, gloves, pack, scarf, jacket, bottom, shoes, hair, recede, hat }
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
}
