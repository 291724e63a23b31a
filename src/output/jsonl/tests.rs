//! What every format says is what `full` says.

use pose::{JOINTS, Joint, JointState, Place, Pose, PoseJoint, Stamped};
use serde_json::{Value, json};

use super::*;

fn stamped(value: Pose) -> Stamped<Pose> {
    Stamped { captured_at_us: 5, valid_at_us: 5, value }
}

/// The numbers of a camera above somebody's floor.
const FLOOR: pose::Floor = pose::Floor {
    up: [0.0, -1.0, 0.0],
    ahead: [0.0, 0.0, 1.0],
    right: [1.0, 0.0, 0.0],
    height_m: 1.32,
    height_sigma_m: 0.08,
    pitch_deg: 7.5,
    pitch_sigma_deg: 1.25,
    roll_deg: -0.5,
    roll_sigma_deg: 1.0,
};

const HEAD: Head<'_> = Head {
    seq: 7,
    frame: Some(9),
    captured_at_us: -5,
    emitted_at_us: 12,
    size_px: None,
    source: None,
    floor: None,
};

fn written(format: Format, head: &Head<'_>, poses: &[Pose]) -> String {
    let mut to = Vec::new();
    format.write(&mut to, head, poses.iter().map(|pose| stamped(*pose)));
    String::from_utf8(to).unwrap()
}

fn parsed(format: Format, head: &Head<'_>, poses: &[Pose]) -> Vec<Value> {
    written(format, head, poses).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn random_pose(rng: &mut fastrand::Rng, track_id: u32) -> Pose {
    let mut pose = Pose { track_id, score: rng.f32(), ..Pose::default() };
    for joint in &mut pose.joints {
        *joint = PoseJoint {
            x_px: rng.f32() * 2000.0 - 300.0,
            y_px: rng.f32() * 1100.0 - 10.0,
            score: rng.f32(),
            sigma_px: rng.f32() * 40.0,
            state: [JointState::Measured, JointState::Predicted, JointState::Absent][rng.usize(..3)],
        };
    }
    pose.place = rng.bool().then(|| Place {
        at_m: [rng.f32(), -1.5, 3.0],
        sigma_m: [0.1, 0.25, rng.f32()],
        distance_m: 3.0 + rng.f32(),
        distance_sigma_m: rng.f32(),
    });
    pose.joints_3d_m = rng.bool().then(|| std::array::from_fn(|_| [0.25, -1.5, rng.f32()]));
    pose
}

/// Frames of nobody to several, of all kinds of head.
fn random_frames() -> Vec<(Head<'static>, Vec<Pose>)> {
    let mut rng = fastrand::Rng::with_seed(3);
    let frame = |seq| {
        let head = Head {
            seq,
            frame: rng.bool().then(|| rng.u64(..)),
            captured_at_us: rng.i64(..),
            emitted_at_us: rng.i64(..),
            size_px: rng.bool().then(|| [rng.u32(..), rng.u32(..)]),
            source: rng.bool().then_some(BUILT_IN),
            floor: rng.bool().then_some(FLOOR),
        };
        let poses = (0..rng.u32(..4)).map(|id| random_pose(&mut rng, id + 1)).collect();
        (head, poses)
    };
    (0..40).map(frame).collect()
}

fn read(v: &Value) -> f32 {
    v.as_f64().unwrap() as f32
}

#[test]
fn a_frame_without_persons_is_a_line_where_lines_are_frames() {
    let line = "{\"seq\":7,\"frame\":9,\"captured_us\":-5,\"emitted_us\":12,\"persons\":[]}\n";
    for format in Format::ALL {
        let is_frames = [Format::Full, Format::Named].contains(&format);
        assert_eq!(written(format, &HEAD, &[]), if is_frames { line } else { "" });
    }
}

#[test]
fn every_number_of_full_reads_back_as_the_same_bits() {
    for (head, poses) in random_frames() {
        let line = &parsed(Format::Full, &head, &poses)[0];
        assert_eq!((line["seq"].as_u64(), line["frame"].as_u64()), (Some(head.seq), head.frame));
        assert_eq!(line["captured_us"].as_i64(), Some(head.captured_at_us));
        let sides = ["width", "height"].map(|side| line.get(side).and_then(Value::as_u64));
        assert_eq!(sides, [0, 1].map(|axis| head.size_px.map(|px| px[axis].into())));
        assert_eq!(line["source"].as_str(), head.source);
        assert_eq!(line["persons"].as_array().unwrap().len(), poses.len());
        for (person, pose) in line["persons"].as_array().unwrap().iter().zip(&poses) {
            assert_eq!((&person["id"], read(&person["score"])), (&pose.track_id.into(), pose.score));
            for (i, joint) in pose.joints.iter().enumerate() {
                let k = &person["keypoints"][i];
                if joint.state == JointState::Absent {
                    assert_eq!(*k, json!([0, 0, 0, 0, "absent"]));
                    continue;
                }
                let got = [0, 1, 2, 3].map(|c| read(&k[c]));
                assert_eq!(got, [joint.x_px, joint.y_px, joint.score, joint.sigma_px], "joint {i}");
                assert_eq!(k[4], joint.state.name());
            }
            match pose.joints_3d_m {
                Some(places) => {
                    assert!((0..JOINTS).all(|i| read(&person["keypoints3d"][i][2]) == places[i][2]))
                }
                None => assert!(person["keypoints3d"].is_null()),
            }
            let places =
                pose.place.iter().flat_map(|p| p.at_m.into_iter().chain([p.distance_m, p.distance_sigma_m]));
            let told = person["place"]
                .as_array()
                .into_iter()
                .flatten()
                .chain(person.get("distance"))
                .chain(person.get("distance_sigma"));
            assert!(told.map(read).eq(places), "{person}");
            let bounds = pose.bounds().unwrap();
            assert_eq!(
                [0, 1, 2, 3].map(|c| read(&person["box"][c])),
                [bounds.x, bounds.y, bounds.w, bounds.h]
            );
        }
    }
}

#[test]
fn named_is_full_under_the_joints_names() {
    for (head, poses) in random_frames() {
        let mut line = parsed(Format::Full, &head, &poses).remove(0);
        for person in line["persons"].as_array_mut().unwrap() {
            let joint = |k: &Value| match &k[4] == "absent" {
                true => Value::Null,
                false => json!({"x": k[0], "y": k[1], "score": k[2], "sigma": k[3], "state": k[4]}),
            };
            let by_name = |values: Vec<Value>| -> Value {
                Joint::ALL.iter().map(|j| j.name().to_owned()).zip(values).collect()
            };
            person["keypoints"] =
                by_name(person["keypoints"].as_array().unwrap().iter().map(joint).collect());
            if let Some(places) = person["keypoints3d"].as_array() {
                let place = |p: &Value| json!({"x": p[0], "y": p[1], "z": p[2]});
                person["keypoints3d"] = by_name(places.iter().map(place).collect());
            }
        }
        assert_eq!(parsed(Format::Named, &head, &poses), [line]);
    }
}

#[test]
fn coco_is_what_its_tools_read() {
    for (head, poses) in random_frames() {
        let lines = written(Format::Coco, &head, &poses);
        assert_eq!(lines.lines().count(), poses.len());
        for (line, pose) in lines.lines().zip(&poses) {
            let read: crate::coco::Prediction = serde_json::from_str(line).unwrap();
            assert_eq!(read.image_id, head.frame.unwrap_or(head.seq));
            assert_eq!((read.category_id, read.score as f32), (1, pose.score));
            assert_eq!(read.keypoints.len(), 3 * JOINTS);
            for (k, joint) in read.keypoints.chunks_exact(3).zip(&pose.joints) {
                let expected = match joint.state {
                    JointState::Absent => [0.0; 3],
                    _ => [joint.x_px - 0.5, joint.y_px - 0.5, joint.score],
                };
                assert_eq!([k[0] as f32, k[1] as f32, k[2] as f32], expected);
            }
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["track_id"], pose.track_id);
            assert_eq!(super::tests::read(&line["bbox"][2]), pose.bounds().unwrap().w);
            assert_eq!(line["source"].as_str(), head.source);
        }
    }
}

/// A table's cells, without quotes in them.
fn cells_of(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split(',').collect()).collect()
}

#[test]
fn flat_and_csv_say_the_same_and_what_full_says() {
    let mut names = Vec::new();
    Format::Csv.write_first_row(&mut names);
    let names = String::from_utf8(names).unwrap();
    let names = &cells_of(&names)[0];
    assert_eq!(names.len(), 19 + JOINTS * 8 + 10);
    for (head, poses) in random_frames() {
        let full = &parsed(Format::Full, &head, &poses)[0];
        let (flat, csv) = (parsed(Format::Flat, &head, &poses), written(Format::Csv, &head, &poses));
        let rows = cells_of(&csv);
        assert_eq!((flat.len(), rows.len()), (poses.len(), poses.len()));
        for (i, (flat, row)) in flat.iter().zip(rows).enumerate() {
            // The order of keys is the text's.
            assert_eq!(flat.as_object().unwrap().len(), names.len());
            assert_eq!(row.len(), names.len());
            for (name, cell) in names.iter().zip(row) {
                match &flat[*name] {
                    Value::Null => assert_eq!(cell, "", "{name}"),
                    Value::String(word) => assert_eq!(cell, word, "{name}"),
                    number => assert_eq!(cell.parse::<f64>().unwrap(), number.as_f64().unwrap(), "{name}"),
                }
            }
            let person = &full["persons"][i];
            assert_eq!(
                (&flat["frame"], &flat["id"], &flat["score"]),
                (&full["frame"], &person["id"], &person["score"])
            );
            let of_place = |key: &str, i: usize| person.get(key).map_or(&Value::Null, |place| &place[i]);
            for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
                let sigma = &flat[format!("place_{name}_sigma")];
                assert_eq!(
                    (&flat[format!("place_{name}")], sigma),
                    (of_place("place", axis), of_place("place_sigma", axis))
                );
            }
            for name in ["height", "height_sigma", "pitch", "pitch_sigma", "roll", "roll_sigma"] {
                let of_floor = full.get("floor").map_or(&Value::Null, |floor| &floor[name]);
                assert_eq!(&flat[format!("floor_{name}")], of_floor, "{name}");
            }
            assert_eq!(
                (&flat["ground_x"], &flat["ground_z"]),
                (of_place("ground", 0), of_place("ground", 1))
            );
            for name in ["width", "height"] {
                assert_eq!(&flat[name], full.get(name).unwrap_or(&Value::Null));
            }
            for name in ["distance", "distance_sigma"] {
                assert_eq!(&flat[name], person.get(name).unwrap_or(&Value::Null));
            }
            assert_eq!((&flat["box_y"], &flat["box_h"]), (&person["box"][1], &person["box"][3]));
            for (j, joint) in Joint::ALL.iter().enumerate() {
                let k = &person["keypoints"][j];
                let is_absent = k[4] == "absent";
                let place = |value: &Value| if is_absent { Value::Null } else { value.clone() };
                let of = |what: &str| &flat[format!("{}_{what}", joint.name())];
                assert_eq!((of("x"), of("y")), (&place(&k[0]), &place(&k[1])));
                assert_eq!((of("score").as_f64(), of("state")), (k[2].as_f64(), &k[4]));
                assert_eq!((of("sigma"), of("z3d")), (&place(&k[3]), &person["keypoints3d"][j][2]));
            }
        }
    }
}

#[test]
fn places_and_numbers_that_are_none_are_no_places() {
    let mut pose = Pose { track_id: 1, score: f32::NAN, ..Pose::default() };
    pose.joints[0] =
        PoseJoint { x_px: 55.0, y_px: 66.0, score: 0.5, sigma_px: 3.0, state: JointState::Absent };
    pose.joints[1] =
        PoseJoint { x_px: f32::INFINITY, y_px: 1.0, score: 1.0, sigma_px: 2.0, state: JointState::Measured };
    pose.joints[2] =
        PoseJoint { x_px: 1.0, y_px: 2.0, score: 1.0, sigma_px: f32::NAN, state: JointState::Measured };
    let person = &parsed(Format::Full, &HEAD, &[pose])[0]["persons"][0];
    assert_eq!(person["keypoints"][0], json!([0, 0, 0, 0, "absent"]));
    assert_eq!(person["keypoints"][1], json!([0, 0, 0, 0, "absent"]));
    assert_eq!(person["keypoints"][2], json!([1, 2, 1, 0, "measured"]));
    assert_eq!((&person["score"], &person["keypoints3d"]), (&json!(0), &Value::Null));
    let named = &parsed(Format::Named, &HEAD, &[pose])[0]["persons"][0];
    assert_eq!((&named["keypoints"]["nose"], &named["keypoints"]["left_eye"]), (&Value::Null, &Value::Null));
    let flat = &parsed(Format::Flat, &HEAD, &[pose])[0];
    assert_eq!((&flat["left_eye_x"], &flat["left_eye_score"]), (&Value::Null, &json!(0)));
    assert_eq!(parsed(Format::Coco, &HEAD, &[pose])[0]["keypoints"][8], 1);
}

#[test]
fn the_fullest_lines_fit_the_buffer_made_for_them() {
    let mut pose = Pose { track_id: u32::MAX, score: 0.123_456_79, ..Pose::default() };
    pose.joints = [PoseJoint {
        x_px: -1234.5678,
        y_px: -1234.5678,
        score: 0.000_012_345_678,
        sigma_px: 0.000_012_345_678,
        state: JointState::Predicted,
    }; JOINTS];
    pose.joints_3d_m = Some([[-0.000_012_345_678; 3]; JOINTS]);
    let head = Head {
        seq: u64::MAX,
        frame: None,
        captured_at_us: i64::MIN,
        emitted_at_us: i64::MIN,
        size_px: Some([u32::MAX; 2]),
        source: Some(BUILT_IN),
        floor: Some(FLOOR),
    };
    for format in Format::ALL {
        let mut to = Vec::new();
        format.write_first_row(&mut to);
        format.write(&mut to, &head, std::iter::repeat_n(stamped(pose), pose::MAX_PERSONS));
        assert!(to.len() < CAPACITY, "{format}: {}", to.len());
    }
}

#[test]
fn the_floor_is_told_of_before_the_persons_and_where_on_it_each_stands() {
    let place = pose::Place { at_m: [0.5, 0.2, 3.0], distance_m: 3.05, ..pose::Place::default() };
    let pose = Pose { place: Some(place), ..Pose::default() };
    for format in [Format::Full, Format::Named] {
        let mut line = Vec::new();
        let head = Head { floor: Some(FLOOR), ..HEAD };
        format.write(&mut line, &head, std::iter::once(stamped(pose)));
        let told: serde_json::Value = serde_json::from_slice(&line).unwrap();
        let floor = serde_json::json!({"height": 1.32, "height_sigma": 0.08, "pitch": 7.5, "pitch_sigma": 1.25,
            "roll": -0.5, "roll_sigma": 1});
        assert_eq!((&told["floor"], &told["persons"][0]["ground"]), (&floor, &serde_json::json!([0.5, 3])));
        let mut line = Vec::new();
        format.write(&mut line, &HEAD, std::iter::once(stamped(pose)));
        let told: serde_json::Value = serde_json::from_slice(&line).unwrap();
        assert!(told.get("floor").is_none() && told["persons"][0].get("ground").is_none());
    }
}
