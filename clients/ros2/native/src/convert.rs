//! From a JSON line of `--udp` to a message.

use std::time::{Duration, SystemTime};

use serde::Deserialize;

use crate::messages::{Header, Point, Pose, PoseArray, Quaternion, Time};

/// x right, y down, z forward, as ROS's REP 103 has it for cameras: those of Posewire's metres.
pub const CAMERA: &str = "camera_optical_frame";
/// The same axes round each person's own hips, where the camera's lens is not known.
pub const HIPS: &str = "posewire_hips";

/// What is needed of a line.
#[derive(Debug, Deserialize)]
pub struct Frame {
    captured_us: i64,
    emitted_us: i64,
    persons: Vec<Person>,
    source: Option<String>,
}

impl Frame {
    /// Whether the tracker has no camera: these people are rendered.
    pub fn is_built_in(&self) -> bool {
        self.source.as_deref() == Some("built-in clip")
    }
}

#[derive(Debug, Deserialize)]
struct Person {
    keypoints: Vec<(f64, f64, f64, f64, String)>,
    keypoints3d: Option<Vec<[f64; 3]>>,
    place: Option<[f64; 3]>,
}

/// Everybody's joints, in the camera's frame if each has a place there; `now` is when the line arrived.
pub fn joints(frame: &Frame, now: SystemTime) -> PoseArray {
    let stands = !frame.persons.is_empty() && frame.persons.iter().all(|person| person.place.is_some());
    let orientation = Quaternion { x: 0.0, y: 0.0, z: 0.0, w: 1.0 };
    let poses = frame.persons.iter().flat_map(|person| {
        let hips = person.place.filter(|_| stands).unwrap_or_default();
        person.keypoints.iter().enumerate().map(move |(j, (.., state))| {
            let place = person.keypoints3d.as_ref().and_then(|places| places.get(j));
            let [x, y, z] = match place.filter(|_| state != "absent") {
                Some(place) => std::array::from_fn(|i| hips[i] + place[i]),
                None => [f64::NAN; 3],
            };
            Pose { position: Point { x, y, z }, orientation }
        })
    });
    let frame_id = if stands { CAMERA } else { HIPS }.to_owned();
    PoseArray { poses: poses.collect(), header: Header { stamp: stamp(frame, now), frame_id } }
}

/// When the light fell, on the system's clock: as long ago as when the line was made.
fn stamp(frame: &Frame, now: SystemTime) -> Time {
    let age = Duration::from_micros(frame.emitted_us.saturating_sub(frame.captured_us).max(0) as u64);
    let at = now
        .checked_sub(age)
        .and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok())
        .unwrap_or_default();
    Time { sec: i32::try_from(at.as_secs()).unwrap_or(i32::MAX), nanosec: at.subsec_nanos() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(place: &str) -> Frame {
        let joints: Vec<String> = (0..17)
            .map(|j| format!(r#"[{j},2,0.5,1,"{}"]"#, if j == 1 { "absent" } else { "measured" }))
            .collect();
        let places: Vec<String> = (0..17).map(|j| format!("[{}.5,-0.5,0.25]", j)).collect();
        let person = format!(
            r#"{{"id":1,"score":0.9,"box":[0,0,1,1],"keypoints":[{}],"keypoints3d":[{}]{place}}}"#,
            joints.join(","),
            places.join(",")
        );
        serde_json::from_str(&format!(
            r#"{{"seq":1,"frame":1,"captured_us":1000000,"emitted_us":1250000,"persons":[{person}]}}"#
        ))
        .unwrap()
    }

    #[test]
    fn the_built_in_clip_is_known() {
        let of = |source: &str| {
            let line = format!(r#"{{"captured_us":1,"emitted_us":2,"persons":[]{source}}}"#);
            serde_json::from_str::<Frame>(&line).unwrap().is_built_in()
        };
        assert_eq!((of(r#","source":"built-in clip""#), of("")), (true, false));
    }

    #[test]
    fn joints_stand_where_the_person_does_with_the_stamp_of_the_light() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(5_100);
        let told = joints(&line(r#","place":[1.0,0.5,3.0]"#), now);
        assert_eq!(told.header.stamp, Time { sec: 4, nanosec: 850_000_000 });
        assert_eq!(told.header.frame_id, CAMERA);
        assert_eq!(told.poses.len(), 17);
        assert_eq!(told.poses[2].position, Point { x: 3.5, y: 0.0, z: 3.25 });
        assert!(told.poses[1].position.x.is_nan(), "it is absent");

        let told = joints(&line(""), now);
        assert_eq!(told.header.frame_id, HIPS);
        assert_eq!(told.poses[2].position, Point { x: 2.5, y: -0.5, z: 0.25 });
    }
}
