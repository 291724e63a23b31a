//! What the page is sent of a frame.
//!
//! A binary message is the length of a JSON text (u32, little-endian), that text, and the frame's JPEG or nothing:
//!
//! ```json
//! {"size":[640,480],"seen":[[1,[[120.5,60,0.97],…]]],"bodies":[…],"line":{"seq":0,"frame":0,…,"persons":[…]}}
//! ```
//!
//! `size` is the picture's in pixels, `line` what [`crate::output::jsonl`] writes of the frame, `seen` what the network alone
//! saw of each person: identity, then place in pixels and score of each joint; `bodies` are there while some page shows them (`body.rs`).

use std::io::Write;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::ws::Utf8Bytes;
use pose::PoseFrame;

use people::mannequin::Mannequin;

use super::super::display::{JpegTap, PictureTap, stand};
use super::super::jsonl::{Format, Head};
use super::super::{Host, Predict};
use super::body;

/// Of pictures that the camera does not give as JPEG: a preview, and a third of the bytes of a recording.
const QUALITY: i32 = 75;

/// Makes messages of frames.
pub(super) struct Messages {
    predict: Predict,
    host: Option<Arc<dyn Host>>,
    pictures: Option<JpegTap>,
    /// Made when the first page asks for bodies.
    mannequin: Option<Mannequin>,
}

impl Messages {
    pub fn new(predict: Predict, host: Option<Arc<dyn Host>>, tap: Option<PictureTap>) -> Self {
        let pictures = tap.map(|tap| JpegTap::new(tap, QUALITY));
        Self { predict, host, pictures, mannequin: None }
    }

    /// The message of a WebSocket.
    pub fn binary(&mut self, poses: &PoseFrame, now_us: i64, with_bodies: bool) -> Bytes {
        let mut bytes = vec![0; 4];
        // Writing to a Vec cannot fail.
        let _ = write!(bytes, "{{\"size\":[{},{}],\"seen\":[", poses.width, poses.height);
        write_seen(&mut bytes, poses);
        if with_bodies {
            bytes.extend_from_slice(b"],\"bodies\":[");
            self.write_bodies(&mut bytes, poses, now_us);
        }
        bytes.extend_from_slice(b"],\"line\":");
        self.line(&mut bytes, poses, now_us);
        // In the place of the line's end.
        bytes.pop();
        bytes.push(b'}');
        let text_bytes = (bytes.len() - 4) as u32;
        bytes[..4].copy_from_slice(&text_bytes.to_le_bytes());
        if let Some(jpeg) = self.pictures.as_mut().and_then(|pictures| pictures.get(poses.frame)) {
            bytes.extend_from_slice(&jpeg);
        }
        bytes.into()
    }

    /// The text message of a program's WebSocket.
    pub fn text(&self, poses: &PoseFrame, now_us: i64) -> Utf8Bytes {
        let mut bytes = Vec::new();
        self.line(&mut bytes, poses, now_us);
        // The line's end: a message has its own.
        bytes.pop();
        // JSON is text.
        Utf8Bytes::try_from(bytes).unwrap_or_default()
    }

    /// The server-sent event.
    pub fn event(&self, poses: &PoseFrame, now_us: i64) -> Bytes {
        let mut bytes = Vec::new();
        // Readers join and skip events at any time: each says all.
        let _ = write!(bytes, "event: size\ndata: [{},{}]\n\ndata: ", poses.width, poses.height);
        self.line(&mut bytes, poses, now_us);
        bytes.push(b'\n');
        bytes.into()
    }

    fn write_bodies(&mut self, bytes: &mut Vec<u8>, poses: &PoseFrame, now_us: i64) {
        let mannequin = self.mannequin.get_or_insert_with(Mannequin::new);
        let poses = self.predict.poses(poses, now_us);
        let bodies = poses.filter_map(|pose| Some((pose.value.track_id, stand(mannequin, &pose.value)?)));
        for (i, (id, stand)) in bodies.enumerate() {
            if i > 0 {
                bytes.push(b',');
            }
            body::write(bytes, id, &stand);
        }
    }

    fn line(&self, bytes: &mut Vec<u8>, poses: &PoseFrame, now_us: i64) {
        let head = Head::of(poses, now_us, self.host.as_deref());
        Format::Full.write(bytes, &head, self.predict.poses(poses, now_us));
    }
}

fn write_seen(bytes: &mut Vec<u8>, poses: &PoseFrame) {
    let seen = poses.persons.iter().flatten().filter_map(|p| p.seen.map(|keypoints| (p.track_id, keypoints)));
    for (i, (id, keypoints)) in seen.enumerate() {
        let _ = write!(bytes, "{}[{id},[", if i > 0 { "," } else { "" });
        for (j, k) in keypoints.joints.iter().enumerate() {
            // JSON knows neither NaN nor infinity; a network may give both.
            let is_place = k.x_px.is_finite() && k.y_px.is_finite() && k.score.is_finite();
            let [x, y, score] = if is_place { [k.x_px, k.y_px, k.score] } else { [0.0; 3] };
            let _ = write!(bytes, "{}[{x:.1},{y:.1},{score:.2}]", if j > 0 { "," } else { "" });
        }
        bytes.extend_from_slice(b"]]");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::{Frame, PixelFormat};
    use pose::{Forecast, JointState, Keypoint, Keypoints, MAX_PERSONS, TrackedPerson};

    fn poses() -> PoseFrame {
        let mut persons = [None; MAX_PERSONS];
        let forecast = Forecast {
            captured_at_us: 1_000,
            places_px: [[[10.5, 20.0]; pose::JOINTS]; 4],
            score: [0.9; pose::JOINTS],
            state: [JointState::Measured; pose::JOINTS],
            ..Forecast::default()
        };
        let mut seen = Keypoints::default();
        seen.joints[1] = Keypoint { x_px: 10.25, y_px: 20.0, score: 0.875, sigma_px: 1.0 };
        seen.joints[2] = Keypoint { x_px: f32::NAN, y_px: f32::INFINITY, score: 0.5, sigma_px: 1.0 };
        persons[0] = Some(TrackedPerson { track_id: 7, score: 0.5, forecast, seen: Some(seen), place: None });
        persons[1] = Some(TrackedPerson { track_id: 8, score: 0.5, forecast, seen: None, place: None });
        PoseFrame { seq: 3, frame: 5, captured_at_us: 1_000, width: 16, height: 8, persons, floor: None }
    }

    fn parts(message: &[u8]) -> (serde_json::Value, &[u8]) {
        let (length, rest) = message.split_first_chunk().unwrap();
        let (text, picture) = rest.split_at(u32::from_le_bytes(*length) as usize);
        (serde_json::from_slice(text).unwrap(), picture)
    }

    #[test]
    fn a_message_holds_the_line_and_what_was_seen() {
        let bytes = Messages::new(Predict::Capture, None, None).binary(&poses(), 9_000, false);
        let (json, picture) = parts(&bytes);
        assert_eq!(json["size"], serde_json::json!([16, 8]));
        assert_eq!((&json["line"]["seq"], &json["line"]["persons"][1]["id"]), (&3.into(), &8.into()));
        assert_eq!(json["line"]["emitted_us"], 9_000);
        assert_eq!(json["seen"].as_array().unwrap().len(), 1, "{}", json["seen"]);
        assert_eq!(json["seen"][0][0], 7);
        assert_eq!(json["seen"][0][1][1], serde_json::json!([10.2, 20.0, 0.88]));
        assert_eq!(json["seen"][0][1][2], serde_json::json!([0.0, 0.0, 0.0]), "no number is no place");
        assert!(picture.is_empty());
    }

    #[test]
    fn bodies_are_told_of_where_a_page_shows_them_and_joints_lie_in_3d() {
        let mut poses = poses();
        let person = poses.persons[0].as_mut().unwrap();
        // At ease, seen from before: shoulders, elbows, wrists, hips, knees, ankles.
        let sides = [[0.19, -0.48], [0.25, -0.2], [0.25, 0.05], [0.09, 0.0], [0.1, 0.43], [0.11, 0.86]];
        let joints: [[f32; 3]; pose::JOINTS] = std::array::from_fn(|j| match j {
            0..5 => [[0.0, 0.03, -0.03, 0.07, -0.07][j], -0.68, if j < 3 { -0.1 } else { 0.0 }],
            _ => {
                let [x, y] = sides[(j - 5) / 2];
                [if j % 2 == 1 { x } else { -x }, y, 0.0]
            }
        });
        person.forecast.joints_3d_m = Some(joints);
        person.forecast.places_px = [joints.map(|[x, y, _]| [300.0 + 200.0 * x, 250.0 + 200.0 * y]); 4];
        let mut messages = Messages::new(Predict::Capture, None, None);
        let told = parts(&messages.binary(&poses, 9_000, true)).0;
        let bodies = told["bodies"].as_array().unwrap();
        assert_eq!(bodies.len(), 1, "the other person has no pose in 3D");
        assert_eq!((&bodies[0][0], bodies[0][5].as_array().unwrap().len()), (&7.into(), 7 * 31));
        let [scale, x] = [1, 2].map(|k| bodies[0][k].as_f64().unwrap());
        assert!((150.0..250.0).contains(&scale) && (x - 300.0).abs() < 10.0, "{scale} {x}");
        assert!(parts(&messages.binary(&poses, 9_000, false)).0.get("bodies").is_none());
    }

    #[test]
    fn the_cameras_jpeg_is_passed_on_untouched_and_raw_pictures_become_one() {
        let tap = PictureTap::default();
        let mut messages = Messages::new(Predict::Capture, None, Some(tap.clone()));
        assert!(parts(&messages.binary(&poses(), 9_000, false)).1.is_empty(), "no picture yet");
        let raw = Frame {
            bytes: Arc::new(vec![200; 3 * 16 * 8]),
            format: PixelFormat::Rgb24,
            width: 16,
            height: 8,
            stride: 48,
            seq: 4,
            captured_at_us: 0,
        };
        tap.put(&raw);
        assert!(parts(&messages.binary(&poses(), 9_000, false)).1.is_empty(), "a picture of another frame");
        tap.put(&Frame { seq: 5, ..raw.clone() });
        let message = messages.binary(&poses(), 9_000, false);
        let header = crate::picture::jpeg_header(parts(&message).1).unwrap();
        assert_eq!((header.width, header.height), (16, 8));
        let jpeg = parts(&message).1.to_vec();
        tap.put(&Frame {
            bytes: Arc::new(jpeg.clone()),
            format: PixelFormat::Mjpeg,
            stride: 0,
            seq: 5,
            ..raw
        });
        assert_eq!(parts(&messages.binary(&poses(), 9_000, false)).1, jpeg);
    }
}
