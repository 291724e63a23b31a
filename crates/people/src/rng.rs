//! A small generator of random numbers: the same on every machine, and streams that do not depend on each other, but for those of seed 0: each
//! of these begins one number later than the one before. Pictures rest on it, so it stays.

use crate::math::{TAU, Vec3, cos, sin, vec3};

/// SplitMix64: passes the usual tests, one addition and three multiplications a number.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// The stream `stream` of `seed`.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut rng =
            Self(seed.wrapping_mul(0xd134_2543_de82_ef95) ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        rng.next();
        rng
    }

    /// 64 random bits.
    #[allow(clippy::should_implement_trait, reason = "no end: not an iterator")]
    #[inline]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 0..1.
    #[inline]
    pub fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 24) as f32
    }

    /// `low`..`high`.
    #[inline]
    pub fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.unit()
    }

    /// Whether something of the probability `p` happens.
    #[inline]
    pub fn chance(&mut self, p: f32) -> bool {
        self.unit() < p
    }

    /// 0..`count`.
    #[inline]
    pub fn below(&mut self, count: usize) -> usize {
        (((self.next() >> 32) * count as u64) >> 32) as usize
    }

    /// One of some.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Normally distributed, mean 0, deviation 1.
    #[inline]
    pub fn normal(&mut self) -> f32 {
        let (u, v) = (self.unit().max(1e-9), self.unit());
        (-2.0 * libm::logf(u)).sqrt() * cos(TAU * v)
    }

    /// A direction, all equally likely.
    #[inline]
    pub fn direction(&mut self) -> Vec3 {
        let (y, phi) = (self.between(-1.0, 1.0), TAU * self.unit());
        let ring = (1.0 - y * y).max(0.0).sqrt();
        vec3(ring * cos(phi), y, ring * sin(phi))
    }
}
