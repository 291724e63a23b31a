//! The volumetric body of the page: the mesh once, and how its bones move it with every frame of whoever shows it.
//!
//! The mesh is little-endian: the numbers of vertices, of triangles and of bones as u32; then of each vertex its place at rest (3 × i16,
//! 1/10 mm, x left of the body, y up, z ahead), four bones (u8), their weights (u8, 1/255) and how much light reaches it (u8); a zero
//! where that makes the length odd; of each triangle three vertices (u16).

use std::io::Write;

use pose::JOINTS;
use serde_json::Value;

use people::asset::INFLUENCES;
use people::mannequin::{Mannequin, Stand};
use people::math::Mat3;

/// Steps of a place, a metre.
const STEPS_PER_M: f32 = 10_000.0;

/// The mesh, as the page reads it.
pub(super) fn mesh(mannequin: &Mannequin) -> Vec<u8> {
    let (asset, body) = mannequin.rest();
    let mut bytes = Vec::new();
    for count in [body.rest.len(), asset.triangles.len(), asset.bones.len()] {
        bytes.extend_from_slice(&(count as u32).to_le_bytes());
    }
    for p in &body.rest {
        for v in [p.x, p.y, p.z] {
            bytes.extend_from_slice(&((v * STEPS_PER_M).round() as i16).to_le_bytes());
        }
    }
    let of_all = |k: fn(&(u8, f32)) -> u8| asset.influences.iter().flatten().map(k).collect::<Vec<u8>>();
    bytes.extend(of_all(|(bone, _)| *bone));
    bytes.extend(of_all(|(_, weight)| (weight * 255.0).round() as u8));
    bytes.extend(asset.light.iter().map(|light| (light * 255.0).round() as u8));
    if bytes.len() % 2 == 1 {
        bytes.push(0);
    }
    for corner in asset.triangles.iter().flatten() {
        bytes.extend_from_slice(&corner.to_le_bytes());
    }
    debug_assert_eq!(of_all(|_| 0).len(), INFLUENCES * body.rest.len());
    bytes
}

/// `[id, pixels a metre, x, y of the hips in pixels, lowest sole over them in metres, [of each bone a quaternion w x y z and a shift in metres]]`.
pub(super) fn write(bytes: &mut Vec<u8>, id: u32, stand: &Stand) {
    let [x, y] = stand.at_px;
    // Writing to a Vec cannot fail.
    let _ = write!(bytes, "[{id},{:.2},{x:.1},{y:.1},{:.2},[", stand.px_per_m, stand.sole_m);
    for (k, bone) in stand.posed.iter().enumerate() {
        let [w, x, y, z] = quaternion(bone.turn);
        let s = bone.shift;
        let comma = if k > 0 { "," } else { "" };
        let _ = write!(bytes, "{comma}{w:.4},{x:.4},{y:.4},{z:.4},{:.4},{:.4},{:.4}", s.x, s.y, s.z);
    }
    bytes.extend_from_slice(b"]]");
}

/// How the bodies of a JSON line of `full` stand, a list; persons without a pose in 3D have none.
pub(super) fn of_line(mannequin: &Mannequin, line: &[u8]) -> Vec<u8> {
    let line: Value = serde_json::from_slice(line).unwrap_or_default();
    let mut bytes = vec![b'['];
    for person in line["persons"].as_array().into_iter().flatten() {
        let number = |value: &Value| value.as_f64().map(|v| v as f32).filter(|v| v.is_finite());
        let seen: [Option<[f32; 2]>; JOINTS] = std::array::from_fn(|j| {
            let joint = &person["keypoints"][j];
            let is_there = joint[4].as_str().is_some_and(|state| state != "absent");
            is_there.then(|| Some([number(&joint[0])?, number(&joint[1])?])).flatten()
        });
        let of = |j: usize, axis: usize| number(&person["keypoints3d"][j][axis]);
        let is_whole = (0..3 * JOINTS).all(|k| of(k / 3, k % 3).is_some());
        let joints_m = std::array::from_fn(|j| std::array::from_fn(|axis| of(j, axis).unwrap_or_default()));
        let id = person["id"].as_u64().and_then(|id| u32::try_from(id).ok()).unwrap_or_default();
        if let Some(stand) = is_whole.then(|| mannequin.stand(&joints_m, &seen)).flatten() {
            if bytes.len() > 1 {
                bytes.push(b',');
            }
            write(&mut bytes, id, &stand);
        }
    }
    bytes.push(b']');
    bytes
}

/// w, x, y, z of a rotation.
fn quaternion(turn: Mat3) -> [f32; 4] {
    let [a, b, c] = turn.0;
    // Of the four ways to begin the one that divides by the largest.
    let squares =
        [1.0 + a.x + b.y + c.z, 1.0 + a.x - b.y - c.z, 1.0 - a.x + b.y - c.z, 1.0 - a.x - b.y + c.z];
    let largest = (0..4).max_by(|&i, &j| squares[i].total_cmp(&squares[j])).unwrap_or(0);
    let twice = squares[largest].max(0.0).sqrt();
    let half = 0.5 / twice.max(1e-6);
    let mut q = match largest {
        0 => [0.0, b.z - c.y, c.x - a.z, a.y - b.x],
        1 => [b.z - c.y, 0.0, a.y + b.x, c.x + a.z],
        2 => [c.x - a.z, a.y + b.x, 0.0, b.z + c.y],
        _ => [a.y - b.x, c.x + a.z, b.z + c.y, 0.0],
    }
    .map(|v| v * half);
    q[largest] = 0.5 * twice;
    q
}

#[cfg(test)]
mod tests {
    use super::*;
    use people::math::vec3;

    #[test]
    fn quaternions_turn_as_their_matrices_do() {
        // A little about every axis, and nearly half a turn about each.
        for (axis, angle) in [
            ([0.0, 1.0, 0.0], 0.3),
            ([1.0, 0.4, -0.7], 0.5),
            ([1.0, 2.0, -1.0], 2.9),
            ([0.2, -1.0, 0.4], 3.1),
            ([1.0, 0.3, -0.4], 3.0),
            ([0.3, 0.4, 1.0], 3.0),
        ] {
            let turn = Mat3::about(vec3(axis[0], axis[1], axis[2]).unit(), angle);
            let [w, x, y, z] = quaternion(turn);
            let (v, p) = (vec3(x, y, z), vec3(0.3, -0.7, 0.5));
            let turned = p + v.cross(p) * (2.0 * w) + v.cross(v.cross(p)) * 2.0;
            assert!((turned - turn * p).length() < 1e-4, "{axis:?}");
            assert!((w * w + v.dot(v) - 1.0).abs() < 1e-4);
        }
    }

    #[test]
    fn a_line_without_poses_in_3d_has_no_bodies() {
        let mannequin = Mannequin::new();
        for line in [
            "",
            "{}",
            "{\"persons\":7}",
            "{\"persons\":[{\"id\":1,\"keypoints\":[],\"keypoints3d\":null}]}",
            "{\"persons\":[{\"id\":-1,\"keypoints\":[[1,2]],\"keypoints3d\":[[0,0]]}]}",
        ] {
            assert_eq!(of_line(&mannequin, line.as_bytes()), b"[]", "{line}");
        }
    }

    #[test]
    fn an_absent_joint_bends_no_body_and_half_a_pose_has_none() {
        let mannequin = Mannequin::new();
        let sides = [[0.19, -0.48], [0.25, -0.2], [0.25, 0.05], [0.09, 0.0], [0.1, 0.43], [0.11, 0.86]];
        let joints: [[f32; 3]; JOINTS] = std::array::from_fn(|j| match j {
            0..5 => [[0.0, 0.03, -0.03, 0.07, -0.07][j], -0.68, if j < 3 { -0.1 } else { 0.0 }],
            _ => {
                let [x, y] = sides[(j - 5) / 2];
                [if j % 2 == 1 { x } else { -x }, y, 0.0]
            }
        });
        let line = |absent: [f32; 2], joints: &[[f32; 3]]| {
            let seen = |(j, p): (usize, &[f32; 3])| match j == 9 {
                true => serde_json::json!([absent[0], absent[1], 0, 0, "absent"]),
                false => serde_json::json!([300.0 + 200.0 * p[0], 250.0 + 200.0 * p[1], 0.9, 1, "measured"]),
            };
            let keypoints: Vec<Value> = joints.iter().enumerate().map(seen).collect();
            let person = serde_json::json!({"id": 7, "keypoints": keypoints, "keypoints3d": joints});
            of_line(&mannequin, serde_json::json!({ "persons": [person] }).to_string().as_bytes())
        };
        let whole = line([0.0; 2], &joints);
        assert!(whole.starts_with(b"[[7,"), "{}", String::from_utf8_lossy(&whole));
        assert_eq!(line([640.0, 480.0], &joints), whole);
        assert_eq!(line([0.0; 2], &joints[..16]), b"[]");
    }

    #[test]
    fn the_mesh_is_as_long_as_it_says() {
        let bytes = mesh(&Mannequin::new());
        let word = |k: usize| u32::from_le_bytes(bytes[4 * k..4 * k + 4].try_into().unwrap()) as usize;
        let (vertices, triangles, bones) = (word(0), word(1), word(2));
        assert_eq!(bytes.len(), 12 + (vertices * 15).next_multiple_of(2) + triangles * 6);
        assert!(bones < 32 && bytes.len() < 400_000, "{} bytes", bytes.len());
    }
}
