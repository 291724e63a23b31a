//! What no camera has, and pictures of one shape.

use super::Intrinsics;

/// No camera of the kind that is meant here has less or more, pixels a side.
const SIDE_PX: [f64; 2] = [16.0, 32_768.0];
/// Two sizes are of one shape where their sides' ratios differ by no more: sizes are rounded to whole blocks of pixels.
const SAME_SHAPE: f64 = 0.005;

impl Intrinsics {
    /// Which number no camera has, with pictures of `size_px`: `fx_px = 0`, by the key in a calibration's file.
    pub fn fault(&self, size_px: [u32; 2]) -> Option<String> {
        let [w, h] = size_px.map(f64::from);
        let widest = w.max(h);
        let all = [
            ("width_px", w, SIDE_PX[0], SIDE_PX[1]),
            ("height_px", h, SIDE_PX[0], SIDE_PX[1]),
            ("fx_px", self.fx, 0.1 * widest, 50.0 * widest),
            ("fy_px", self.fy, 0.1 * widest, 50.0 * widest),
            ("cx_px", self.cx, -w, 2.0 * w),
            ("cy_px", self.cy, -h, 2.0 * h),
            ("k1", self.k1, -10.0, 10.0),
            ("k2", self.k2, -100.0, 100.0),
        ];
        // What is not a number lies in no range.
        let fault = all.iter().find(|(_, value, least, most)| !(least..=most).contains(&value));
        fault.map(|(key, value, ..)| format!("{key} = {value}"))
    }
}

/// Whether pictures of these sizes have one shape, and so are taken for the same part of the sensor.
pub fn is_same_shape(a_px: [u32; 2], b_px: [u32; 2]) -> bool {
    let [across, down] = [0, 1].map(|axis| f64::from(b_px[axis]) / f64::from(a_px[axis]));
    (across / down - 1.0).abs() <= SAME_SHAPE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_camera_has_is_named_by_its_key() {
        let lens = Intrinsics { fx: 610.0, fy: 605.0, cx: 330.0, cy: 236.0, k1: -0.21, k2: 0.05 };
        assert_eq!(lens.fault([640, 480]), None);
        for (fault, lens, size_px) in [
            ("width_px = 15", lens, [15, 480]),
            ("height_px = 32769", lens, [640, 32_769]),
            ("fx_px = 63", Intrinsics { fx: 63.0, ..lens }, [640, 480]),
            ("fy_px = NaN", Intrinsics { fy: f64::NAN, ..lens }, [640, 480]),
            ("cx_px = inf", Intrinsics { cx: f64::INFINITY, ..lens }, [640, 480]),
            ("cy_px = -481", Intrinsics { cy: -481.0, ..lens }, [640, 480]),
            ("k1 = 10.5", Intrinsics { k1: 10.5, ..lens }, [640, 480]),
            ("k2 = -101", Intrinsics { k2: -101.0, ..lens }, [640, 480]),
        ] {
            assert_eq!(lens.fault(size_px).as_deref(), Some(fault));
        }
    }

    #[test]
    fn sizes_are_of_one_shape_up_to_a_block_of_pixels() {
        assert!(is_same_shape([640, 480], [320, 240]) && is_same_shape([1920, 1080], [1920, 1088 - 3]));
        assert!(!is_same_shape([640, 480], [1280, 720]) && !is_same_shape([640, 480], [480, 640]));
    }
}
