//! COCO's 17 joints and the bones between them.

/// How many joints a pose has.
pub const JOINTS: usize = 17;

/// COCO's 17 joints; left and right are the person's own.
#[allow(missing_docs, reason = "the names say it")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Joint {
    Nose = 0,
    LeftEye,
    RightEye,
    LeftEar,
    RightEar,
    LeftShoulder,
    RightShoulder,
    LeftElbow,
    RightElbow,
    LeftWrist,
    RightWrist,
    LeftHip,
    RightHip,
    LeftKnee,
    RightKnee,
    LeftAnkle,
    RightAnkle,
}

impl Joint {
    /// Every joint, in COCO's order: `ALL[j as usize] == j`.
    pub const ALL: [Joint; JOINTS] = {
        use Joint::*;
        [
            Nose,
            LeftEye,
            RightEye,
            LeftEar,
            RightEar,
            LeftShoulder,
            RightShoulder,
            LeftElbow,
            RightElbow,
            LeftWrist,
            RightWrist,
            LeftHip,
            RightHip,
            LeftKnee,
            RightKnee,
            LeftAnkle,
            RightAnkle,
        ]
    };

    /// Nose, eyes and ears.
    pub const HEAD: [Joint; 5] =
        [Joint::Nose, Joint::LeftEye, Joint::RightEye, Joint::LeftEar, Joint::RightEar];
    /// Left, then right, as in all groups of two.
    pub const EARS: [Joint; 2] = [Joint::LeftEar, Joint::RightEar];
    /// Left, right.
    pub const SHOULDERS: [Joint; 2] = [Joint::LeftShoulder, Joint::RightShoulder];
    /// Left, right.
    pub const WRISTS: [Joint; 2] = [Joint::LeftWrist, Joint::RightWrist];
    /// Left, right.
    pub const HIPS: [Joint; 2] = [Joint::LeftHip, Joint::RightHip];
    /// Left, right.
    pub const KNEES: [Joint; 2] = [Joint::LeftKnee, Joint::RightKnee];
    /// Left, right.
    pub const ANKLES: [Joint; 2] = [Joint::LeftAnkle, Joint::RightAnkle];
    /// Shoulders and hips.
    pub const TRUNK: [Joint; 4] = {
        use Joint::*;
        [LeftShoulder, RightShoulder, LeftHip, RightHip]
    };
    /// Shoulders, elbows and wrists.
    pub const ARMS: [Joint; 6] = {
        use Joint::*;
        [LeftShoulder, RightShoulder, LeftElbow, RightElbow, LeftWrist, RightWrist]
    };
    /// Hips, knees and ankles.
    pub const LEGS: [Joint; 6] = {
        use Joint::*;
        [LeftHip, RightHip, LeftKnee, RightKnee, LeftAnkle, RightAnkle]
    };

    /// Where `joints` stand in COCO's order.
    pub const fn indices<const N: usize>(joints: [Joint; N]) -> [usize; N] {
        let mut indices = [0; N];
        let mut i = 0;
        while i < N {
            indices[i] = joints[i] as usize;
            i += 1;
        }
        indices
    }

    /// COCO's name of the joint, as result files spell it.
    pub const fn name(self) -> &'static str {
        use Joint::*;
        match self {
            Nose => "nose",
            LeftEye => "left_eye",
            RightEye => "right_eye",
            LeftEar => "left_ear",
            RightEar => "right_ear",
            LeftShoulder => "left_shoulder",
            RightShoulder => "right_shoulder",
            LeftElbow => "left_elbow",
            RightElbow => "right_elbow",
            LeftWrist => "left_wrist",
            RightWrist => "right_wrist",
            LeftHip => "left_hip",
            RightHip => "right_hip",
            LeftKnee => "left_knee",
            RightKnee => "right_knee",
            LeftAnkle => "left_ankle",
            RightAnkle => "right_ankle",
        }
    }

    /// COCO's sigma of the joint in the object keypoint similarity (labelling noise in units of √area).
    pub const fn oks_sigma(self) -> f32 {
        use Joint::*;
        match self {
            Nose => 0.026,
            LeftEye | RightEye => 0.025,
            LeftEar | RightEar => 0.035,
            LeftShoulder | RightShoulder => 0.079,
            LeftElbow | RightElbow => 0.072,
            LeftWrist | RightWrist => 0.062,
            LeftHip | RightHip => 0.107,
            LeftKnee | RightKnee => 0.087,
            LeftAnkle | RightAnkle => 0.089,
        }
    }

    /// The twelve joints below the head, which every data set labels.
    pub const fn is_body(self) -> bool {
        self as u8 >= Joint::LeftShoulder as u8
    }
}

/// For each joint, the joint on the person's other side (the nose is its own).
pub const MIRROR: [usize; JOINTS] = [0, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14, 13, 16, 15];

/// The skeleton's bones, head first.
pub const BONES: [(Joint, Joint); 18] = {
    use Joint::*;
    [
        (LeftEar, LeftEye),
        (LeftEye, Nose),
        (Nose, RightEye),
        (RightEye, RightEar),
        (LeftEar, LeftShoulder),
        (RightEar, RightShoulder),
        (LeftShoulder, RightShoulder),
        (LeftShoulder, LeftElbow),
        (LeftElbow, LeftWrist),
        (RightShoulder, RightElbow),
        (RightElbow, RightWrist),
        (LeftShoulder, LeftHip),
        (RightShoulder, RightHip),
        (LeftHip, RightHip),
        (LeftHip, LeftKnee),
        (LeftKnee, LeftAnkle),
        (RightHip, RightKnee),
        (RightKnee, RightAnkle),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_joints_stand_at_their_own_index() {
        for (i, j) in Joint::ALL.iter().enumerate() {
            assert_eq!(*j as usize, i);
        }
    }

    #[test]
    fn groups_hold_what_their_names_say() {
        let named = |part: &'static str| Joint::ALL.into_iter().filter(move |j| j.name().ends_with(part));
        let pairs = [
            ("ear", Joint::EARS),
            ("shoulder", Joint::SHOULDERS),
            ("wrist", Joint::WRISTS),
            ("hip", Joint::HIPS),
            ("knee", Joint::KNEES),
            ("ankle", Joint::ANKLES),
        ];
        for (part, group) in pairs {
            assert!(named(part).eq(group), "{part}");
        }
        assert!(Joint::HEAD.into_iter().chain(Joint::ARMS).chain(Joint::LEGS).eq(Joint::ALL));
        assert!(named("shoulder").chain(named("hip")).eq(Joint::TRUNK));
        assert_eq!(Joint::indices(Joint::HIPS), [11, 12]);
    }

    #[test]
    fn mirroring_twice_is_the_identity_and_swaps_the_sides_names() {
        for j in Joint::ALL {
            let m = Joint::ALL[MIRROR[j as usize]];
            assert_eq!(MIRROR[m as usize], j as usize);
            match j.name().strip_prefix("left_") {
                Some(rest) => assert_eq!(m.name().strip_prefix("right_"), Some(rest)),
                None => assert!(j == Joint::Nose || j.name().starts_with("right_")),
            }
            assert_eq!((j.oks_sigma(), j.is_body()), (m.oks_sigma(), m.is_body()));
        }
    }

    #[test]
    fn bones_of_one_side_are_those_of_the_other() {
        let mirrored = |j: Joint| Joint::ALL[MIRROR[j as usize]];
        for (a, b) in BONES {
            let (a, b) = (mirrored(a), mirrored(b));
            assert!(BONES.contains(&(a, b)) || BONES.contains(&(b, a)), "{a:?} {b:?}");
        }
        for j in Joint::ALL {
            assert!(BONES.iter().any(|(a, b)| *a == j || *b == j), "{j:?}");
        }
    }

    /// As COCO's own evaluation has them, thousandths.
    #[test]
    fn tolerances_are_cocos_and_five_joints_are_of_the_head() {
        let coco = [26, 25, 25, 35, 35, 79, 79, 72, 72, 62, 62, 107, 107, 87, 87, 89, 89];
        for (j, sigma) in Joint::ALL.into_iter().zip(coco) {
            assert_eq!(j.oks_sigma(), sigma as f32 / 1000.0, "{j:?}");
        }
        assert_eq!(Joint::ALL.map(Joint::is_body), core::array::from_fn(|j| j >= 5));
    }
}
