//! Posewire's own addresses: everything of a moment in one bundle.
//!
//! | address | arguments |
//! |---|---|
//! | `/posewire/frame` | i seq, i persons, i width, i height of the picture in pixels, f ms from the light to the moment that the poses speak of |
//! | `/posewire/ids` | i × 8: the identity of person 1 to 8; 0 where nobody is |
//! | `/posewire/1/person` | i identity, f score, f u v w h: the box in shares of the picture |
//! | `/posewire/1/left_wrist` | f u v, f score, i state (0 absent, 1 measured, 2 predicted), f x y in pixels, f sigma in pixels |
//! | `/posewire/1/left_wrist/metres` | f x y z from the middle of the hips, where asked for and known |
//!
//! `u` and `v` are shares of the picture's width and height from its top left corner. An absent joint's numbers are zeros.

use pose::{Joint, JointState, MAX_PERSONS, Pose, PoseFrame};
use pose_osc::Slots;
use pose_osc::message::Argument::{Float, Int};
use pose_osc::message::{add_message, begin_bundle};

/// Writes the bundle of `frame` as it is at `valid_at_us`, which is `tag_us` microseconds after 1970.
pub(super) fn write_bundle(
    to: &mut Vec<u8>,
    slots: &mut Slots<MAX_PERSONS>,
    frame: &PoseFrame,
    valid_at_us: i64,
    tag_us: i64,
    with_3d: bool,
) {
    slots.update(frame.persons.iter().flatten().map(|person| person.track_id));
    begin_bundle(to, tag_us);
    let persons = frame.persons.iter().flatten().count();
    let ahead_ms = valid_at_us.saturating_sub(frame.captured_at_us) as f32 / 1_000.0;
    add_message(
        to,
        "/posewire/frame",
        &[
            // OSC's integers have 32 bits: this wraps after two years.
            Int(frame.seq as i32),
            Int(persons as i32),
            Int(frame.width as i32),
            Int(frame.height as i32),
            Float(ahead_ms),
        ],
    );
    add_message(to, "/posewire/ids", &slots.ids.map(|id| Int(id as i32)));
    let size_px = [frame.width.max(1) as f32, frame.height.max(1) as f32];
    for pose in frame.poses_at(valid_at_us) {
        if let Some(number) = slots.number(pose.value.track_id) {
            write_person(to, number, &pose.value, size_px, with_3d);
        }
    }
}

fn write_person(to: &mut Vec<u8>, number: usize, pose: &Pose, size_px: [f32; 2], with_3d: bool) {
    let [width, height] = size_px;
    let bounds = pose.bounds().unwrap_or_default();
    let shares = [bounds.x / width, bounds.y / height, bounds.w / width, bounds.h / height];
    let [u, v, w, h] = shares.map(Float);
    let about = [Int(pose.track_id as i32), Float(pose.score), u, v, w, h];
    add_message(to, format_args!("/posewire/{number}/person"), &about);
    for joint in Joint::ALL {
        let known = pose[joint];
        let is_there = known.state != JointState::Absent && known.x_px.is_finite() && known.y_px.is_finite();
        let (x, y, score, sigma, state) = match is_there {
            true => (known.x_px, known.y_px, known.score, known.sigma_px, known.state as i32),
            false => (0.0, 0.0, 0.0, 0.0, 0),
        };
        let name = joint.name();
        add_message(
            to,
            format_args!("/posewire/{number}/{name}"),
            &[
                Float(x / width),
                Float(y / height),
                Float(score),
                Int(state),
                Float(x),
                Float(y),
                Float(sigma),
            ],
        );
        if let Some(places) = pose.joints_3d_m.filter(|_| with_3d && is_there) {
            let place = places[joint as usize].map(Float);
            add_message(to, format_args!("/posewire/{number}/{name}/metres"), &place);
        }
    }
}
