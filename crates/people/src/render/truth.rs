//! What is seen of whom: joints, boxes, areas.

use pose::JOINTS;

use super::Renderer;
use crate::{
    backdrop::Backdrop,
    camera::Camera,
    person::Figure,
    raster::{NOTHING, Samples},
};

/// A joint lies inside its limb: how far before it (metres, COCO's order) something of its own body must be to hide it.
const DEEP_OWN_M: [f32; JOINTS] =
    [0.07, 0.06, 0.06, 0.10, 0.10, 0.19, 0.19, 0.13, 0.13, 0.11, 0.11, 0.27, 0.27, 0.16, 0.16, 0.13, 0.13];

/// The same of other things and other people.
const DEEP_OTHER_M: [f32; JOINTS] =
    [0.04, 0.04, 0.04, 0.06, 0.06, 0.12, 0.12, 0.08, 0.08, 0.06, 0.06, 0.18, 0.18, 0.10, 0.10, 0.08, 0.08];

/// One joint's truth.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct JointTruth {
    /// Pixels.
    pub x_px: f32,
    /// Pixels.
    pub y_px: f32,
    /// Camera space: right, down, ahead; metres.
    pub camera_m: [f32; 3],
    /// Inside the picture and ahead of the camera.
    pub is_inside: bool,
    /// Nothing stands before it.
    pub is_seen: bool,
}

/// One person's truth.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Truth {
    /// COCO's joints.
    pub joints: [JointTruth; JOINTS],
    /// x, y, width, height of what is seen of the person; pixels.
    pub box_px: [f32; 4],
    /// Pixels that show the person.
    pub area_px: f32,
    /// Pixels that the person would cover with nothing before it.
    pub whole_px: f32,
}

impl Renderer {
    pub(super) fn see_joints(&mut self, camera: &Camera, backdrop: &Backdrop, i: usize, figure: &Figure) {
        let [width, height] = camera.size;
        for j in 0..JOINTS {
            let c = camera.see(figure.joints[j]);
            let mut truth = JointTruth { camera_m: c.into(), ..JointTruth::default() };
            if c.z > 0.05 {
                [truth.x_px, truth.y_px] = camera.project(c);
                let inside = |v: f32, size: usize| v >= 0.0 && v < size as f32;
                truth.is_inside = inside(truth.x_px, width) && inside(truth.y_px, height);
            }
            if truth.is_inside {
                let (x, y) = (truth.x_px as usize, truth.y_px as usize);
                // Hidden where most of the nine pixels around show something well before it.
                let (mut hidden, mut all) = (0, 0);
                for py in y.saturating_sub(1)..(y + 2).min(height) {
                    for px in x.saturating_sub(1)..(x + 2).min(width) {
                        let s = self.samples.at(self.fine * px, self.fine * py);
                        let (near, deep) = match s.filter(|&s| self.samples.shown[s] != NOTHING) {
                            None => (backdrop.near_at(py * width + px, 0), DEEP_OTHER_M[j]),
                            Some(s) => {
                                let whose = self.of_mesh[Samples::split(self.samples.shown[s]).0].0;
                                let deep = if whose == i { DEEP_OWN_M[j] } else { DEEP_OTHER_M[j] };
                                (self.samples.near[s], deep)
                            }
                        };
                        all += 1;
                        hidden += u32::from(near * (c.z - deep) > 1.0);
                    }
                }
                truth.is_seen = 2 * hidden <= all;
            }
            self.truth[i].joints[j] = truth;
        }
    }

    /// Where joints and boxes are seen once every row is `shifted` sideways.
    pub fn shift_rows(&mut self, width: usize, shifted: impl Fn(f32) -> f32) {
        let limit = width as f32;
        for truth in &mut self.truth {
            for j in &mut truth.joints {
                j.x_px += shifted(j.y_px);
                j.is_inside &= (0.0..limit).contains(&j.x_px);
                j.is_seen &= j.is_inside;
            }
            let [x, y, w, h] = truth.box_px;
            let (a, b) = (shifted(y), shifted(y + h));
            let (left, right) = ((x + a.min(b)).max(0.0), (x + w + a.max(b)).min(limit));
            truth.box_px = [left, y, (right - left).max(0.0), h];
        }
    }
}
