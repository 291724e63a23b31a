//! Motion and poses as places of 20 joints: COCO's 17, mid-hip, neck and top of the head. Metres; left, up and ahead of
//! whoever heads along +z.

use crate::{
    asset::{AssetError, Parts, deltas},
    math::{Mat3, PI, Vec3, atan2, cos, mix, sin, vec3, yaw},
    rng::Rng,
};

/// Joints of a pose.
pub const POSE_JOINTS: usize = 20;

/// A pose.
pub type Places = [Vec3; POSE_JOINTS];

/// Indices into [`Places`].
pub mod joint {
    #![allow(missing_docs, reason = "the names say it")]
    use pose::Joint;

    pub const NOSE: usize = Joint::Nose as usize;
    pub const L_EAR: usize = Joint::LeftEar as usize;
    pub const R_EAR: usize = Joint::RightEar as usize;
    pub const L_SHOULDER: usize = Joint::LeftShoulder as usize;
    pub const R_SHOULDER: usize = Joint::RightShoulder as usize;
    pub const L_HIP: usize = Joint::LeftHip as usize;
    pub const R_HIP: usize = Joint::RightHip as usize;
    pub const L_KNEE: usize = Joint::LeftKnee as usize;
    pub const L_ANKLE: usize = Joint::LeftAnkle as usize;
    pub const R_ANKLE: usize = Joint::RightAnkle as usize;
    pub const PELVIS: usize = 17;
    pub const NECK: usize = 18;
    pub const HEAD_TOP: usize = 19;
}
use joint::{L_ANKLE, L_HIP, L_KNEE, L_SHOULDER, NECK, PELVIS, R_ANKLE, R_HIP, R_SHOULDER};

/// Joints above the hips.
const UPPER: [usize; 13] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 18, 19];

/// Left for right.
const MIRROR: [usize; POSE_JOINTS] = [0, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14, 13, 16, 15, 17, 18, 19];

/// One recorded sequence.
#[derive(Debug, Clone)]
pub struct Clip {
    /// Name in CMU's list.
    pub name: String,
    /// Poses at the motion's rate.
    pub frames: Vec<Places>,
    /// Height of an ankle whose foot stands on the ground.
    pub ankle_m: f32,
}

/// Some sequences at one rate.
#[derive(Debug)]
pub struct Motion {
    /// Poses a second.
    pub hz: f32,
    /// The sequences.
    pub clips: Vec<Clip>,
}

impl Motion {
    /// Reads a packed motion file, as `assets/build.py --all-motion` writes it.
    ///
    /// # Errors
    /// [`AssetError`] where it is not one.
    pub fn read_file(bytes: &[u8]) -> Result<Self, AssetError> {
        let parts = Parts::read(bytes)?;
        let hz = match parts.get("hz") {
            Ok(&[hz]) if hz > 0 => f32::from(hz),
            Ok(_) => return Err(AssetError::Part("hz")),
            Err(_) => 15.0,
        };
        Self::read(parts.get("clips")?, hz)
    }

    pub(crate) fn read(data: &[u8], hz: f32) -> Result<Self, AssetError> {
        let wrong = || AssetError::Part("clips");
        let word = |k: usize| {
            let bytes = data.get(k..k + 4).ok_or_else(wrong)?;
            Ok(u32::from_le_bytes(bytes.try_into().expect("four bytes")) as usize)
        };
        let (head_len, count) = (word(0)?, word(4)?);
        let head = data.get(8..8 + head_len).ok_or_else(wrong)?;
        let names: Vec<(String, usize)> = serde_json::from_slice(head).map_err(|_| wrong())?;
        let steps = deltas(&data[8 + head_len..], 3 * POSE_JOINTS);
        // Who asks a clip for a pose gets one: none may be empty.
        let whole = names.iter().map(|n| n.1).sum::<usize>();
        if steps.len() != count * 3 * POSE_JOINTS
            || whole != count
            || names.iter().any(|n| n.1 == 0)
            || count == 0
        {
            return Err(wrong());
        }
        let mut frames = steps.chunks_exact(3 * POSE_JOINTS).map(|row| {
            let at = |j: usize| vec3(row[3 * j] as f32, row[3 * j + 1] as f32, row[3 * j + 2] as f32) * 0.002;
            let places: Places =
                std::array::from_fn(|j| if j == PELVIS { at(j) } else { at(j) + at(PELVIS) });
            places
        });
        let clips = names
            .into_iter()
            .map(|(name, len)| {
                let frames: Vec<Places> = frames.by_ref().take(len).collect();
                let mut low: Vec<f32> = frames.iter().map(|f| f[L_ANKLE].y.min(f[R_ANKLE].y)).collect();
                low.sort_by(f32::total_cmp);
                let ankle_m = low.get(low.len() / 10).copied().unwrap_or(0.08);
                Clip { name, frames, ankle_m }
            })
            .collect();
        Ok(Self { hz, clips })
    }

    /// The sequence of that name.
    pub fn clip(&self, name: &str) -> Option<&Clip> {
        self.index(name).map(|k| &self.clips[k])
    }

    /// Where in `clips` the sequence of that name is.
    pub fn index(&self, name: &str) -> Option<usize> {
        self.clips.iter().position(|c| c.name == name)
    }

    /// Any pose of any sequence, the pelvis over the origin, heading along +z.
    pub fn any(&self, rng: &mut Rng) -> Places {
        let (clip, frame) = self.frame(rng);
        ahead(&self.clips[clip].frames[frame])
    }

    /// Any frame, each as likely: its clip and which of the clip's it is.
    pub fn frame(&self, rng: &mut Rng) -> (usize, usize) {
        let total: usize = self.clips.iter().map(|c| c.frames.len()).sum();
        let mut k = rng.below(total);
        for (at, clip) in self.clips.iter().enumerate() {
            if k < clip.frames.len() {
                return (at, k);
            }
            k -= clip.frames.len();
        }
        unreachable!("k is below the total")
    }
}

impl Clip {
    /// The pose `t_s` seconds in, between frames as they are near.
    pub fn at(&self, t_s: f32, hz: f32) -> Places {
        let t = (t_s * hz).clamp(0.0, (self.frames.len() - 1) as f32);
        let k = (t as usize).min(self.frames.len().saturating_sub(2));
        let u = t - k as f32;
        // Catmull-Rom: no kinks of the speed at 20 Hz.
        let p = |i: isize| &self.frames[(k as isize + i).clamp(0, self.frames.len() as isize - 1) as usize];
        let (a, b, c, d) = (p(-1), p(0), p(1), p(2));
        std::array::from_fn(|j| {
            let (a, b, c, d) = (a[j], b[j], c[j], d[j]);
            let (m0, m1) = ((c - a) * 0.5, (d - b) * 0.5);
            let (u2, u3) = (u * u, u * u * u);
            b * (2.0 * u3 - 3.0 * u2 + 1.0)
                + m0 * (u3 - 2.0 * u2 + u)
                + c * (3.0 * u2 - 2.0 * u3)
                + m1 * (u3 - u2)
        })
    }

    /// Seconds.
    pub fn length_s(&self, hz: f32) -> f32 {
        (self.frames.len() - 1) as f32 / hz
    }
}

/// Which way a pose heads: the angle of [`yaw`] that +z must be turned by.
pub fn heading(p: &Places) -> f32 {
    let left = (p[L_HIP] - p[R_HIP]) + (p[L_SHOULDER] - p[R_SHOULDER]) * 0.3;
    atan2(-left.z, left.x)
}

/// Turned to head along +z, the pelvis over the origin.
pub fn ahead(p: &Places) -> Places {
    let turn = yaw(-heading(p));
    let root = p[PELVIS].flat();
    p.map(|q| turn * (q - root))
}

/// Left for right of a pose over the origin.
pub fn mirrored(p: &Places) -> Places {
    std::array::from_fn(|j| {
        let q = p[MIRROR[j]];
        vec3(-q.x, q.y, q.z)
    })
}

/// The upper body of `other` on the hips of `p`.
pub fn grafted(p: &Places, other: &Places) -> Places {
    let mut out = *p;
    for j in UPPER {
        out[j] = p[PELVIS] + other[j] - other[PELVIS];
    }
    out
}

/// The upper body turned about the hips.
pub fn bent(p: &Places, turn: Mat3) -> Places {
    let mut out = *p;
    for j in UPPER {
        out[j] = p[PELVIS] + turn * (p[j] - p[PELVIS]);
    }
    out
}

/// The same with legs as on a chair, a step or the ground, the trunk upright, knees no farther out than `spread` a metre ahead. Of a
/// pose that heads along +z.
pub fn seated(p: &Places, spread: f32, rng: &mut Rng) -> Places {
    let lean = p[NECK] - p[PELVIS];
    let mut p = bent(p, Mat3::about(vec3(1.0, 0.0, 0.0), -0.8 * atan2(lean.z, lean.y.max(0.05))));
    let low = 0.09 + 0.3 * rng.normal();
    for (hip, side) in [(L_HIP, 1.0), (R_HIP, -1.0)] {
        let (thigh, shin) = ((p[hip + 2] - p[hip]).length(), (p[hip + 4] - p[hip + 2]).length());
        let a = low + 0.14 * rng.normal();
        let out = side * (0.2 + 0.22 * rng.normal()).min(spread);
        let knee = 1.48 + 0.3 * rng.normal();
        p[hip + 2] = p[hip] + vec3(out, -sin(a), cos(a)).unit() * thigh;
        let along = 0.3 * out - 0.1 * rng.normal();
        p[hip + 4] = p[hip + 2] + vec3(along, -sin(a + knee), cos(a + knee)).unit() * shin;
    }
    p
}

/// Standing at ease, as of somebody 1.75 m high.
pub fn standing(sway: f32) -> Places {
    let side = |x: f32, y: f32, z: f32| [vec3(x, y, z), vec3(-x, y, z)];
    let [le, re] = side(0.032, 1.66, 0.09);
    let [la, ra] = side(0.075, 1.64, 0.0);
    let [ls, rs] = side(0.185, 1.43, -0.01);
    let [lb, rb] = side(0.245, 1.14, -0.03);
    let [lw, rw] = side(0.25, 0.89, 0.05);
    let [lh, rh] = side(0.09, 0.95, 0.0);
    let [lk, rk] = side(0.105, 0.51, 0.015);
    let [lf, rf] = side(0.115, 0.085, -0.02);
    let mut p = [
        vec3(0.0, 1.61, 0.115),
        le,
        re,
        la,
        ra,
        ls,
        rs,
        lb,
        rb,
        lw,
        rw,
        lh,
        rh,
        lk,
        rk,
        lf,
        rf,
        vec3(0.0, 0.95, 0.0),
        vec3(0.0, 1.47, -0.01),
        vec3(0.0, 1.76, 0.01),
    ];
    for (j, q) in p.iter_mut().enumerate() {
        if ![L_KNEE, L_KNEE + 1, L_ANKLE, R_ANKLE].contains(&j) {
            q.x += 0.02 * sway;
        }
    }
    p
}

/// Between two poses, limb by limb: directions turn, lengths stay between.
pub fn blend(a: &Places, b: &Places, t: f32) -> Places {
    // Parent of each joint in the tree that hangs from the mid-hip.
    const PARENT: [usize; POSE_JOINTS] =
        [18, 0, 0, 0, 0, 18, 18, 5, 6, 7, 8, 17, 17, 11, 12, 13, 14, 17, 17, 18];
    const ORDER: [usize; POSE_JOINTS] =
        [17, 18, 0, 1, 2, 3, 4, 19, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
    let mut out = [Vec3::ZERO; POSE_JOINTS];
    for j in ORDER {
        if j == PELVIS {
            out[j] = a[j].mix(b[j], t);
            continue;
        }
        let (u, v) = (a[j] - a[PARENT[j]], b[j] - b[PARENT[j]]);
        let length = mix(u.length(), v.length(), t);
        let between = u.unit().mix(v.unit(), t);
        let direction = if between.length() < 0.05 { u } else { between };
        out[j] = out[PARENT[j]] + direction.unit() * length;
    }
    out
}

/// What a pose for a single picture is drawn from.
#[derive(Debug, Clone, Copy)]
pub struct PoseChoice {
    /// Share that sits.
    pub seated: f32,
    /// Share with another's upper body.
    pub grafted: f32,
    /// Share of everyday poses: standing and walking.
    pub plain: f32,
    /// Who sits has knees no farther out than so, metres a metre ahead.
    pub spread: f32,
}

impl Default for PoseChoice {
    fn default() -> Self {
        Self { seated: 0.14, grafted: 0.2, plain: 0.25, spread: f32::MAX }
    }
}

/// A pose for a single picture, heading along +z, over the origin.
pub fn draw(stills: &Motion, more: &Motion, choice: PoseChoice, rng: &mut Rng) -> Places {
    let one = |rng: &mut Rng| if rng.chance(0.5) { stills.any(rng) } else { more.any(rng) };
    let mut p = if rng.chance(choice.plain) {
        let sway = rng.normal();
        let ease = standing(sway);
        let t = rng.between(0.0, 0.9);
        let other = more.any(rng);
        // Between standing and something livelier.
        if other[NECK].y - other[PELVIS].y > 0.4 { blend(&ease, &grafted(&ease, &other), t) } else { ease }
    } else {
        one(rng)
    };
    if rng.chance(choice.grafted) {
        let other = one(rng);
        let (a, b) = (p[NECK] - p[PELVIS], other[NECK] - other[PELVIS]);
        if a.unit().dot(b.unit()) > 0.8 {
            p = grafted(&p, &other);
        }
    }
    if rng.chance(choice.seated) {
        p = seated(&p, choice.spread, rng);
    } else if rng.chance(0.3) && (p[NECK] - p[PELVIS]).unit().y > 0.8 {
        p = bent(&p, Mat3::about(vec3(1.0, 0.0, 0.0), (0.14 + 0.3 * rng.normal()).clamp(-0.3, PI / 2.5)));
    }
    if rng.chance(0.5) { mirrored(&p) } else { p }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asset::Asset;

    #[test]
    fn headings_are_found_and_undone() {
        let p = standing(0.0);
        assert!(heading(&p).abs() < 1e-5);
        let turned = p.map(|q| yaw(0.7) * q + vec3(1.0, 0.0, 2.0));
        assert!((heading(&turned) - 0.7).abs() < 1e-4);
        let back = ahead(&turned);
        assert!(back.iter().zip(&p).all(|(a, b)| (*a - *b).length() < 1e-4));
    }

    #[test]
    fn recorded_people_are_of_human_size_and_face_forwards() {
        let asset = Asset::embedded();
        for clip in asset.clips.clips.iter().chain(&asset.stills.clips) {
            for p in &clip.frames {
                let shin = (p[L_KNEE] - p[L_ANKLE]).length();
                assert!((0.3..0.6).contains(&shin), "{}: {shin}", clip.name);
            }
        }
        let walk = ahead(&asset.clips.clip("08_02").expect("a walk").frames[20]);
        assert!(walk[0].z > 0.0 && walk[L_HIP].x > 0.0, "the nose is ahead, the left hip left");
    }
}
