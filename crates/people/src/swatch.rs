//! Cloth cut from photographs.

use crate::{
    light::Colour,
    math::{Vec3, mix},
};

/// Texels along a side.
pub const SIDE: usize = 64;

/// A square of linear colours that covers a garment, mirrored from square to square so that it has no seams.
#[derive(Debug, Clone)]
pub struct Swatch {
    /// Row by row.
    texels: Vec<Colour>,
    /// Metres of a square on the mean body.
    repeat_m: f32,
    /// Which photograph it was cut from.
    pub photo: usize,
}

impl Swatch {
    /// Of `SIDE` times `SIDE` linear colours.
    pub fn new(texels: Vec<Colour>, repeat_m: f32, photo: usize) -> Self {
        assert_eq!(texels.len(), SIDE * SIDE);
        Self { texels, repeat_m, photo }
    }

    /// Its colour at a place of the mean body.
    #[inline]
    pub fn at(&self, p: Vec3) -> Colour {
        let k = SIDE as f32 / self.repeat_m;
        let (x, x1, u) = texel((p.x + 0.6 * p.z) * k);
        // Pictures count rows downwards.
        let (y, y1, v) = texel((0.4 * p.z - p.y) * k);
        let line = |y: usize| self.texels[y * SIDE + x].mix(self.texels[y * SIDE + x1], u);
        line(y).mix(line(y1), v)
    }
}

/// Two neighbouring texels of an endless row that goes there and back, and the place between them.
#[inline]
fn texel(t: f32) -> (usize, usize, f32) {
    const AROUND: f32 = 2.0 * SIDE as f32;
    let t = crate::math::frac(t / AROUND) * AROUND;
    let first = t as usize;
    let fold = |k: usize| {
        let k = k % (2 * SIDE);
        if k < SIDE { k } else { 2 * SIDE - 1 - k }
    };
    (fold(first), fold(first + 1), mix(0.0, 1.0, t - first as f32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::vec3;

    #[test]
    fn a_swatch_goes_on_without_seams_the_way_it_was_taken() {
        let texels = (0..SIDE * SIDE).map(|k| vec3((k % SIDE) as f32, (k / SIDE) as f32, 1.0)).collect();
        let swatch = Swatch::new(texels, 0.64, 0);
        let at = |x: f32, y: f32| swatch.at(vec3(x, y, 0.0));
        assert!((at(0.105, -0.2).x - 10.5).abs() < 0.01 && (at(0.105, -0.2).y - 20.0).abs() < 0.01);
        for k in -300..300 {
            let (a, b) =
                (at(0.01 * k as f32, 0.013 * k as f32), at(0.01 * k as f32 + 0.001, 0.013 * k as f32));
            assert!((a - b).length() < 0.2, "a seam at {k}");
        }
    }
}
