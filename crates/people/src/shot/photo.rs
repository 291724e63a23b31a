//! Photographs of places without people, to be seen behind rendered ones. For training alone: a set has their licence's class.

use crate::{
    light::linear,
    math::{Vec3, exp, vec3},
    rng::Rng,
    swatch::{self, Swatch},
};

/// Red, green, blue, row by row.
#[derive(Debug, Clone)]
pub struct Photo {
    /// Pixels.
    pub width: usize,
    /// Pixels.
    pub height: usize,
    /// Three bytes a pixel.
    pub rgb: Vec<u8>,
}

impl Photo {
    /// A square part of it, mirrored half of the time, as a linear picture `size` pixels wide.
    pub fn part(&self, size: usize, rng: &mut Rng) -> Vec<Vec3> {
        self.crop(size, [0.6, 1.0], rng)
    }

    /// A small square of it as cloth.
    pub fn swatch(&self, number: usize, rng: &mut Rng) -> Swatch {
        let texels = self.crop(swatch::SIDE, [0.12, 0.7], rng);
        // From prints of a hand's width to one figure over the whole garment.
        Swatch::new(texels, 0.2 * exp(rng.between(0.0, 1.4)), number)
    }

    /// A square part whose side is a `share` of the shorter one, from and to.
    fn crop(&self, size: usize, share: [f32; 2], rng: &mut Rng) -> Vec<Vec3> {
        let side = self.width.min(self.height) as f32 * rng.between(share[0], share[1]);
        let left = rng.unit() * (self.width as f32 - side).max(0.0);
        let top = rng.unit() * (self.height as f32 - side).max(0.0);
        let is_mirrored = rng.chance(0.5);
        let table: Vec<f32> = (0..=255u8).map(|v| linear(v, v, v).x).collect();
        let step = side / size as f32;
        // The mean of what a pixel covers, three by three at most.
        let taps = (step.ceil() as usize).clamp(1, 3);
        let mut out = Vec::with_capacity(size * size);
        for y in 0..size {
            for x in 0..size {
                let x = if is_mirrored { size - 1 - x } else { x };
                let mut sum = Vec3::ZERO;
                for k in 0..taps * taps {
                    let within = |v: usize, k: usize| (v as f32 + (k as f32 + 0.5) / taps as f32) * step;
                    let px = ((left + within(x, k % taps)) as usize).min(self.width - 1);
                    let py = ((top + within(y, k / taps)) as usize).min(self.height - 1);
                    let c = &self.rgb[3 * (py * self.width + px)..][..3];
                    sum += vec3(table[usize::from(c[0])], table[usize::from(c[1])], table[usize::from(c[2])]);
                }
                out.push(sum * (1.0 / (taps * taps) as f32));
            }
        }
        out
    }
}

/// Mean brightness of a linear picture.
pub fn brightness(picture: &[Vec3]) -> f32 {
    picture.iter().map(|p| 0.3 * p.x + 0.6 * p.y + 0.1 * p.z).sum::<f32>() / picture.len().max(1) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_shows_the_photograph_in_its_order() {
        let rgb = (0..40 * 30).flat_map(|k| [(k % 40 * 6) as u8, 100, (k / 40 * 8) as u8]).collect();
        let photo = Photo { width: 40, height: 30, rgb };
        let mut mirrored = [0, 0];
        for k in 0..20 {
            let part = photo.part(16, &mut Rng::new(k, 1));
            assert_eq!(part.len(), 256);
            assert!(part.iter().all(|p| (p.y - linear(0, 100, 0).y).abs() < 1e-5));
            assert!(part[0].z < part[255].z, "above is above");
            mirrored[usize::from(part[0].x > part[15].x)] += 1;
        }
        assert!(mirrored[0] > 3 && mirrored[1] > 3);
    }
}
