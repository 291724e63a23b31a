//! The planar body: what it covers, and how parts of different knowledge look.

use embedded_graphics::{
    Pixel, pixelcolor::BinaryColor, pixelcolor::Rgb888, prelude::*, primitives::Rectangle,
};
use pose::{Joint, JointState, Pose, PoseJoint};
use pose_draw::{Fit, Metrics, Skins, Theme, colour_of, draw_planar};

const SIDE: usize = 200;

/// A panel of `SIDE` × `SIDE` pixels.
struct Panel<C>(Vec<Option<C>>);

impl<C: PixelColor> OriginDimensions for Panel<C> {
    fn size(&self) -> Size {
        Size::new_equal(SIDE as u32)
    }
}

impl<C: PixelColor> DrawTarget for Panel<C> {
    type Color = C;
    type Error = core::convert::Infallible;
    fn draw_iter<I: IntoIterator<Item = Pixel<C>>>(&mut self, pixels: I) -> Result<(), Self::Error> {
        for Pixel(Point { x, y }, colour) in pixels {
            // Nothing is drawn outside the area that the fit has.
            self.0[y as usize * SIDE + x as usize] = Some(colour);
        }
        Ok(())
    }
}

/// Upright, seen from before, 180 px high; every joint in `state`.
fn figure(state: JointState) -> Pose {
    let places: [(f32, f32); 17] = [
        (100., 24.),
        (103., 21.),
        (97., 21.),
        (108., 23.),
        (92., 23.),
        (119., 46.),
        (81., 46.),
        (130., 76.),
        (70., 76.),
        (134., 103.),
        (66., 103.),
        (110., 98.),
        (90., 98.),
        (112., 138.),
        (88., 138.),
        (113., 180.),
        (87., 180.),
    ];
    let joints = places.map(|(x_px, y_px)| PoseJoint { x_px, y_px, score: 0.9, sigma_px: 1.0, state });
    Pose { track_id: 1, score: 1.0, joints, ..Pose::default() }
}

fn shown<C: PixelColor>(pose: &Pose, theme: &Theme<C>, skins: &Skins<C>) -> Panel<C> {
    let mut panel = Panel(vec![None; SIDE * SIDE]);
    let size = Size::new_equal(SIDE as u32);
    let fit = Fit::new(SIDE as u32, SIDE as u32, Rectangle::new(Point::zero(), size));
    draw_planar(&mut panel, pose, &fit, theme, skins, &Metrics::for_panel(size)).unwrap();
    panel
}

fn coloured(pose: &Pose) -> Panel<Rgb888> {
    shown(pose, &Theme::dark(), &Skins::coloured())
}

/// Of the rows below the label.
fn covered<C>(panel: &Panel<C>) -> usize {
    panel.0[30 * SIDE..].iter().flatten().count()
}

#[test]
fn a_body_has_a_bodys_extent_and_its_persons_colour() {
    let panel = coloured(&figure(JointState::Measured));
    // A person covers some 17 to 25 percent of a square as high as they are.
    let share = covered(&panel) as f32 / (180.0 * 180.0);
    assert!((0.15..0.28).contains(&share), "{share}");
    let at = |x: usize, y: usize| panel.0[y * SIDE + x];
    let [r, g, b] = colour_of(1);
    for (x, y) in [(100, 70), (125, 60), (112, 120), (88, 160)] {
        let colour = at(x, y).unwrap_or_else(|| panic!("nothing at {x}, {y}"));
        let of = [colour.r(), colour.g(), colour.b()];
        assert!(of[2] > of[1] && of[1] > of[0], "{of:?} is no tone of {:?}", [r, g, b]);
    }
    assert!(at(100, 150).is_none() && at(30, 100).is_none(), "between the legs, beside the arms");
    // Light comes from above left.
    let sum = |x, y| at(x, y).map_or(0, |c| u32::from(c.r()) + u32::from(c.g()) + u32::from(c.b()));
    assert!(sum(88, 70) > sum(112, 70));
}

#[test]
fn predicted_parts_let_the_picture_through_unsure_ones_are_rims_and_absent_ones_nothing() {
    let [measured, predicted] =
        [JointState::Measured, JointState::Predicted].map(|state| covered(&coloured(&figure(state))));
    let mut unsure = figure(JointState::Measured);
    unsure.joints.iter_mut().for_each(|joint| joint.score = 0.2);
    let unsure = covered(&coloured(&unsure));
    assert!(predicted * 10 < measured * 8 && unsure * 2 < predicted, "{measured} {predicted} {unsure}");
    assert_eq!(covered(&coloured(&figure(JointState::Absent))), 0);

    let mut without_legs = figure(JointState::Measured);
    for joint in &mut without_legs.joints[13..] {
        joint.state = JointState::Absent;
    }
    let panel = coloured(&without_legs);
    assert!(panel.0[120 * SIDE..].iter().all(Option::is_none));
}

#[test]
fn depth_says_what_lies_over_what() {
    let mut pose = figure(JointState::Measured);
    // The left wrist before the belly, or behind it.
    pose.joints[Joint::LeftElbow as usize].x_px = 122.0;
    (pose.joints[Joint::LeftWrist as usize].x_px, pose.joints[Joint::LeftWrist as usize].y_px) = (98.0, 84.0);
    let with = |z: f32| {
        let mut joints = [[0.0; 3]; 17];
        (joints[7][2], joints[9][2]) = (z, z);
        let mut lifted = pose;
        lifted.joints_3d_m = Some(joints);
        coloured(&lifted)
    };
    let (before, behind) = (with(-0.2), with(0.2));
    let area = |panel: &Panel<Rgb888>| {
        (70..100).map(|y| panel.0[y * SIDE + 90..y * SIDE + 112].to_vec()).collect::<Vec<_>>()
    };
    assert_ne!(area(&before), area(&behind));
    assert_eq!(area(&before), area(&coloured(&pose)), "arms are mostly before");
}

#[test]
fn one_bit_shows_rims_and_far_joints_cost_nothing() {
    let panel = shown(&figure(JointState::Measured), &Theme::MONO, &Skins::MONO);
    let lit = panel.0.iter().flatten().filter(|c| c.is_on()).count();
    assert!(lit > 300 && lit * 3 < covered(&panel), "{lit}");
    let off = panel.0[70 * SIDE + 100];
    assert_eq!(off, Some(BinaryColor::Off), "the trunk");
    let mut far = figure(JointState::Measured);
    (far.joints[9].x_px, far.joints[9].y_px) = (f32::MAX, f32::MIN);
    (far.joints[10].x_px, far.joints[15].y_px) = (-1e9, 1e30);
    shown(&far, &Theme::MONO, &Skins::MONO);
}
