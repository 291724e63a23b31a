//! What a one-bit panel of 64×64 shows, pixel by pixel.

use embedded_graphics::{mock_display::MockDisplay, pixelcolor::BinaryColor, prelude::*};
use pose::{Joint, JointState, Pose, PoseJoint};
use pose_draw::{Metrics, Scene, Theme, draw_message, draw_scene};

fn panel() -> MockDisplay<BinaryColor> {
    let mut panel = MockDisplay::new();
    panel.set_allow_overdraw(true);
    panel.set_allow_out_of_bounds_drawing(true);
    panel
}

fn pose(joints: &[(Joint, f32, f32, JointState)]) -> Pose {
    let mut pose = Pose { track_id: 7, score: 1.0, ..Pose::default() };
    for &(joint, x_px, y_px, state) in joints {
        pose.joints[joint as usize] = PoseJoint { x_px, y_px, score: 1.0, sigma_px: 1.0, state };
    }
    pose
}

fn shown(pose: Pose) -> MockDisplay<BinaryColor> {
    let mut panel = panel();
    let scene = Scene { persons: [pose], width_px: 64, height_px: 64, age_ms: None, is_built_in: false };
    draw_scene(&mut panel, scene, &Theme::MONO, &Metrics::for_panel(Size::new(64, 64))).unwrap();
    panel
}

/// Rows `rows` of the panel as text, `#` lit.
fn rows(
    panel: &MockDisplay<BinaryColor>,
    rows: core::ops::Range<i32>,
    columns: core::ops::Range<i32>,
) -> String {
    let pixel = |x, y| if panel.get_pixel(Point::new(x, y)) == Some(BinaryColor::On) { '#' } else { '.' };
    rows.map(|y| columns.clone().map(|x| pixel(x, y)).chain(['\n']).collect::<String>()).collect()
}

#[test]
fn measured_bones_are_solid_and_predicted_ones_dashed_with_hollow_joints() {
    use JointState::*;
    let panel = shown(pose(&[
        (Joint::LeftShoulder, 40.0, 40.0, Measured),
        (Joint::LeftElbow, 28.0, 40.0, Measured),
        (Joint::LeftWrist, 12.0, 40.0, Predicted),
    ]));
    let expected = "\
..#...............#...........#...
.#.##....###....################..
..#...............#...........#...
";
    assert_eq!(rows(&panel, 39..42, 10..44), expected);
}

#[test]
fn absent_joints_and_their_bones_are_not_drawn() {
    let panel = shown(pose(&[
        (Joint::LeftHip, 20.0, 40.0, JointState::Measured),
        (Joint::LeftKnee, 20.0, 60.0, JointState::Absent),
    ]));
    assert_eq!(rows(&panel, 39..44, 18..23), "..#..\n.###.\n..#..\n.....\n.....\n");
}

#[test]
fn the_identity_stands_above_the_head_and_the_count_in_the_corner() {
    let panel = shown(pose(&[(Joint::Nose, 32.0, 30.0, JointState::Measured)]));
    let digit = rows(&panel, 19..27, 30..35);
    assert_eq!(digit, ".....\n####.\n...#.\n..#..\n..#..\n.#...\n.#...\n.....\n", "{digit}");
    assert!(rows(&panel, 0..8, 0..30).contains('#'));
}

#[test]
fn a_joint_far_outside_is_cut_at_the_edge_and_costs_no_more_than_one_inside() {
    let panel = shown(pose(&[
        (Joint::LeftHip, 20.0, 40.0, JointState::Measured),
        (Joint::LeftKnee, 1e9, 40.0, JointState::Measured),
        (Joint::LeftAnkle, f32::MAX, f32::MAX, JointState::Predicted),
    ]));
    assert_eq!(rows(&panel, 40..41, 18..64).trim_end().trim_start_matches('.'), "#".repeat(45));
}

#[test]
fn nobody_and_a_message_are_pictures_too() {
    let mut nobody = panel();
    let scene =
        Scene { persons: [], width_px: 640, height_px: 480, age_ms: Some(123_456), is_built_in: false };
    let metrics = Metrics::for_panel(Size::new(64, 64));
    draw_scene(&mut nobody, scene, &Theme::MONO, &metrics).unwrap();
    assert!(rows(&nobody, 8..16, 0..35).contains('#'), "the age");
    assert!(!rows(&nobody, 17..64, 0..64).contains('#'));

    let mut built_in = panel();
    draw_scene(&mut built_in, Scene { is_built_in: true, ..scene }, &Theme::MONO, &metrics).unwrap();
    assert!(rows(&built_in, 17..25, 0..35).contains('#'), "that nobody is there");

    let mut message = panel();
    draw_message(&mut message, &["link lost", "12 s"], &Theme::MONO, &metrics).unwrap();
    assert!(rows(&message, 24..40, 9..55).contains('#'));
    assert!(!rows(&message, 0..24, 0..64).contains('#') && !rows(&message, 40..64, 0..64).contains('#'));
}

#[test]
fn unsure_bones_are_dotted_and_end_in_dots_however_they_are_known() {
    use JointState::*;
    for state in [Measured, Predicted] {
        let mut unsure =
            pose(&[(Joint::LeftElbow, 12.0, 40.0, state), (Joint::LeftShoulder, 30.0, 40.0, Measured)]);
        unsure.joints[Joint::LeftElbow as usize].score = 0.3;
        let expected = "\
....................#..
..#....#...#....#..###.
....................#..
";
        assert_eq!(rows(&shown(unsure), 39..42, 10..33), expected, "{state:?}");
    }
}

/// The ground of a picture may be of any colour: what is drawn on it is surrounded by black, and has a colour that stands out from that.
#[test]
fn on_pictures_everything_is_surrounded_by_black() {
    use embedded_graphics::pixelcolor::Rgb888;
    use pose_draw::{Fit, PALETTE, colour_of, draw_pose};
    const SIDE: i32 = 64;
    let theme = Theme::<Rgb888>::on_pictures();
    let size = Size::new_equal(SIDE as u32);
    let fit = Fit::new(64, 64, embedded_graphics::primitives::Rectangle::new(Point::zero(), size));
    for id in 0..PALETTE as u32 {
        let mut panel = MockDisplay::<Rgb888>::new();
        panel.set_allow_overdraw(true);
        panel.set_allow_out_of_bounds_drawing(true);
        let mut figure = pose(&[
            (Joint::LeftShoulder, 20.0, 30.0, JointState::Measured),
            (Joint::LeftElbow, 40.0, 34.0, JointState::Measured),
            (Joint::LeftWrist, 50.0, 60.0, JointState::Predicted),
        ]);
        figure.track_id = id;
        draw_pose(&mut panel, &figure, &fit, &theme, &Metrics::for_panel(size)).unwrap();
        let [r, g, b] = colour_of(id);
        let colour = Rgb888::new(r, g, b);
        let (mut coloured, mut touching) = (0, 0);
        // The label has a ground of its own.
        for (x, y) in (26..SIDE).flat_map(|y| (0..SIDE).map(move |x| (x, y))) {
            if panel.get_pixel(Point::new(x, y)) != Some(colour) {
                continue;
            }
            coloured += 1;
            for (nx, ny) in [(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)] {
                let next = panel.get_pixel(Point::new(nx, ny));
                touching += i32::from(next != Some(colour) && next != Some(Rgb888::BLACK));
            }
        }
        // The corners of slanted dashes are all that ever does.
        assert!(coloured > 30 && touching * 10 < coloured, "{touching} of {coloured} touch the picture");
    }
}

#[test]
fn persons_have_the_colours_of_their_identities_and_grey_panels_have_shades() {
    use embedded_graphics::pixelcolor::{Gray4, Rgb888};
    let colour = Theme::<Rgb888>::dark();
    let grey = Theme::<Gray4>::grey();
    for i in 0..pose_draw::PALETTE {
        let [r, g, b] = pose_draw::colour_of(i as u32);
        assert_eq!([colour.measured[i], colour.predicted[i]], [Rgb888::new(r, g, b); 2]);
        assert_ne!(grey.measured[i], grey.predicted[i]);
        assert_ne!(grey.predicted[i], grey.background);
    }
}

#[cfg(feature = "large")]
#[test]
fn lines_and_text_grow_with_the_picture() {
    let [camera, photo] = [(640, 480), (4000, 3000)].map(|(w, h)| Metrics::for_panel(Size::new(w, h)));
    assert_eq!((camera.stroke, camera.joint, camera.text_scale), (3, 7, 1));
    assert_eq!((photo.stroke, photo.joint, photo.text_scale), (18, 43, 6));
}

/// Rows that a bone across the middle of a photo of 8K has there: so many pixels long, and so much lower at its other end.
#[cfg(feature = "large")]
fn rows_of_a_bone(length_px: f32, slope: f32) -> usize {
    use embedded_graphics::{Pixel, pixelcolor::Rgb888, primitives::Rectangle};
    /// The rows of one column.
    struct Column(std::collections::BTreeSet<i32>);
    impl OriginDimensions for Column {
        fn size(&self) -> Size {
            Size::new(7680, 4320)
        }
    }
    impl DrawTarget for Column {
        type Color = Rgb888;
        type Error = core::convert::Infallible;
        fn draw_iter<I: IntoIterator<Item = Pixel<Rgb888>>>(&mut self, pixels: I) -> Result<(), Self::Error> {
            self.0.extend(pixels.into_iter().filter(|p| p.0.x == 4000).map(|p| p.0.y));
            Ok(())
        }
    }
    let mut column = Column(Default::default());
    let size = column.size();
    let fit = pose_draw::Fit::new(7680, 4320, Rectangle::new(Point::zero(), size));
    let half_px = length_px / 2.0;
    let bone = pose(&[
        (Joint::LeftElbow, 4000.0 - half_px, 2000.0 - slope * half_px, JointState::Measured),
        (Joint::LeftShoulder, 4000.0 + half_px, 2000.0 + slope * half_px, JointState::Measured),
        // Somebody so large that lines are as wide as they get.
        (Joint::LeftAnkle, 1000.0, 4000.0, JointState::Measured),
    ]);
    pose_draw::draw_pose(&mut column, &bone, &fit, &Theme::dark(), &Metrics::for_panel(size)).unwrap();
    let rows = column.0;
    assert_eq!(rows.last().unwrap() + 1 - rows.first().unwrap(), rows.len() as i32, "with holes");
    rows.len()
}

#[cfg(feature = "large")]
#[test]
fn a_long_bone_is_as_wide_as_a_short_one() {
    assert_eq!(rows_of_a_bone(400.0, 0.0), 27);
    for slope in [0.0, 0.5, -1.0] {
        let short = rows_of_a_bone(400.0, slope);
        let long = [1000.0, 1717.0, 3500.0].map(|length_px| rows_of_a_bone(length_px, slope));
        assert!(long.iter().all(|long| long.abs_diff(short) <= 1), "{slope}: {short}, {long:?}");
    }
}
