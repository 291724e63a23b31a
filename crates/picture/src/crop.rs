//! Crop, rotate, resize and convert in one pass, straight into a network's u8 input.
//!
//! Coordinates: (0, 0) is the top-left corner of the top-left pixel, so pixel centres lie at +0.5, in the network's
//! input as in the image.

use super::texel::{Grey, LANES, Lanes, Nv12, Rgb24, Texels, Yuyv, lanes, lerp};
use super::{Affine, Picture, PixelFormat, resize};

/// Where RGB pixels are written: `height` rows of `row_bytes`, pixels `pixel_bytes` apart (3, or 4 with the fourth left
/// alone).
pub struct PixelsMut<'a> {
    /// Pixel (x, y) starts at `y * row_bytes + x * pixel_bytes`.
    pub bytes: &'a mut [u8],
    /// Pixels.
    pub width: usize,
    /// Pixels.
    pub height: usize,
    /// Bytes from one row to the next.
    pub row_bytes: usize,
    /// Bytes from one pixel to the next: 3 or 4.
    pub pixel_bytes: usize,
}

/// Fills `net` with the part of `picture` that `image_from_net` names (net pixels to pixels of the source image).
///
/// Bilinear in 24.8 fixed point, at most three levels of 255 from exact arithmetic: a place is cut to 1/256 pixel on each
/// axis, which is worth up to a level where neighbours differ by the whole range, and two blends are rounded. Where one net
/// pixel spans 2 or 4 picture pixels, 2×2 or 4×4 samples are averaged, so that thin limbs neither flicker nor vanish. Net
/// pixels whose centre lies outside the picture, or nowhere, get `fill`. YUV is read as BT.601 limited range, which is what UVC cameras send.
///
/// # Panics
/// Where `net.bytes` is shorter than its sizes say or `net.pixel_bytes` is neither 3 nor 4.
#[inline(never)] // into what packages make small
pub fn crop_resize_into(
    picture: &Picture<'_>,
    image_from_net: &Affine,
    net: &mut PixelsMut<'_>,
    fill: [u8; 3],
) {
    assert!(net.pixel_bytes == 3 || net.pixel_bytes == 4, "a net pixel has 3 or 4 bytes");
    let before_last = net.height.saturating_sub(1).saturating_mul(net.row_bytes);
    let needed = before_last.saturating_add(net.width.saturating_mul(net.pixel_bytes));
    assert!(net.height == 0 || net.bytes.len() >= needed, "{} bytes of a net of {needed}", net.bytes.len());
    let [sx, sy] = picture.image_from_picture;
    let picture_from_net = image_from_net.then(&Affine::scale_then_shift(1.0 / sx, 1.0 / sy, 0.0, 0.0));
    let Affine { xx, xy, x0, yx, yy, y0 } = picture_from_net;
    if ![xx, xy, x0, yx, yy, y0].iter().all(|v| v.is_finite()) {
        return fill_all(net, fill);
    }
    match picture.format {
        PixelFormat::Rgb24 => sample(&Rgb24(picture), picture, &picture_from_net, net, fill),
        PixelFormat::Grey => sample(&Grey(picture), picture, &picture_from_net, net, fill),
        PixelFormat::Yuyv => sample(&Yuyv(picture), picture, &picture_from_net, net, fill),
        PixelFormat::Nv12 => sample(&Nv12(picture), picture, &picture_from_net, net, fill),
        PixelFormat::Mjpeg => fill_all(net, fill),
    }
}

/// The colour at (x, y) in pixels of the source image, of the nearest pixel; `None` outside the picture, which is where no number
/// lies too.
pub fn colour_at(picture: &Picture<'_>, x_px: f32, y_px: f32) -> Option<[u8; 3]> {
    fn nearest<T: Texels>(texels: &T, x: usize, y: usize) -> [u8; 3] {
        T::rgb(texels.pair(x, x, y).0)
    }
    let [sx, sy] = picture.image_from_picture;
    let (x, y) = (x_px / sx, y_px / sy);
    if !(x >= 0.0 && y >= 0.0 && x < picture.width as f32 && y < picture.height as f32) {
        return None;
    }
    let (x, y) = (x as usize, y as usize);
    Some(match picture.format {
        PixelFormat::Rgb24 => nearest(&Rgb24(picture), x, y),
        PixelFormat::Grey => nearest(&Grey(picture), x, y),
        PixelFormat::Yuyv => nearest(&Yuyv(picture), x, y),
        PixelFormat::Nv12 => nearest(&Nv12(picture), x, y),
        PixelFormat::Mjpeg => return None,
    })
}

/// The whole of `picture`, `width` by `height`, as packed RGB rows in `rgb`, which grows once.
#[inline(never)] // as above
pub fn whole_rgb_into(picture: &Picture<'_>, width: usize, height: usize, rgb: &mut Vec<u8>) {
    rgb.resize(3 * width * height, 0);
    let mut pixels = PixelsMut { bytes: rgb, width, height, row_bytes: 3 * width, pixel_bytes: 3 };
    crop_resize_into(picture, &Affine::IDENTITY, &mut pixels, [0; 3]);
}

fn fill_all(net: &mut PixelsMut<'_>, fill: [u8; 3]) {
    for row in net.bytes.chunks_mut(net.row_bytes).take(net.height) {
        for pixel in row.chunks_exact_mut(net.pixel_bytes).take(net.width) {
            pixel[..3].copy_from_slice(&fill);
        }
    }
}

/// Fractional bits of a coordinate; i64 holds any affine that a picture of 8K can ask for.
pub(super) const FRACTION: u32 = 20;

#[inline]
pub(super) fn fixed(v: f64) -> i64 {
    // Saturates: a wild affine samples outside the picture and gets `fill`. Bounded so that no sum along 90,000 net pixels can wrap.
    (v * f64::from(1u32 << FRACTION)).clamp(-1e14, 1e14) as i64
}

/// `m` maps net pixels to picture pixels.
fn sample<T: Texels>(texels: &T, picture: &Picture<'_>, m: &Affine, net: &mut PixelsMut<'_>, fill: [u8; 3]) {
    if resize::is_upright(m) {
        return resize::resize(texels, picture, m, net, fill);
    }
    match m.scale() {
        s if s >= 4.0 => sample_n::<T, 4>(texels, m, net, fill),
        s if s >= 2.0 => sample_n::<T, 2>(texels, m, net, fill),
        _ => sample_n::<T, 1>(texels, m, net, fill),
    }
}

/// N×N samples a net pixel.
fn sample_n<T: Texels, const N: usize>(texels: &T, m: &Affine, net: &mut PixelsMut<'_>, fill: [u8; 3]) {
    let (w, h) = texels.size();
    let (w_fixed, h_fixed) = ((w as i64) << FRACTION, (h as i64) << FRACTION);
    let [xx, xy, x0, yx, yy, y0] = [m.xx, m.xy, m.x0, m.yx, m.yy, m.y0].map(f64::from);
    let (dx, dy) = (fixed(xx), fixed(yx));
    // From a pixel's centre to its N×N samples.
    let mut offsets = [[(0i64, 0i64); N]; N];
    for (j, row) in offsets.iter_mut().enumerate() {
        for (i, o) in row.iter_mut().enumerate() {
            let (u, v) = ((i as f64 + 0.5) / N as f64 - 0.5, (j as f64 + 0.5) / N as f64 - 0.5);
            *o = (fixed(xx * u + xy * v), fixed(yx * u + yy * v));
        }
    }
    let rows = net.bytes.chunks_mut(net.row_bytes).take(net.height).enumerate();
    for (j, row) in rows {
        let v = j as f64 + 0.5;
        let mut x = fixed(xx * 0.5 + xy * v + x0);
        let mut y = fixed(yx * 0.5 + yy * v + y0);
        for pixel in row.chunks_exact_mut(net.pixel_bytes).take(net.width) {
            let rgb = if x < 0 || y < 0 || x >= w_fixed || y >= h_fixed {
                fill
            } else if N == 1 {
                T::rgb(bilinear(texels, x, y, w, h))
            } else {
                let mut sum = 0;
                for (ox, oy) in offsets.iter().flatten() {
                    sum += bilinear(texels, x + ox, y + oy, w, h);
                }
                // N² is a power of two and 16 · 255 fits a lane.
                let shift = (N * N).trailing_zeros();
                let half = lanes([(N * N / 2) as u8; 3]);
                T::rgb((sum + half) >> shift & LANES)
            };
            [pixel[0], pixel[1], pixel[2]] = rgb;
            x += dx;
            y += dy;
        }
    }
}

/// The picture at (x, y) in fixed point; outside, the nearest edge pixel.
#[inline(always)]
fn bilinear<T: Texels>(texels: &T, x: i64, y: i64, w: usize, h: usize) -> Lanes {
    const HALF: i64 = 1 << (FRACTION - 1);
    let (x, y) = ((x - HALF).max(0), (y - HALF).max(0));
    let (xi, yi) = (((x >> FRACTION) as usize).min(w - 1), ((y >> FRACTION) as usize).min(h - 1));
    let (x1, y1) = ((xi + 1).min(w - 1), (yi + 1).min(h - 1));
    let (fx, fy) = ((x >> (FRACTION - 8)) as u64 & 0xff, (y >> (FRACTION - 8)) as u64 & 0xff);
    let (a, b) = texels.pair(xi, x1, yi);
    let (c, d) = texels.pair(xi, x1, y1);
    lerp(lerp(a, b, fx), lerp(c, d, fx), fy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn picture<'a>(format: PixelFormat, w: usize, h: usize, stride: usize, bytes: &'a [u8]) -> Picture<'a> {
        Picture {
            bytes,
            format,
            width: w,
            height: h,
            stride,
            image_size: [w, h],
            image_from_picture: [1.0; 2],
        }
    }

    /// Pixel (x, y) of `p` in its own colours, one plain lookup a channel.
    fn texel(p: &Picture<'_>, x: usize, y: usize) -> [f64; 3] {
        let b = |at: usize| f64::from(p.bytes[at]);
        let row = y * p.stride;
        match p.format {
            PixelFormat::Rgb24 => [0, 1, 2].map(|c| b(row + 3 * x + c)),
            PixelFormat::Grey => [b(row + x); 3],
            PixelFormat::Yuyv => [b(row + 2 * x), b(row + 4 * (x / 2) + 1), b(row + 4 * (x / 2) + 3)],
            PixelFormat::Nv12 => {
                let uv = (p.height + y / 2) * p.stride + 2 * (x / 2);
                [b(row + x), b(uv), b(uv + 1)]
            }
            PixelFormat::Mjpeg => unreachable!(),
        }
    }

    fn to_rgb(format: PixelFormat, c: [f64; 3]) -> [f64; 3] {
        if matches!(format, PixelFormat::Rgb24 | PixelFormat::Grey) {
            return c;
        }
        let (y, u, v) =
            ((c[0] - 16.0) * 255.0 / 219.0, (c[1] - 128.0) / 224.0 * 255.0, (c[2] - 128.0) / 224.0 * 255.0);
        // Kr = 0.299, Kb = 0.114.
        let (r, b) = (y + 1.402 * v, y + 1.772 * u);
        let g = (y - 0.299 * r - 0.114 * b) / 0.587;
        [r, g, b].map(|x| x.clamp(0.0, 255.0))
    }

    /// The definition, in doubles.
    fn reference(p: &Picture<'_>, m: &Affine, u: usize, v: usize, fill: [u8; 3]) -> [f64; 3] {
        let at = |u: f64, v: f64| {
            let m = [m.xx, m.xy, m.x0, m.yx, m.yy, m.y0].map(f64::from);
            (m[0] * u + m[1] * v + m[2], m[3] * u + m[4] * v + m[5])
        };
        let (u, v) = (u as f64 + 0.5, v as f64 + 0.5);
        let (w, h) = (p.width as f64, p.height as f64);
        let (x, y) = at(u, v);
        if x < 0.0 || y < 0.0 || x >= w || y >= h {
            return fill.map(f64::from);
        }
        let n = match m.scale() {
            s if s >= 4.0 => 4,
            s if s >= 2.0 => 2,
            _ => 1,
        };
        let mut sum = [0.0; 3];
        for (i, j) in (0..n * n).map(|k| (k % n, k / n)) {
            let off = |i: usize| (i as f64 + 0.5) / n as f64 - 0.5;
            let (x, y) = at(u + off(i), v + off(j));
            let (x, y) = ((x - 0.5).clamp(0.0, w - 1.0), (y - 0.5).clamp(0.0, h - 1.0));
            let (x0, y0) = (x.floor() as usize, y.floor() as usize);
            let (x1, y1) = ((x0 + 1).min(p.width - 1), (y0 + 1).min(p.height - 1));
            let (fx, fy) = (x - x.floor(), y - y.floor());
            for (c, sum) in sum.iter_mut().enumerate() {
                let t = |x, y| texel(p, x, y)[c];
                let top = t(x0, y0) * (1.0 - fx) + t(x1, y0) * fx;
                let bottom = t(x0, y1) * (1.0 - fx) + t(x1, y1) * fx;
                *sum += (top * (1.0 - fy) + bottom * fy) / (n * n) as f64;
            }
        }
        to_rgb(p.format, sum)
    }

    #[test]
    #[should_panic(expected = "6 bytes of a net of 12")]
    fn a_net_shorter_than_it_says_is_refused() {
        let picture = picture(PixelFormat::Grey, 1, 1, 1, &[9]);
        let turned = Affine { xx: 0.0, xy: 1.0, x0: 0.0, yx: 1.0, yy: 0.0, y0: 0.0 };
        let mut net = PixelsMut { bytes: &mut [0; 6], width: 2, height: 2, row_bytes: 6, pixel_bytes: 3 };
        crop_resize_into(&picture, &turned, &mut net, [0; 3]);
    }

    #[test]
    fn a_net_that_lies_nowhere_gets_the_fill() {
        let picture = picture(PixelFormat::Grey, 1, 1, 1, &[9]);
        for nowhere in [f32::NAN, f32::INFINITY] {
            let mut bytes = [0; 12];
            let mut net = PixelsMut { bytes: &mut bytes, width: 2, height: 2, row_bytes: 6, pixel_bytes: 3 };
            crop_resize_into(&picture, &Affine { x0: nowhere, ..Affine::IDENTITY }, &mut net, [7; 3]);
            assert_eq!(bytes, [7; 12], "{nowhere}");
        }
    }

    /// Two by two pixels that stand for eight by four of the image.
    #[test]
    fn a_reduced_picture_is_read_at_the_places_of_the_image() {
        let colours = [[10, 20, 30], [40, 50, 60], [70, 80, 90], [100, 110, 120]];
        let mut picture = picture(PixelFormat::Rgb24, 2, 2, 6, colours.as_flattened());
        (picture.image_size, picture.image_from_picture) = ([8, 4], [4.0, 2.0]);
        for (x, y, colour) in [
            (0.0, 0.0, Some(0)),
            (3.9, 1.9, Some(0)),
            (4.1, 1.9, Some(1)),
            (3.9, 2.1, Some(2)),
            (7.9, 3.9, Some(3)),
            (8.0, 1.0, None),
            (1.0, 4.0, None),
            (-0.1, 1.0, None),
            (1.0, -0.1, None),
            (f32::NAN, 1.0, None),
        ] {
            assert_eq!(colour_at(&picture, x, y), colour.map(|i: usize| colours[i]), "{x} {y}");
        }
        let mut rgb = Vec::new();
        whole_rgb_into(&picture, 8, 4, &mut rgb);
        let corners =
            [(0, 0), (7, 0), (0, 3), (7, 3)].map(|(x, y)| [0, 1, 2].map(|c| rgb[3 * (8 * y + x) + c]));
        assert_eq!((rgb.len(), corners), (96, colours));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn every_format_agrees_with_the_definition_in_doubles(
            format in prop::sample::select(vec![
                PixelFormat::Rgb24, PixelFormat::Grey, PixelFormat::Yuyv, PixelFormat::Nv12]),
            w in 1usize..40, h in 1usize..30, pad in 0usize..5, seed: u64,
            angle in prop_oneof![Just(0.0f32), -3.2f32..3.2], zoom in 0.2f32..9.0, cx in -5f32..45.0, cy in -5f32..35.0, pixel_bytes in 3usize..5,
        ) {
            let stride = crate::packed_stride(format, w) + 2 * pad;
            // Smooth noise along a row; from row to row anything up to the whole range.
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut level = 128i32;
            let bytes: Vec<u8> = (0..crate::raw_len(format, stride, h))
                .map(|_| { level = (level + rng.i32(-40..=40)).clamp(0, 255); level as u8 })
                .collect();
            let p = picture(format, w, h, stride, &bytes);
            let (sin, cos) = (angle.sin() * zoom, angle.cos() * zoom);
            let (nw, nh) = (70, 9); // wider than a tile of the upright path
            let m = Affine { xx: cos, xy: -sin, x0: cx - 35.0 * cos + 4.5 * sin, yx: sin, yy: cos, y0: cy - 35.0 * sin - 4.5 * cos };
            let mut out = vec![7u8; (nw * pixel_bytes + 3) * nh];
            let fill = [1, 2, 3];
            crop_resize_into(&p, &m, &mut PixelsMut {
                bytes: &mut out, width: nw, height: nh, row_bytes: nw * pixel_bytes + 3, pixel_bytes }, fill);
            for (v, u) in (0..nh).flat_map(|v| (0..nw).map(move |u| (v, u))) {
                let at = v * (nw * pixel_bytes + 3) + u * pixel_bytes;
                // A centre within a hair of the picture's edge may fall to either side.
                let (x, y) = m.apply(u as f32 + 0.5, v as f32 + 0.5);
                if [x, x - w as f32, y, y - h as f32].iter().any(|d| d.abs() < 1e-3) { continue; }
                let want = reference(&p, &m, u, v, fill);
                for c in 0..3 {
                    let got = f64::from(out[at + c]);
                    // Three levels, and what one level of luma (1.17) and one of chroma (2.02) are worth in RGB.
                    let tolerance = if matches!(format, PixelFormat::Rgb24 | PixelFormat::Grey) { 3.0 } else { 6.2 };
                    prop_assert!((got - want[c]).abs() <= tolerance,
                        "{format:?} ({u}, {v}) channel {c}: {got}, want {}", want[c]);
                }
                if pixel_bytes == 4 { prop_assert_eq!(out[at + 3], 7); }
            }
        }
    }

    #[test]
    fn the_identity_copies_rgb_exactly() {
        let bytes: Vec<u8> = (0..5 * 4 * 3).map(|i| (i * 37 % 256) as u8).collect();
        let p = picture(PixelFormat::Rgb24, 5, 4, 15, &bytes);
        let mut out = vec![0; 60];
        let mut net = PixelsMut { bytes: &mut out, width: 5, height: 4, row_bytes: 15, pixel_bytes: 3 };
        crop_resize_into(&p, &Affine::IDENTITY, &mut net, [0; 3]);
        assert_eq!(out, bytes);
    }

    #[test]
    fn wild_affines_fill_instead_of_wrapping_round() {
        let p = picture(PixelFormat::Grey, 1, 1, 1, &[200]);
        for wild in [f32::MAX, f32::INFINITY, f32::NEG_INFINITY, 1e30] {
            let mut out = [0; 12];
            let mut net = PixelsMut { bytes: &mut out, width: 2, height: 2, row_bytes: 6, pixel_bytes: 3 };
            crop_resize_into(&p, &Affine { x0: wild, ..Affine::IDENTITY }, &mut net, [9; 3]);
            assert_eq!(out, [9; 12]);
        }
    }
}
