//! The colours of somebody's clothes in a picture, between the joints that the network saw.

use pose::{Joint, Keypoints};

use crate::picture::{Picture, colour_at};
use crate::track::{Appearance, BodyRegion};

/// A joint below this score does not say where a region is.
const MIN_SCORE: f32 = 0.3;

/// Samples across and along a region.
const ACROSS: usize = 6;
const ALONG: usize = 8;

/// The outermost part of a region that is left out on each side, of its width or length: arms and what is behind lie there.
const EDGE: f32 = 0.15;

/// Half of a thigh's width, of its length.
const HALF_THIGH: f32 = 0.12;

/// What the person of `keypoints` wears in `picture`; what cannot be told stays unknown. Some 80 pixels are looked at.
pub(super) fn of_person(picture: &Picture<'_>, keypoints: &Keypoints) -> Appearance {
    let at = |joint: Joint| {
        let k = &keypoints.joints[joint as usize];
        (k.score >= MIN_SCORE).then_some([k.x_px, k.y_px])
    };
    let mut appearance = Appearance::UNKNOWN;
    let shoulders = (at(Joint::LeftShoulder), at(Joint::RightShoulder));
    let hips = (at(Joint::LeftHip), at(Joint::RightHip));
    if let ((Some(a), Some(b)), (Some(c), Some(d))) = (shoulders, hips) {
        sample(picture, [a, b], [c, d], BodyRegion::Torso, &mut appearance);
    }
    for (hip, knee) in [(hips.0, at(Joint::LeftKnee)), (hips.1, at(Joint::RightKnee))] {
        let (Some(hip), Some(knee)) = (hip, knee) else { continue };
        let (dx, dy) = (HALF_THIGH * (knee[0] - hip[0]), HALF_THIGH * (knee[1] - hip[1]));
        let side = |[x, y]: [f32; 2]| [[x - dy, y + dx], [x + dy, y - dx]];
        sample(picture, side(hip), side(knee), BodyRegion::Thighs, &mut appearance);
    }
    appearance
}

/// Adds the pixels between two edges, each from left to right.
fn sample(
    picture: &Picture<'_>,
    upper: [[f32; 2]; 2],
    lower: [[f32; 2]; 2],
    region: BodyRegion,
    appearance: &mut Appearance,
) {
    let mix = |[ax, ay]: [f32; 2], [bx, by]: [f32; 2], w: f32| [ax + w * (bx - ax), ay + w * (by - ay)];
    let within = |i: usize, n: usize| EDGE + (1.0 - 2.0 * EDGE) * (i as f32 + 0.5) / n as f32;
    for i in 0..ALONG {
        let (down, across) = (within(i, ALONG), 0..ACROSS);
        let (left, right) = (mix(upper[0], lower[0], down), mix(upper[1], lower[1], down));
        for k in across {
            let [x, y] = mix(left, right, within(k, ACROSS));
            if let Some(rgb) = colour_at(picture, x, y) {
                appearance.add(region, rgb);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::clip::Clip;
    use crate::capture::synthetic::Synthetic;
    use crate::picture::Decoder;

    /// Of three rendered people each looks more like themselves within two seconds than like another.
    #[test]
    fn people_keep_the_colours_of_their_clothes() {
        let mut clip = Synthetic::new(3, 640, 480, 30.0, 11).and_then(Synthetic::as_mjpeg).expect("valid");
        let mut decoder = Decoder::new().expect("sets up");
        let mut worn: [Vec<Appearance>; 3] = Default::default();
        for seq in 0..61 {
            let frame = clip.next().expect("a frame");
            if seq % 10 == 0 {
                let picture = decoder.decode(&frame, 1).expect("decodes");
                for (worn, person) in worn.iter_mut().zip(clip.truth()) {
                    worn.push(of_person(&picture, person));
                }
            }
        }
        let (mut own, mut other) = (Vec::new(), Vec::new());
        for (a, first) in worn.iter().enumerate() {
            for (b, second) in worn.iter().enumerate().skip(a) {
                let into = if a == b { &mut own } else { &mut other };
                for (i, first) in first.iter().enumerate() {
                    let later = second.iter().skip(if a == b { i + 1 } else { 0 });
                    into.extend(later.filter_map(|second| first.likeness(second)));
                }
            }
        }
        let mean = |of: &[f32]| of.iter().sum::<f32>() / of.len() as f32;
        assert!(own.len() > 30 && mean(&own) > mean(&other) + 0.1, "{} and {}", mean(&own), mean(&other));
    }
}
