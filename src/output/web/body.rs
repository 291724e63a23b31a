//! The volumetric body of the page: the mesh once, and how its bones move it with every frame of whoever shows it.
//!
//! The mesh is little-endian: the numbers of vertices, of triangles and of bones as u32; then of each vertex its place at rest (3 × i16,
//! 1/10 mm, x left of the body, y up, z ahead), four bones (u8), their weights (u8, 1/255) and how much light reaches it (u8); a zero
//! where that makes the length odd; of each triangle three vertices (u16).

use std::io::Write;

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
        for (axis, angle) in [([0.0, 1.0, 0.0], 0.3), ([1.0, 2.0, -1.0], 2.9), ([0.2, -1.0, 0.4], 3.1)] {
            let turn = Mat3::about(vec3(axis[0], axis[1], axis[2]).unit(), angle);
            let [w, x, y, z] = quaternion(turn);
            let (v, p) = (vec3(x, y, z), vec3(0.3, -0.7, 0.5));
            let turned = p + v.cross(p) * (2.0 * w) + v.cross(v.cross(p)) * 2.0;
            assert!((turned - turn * p).length() < 1e-4, "{axis:?}");
            assert!((w * w + v.dot(v) - 1.0).abs() < 1e-4);
        }
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
