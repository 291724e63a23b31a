//! How much of its picture a camera has seen people in. Lines of an earlier version do not give the picture's size: a tracker that runs at
//! half the size that its lens was calibrated at sees people in the upper left quarter alone, which gives a wrong room rather than an error.

use crate::camera::Lens;
use crate::line::Seen;
use crate::{V2, V3};

/// People who never leave this share of both width and height are in a smaller picture, or stand still.
const SHARE: f64 = 0.6;

/// Of one camera.
#[derive(Clone, Copy, Debug, Default)]
pub struct PictureCoverage {
    most_px: V2,
    pictures: u64,
}

impl PictureCoverage {
    /// Takes in who was seen in a picture.
    pub fn add(&mut self, persons: &[Seen], lens: &Lens) {
        self.pictures += u64::from(!persons.is_empty());
        for ray in persons.iter().flat_map(|person| person.joints.iter().flatten()) {
            if let Some(px) = lens.project(V3::new(ray.at.x, ray.at.y, 1.0)) {
                self.most_px = self.most_px.sup(&px);
            }
        }
    }

    /// In how many pictures somebody was seen.
    pub fn pictures(&self) -> u64 {
        self.pictures
    }

    /// A warning where it looks like a smaller picture than that of `lens`.
    pub fn size_warning(&self, lens: &Lens) -> Option<String> {
        let (x, y) = (self.most_px.x, self.most_px.y);
        let (width, height) = (lens.width_px, lens.height_px);
        let is_small = x <= SHARE * f64::from(width) && y <= SHARE * f64::from(height);
        (self.pictures > 0 && is_small).then(|| {
            format!(
                "nobody was seen beyond {x:.0} × {y:.0} of its {width} × {height} pixels: does its tracker run with the size that it was calibrated at?"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Ray;

    #[test]
    fn a_tracker_at_half_the_size_is_doubted_and_one_at_the_whole_is_not() {
        let lens = "width_px = 640\nheight_px = 480\nfx_px = 500\nfy_px = 500\ncx_px = 320\ncy_px = 240\nk1 = -0.1\nk2 = 0.02\n";
        let lens = Lens::read(lens).unwrap();
        let seen = |size: f64| {
            let mut coverage = PictureCoverage::default();
            assert_eq!(coverage.size_warning(&lens), None, "nobody was there");
            for (x, y) in [(20.0, 30.0), (620.0, 250.0), (300.0, 460.0)] {
                let ray = Ray { at: lens.ray(V2::new(x, y) * size), sigma: 0.01, score: 0.9 };
                coverage.add(&[Seen { id: 1, score: 0.9, joints: [Some(ray); pose::JOINTS] }], &lens);
                coverage.add(&[], &lens);
            }
            assert_eq!(coverage.pictures(), 3);
            coverage.size_warning(&lens)
        };
        assert_eq!(seen(1.0), None);
        let said = seen(0.5).unwrap();
        assert!(said.starts_with("nobody was seen beyond 310 × 230 of its 640 × 480 pixels"), "{said}");
    }
}
