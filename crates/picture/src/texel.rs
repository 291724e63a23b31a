//! Pixels of each format, read in place as lanes that one multiplication interpolates.

use super::Picture;

/// Three 8-bit channels in 16-bit lanes: all of a pixel is interpolated by one multiplication.
pub(super) type Lanes = u64;

pub(super) const LANES: u64 = 0x00ff_00ff_00ff;

#[inline]
pub(super) fn lanes(c: [u8; 3]) -> Lanes {
    u64::from(c[0]) | u64::from(c[1]) << 16 | u64::from(c[2]) << 32
}

/// From packed bytes r, g, b in the low 24 bits.
#[inline]
pub(super) fn spread(p: u64) -> Lanes {
    (p & 0xff) | (p & 0xff00) << 8 | (p & 0xff_0000) << 16
}

/// `(a·(256−w) + b·w) / 256`, rounded, in every lane; lanes stay within 16 bits because 255·256 + 128 < 2¹⁶.
#[inline]
pub(super) fn lerp(a: Lanes, b: Lanes, w: u64) -> Lanes {
    ((a * (256 - w) + b * w + 0x0080_0080_0080) >> 8) & LANES
}

/// Pixels of one format, in that format's own colours.
pub(super) trait Texels {
    fn size(&self) -> (usize, usize);
    /// The pixels of row `y` from column `from` on, three bytes each, as many as `scratch` has room for: in place, or in
    /// `scratch`.
    fn row<'a>(&'a self, from: usize, y: usize, scratch: &'a mut [u8]) -> &'a [u8];
    /// The pixels (x, y) and (x1, y), where `x1` is `x` or `x + 1`.
    fn pair(&self, x: usize, x1: usize, y: usize) -> (Lanes, Lanes);
    fn rgb(c: Lanes) -> [u8; 3];
}

pub(super) struct Rgb24<'a>(pub(super) &'a Picture<'a>);

impl Texels for Rgb24<'_> {
    fn size(&self) -> (usize, usize) {
        (self.0.width, self.0.height)
    }
    fn row<'a>(&'a self, from: usize, y: usize, scratch: &'a mut [u8]) -> &'a [u8] {
        &self.0.bytes[y * self.0.stride + 3 * from..][..scratch.len()]
    }
    #[inline(always)]
    fn pair(&self, x: usize, x1: usize, y: usize) -> (Lanes, Lanes) {
        let at = y * self.0.stride + 3 * x;
        // One load serves both pixels, but for the last two bytes of the picture.
        if x1 != x
            && let Some(&eight) = self.0.bytes.get(at..).and_then(|b| b.first_chunk::<8>())
        {
            let p = u64::from_le_bytes(eight);
            return (spread(p), spread(p >> 24));
        }
        let one = |x: usize| {
            let b = &self.0.bytes[y * self.0.stride + 3 * x..][..3];
            lanes([b[0], b[1], b[2]])
        };
        (one(x), one(x1))
    }
    #[inline(always)]
    fn rgb(c: Lanes) -> [u8; 3] {
        [c as u8, (c >> 16) as u8, (c >> 32) as u8]
    }
}

pub(super) struct Grey<'a>(pub(super) &'a Picture<'a>);

impl Texels for Grey<'_> {
    fn size(&self) -> (usize, usize) {
        (self.0.width, self.0.height)
    }
    fn row<'a>(&'a self, from: usize, y: usize, scratch: &'a mut [u8]) -> &'a [u8] {
        let row = &self.0.bytes[y * self.0.stride + from..];
        scratch.as_chunks_mut::<3>().0.iter_mut().zip(row).for_each(|(pixel, &v)| *pixel = [v; 3]);
        scratch
    }
    #[inline(always)]
    fn pair(&self, x: usize, x1: usize, y: usize) -> (Lanes, Lanes) {
        let row = &self.0.bytes[y * self.0.stride..][..self.0.width];
        (u64::from(row[x]), u64::from(row[x1]))
    }
    #[inline(always)]
    fn rgb(c: Lanes) -> [u8; 3] {
        [c as u8; 3]
    }
}

pub(super) struct Yuyv<'a>(pub(super) &'a Picture<'a>);

impl Texels for Yuyv<'_> {
    fn size(&self) -> (usize, usize) {
        (self.0.width, self.0.height)
    }
    fn row<'a>(&'a self, from: usize, y: usize, scratch: &'a mut [u8]) -> &'a [u8] {
        let row = &self.0.bytes[y * self.0.stride..][..self.0.stride];
        for (i, pixel) in scratch.as_chunks_mut::<3>().0.iter_mut().enumerate() {
            let x = from + i;
            let group = &row[4 * (x / 2)..][..4];
            *pixel = [group[2 * (x % 2)], group[1], group[3]];
        }
        scratch
    }
    #[inline(always)]
    fn pair(&self, x: usize, x1: usize, y: usize) -> (Lanes, Lanes) {
        let row = &self.0.bytes[y * self.0.stride..][..self.0.stride];
        let one = |x: usize| {
            let group = &row[4 * (x / 2)..][..4];
            lanes([group[2 * (x % 2)], group[1], group[3]])
        };
        (one(x), one(x1))
    }
    #[inline(always)]
    fn rgb(c: Lanes) -> [u8; 3] {
        rgb_from_yuv(c)
    }
}

pub(super) struct Nv12<'a>(pub(super) &'a Picture<'a>);

impl Texels for Nv12<'_> {
    fn size(&self) -> (usize, usize) {
        (self.0.width, self.0.height)
    }
    fn row<'a>(&'a self, from: usize, y: usize, scratch: &'a mut [u8]) -> &'a [u8] {
        let stride = self.0.stride;
        let luma = &self.0.bytes[y * stride..][..stride];
        let chroma = &self.0.bytes[(self.0.height + y / 2) * stride..][..stride];
        for (i, pixel) in scratch.as_chunks_mut::<3>().0.iter_mut().enumerate() {
            let x = from + i;
            *pixel = [luma[x], chroma[x / 2 * 2], chroma[x / 2 * 2 + 1]];
        }
        scratch
    }
    #[inline(always)]
    fn pair(&self, x: usize, x1: usize, y: usize) -> (Lanes, Lanes) {
        let stride = self.0.stride;
        let luma = &self.0.bytes[y * stride..][..stride];
        let chroma = &self.0.bytes[(self.0.height + y / 2) * stride..][..stride];
        let one = |x: usize| lanes([luma[x], chroma[x / 2 * 2], chroma[x / 2 * 2 + 1]]);
        (one(x), one(x1))
    }
    #[inline(always)]
    fn rgb(c: Lanes) -> [u8; 3] {
        rgb_from_yuv(c)
    }
}

/// BT.601, limited range, 16 fractional bits.
#[inline(always)]
fn rgb_from_yuv(c: Lanes) -> [u8; 3] {
    let y = ((c & 0xff) as i32 - 16) * 76_309 + (1 << 15);
    let (u, v) = ((c >> 16 & 0xff) as i32 - 128, (c >> 32 & 0xff) as i32 - 128);
    let clamp = |x: i32| (x >> 16).clamp(0, 255) as u8;
    [clamp(y + 104_597 * v), clamp(y - 25_675 * u - 53_279 * v), clamp(y + 132_201 * u)]
}

/// One pixel of BT.601 limited range, for sources that convert whole pictures.
pub fn rgb_from_yuv_bytes(y: u8, u: u8, v: u8) -> [u8; 3] {
    rgb_from_yuv(lanes([y, u, v]))
}
