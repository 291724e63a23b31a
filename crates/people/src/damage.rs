//! What cheap cameras do to a picture: blur, a shutter that rolls, noise, wrong colours, sharpening, films' compression.

mod film;
mod stream;

pub use stream::{Compression, Stream};

use crate::{
    math::{TAU, Vec3, cos, exp, sin, vec3},
    rng::Rng,
};

/// Marks of one camera at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Damage {
    /// Out of focus: deviation in pixels.
    pub defocus_px: f32,
    /// Length and direction of the camera's shake, pixels.
    pub shake_px: [f32; 2],
    /// How far the picture's lower edge is shifted against the upper one, because its rows were read one after the other while the
    /// camera turned; pixels for each pixel of height.
    pub roll: f32,
    /// Deviation of the noise at middle grey, share of white.
    pub noise: f32,
    /// Gain of each colour.
    pub gain: Vec3,
    /// Infrared at night: no colours.
    pub infrared: bool,
    /// Overshoot at edges.
    pub sharpening: f32,
    /// Quantiser's step of a film that the picture was taken from, levels; 0 for none.
    pub film: f32,
    /// Of the JPEG.
    pub quality: u8,
    /// Bends the curve as cameras do.
    pub contrast: f32,
    /// Mean brightness aimed at.
    pub exposure: f32,
}

impl Damage {
    /// None.
    pub fn none() -> Self {
        Self {
            defocus_px: 0.0,
            shake_px: [0.0; 2],
            roll: 0.0,
            noise: 0.0,
            gain: vec3(1.0, 1.0, 1.0),
            infrared: false,
            sharpening: 0.0,
            film: 0.0,
            quality: 92,
            contrast: 0.4,
            exposure: 0.22,
        }
    }

    /// Some camera's.
    pub fn draw(rng: &mut Rng) -> Self {
        let shake = if rng.chance(0.12) { rng.between(1.5, 6.0) } else { 0.0 };
        let angle = TAU * rng.unit();
        let tint = |rng: &mut Rng| 1.0 + 0.05 * rng.normal();
        let infrared = rng.chance(0.04);
        let roll = if rng.chance(0.08) { 0.05 * rng.normal() } else { 0.0 };
        let film = if rng.chance(0.15) { 8.0 * exp(rng.between(0.0, 1.5)) } else { 0.0 };
        Self {
            defocus_px: if rng.chance(0.45) { (0.7 * rng.normal()).abs() } else { 0.0 },
            shake_px: [shake * cos(angle), shake * sin(angle)],
            roll: roll.clamp(-0.15, 0.15),
            noise: if rng.chance(0.7) {
                rng.between(0.0, 0.03)
            } else if infrared {
                0.06
            } else {
                0.0
            },
            gain: vec3(tint(rng), 1.0, tint(rng)),
            infrared,
            sharpening: if rng.chance(0.35) { rng.between(0.2, 1.0) } else { 0.0 },
            film,
            quality: rng.between(45.0, 95.0) as u8,
            contrast: rng.between(0.0, 1.0),
            exposure: 0.21 * exp(0.42 * rng.normal()).clamp(0.35, 2.4),
        }
    }

    /// The gain that brings a linear picture to the exposure aimed at.
    pub fn auto_exposure(&self, picture: &[Vec3]) -> f32 {
        // The geometric mean weighs shadows as eyes do; every seventh pixel is enough.
        let (mut sum, mut count) = (0.0f32, 0u32);
        for p in picture.iter().step_by(7) {
            sum += (0.3 * p.x + 0.6 * p.y + 0.1 * p.z).clamp(0.01, 2.0).sqrt();
            count += 1;
        }
        let mean = sum / count.max(1) as f32;
        (self.exposure / (mean * mean).max(0.01)).clamp(0.3, 4.0)
    }

    /// How far the row through `y_px` is shifted to the right.
    pub fn shifted_px(&self, y_px: f32, height: usize) -> f32 {
        self.roll * (y_px - 0.5 * height as f32)
    }

    /// The shutter, blur and colours, on the linear picture.
    pub fn optics(&self, picture: &mut [Vec3], width: usize, height: usize) {
        if self.roll != 0.0 {
            let mut old = Vec::new();
            for (y, row) in picture.chunks_exact_mut(width).enumerate() {
                old.clear();
                old.extend_from_slice(row);
                let shift = self.shifted_px(y as f32 + 0.5, height);
                for (x, p) in row.iter_mut().enumerate() {
                    let from = (x as f32 - shift).clamp(0.0, (width - 1) as f32);
                    let left = from as usize;
                    *p = old[left].mix(old[(left + 1).min(width - 1)], from - left as f32);
                }
            }
        }
        if self.shake_px != [0.0; 2] {
            let steps = 5;
            let old = picture.to_vec();
            for y in 0..height {
                for x in 0..width {
                    let mut sum = Vec3::ZERO;
                    for k in 0..steps {
                        let u = k as f32 / (steps - 1) as f32 - 0.5;
                        let at = |v: usize, d: f32, size: usize| {
                            ((v as f32 + u * d + 0.5).max(0.0) as usize).min(size - 1)
                        };
                        sum += old[at(y, self.shake_px[1], height) * width + at(x, self.shake_px[0], width)];
                    }
                    picture[y * width + x] = sum * (1.0 / steps as f32);
                }
            }
        }
        if self.defocus_px > 0.3 {
            blur(picture, width, height, self.defocus_px);
        }
        if self.gain != vec3(1.0, 1.0, 1.0) || self.infrared {
            for p in picture.iter_mut() {
                *p = if self.infrared {
                    let v = 0.55 * p.x + 0.3 * p.y + 0.15 * p.z;
                    vec3(v, v, v)
                } else {
                    p.times(self.gain)
                };
            }
        }
    }

    /// Sharpening, noise and a film's compression, on bytes of red, green and blue.
    pub fn electronics(&self, rgb: &mut [u8], width: usize, height: usize, rng: &mut Rng) {
        if self.sharpening > 0.0 {
            let old = rgb.to_vec();
            let k = (self.sharpening * 64.0) as i32;
            for y in 1..height.saturating_sub(1) {
                for i in 3 * (y * width + 1)..3 * (y * width + width - 1) {
                    let c = i32::from(old[i]);
                    let around = i32::from(old[i - 3])
                        + i32::from(old[i + 3])
                        + i32::from(old[i - 3 * width])
                        + i32::from(old[i + 3 * width]);
                    rgb[i] = (c + (((4 * c - around) * k) >> 8)).clamp(0, 255) as u8;
                }
            }
        }
        if self.noise > 0.0 {
            add_noise(rgb, self.noise * 255.0, rng);
        }
        if self.film > 0.0 {
            film::stored(rgb, width, height, self.film);
        }
    }
}

/// Adds noise of deviation `sigma` levels: four bytes of a hash sum to something normal enough.
pub fn add_noise(rgb: &mut [u8], sigma: f32, rng: &mut Rng) {
    let gain = (sigma / 147.8 * 65_536.0) as i32;
    for pair in rgb.chunks_mut(2) {
        let bits = rng.next().to_le_bytes();
        for (byte, four) in pair.iter_mut().zip(bits.chunks_exact(4)) {
            let sum: i32 = four.iter().map(|&b| i32::from(b)).sum::<i32>() - 510;
            *byte = (i32::from(*byte) + ((sum * gain + 32_768) >> 16)).clamp(0, 255) as u8;
        }
    }
}

fn blur(picture: &mut [Vec3], width: usize, height: usize, sigma: f32) {
    let r = (2.2 * sigma).ceil() as usize;
    let mut kernel: Vec<f32> = (0..=r).map(|k| exp(-((k * k) as f32) / (2.0 * sigma * sigma))).collect();
    let total = kernel[0] + 2.0 * kernel[1..].iter().sum::<f32>();
    kernel.iter_mut().for_each(|k| *k /= total);
    let mut line = vec![Vec3::ZERO; width.max(height)];
    let mut pass = |picture: &mut [Vec3], start: usize, step: usize, count: usize| {
        for k in 0..count {
            line[k] = picture[start + k * step];
        }
        for k in 0..count {
            let mut sum = line[k] * kernel[0];
            for (d, w) in kernel.iter().enumerate().skip(1) {
                sum += (line[k.saturating_sub(d)] + line[(k + d).min(count - 1)]) * *w;
            }
            picture[start + k * step] = sum;
        }
    };
    for y in 0..height {
        pass(picture, y * width, 1, width);
    }
    for x in 0..width {
        pass(picture, x, width, height);
    }
}
