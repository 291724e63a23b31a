//! The lens of whatever camera there is now, from the thread that knows the camera to the one that knows the persons.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::calibrate::Intrinsics;
use crate::picture::Turn;

/// A camera's intrinsics and the size of its pictures, pixels, and how these are turned before anybody sees them; clones share what
/// is known.
#[derive(Clone, Debug, Default)]
pub struct Lens {
    now: Arc<Mutex<Now>>,
    turn: Turn,
}

type Known = (Intrinsics, [u32; 2]);

#[derive(Debug, Default)]
struct Now {
    known: Option<Known>,
    /// Cameras so far. Two of one kind are told apart by it alone.
    generation: u64,
}

impl Lens {
    /// Of a camera whose pictures are turned by `turn`.
    pub fn turned(turn: Turn) -> Self {
        Self { turn, ..Self::default() }
    }

    /// From now on pictures are of this camera, which gives them in this size, not turned yet; `None`: nobody knows.
    pub fn set(&self, known: Option<Known>) {
        let mut now = self.now();
        *now = Now { known, generation: now.generation + 1 };
    }

    /// Another number than before wherever pictures may be of another camera, or of another size.
    pub fn generation(&self) -> u64 {
        self.now().generation
    }

    /// The camera of a turned picture of `size_px`, as if it had been built so; `None` where it is not known, or another size is.
    pub fn of(&self, size_px: [u32; 2]) -> Option<Intrinsics> {
        let (intrinsics, of_px) = self.now().known?;
        // What turning cuts off a JPEG lies at its right and lower edge: the principal point stays until the rest is turned.
        let shown_px = self.turn.shown_px(of_px, size_px)?;
        Some(intrinsics.turned(self.turn.quarters, self.turn.mirror, shown_px))
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::{Frame, PixelFormat, Turner};

    const CAMERA: Intrinsics = Intrinsics { fx: 61.0, fy: 60.5, cx: 33.0, cy: 22.6, k1: -0.21, k2: 0.05 };
    const SIZE_PX: [u32; 2] = [72, 40];

    /// Neither side is a multiple of the 16 pixels of a block.
    fn jpeg() -> Frame {
        let [width, height] = SIZE_PX;
        let (w, h) = (width as usize, height as usize);
        let pixels = vec![90; 3 * w * h];
        let format = turbojpeg::PixelFormat::RGB;
        let image = turbojpeg::Image { pixels: &pixels[..], width: w, pitch: 3 * w, height: h, format };
        let bytes = turbojpeg::compress(image, 90, turbojpeg::Subsamp::Sub2x2).unwrap().to_vec();
        let (bytes, format) = (Arc::new(bytes), PixelFormat::Mjpeg);
        Frame { bytes, format, width, height, stride: 0, seq: 0, captured_at_us: 0 }
    }

    #[test]
    fn a_ray_turns_with_the_picture_whatever_was_cut_off() {
        let (u, v) = (20.0, 11.0);
        for (quarters, mirror) in (0..4).flat_map(|quarters| [(quarters, false), (quarters, true)]) {
            let turn = Turn { quarters, mirror };
            let lens = Lens::turned(turn);
            lens.set(Some((CAMERA, SIZE_PX)));
            let picture = if turn.is_none() { jpeg() } else { Turner::new(turn).turn(&jpeg()).unwrap() };
            let size_px = [picture.width, picture.height];
            let seen = lens.of(size_px).expect("the lens of a turned picture");

            // The point and its ray, turned by quarters: what was at the left comes to the top, what was below to the left.
            let [turned_w, turned_h] = size_px.map(f64::from);
            let [mut w, mut h] = if quarters % 2 == 1 { [turned_h, turned_w] } else { [turned_w, turned_h] };
            let ([mut x, mut y], [mut to_x, mut to_y]) = ([u, v], CAMERA.direction(u, v).unwrap());
            for _ in 0..quarters {
                ([x, y], [to_x, to_y], [w, h]) = ([h - y, x], [-to_y, to_x], [h, w]);
            }
            if mirror {
                (x, to_x) = (w - x, -to_x);
            }
            let [got_x, got_y] = seen.direction(x, y).unwrap();
            let error = (got_x - to_x).hypot(got_y - to_y);
            assert!(error < 1e-9, "{turn:?}: {got_x} {got_y}, not {to_x} {to_y}");
        }
    }

    #[test]
    fn pictures_of_another_size_are_of_a_camera_that_nobody_knows() {
        let lens = Lens::default();
        assert_eq!(lens.of(SIZE_PX), None);
        lens.set(Some((CAMERA, SIZE_PX)));
        assert_eq!(lens.of(SIZE_PX), Some(CAMERA));
        assert_eq!(lens.of([72, 32]), None, "nothing is cut off what is not turned");
    }
}
