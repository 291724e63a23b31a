//! A camera's lens, as `posewire calibrate` writes it.

use camera_model::Intrinsics;
use serde::{Deserialize, Serialize};

use crate::{V2, V3};

/// The last key of a file that `posewire calibrate` wrote.
const LAST: &str = "board";

/// Intrinsics: the file's own keys, pixels from the picture's top left corner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lens {
    /// What the source called itself.
    #[serde(default)]
    pub camera: String,
    /// The picture that the numbers hold for.
    pub width_px: u32,
    /// The picture that the numbers hold for.
    pub height_px: u32,
    /// Focal length.
    pub fx_px: f64,
    /// Focal length.
    pub fy_px: f64,
    /// Principal point.
    pub cx_px: f64,
    /// Principal point.
    pub cy_px: f64,
    /// Radial distortion.
    pub k1: f64,
    /// Radial distortion.
    pub k2: f64,
}

impl Lens {
    /// Reads a calibration file's text.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn read(text: &str) -> Result<Self, String> {
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| e.message().to_owned())?;
        // Half a number is a number: a line is whole where one follows, and `board` is always the last.
        if !text.ends_with('\n') && !table.contains_key(LAST) {
            return Err("the file was cut off".to_owned());
        }
        let lens: Self = table.try_into().map_err(|e: toml::de::Error| e.message().to_owned())?;
        match lens.intrinsics().fault([lens.width_px, lens.height_px]) {
            Some(fault) => Err(format!("{fault} belongs to no camera")),
            None => Ok(lens),
        }
    }

    /// As the tracker has them.
    fn intrinsics(&self) -> Intrinsics {
        let Self { fx_px: fx, fy_px: fy, cx_px: cx, cy_px: cy, k1, k2, .. } = *self;
        Intrinsics { fx, fy, cx, cy, k1, k2 }
    }

    /// Half the sum of both focal lengths, pixels: what a ray's length of 1 is.
    pub fn focal_px(&self) -> f64 {
        0.5 * (self.fx_px + self.fy_px)
    }

    /// Whether a place lies in the picture, or at most a tenth of it outside.
    pub fn is_near_picture(&self, px: V2) -> bool {
        let (w, h) = (f64::from(self.width_px), f64::from(self.height_px));
        px.x > -0.1 * w && px.x < 1.1 * w && px.y > -0.1 * h && px.y < 1.1 * h
    }

    /// The ray that is seen at `px`; beyond what the lens sees at all, the last one before.
    pub fn ray(&self, px: V2) -> V2 {
        self.intrinsics().direction_clamped(px.x, px.y).into()
    }

    /// Where the point `at` of the camera's space is seen; `None` behind the camera.
    pub fn project(&self, at: V3) -> Option<V2> {
        if at.z <= 0.05 {
            return None;
        }
        let ray = at.xy() / at.z;
        Some(self.intrinsics().project_clamped(ray.x, ray.y).into())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "camera = 'x'\nwidth_px = 640\nheight_px = 480\nfx_px = 610.0\nfy_px = 605.0\ncx_px = 330.0\ncy_px = 236.0\nk1 = -0.12\nk2 = 0.05\nrms_px = 0.1\nviews = 20\nboard = '9x6'\n";

    #[test]
    fn a_ray_leads_back_to_its_pixel() {
        let lens = Lens::read(TEXT).unwrap();
        for px in [V2::new(0.0, 0.0), V2::new(640.0, 480.0), V2::new(330.0, 20.0), V2::new(600.0, 240.0)] {
            let ray = lens.ray(px);
            let back = lens.project(V3::new(ray.x, ray.y, 1.0) * 3.0).unwrap();
            assert!((back - px).norm() < 1e-3, "{px} {back}");
        }
        assert_eq!(lens.project(V3::new(0.0, 0.0, -1.0)), None);
        assert_eq!(lens.project(V3::new(0.0, 0.0, 0.0)), None);
    }

    #[test]
    fn a_tenth_of_the_picture_beyond_its_edge_is_near_it() {
        let lens = Lens::read(TEXT).unwrap();
        for (x, y, is_near) in [
            (-63.0, 240.0, true),
            (-65.0, 240.0, false),
            (703.0, 240.0, true),
            (705.0, 240.0, false),
            (320.0, -47.0, true),
            (320.0, -49.0, false),
            (320.0, 527.0, true),
            (320.0, 529.0, false),
        ] {
            assert_eq!(lens.is_near_picture(V2::new(x, y)), is_near, "{x} {y}");
        }
    }

    #[test]
    fn what_is_no_lens_is_refused() {
        assert!(Lens::read(&TEXT.replace("610.0", "0.0")).unwrap_err().contains("fx_px"));
        assert!(Lens::read("width_px = 640\n").unwrap_err().contains("height_px"));
        for (key, from, to) in [
            ("width_px", "640", "15"),
            ("height_px", "480", "32769"),
            ("cx_px", "330.0", "nan"),
            ("cy_px", "236.0", "inf"),
            ("cx_px", "330.0", "1e9"),
            ("k1", "-0.12", "nan"),
        ] {
            let said = Lens::read(&TEXT.replace(from, to)).unwrap_err();
            assert!(said.contains(key) && said.contains("no camera"), "{said}");
        }
    }

    proptest! {
        #[test]
        fn a_ray_leads_back_to_its_pixel_through_every_lens_that_is_one_to_one_over_its_picture(
            focal in 0.3..2.0, k1 in -0.5..0.3, k2 in -0.1..0.3, x in 0.0..640.0, y in 0.0..480.0,
        ) {
            let lens = Lens { fx_px: 640.0 * focal, fy_px: 630.0 * focal, k1, k2, ..Lens::read(TEXT).unwrap() };
            let px = V2::new(x, y);
            let seen = V2::new((x - lens.cx_px) / lens.fx_px, (y - lens.cy_px) / lens.fy_px).norm();
            // As far as that, step by step.
            let outwards = (0..4_000).map(|k| f64::from(k) * 1e-3);
            let rises = outwards.take_while(|r| 1.0 + r * r * (3.0 * k1 + r * r * 5.0 * k2) > 0.0);
            let most = rises.fold(0.0f64, |most, r| most.max(r * (1.0 + r * r * (k1 + r * r * k2))));
            prop_assume!(seen < most - 1e-3);
            let ray = lens.ray(px);
            let back = lens.project(V3::new(ray.x, ray.y, 1.0)).unwrap();
            prop_assert!((back - px).norm() < 1e-3, "{lens:?} {px} {back}");
            // Nothing lies between: it is the nearest ray that is seen there.
            prop_assert!(ray.norm() < 4.0 && 1.0 + ray.norm_squared() * (3.0 * k1 + ray.norm_squared() * 5.0 * k2) > 0.0);
        }
    }

    #[test]
    fn beyond_what_a_lens_sees_lies_its_last_ray() {
        let lens = Lens { k1: -0.4, k2: 0.0, ..Lens::read(TEXT).unwrap() };
        // r (1 - 0.4 r²) is most at r² = 1 / 1.2.
        let last = (1.0f64 / 1.2).sqrt();
        for x in [1_000.0, 5_000.0, 1e300] {
            assert!((lens.ray(V2::new(x, lens.cy_px)) - V2::new(last, 0.0)).norm() < 1e-3, "{x}");
        }
        assert_eq!(lens.ray(V2::new(lens.cx_px, lens.cy_px)), V2::zeros());
    }

    /// A pulled plug leaves any part of a file: what is left says the same numbers, or is refused.
    #[test]
    fn half_a_file_is_refused_wherever_a_number_may_be_lost() {
        let whole = Lens::read(TEXT).unwrap();
        let numbers = TEXT.find("rms_px").unwrap();
        for end in 0..TEXT.len() {
            match Lens::read(&TEXT[..end]) {
                Ok(lens) => assert!(end >= numbers && lens == whole, "{end}"),
                Err(why) => assert!(end != numbers, "{why}"),
            }
        }
    }
}
