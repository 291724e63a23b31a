//! `coco`: a line a person, an element of COCO's keypoint results; `jq -s .` makes the file of them.
//!
//! ```json
//! {"image_id":0,"category_id":1,"keypoints":[120,59.5,0.97, … 17 times x, y, score],"score":0.93,"bbox":[80.5,40,95,300.25],
//!  "track_id":1,"captured_us":1000,"emitted_us":9000}
//! ```
//!
//! `image_id` is the source's frame number, or `seq` where nobody knows it. Joints are COCO's, which names a pixel by its index
//! where Posewire counts from the picture's corner: half a pixel less. Boxes are edges in both. An absent joint is 0,0,0.

use std::io::Write;

use pose::{BoxPx, Pose};

use super::Head;
use super::values::{number, numbers, placed, source};
use crate::coco::CENTRE_PX;

pub(super) fn write_line(to: &mut Vec<u8>, head: &Head<'_>, pose: &Pose) {
    write_person(to, head.frame.unwrap_or(head.seq), pose);
    let (captured, emitted) = (head.captured_at_us, head.emitted_at_us);
    let _ = write!(to, ",\"captured_us\":{captured},\"emitted_us\":{emitted}");
    source(to, head.source);
    to.extend_from_slice(b"}\n");
}

/// An object that is still open, of a person in `image`.
pub(super) fn write_person(to: &mut Vec<u8>, image: u64, pose: &Pose) {
    // Writing to a Vec cannot fail.
    let _ = write!(to, "{{\"image_id\":{image},\"category_id\":1,\"keypoints\":[");
    for (i, joint) in pose.joints.iter().enumerate() {
        if i > 0 {
            to.push(b',');
        }
        let values = placed(joint).map_or([0.0; 3], |j| [j.x_px - CENTRE_PX, j.y_px - CENTRE_PX, j.score]);
        numbers(to, &values);
    }
    to.extend_from_slice(b"],\"score\":");
    number(to, pose.score);
    to.extend_from_slice(b",\"bbox\":[");
    let BoxPx { x, y, w, h } = pose.bounds().unwrap_or_default();
    numbers(to, &[x, y, w, h]);
    let _ = write!(to, "],\"track_id\":{}", pose.track_id);
}
