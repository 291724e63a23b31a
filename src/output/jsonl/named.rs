//! `named`: a line a frame, as `full`, its joints by their names.
//!
//! ```json
//! {"seq":0,"frame":0,"captured_us":1000,"emitted_us":9000,"width":640,"height":480,"persons":[{"id":1,"score":0.93,"box":[80.5,40,95,300.25],
//!  "keypoints":{"nose":{"x":120.5,"y":60,"score":0.97,"sigma":1.5,"state":"measured"},"left_eye":null, … 17},
//!  "keypoints3d":{"nose":{"x":0.01,"y":-0.62,"z":0.08}, … 17}|null}]}
//! ```
//!
//! A person's place is that of `full`. An absent joint is null: nobody takes it for a place in the picture's corner.

use std::io::Write;

use pose::{Joint, Pose};

use super::Head;
use super::full::{write_head, write_persons};
use super::values::{number, placed};

pub(super) fn write_line(to: &mut Vec<u8>, head: &Head<'_>, poses: impl Iterator<Item = Pose>) {
    write_head(to, head);
    to.push(b',');
    write_persons(to, head.floor.as_ref(), poses, write_joints);
    to.extend_from_slice(b"}\n");
}

pub(super) fn write_joints(to: &mut Vec<u8>, pose: &Pose) {
    to.extend_from_slice(b"\"keypoints\":{");
    for (i, (name, joint)) in Joint::ALL.iter().zip(&pose.joints).enumerate() {
        begin(to, i, name.name());
        match placed(joint) {
            None => to.extend_from_slice(b"null"),
            Some(joint) => {
                let values = [joint.x_px, joint.y_px, joint.score, joint.sigma_px];
                object(to, ["x", "y", "score", "sigma"].into_iter().zip(values));
                // Writing to a Vec cannot fail.
                let _ = write!(to, ",\"state\":\"{}\"}}", joint.state.name());
            }
        }
    }
    to.extend_from_slice(b"},\"keypoints3d\":");
    let Some(places) = &pose.joints_3d_m else { return to.extend_from_slice(b"null") };
    to.push(b'{');
    for (i, (name, place)) in Joint::ALL.iter().zip(places).enumerate() {
        begin(to, i, name.name());
        object(to, ["x", "y", "z"].into_iter().zip(*place));
        to.push(b'}');
    }
    to.push(b'}');
}

/// The key of the `i`th joint.
fn begin(to: &mut Vec<u8>, i: usize, name: &str) {
    let _ = write!(to, "{}\"{name}\":", if i > 0 { "," } else { "" });
}

/// An object that is still open.
fn object(to: &mut Vec<u8>, values: impl Iterator<Item = (&'static str, f32)>) {
    for (i, (key, value)) in values.enumerate() {
        let _ = write!(to, "{}\"{key}\":", if i > 0 { ',' } else { '{' });
        number(to, value);
    }
}
