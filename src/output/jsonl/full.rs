//! `full`: a line a frame, all that is known.
//!
//! ```json
//! {"seq":0,"frame":0,"captured_us":1000,"emitted_us":9000,"width":640,"height":480,
//!  "persons":[{"id":1,"score":0.93,"box":[80.5,40,95,300.25],
//!  "keypoints":[[120.5,60,0.97,1.5,"measured"], … 17 in COCO's order],"keypoints3d":[[0.01,-0.62,0.08], … 17]|null}]}
//! ```
//!
//! Where the lens is known, a person ends with `"place":[0.4,0.2,3.1],"place_sigma":[0.03,0.02,0.2],"distance":3.13,"distance_sigma":0.2`.
//!
//! Where the floor is known, `"floor":{"height":1.3,"height_sigma":0.1,"pitch":7.5,…}` stands before `persons`, and a person with a place ends with
//! `"ground":[0.4,3.0]`.
//!
//! Of the built-in clip, lines have `"source":"built-in clip"` before `persons`: nobody is there.
//!
//! An absent joint is `[0,0,0,0,"absent"]`; `box` surrounds the others and is `[0,0,0,0]` where there are none.

use std::io::Write;

use pose::{BoxPx, Floor, JointState::Absent, Place, Pose};

use super::Head;
use super::values::{number, numbers, placed, size, source};

pub(super) fn write_line(to: &mut Vec<u8>, head: &Head<'_>, poses: impl Iterator<Item = Pose>) {
    write_head(to, head);
    to.push(b',');
    write_persons(to, head.floor.as_ref(), poses, write_joints);
    to.extend_from_slice(b"}\n");
}

/// `{"seq":…` up to what comes before the persons' comma.
pub(super) fn write_head(to: &mut Vec<u8>, head: &Head<'_>) {
    // Writing to a Vec cannot fail.
    let _ = write!(to, "{{\"seq\":{},\"frame\":", head.seq);
    let _ = match head.frame {
        Some(frame) => write!(to, "{frame}"),
        None => write!(to, "null"),
    };
    let _ = write!(to, ",\"captured_us\":{},\"emitted_us\":{}", head.captured_at_us, head.emitted_at_us);
    size(to, head.size_px);
    source(to, head.source);
    if let Some(floor) = &head.floor {
        write_floor(to, floor);
    }
}

/// `,"floor":{"height":…,"height_sigma":…,"pitch":…,"pitch_sigma":…,"roll":…,"roll_sigma":…}`
fn write_floor(to: &mut Vec<u8>, floor: &Floor) {
    to.extend_from_slice(b",\"floor\":{");
    for (i, (name, value)) in [
        ("height", floor.height_m),
        ("height_sigma", floor.height_sigma_m),
        ("pitch", floor.pitch_deg),
        ("pitch_sigma", floor.pitch_sigma_deg),
        ("roll", floor.roll_deg),
        ("roll_sigma", floor.roll_sigma_deg),
    ]
    .into_iter()
    .enumerate()
    {
        let _ = write!(to, "{}\"{name}\":", if i > 0 { "," } else { "" });
        number(to, value);
    }
    to.push(b'}');
}

/// `"persons":[…]`, the joints of each by `write_joints`.
pub(super) fn write_persons(
    to: &mut Vec<u8>,
    floor: Option<&Floor>,
    poses: impl Iterator<Item = Pose>,
    write_joints: impl Fn(&mut Vec<u8>, &Pose),
) {
    to.extend_from_slice(b"\"persons\":[");
    for (i, pose) in poses.enumerate() {
        if i > 0 {
            to.push(b',');
        }
        let _ = write!(to, "{{\"id\":{},\"score\":", pose.track_id);
        number(to, pose.score);
        to.extend_from_slice(b",\"box\":[");
        let BoxPx { x, y, w, h } = pose.bounds().unwrap_or_default();
        numbers(to, &[x, y, w, h]);
        to.extend_from_slice(b"],");
        write_joints(to, &pose);
        if let Some(place) = &pose.place {
            write_place(to, place);
            if let Some(floor) = floor {
                to.extend_from_slice(b",\"ground\":[");
                numbers(to, &floor.ground(place.at_m));
                to.push(b']');
            }
        }
        to.push(b'}');
    }
    to.push(b']');
}

/// `,"place":[…],"place_sigma":[…],"distance":…,"distance_sigma":…`
fn write_place(to: &mut Vec<u8>, place: &Place) {
    let Place { at_m, sigma_m, distance_m, distance_sigma_m } = place;
    to.extend_from_slice(b",\"place\":[");
    numbers(to, at_m);
    to.extend_from_slice(b"],\"place_sigma\":[");
    numbers(to, sigma_m);
    to.extend_from_slice(b"],\"distance\":");
    number(to, *distance_m);
    to.extend_from_slice(b",\"distance_sigma\":");
    number(to, *distance_sigma_m);
}

/// `"keypoints":[…],"keypoints3d":…`
pub(super) fn write_joints(to: &mut Vec<u8>, pose: &Pose) {
    to.extend_from_slice(b"\"keypoints\":[");
    for (i, joint) in pose.joints.iter().enumerate() {
        to.extend_from_slice(if i > 0 { b",[" } else { b"[" });
        let (values, state) = match placed(joint) {
            Some(joint) => ([joint.x_px, joint.y_px, joint.score, joint.sigma_px], joint.state),
            None => ([0.0; 4], Absent),
        };
        numbers(to, &values);
        let _ = write!(to, ",\"{}\"]", state.name());
    }
    to.extend_from_slice(b"],\"keypoints3d\":");
    match &pose.joints_3d_m {
        None => to.extend_from_slice(b"null"),
        Some(places) => {
            for (i, place) in places.iter().enumerate() {
                to.extend_from_slice(if i > 0 { b",[" } else { b"[[" });
                numbers(to, place);
                to.push(b']');
            }
            to.push(b']');
        }
    }
}
