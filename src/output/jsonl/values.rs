//! What every format writes alike: numbers, texts, and which joints have a place.

use std::io::Write;

use pose::{JointState::Absent, PoseJoint};

/// A joint that has a place; one that is no number is none, and the wire says the same.
pub(super) fn placed(joint: &PoseJoint) -> Option<&PoseJoint> {
    Some(joint).filter(|j| j.x_px.is_finite() && j.y_px.is_finite() && j.state != Absent)
}

/// With commas between them.
pub(super) fn numbers(to: &mut Vec<u8>, values: &[f32]) {
    for (i, &value) in values.iter().enumerate() {
        if i > 0 {
            to.push(b',');
        }
        number(to, value);
    }
}

/// JSON knows neither NaN nor infinity: both become 0.
pub(super) fn number(to: &mut Vec<u8>, value: f32) {
    // Writing to a Vec cannot fail.
    let _ = write!(to, "{}", if value.is_finite() { value } else { 0.0 });
}

/// Quoted, and what JSON has to escape is.
pub(super) fn text(to: &mut Vec<u8>, text: &str) {
    let _ = serde_json::to_writer(to, text);
}

/// `,"width":640,"height":480`, where that is known.
pub(super) fn size(to: &mut Vec<u8>, size_px: Option<[u32; 2]>) {
    if let Some([width, height]) = size_px {
        let _ = write!(to, ",\"width\":{width},\"height\":{height}");
    }
}

/// `,"source":"built-in clip"`, where that is to be said.
pub(super) fn source(to: &mut Vec<u8>, source: Option<&str>) {
    if let Some(source) = source {
        to.extend_from_slice(b",\"source\":");
        text(to, source);
    }
}
