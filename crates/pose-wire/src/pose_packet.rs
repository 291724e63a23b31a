//! POSE: one person at one moment.

use pose::{JOINTS, JointState, Pose, PoseJoint, Stamped};

use crate::{
    bytes::{Reader, Writer},
    quantise::{JOINT_SCORE_MAX, coordinate_code, coordinate_px, round_i16, sigma_code, sigma_px, unit_code},
};

/// Body without persons: only the head.
pub(crate) const BODY_LEN_NOBODY: usize = 28;
/// Body with joints.
pub(crate) const BODY_LEN: usize = BODY_LEN_NOBODY + 6 * JOINTS;
/// Body with joints and the 3D block.
pub(crate) const BODY_LEN_3D: usize = BODY_LEN + 6 * JOINTS;

/// Low bits of the layout byte.
const SCALE_MASK: u8 = 0x0f;
/// Bit of the layout byte: the 3D block follows the joints.
const HAS_3D: u8 = 0x10;
/// Largest scale: pictures of 2^20 pixels and more are nobody's.
const SCALE_MAX: u8 = 8;

/// One person at one moment, or that nobody is there (`person` is `None`), in wire units.
///
/// ```text
///  4 seq u32   8 captured_at µs i64   16 age µs i32   20 horizon µs i32   24 track_id u32
/// 28 score u8   29 index u8   30 persons u8   31 layout u8: bits 0-3 scale, bit 4 a 3D block follows, rest 0
/// 32 17 × { x i16, y i16, sigma u8, mark u8: bits 0-1 state, bits 2-7 score }                            134 = end
///134 17 × { x i16, y i16, z i16 } in mm, if bit 4 of layout is set                                       236 = end
/// ```
///
/// Where `persons` is 0 the body may end at 32, and [`crate::encode`] ends it there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PosePacket {
    /// Counts moments of sending; the packets of all persons of one moment share it. Wraps. A gap is a loss.
    pub seq: u32,
    /// Capture time of the frame behind the pose, microseconds of the host's monotonic clock.
    pub captured_at_us: i64,
    /// How old that was when the packet was handed to the serial driver, microseconds.
    pub age_us: i32,
    /// What the pose describes: this long after the capture, microseconds. `horizon - age` is how far ahead of the
    /// moment of sending.
    pub horizon_us: i32,
    /// How many persons this moment has; 0 exactly where `person` is `None`.
    pub persons: u8,
    /// The person that this packet is about.
    pub person: Option<Person>,
}

/// The part of a [`PosePacket`] that is about its person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Person {
    /// Which of the moment's persons, from 0, below `persons`.
    pub index: u8,
    /// Stable identity, from 1.
    pub track_id: u32,
    /// The person's own score, 1/255.
    pub score: u8,
    /// Coordinates are in units of 2^scale/8 px, 0..=8.
    pub scale: u8,
    /// COCO's order.
    pub joints: [JointCode; JOINTS],
    /// Hip-centred places in mm (x right, y down, z away from the camera).
    pub joints_3d_mm: Option<[[i16; 3]; JOINTS]>,
}

/// One joint in wire units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JointCode {
    /// Units of 2^scale/8 px of the source image.
    pub x: i16,
    /// Units of 2^scale/8 px of the source image.
    pub y: i16,
    /// [`sigma_code`].
    pub sigma: u8,
    /// Bits 0-1: state (0 absent, 1 measured, 2 predicted, 3 reserved: read as absent). Bits 2-7: score, 1/63.
    pub mark: u8,
}

/// The moment of sending: what the persons of one `seq` have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emission {
    /// Counts moments of sending.
    pub seq: u32,
    /// When the packets are handed to the serial driver, microseconds of the clock that stamped the frame.
    pub sent_at_us: i64,
    /// How many persons this moment has.
    pub persons: u8,
    /// Units of the coordinates: [`scale_for`] of the source image.
    pub scale: u8,
}

/// The picture is larger than the wire's coordinates reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a picture of {0} pixels a side is larger than the wire can address (2^20); scale it down before tracking"
)]
pub struct ScaleError(pub u32);

/// The smallest scale whose coordinates reach over a picture of `width` × `height` pixels: 0 up to 4095 px (steps of 1/8 px),
/// 1 up to 8190 px (1/4 px), and so on.
///
/// # Errors
/// Where none does.
pub fn scale_for(width_px: u32, height_px: u32) -> Result<u8, ScaleError> {
    let side = width_px.max(height_px);
    (0..=SCALE_MAX).find(|s| side <= 4095 << s).ok_or(ScaleError(side))
}

impl JointCode {
    fn new(joint: &PoseJoint, scale: u8) -> Self {
        let finite = joint.x_px.is_finite() && joint.y_px.is_finite();
        if joint.state == JointState::Absent || !finite {
            return Self::default();
        }
        let score = unit_code(joint.score, JOINT_SCORE_MAX);
        Self {
            x: coordinate_code(joint.x_px, scale),
            y: coordinate_code(joint.y_px, scale),
            sigma: sigma_code(joint.sigma_px, scale),
            mark: joint.state as u8 | score << 2,
        }
    }

    /// How the joint's place is known.
    pub fn state(self) -> JointState {
        match self.mark & 3 {
            1 => JointState::Measured,
            2 => JointState::Predicted,
            _ => JointState::Absent,
        }
    }

    /// Back to pixels; an absent joint is all zeros.
    pub fn joint(self, scale: u8) -> PoseJoint {
        match self.state() {
            JointState::Absent => PoseJoint::default(),
            state => PoseJoint {
                x_px: coordinate_px(self.x, scale),
                y_px: coordinate_px(self.y, scale),
                score: f32::from(self.mark >> 2) / f32::from(JOINT_SCORE_MAX),
                sigma_px: sigma_px(self.sigma, scale),
                state,
            },
        }
    }
}

impl PosePacket {
    /// The packet of person `index` (below `at.persons`).
    ///
    /// What is lost: places move by at most 2^scale/16 px and stop at ±4096·2^scale px, scores by 1/126 (a joint's) and
    /// 1/510 (the person's), sigmas as [`sigma_code`] says, 3D by 0.5 mm up to ±32.7 m. Absent joints, and joints whose
    /// place is not finite, travel as zeros. Age and horizon stop at ±35 minutes.
    pub fn new(stamped: &Stamped<Pose>, index: u8, at: Emission) -> Self {
        let pose = &stamped.value;
        Self {
            persons: at.persons,
            person: Some(Person {
                index,
                track_id: pose.track_id,
                score: unit_code(pose.score, u8::MAX),
                scale: at.scale,
                joints: core::array::from_fn(|j| JointCode::new(&pose.joints[j], at.scale)),
                joints_3d_mm: pose.joints_3d_m.map(|all| all.map(|p| p.map(|m| round_i16(m * 1000.0)))),
            }),
            ..Self::nobody(stamped.captured_at_us, stamped.valid_at_us, at)
        }
    }

    /// The packet that says that nobody is there.
    pub fn nobody(captured_at_us: i64, valid_at_us: i64, at: Emission) -> Self {
        Self {
            seq: at.seq,
            captured_at_us,
            age_us: saturate(at.sent_at_us.saturating_sub(captured_at_us)),
            horizon_us: saturate(valid_at_us.saturating_sub(captured_at_us)),
            persons: 0,
            person: None,
        }
    }

    /// Back to a pose with its times, on the host's clock; `None` where nobody is there.
    pub fn stamped(&self) -> Option<Stamped<Pose>> {
        self.person.map(|person| Stamped {
            captured_at_us: self.captured_at_us,
            valid_at_us: self.captured_at_us.saturating_add(i64::from(self.horizon_us)),
            value: person.pose(),
        })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.put(self.seq.to_le_bytes());
        w.put(self.captured_at_us.to_le_bytes());
        w.put(self.age_us.to_le_bytes());
        w.put(self.horizon_us.to_le_bytes());
        let Some(p) = &self.person else {
            w.put([0; 8]);
            return;
        };
        let has_3d = if p.joints_3d_mm.is_some() { HAS_3D } else { 0 };
        w.put(p.track_id.to_le_bytes());
        w.put([p.score, p.index, self.persons, p.scale | has_3d]);
        for j in &p.joints {
            w.put(j.x.to_le_bytes());
            w.put(j.y.to_le_bytes());
            w.put([j.sigma, j.mark]);
        }
        for mm in p.joints_3d_mm.iter().flatten().flatten() {
            w.put(mm.to_le_bytes());
        }
    }

    pub(crate) fn read(mut r: Reader<'_>) -> Option<Self> {
        let (seq, captured_at_us, age_us, horizon_us) = (r.u32(), r.i64(), r.i32(), r.i32());
        let track_id = r.u32();
        let [score, index, persons, layout] = r.array();
        let person = if persons == 0 {
            None
        } else {
            let scale = layout & SCALE_MASK;
            if index >= persons || scale > SCALE_MAX {
                return None;
            }
            Some(Person {
                index,
                track_id,
                score,
                scale,
                joints: core::array::from_fn(|_| JointCode {
                    x: r.i16(),
                    y: r.i16(),
                    sigma: r.u8(),
                    mark: r.u8(),
                }),
                joints_3d_mm: (layout & HAS_3D != 0)
                    .then(|| core::array::from_fn(|_| core::array::from_fn(|_| r.i16()))),
            })
        };
        r.finish(Self { seq, captured_at_us, age_us, horizon_us, persons, person })
    }

    /// Whether a decoder would take it back.
    pub(crate) fn is_consistent(&self) -> bool {
        match &self.person {
            None => self.persons == 0,
            Some(p) => p.index < self.persons && p.scale <= SCALE_MAX,
        }
    }
}

impl Person {
    /// Back to pixels, metres and scores of 0..=1.
    pub fn pose(&self) -> Pose {
        Pose {
            track_id: self.track_id,
            score: f32::from(self.score) / 255.0,
            joints: self.joints.map(|j| j.joint(self.scale)),
            joints_3d_m: self.joints_3d_mm.map(|all| all.map(|p| p.map(|mm| f32::from(mm) / 1000.0))),
            place: None,
        }
    }
}

fn saturate(us: i64) -> i32 {
    us.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_reach_over_the_picture_and_no_further_than_needed() {
        assert_eq!(scale_for(640, 480), Ok(0));
        assert_eq!(scale_for(4095, 1), Ok(0));
        assert_eq!(scale_for(4096, 1), Ok(1));
        assert_eq!(scale_for(1, 7680), Ok(1));
        assert_eq!((scale_for(8190, 1), scale_for(8191, 1)), (Ok(1), Ok(2)));
        assert_eq!(scale_for(4095 << 8, 1), Ok(8));
        assert_eq!(scale_for(1 << 20, 1), Err(ScaleError(1 << 20)));
    }

    #[test]
    fn a_reserved_state_is_read_as_absent() {
        let code = JointCode { x: 8, y: 8, sigma: 3, mark: 0xff };
        assert_eq!(code.joint(0), PoseJoint::default());
    }

    #[test]
    fn a_joint_whose_place_is_not_a_number_is_absent_on_the_wire() {
        let joint =
            PoseJoint { x_px: f32::NAN, state: JointState::Measured, score: 1.0, ..Default::default() };
        assert_eq!(JointCode::new(&joint, 0), JointCode::default());
        let joint = PoseJoint { x_px: 3.0, y_px: f32::INFINITY, ..joint };
        assert_eq!(JointCode::new(&joint, 0), JointCode::default());
    }

    #[test]
    fn an_age_and_a_horizon_beyond_35_minutes_stop_there() {
        let at = |sent_at_us| Emission { seq: 0, sent_at_us, persons: 0, scale: 0 };
        let hour_us = 3_600_000_000;
        let late = PosePacket::nobody(0, -hour_us, at(hour_us));
        assert_eq!((late.age_us, late.horizon_us), (i32::MAX, i32::MIN));
        let early = PosePacket::nobody(i64::MAX, i64::MAX, at(i64::MIN));
        assert_eq!((early.age_us, early.horizon_us), (i32::MIN, 0));
    }
}
