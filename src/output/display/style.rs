//! The three models of a body that persons can be drawn as: kinematic, planar, volumetric.

use std::fmt;
use std::str::FromStr;

use embedded_graphics::pixelcolor::Rgb888;
use people::mannequin::{Mannequin, Stand};
use pose::{JointState, Pose, UNSURE_SCORE};
use pose_draw::{Fit, Metrics, Skins, Theme, colour_of};

use super::{Canvas, canvas_from_image};
use crate::names::{name_of, one_of};

/// What `--display-style` takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DisplayStyle {
    /// Joints and bones: the kinematic model.
    #[default]
    Skeleton,
    /// Limbs, trunk and head as shaded contours: the planar model.
    Planar,
    /// A body in three dimensions: the volumetric model.
    Volumetric,
}

const STYLES: [(&str, DisplayStyle); 3] = [
    ("skeleton", DisplayStyle::Skeleton),
    ("planar", DisplayStyle::Planar),
    ("volumetric", DisplayStyle::Volumetric),
];

impl FromStr for DisplayStyle {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        one_of("style", word, &STYLES)
    }
}

impl fmt::Display for DisplayStyle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(name_of(*self, &STYLES))
    }
}

/// Draws persons in one style, the farther behind the nearer.
#[derive(Debug, Default)]
pub(super) struct Painter {
    style: DisplayStyle,
    /// Made with the first person who is drawn so.
    mannequin: Option<Mannequin>,
    /// Farthest first; kept, so that no frame allocates.
    sorted: Vec<Pose>,
}

impl Painter {
    pub fn new(style: DisplayStyle) -> Self {
        Self { style, ..Self::default() }
    }

    /// Draws `poses`, whose places are pixels of a picture of `image_px`.
    pub fn draw(
        &mut self,
        canvas: &mut Canvas,
        image_px: [usize; 2],
        poses: impl Iterator<Item = Pose>,
        (fit, theme, metrics): (&Fit, &Theme<Rgb888>, &Metrics),
    ) {
        if self.style == DisplayStyle::Skeleton {
            for pose in poses {
                // Drawing on memory cannot fail.
                let Ok(()) = pose_draw::draw_pose(canvas, &pose, fit, theme, metrics);
            }
            return;
        }
        let mut sorted = std::mem::take(&mut self.sorted);
        sorted.clear();
        sorted.extend(poses);
        sorted.sort_by(|a, b| farness(b).total_cmp(&farness(a)));
        let skins = Skins::coloured();
        for pose in &sorted {
            let is_drawn = self.style == DisplayStyle::Volumetric
                && self.draw_body(canvas, image_px, pose)
                && pose_draw::draw_name(canvas, pose, fit, theme, metrics).is_ok();
            if !is_drawn {
                let Ok(()) = pose_draw::draw_planar(canvas, pose, fit, theme, &skins, metrics);
            }
        }
        self.sorted = sorted;
    }

    /// Whether there is a body to draw: without a pose in 3D there is none.
    fn draw_body(&mut self, canvas: &mut Canvas, image_px: [usize; 2], pose: &Pose) -> bool {
        let mannequin = self.mannequin.get_or_insert_with(Mannequin::new);
        let Some(mut stand) = stand(mannequin, pose) else { return false };
        let size = [canvas.width(), canvas.height()];
        let on_canvas = canvas_from_image(image_px, size);
        stand.px_per_m *= on_canvas.scale();
        let [x, y] = stand.at_px;
        stand.at_px = on_canvas.apply(x, y).into();
        mannequin.draw(&stand, colour_of(pose.track_id), opacity(pose), size, canvas.rgb_mut());
        true
    }
}

/// What is drawn first has the larger one.
fn farness(pose: &Pose) -> f32 {
    match (pose.place, pose.bounds()) {
        (Some(place), _) => place.distance_m,
        // Nobody is farther than a kilometre.
        (None, bounds) => 1e3 + 1e6 / bounds.map_or(1.0, |b| b.h.max(1.0)),
    }
}

/// The body of `pose`, where it has a pose in 3D and enough joints are seen.
pub(in crate::output) fn stand(mannequin: &Mannequin, pose: &Pose) -> Option<Stand> {
    let seen = pose.joints.map(|j| (j.state != JointState::Absent).then_some([j.x_px, j.y_px]));
    mannequin.stand(&pose.joints_3d_m?, &seen)
}

/// A body most of which is guessed lets the picture through.
fn opacity(pose: &Pose) -> f32 {
    let sure = |j: &&pose::PoseJoint| j.state == JointState::Measured && j.score >= UNSURE_SCORE;
    if pose.joints.iter().filter(sure).count() >= 6 { 1.0 } else { 0.55 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Somebody at ease, 200 px a metre, in the middle of a picture of 320×480.
    fn somebody(track_id: u32, at_x: f32) -> Pose {
        let sides = [[0.19, -0.48], [0.25, -0.2], [0.25, 0.05], [0.09, 0.0], [0.1, 0.43], [0.11, 0.86]];
        let joints_3d_m = std::array::from_fn(|j| match j {
            0..5 => [[0.0, 0.03, -0.03, 0.07, -0.07][j], -0.68, if j < 3 { -0.1 } else { 0.0 }],
            _ => {
                let [x, y] = sides[(j - 5) / 2];
                [if j % 2 == 1 { x } else { -x }, y, 0.0]
            }
        });
        let joints = joints_3d_m.map(|[x, y, _]| pose::PoseJoint {
            x_px: at_x + 200.0 * x,
            y_px: 230.0 + 200.0 * y,
            score: 0.9,
            sigma_px: 1.0,
            state: JointState::Measured,
        });
        Pose { track_id, score: 1.0, joints, joints_3d_m: Some(joints_3d_m), place: None }
    }

    fn drawn(style: DisplayStyle, poses: &[Pose]) -> Canvas {
        let mut canvas = Canvas::default();
        canvas.reset(320, 480);
        let area = embedded_graphics::prelude::Dimensions::bounding_box(&canvas);
        let (fit, metrics) = (Fit::new(320, 480, area), Metrics::for_panel(area.size));
        let theme = Theme::on_pictures();
        Painter::new(style).draw(&mut canvas, [320, 480], poses.iter().copied(), (&fit, &theme, &metrics));
        canvas
    }

    #[test]
    fn bodies_cover_more_than_bones_and_the_nearer_person_is_before_the_farther() {
        let covered = |canvas: &Canvas| canvas.rgb().chunks_exact(3).filter(|p| *p != [0; 3]).count();
        let [skeleton, planar, volumetric] =
            STYLES.map(|(_, style)| covered(&drawn(style, &[somebody(1, 160.0)])));
        assert!(planar > 3 * skeleton && volumetric > 3 * skeleton, "{skeleton} {planar} {volumetric}");
        assert!(planar * 2 > volumetric && volumetric * 2 > planar, "{planar} {volumetric}: both are bodies");

        let place = |distance_m| Some(pose::Place { distance_m, ..pose::Place::default() });
        for style in [DisplayStyle::Planar, DisplayStyle::Volumetric] {
            // 1 is blue, 2 is orange.
            let near = Pose { place: place(2.0), ..somebody(1, 160.0) };
            let far = Pose { place: place(4.0), ..somebody(2, 165.0) };
            for poses in [[near, far], [far, near]] {
                let [r, _, b] = drawn(style, &poses).at(160, 180);
                assert!(b > r, "{style}: the nearer one hides the other");
            }
        }
        // Where nobody knows how far they are, the larger one is before the smaller.
        let small = Pose {
            joints: somebody(2, 160.0).joints.map(|j| smaller(j, [165.0, 200.0])),
            ..somebody(2, 160.0)
        };
        for poses in [[somebody(1, 160.0), small], [small, somebody(1, 160.0)]] {
            let [r, _, b] = drawn(DisplayStyle::Planar, &poses).at(160, 180);
            assert!(b > r, "the larger one hides the other");
        }
        let flat = Pose { joints_3d_m: None, ..somebody(1, 160.0) };
        assert_eq!(drawn(DisplayStyle::Volumetric, &[flat]), drawn(DisplayStyle::Planar, &[flat]));
    }

    /// Half as far from a point.
    fn smaller(joint: pose::PoseJoint, [x, y]: [f32; 2]) -> pose::PoseJoint {
        pose::PoseJoint { x_px: x + 0.5 * (joint.x_px - x), y_px: y + 0.5 * (joint.y_px - y), ..joint }
    }

    #[test]
    fn a_body_stands_where_its_joints_are_on_a_smaller_screen_too_and_an_unsure_one_is_seen_through() {
        let drawn = |poses: &[Pose], [width, height]: [usize; 2]| {
            let mut canvas = Canvas::default();
            canvas.reset(width, height);
            let area = embedded_graphics::prelude::Dimensions::bounding_box(&canvas);
            let (fit, metrics) = (Fit::new(320, 480, area), Metrics::for_panel(area.size));
            let theme = Theme::on_pictures();
            let mut painter = Painter::new(DisplayStyle::Volumetric);
            painter.draw(&mut canvas, [320, 480], poses.iter().copied(), (&fit, &theme, &metrics));
            canvas
        };
        let is_drawn = |canvas: &Canvas, x: usize, y: usize| canvas.at(x, y) != [0; 3];
        let (whole, half) =
            (drawn(&[somebody(1, 160.0)], [320, 480]), drawn(&[somebody(1, 160.0)], [160, 240]));
        for (x, y, is_body) in [(160, 180, true), (145, 320, true), (60, 180, false), (160, 440, false)] {
            assert_eq!(
                (is_drawn(&whole, x, y), is_drawn(&half, x / 2, y / 2)),
                (is_body, is_body),
                "{x} {y}"
            );
        }
        let mut unsure = somebody(1, 160.0);
        unsure.joints[..12].iter_mut().for_each(|joint| joint.score = 0.0);
        let [sure, unsure] = [whole, drawn(&[unsure], [320, 480])].map(|canvas| canvas.at(160, 180)[2]);
        assert!(u32::from(unsure) * 4 < u32::from(sure) * 3, "{unsure} before black, {sure}");
    }

    #[test]
    fn styles_have_names_and_slips_are_told() {
        for (name, style) in STYLES {
            assert_eq!(name.parse(), Ok(style));
            assert_eq!(style.to_string(), name);
        }
        assert!("planer".parse::<DisplayStyle>().unwrap_err().contains("'planar'"));
    }
}
