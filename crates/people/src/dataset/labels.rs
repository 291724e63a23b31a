//! Labels of one picture and of one person, in COCO's form.

use serde_json::{Value, json};

use crate::{
    render::Truth,
    shot::{GROUP, Shot},
};

/// From pixels counted from the picture's corner to COCO's indices of pixels.
const CENTRE_PX: f32 = 0.5;

/// One [group](GROUP) of pictures in so many is of val.
const VAL_EVERY: u64 = 25;

fn round(v: f32, k: f32) -> f64 {
    f64::from((v * k).round()) / f64::from(k)
}

/// The part of the set that a picture is in. By groups, so that val shows no dressed people who are learned from.
fn split(index: u64) -> &'static str {
    if (index / GROUP).is_multiple_of(VAL_EVERY) { "val" } else { "train" }
}

pub(super) fn image_record(shot: &Shot, index: u64, file: &str, tar: &str) -> Value {
    let [width, height] = shot.camera.size;
    json!({
        "id": index + 1, "file_name": file, "tar": tar, "width": width, "height": height,
        "source": "rendered", "split": split(index),
        "camera": {
            "focal_px": round(shot.camera.focal_px, 100.0), "centre_px": shot.camera.centre_px,
            "k1": round(shot.camera.k1, 1e4), "height_m": round(shot.camera.eye.y, 1000.0),
        },
    })
}

/// Labels of one person in COCO's form, joints at pixels' indices as COCO has them, and their places in camera space (metres).
pub(super) fn annotation(mut truth: Truth, index: u64, person: usize) -> Value {
    for joint in &mut truth.joints {
        (joint.x_px, joint.y_px) = (joint.x_px - CENTRE_PX, joint.y_px - CENTRE_PX);
    }
    from_the_corner(&truth, index, person)
}

/// The same with joints in Posewire's pixels, counted from the picture's corner.
pub fn from_the_corner(truth: &Truth, index: u64, person: usize) -> Value {
    let mut keypoints = Vec::with_capacity(51);
    let mut places = Vec::with_capacity(17);
    for j in &truth.joints {
        let v = if !j.is_inside {
            0
        } else if j.is_seen {
            2
        } else {
            1
        };
        let (x, y) = if v == 0 { (0.0, 0.0) } else { (round(j.x_px, 100.0), round(j.y_px, 100.0)) };
        keypoints.extend([json!(x), json!(y), json!(v)]);
        places.push(j.camera_m.map(|m| round(m, 1000.0)));
    }
    let labelled = truth.joints.iter().filter(|j| j.is_inside).count();
    json!({
        "id": index * 8 + person as u64 + 1, "image_id": index + 1, "category_id": 1, "iscrowd": 0,
        "keypoints": keypoints, "num_keypoints": labelled, "camera_m": places,
        "bbox": truth.box_px, "area": truth.area_px, "whole_area": truth.whole_px,
        "source": "rendered", "split": split(index),
    })
}
