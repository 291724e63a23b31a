//! One person: how it moves, where its joints are, and how it looks.
//!
//! Proportions follow common anthropometric tables (segment lengths as shares of the stature).

use std::f32::consts::{FRAC_PI_2, PI, TAU};

use pose::{JOINTS, Joint};

use super::paint::{Canvas, Colour, Point};

/// How far before a joint something must be to hide it: a little more than the thickest limb's radius.
pub const LIMB_DEPTH_M: f32 = 0.16;

/// Seconds from one side of the room to the other.
const WALK_S: f32 = 4.0;

/// Seconds of standing, turned to the camera, after each walk.
const STAND_S: f32 = 2.4;

/// Metres from heel strike to the same foot's next.
const STRIDE_M: f32 = 1.35;

/// Heading while walking: not straight across, so that both sides of the body are seen.
const WALK_HEADING: f32 = 62.0 / 180.0 * PI;

/// Colours of one person.
pub struct Look {
    skin: Colour,
    hair: Colour,
    shirt: Colour,
    trousers: Colour,
    shoes: Colour,
    long_sleeves: bool,
}

/// A person's habits: where it walks, when, and how it looks.
pub struct Actor {
    height_m: f32,
    /// Depth of its lane.
    z_m: f32,
    /// Half the length of its walk.
    reach_m: f32,
    /// Seconds that it is ahead of the others.
    ahead_s: f32,
    waves_left: bool,
    pub look: Look,
}

/// A person at one moment.
pub struct Figure {
    /// Metres, COCO's order.
    pub joints_m: [Point; JOINTS],
    height_m: f32,
    head: Point,
    neck: Point,
    toes: [Point; 2],
    /// Unit vector out of the face.
    facing: Point,
    /// Unit vector to the person's left.
    left: Point,
}

impl Actor {
    /// Person `index` of `persons`; neighbours walk in opposite directions, so that they cross.
    pub fn new(index: usize, persons: usize, rng: &mut fastrand::Rng) -> Self {
        const SKINS: [Colour; 4] =
            [[236.0, 190.0, 160.0], [222.0, 168.0, 132.0], [168.0, 116.0, 82.0], [120.0, 82.0, 60.0]];
        const HAIRS: [Colour; 4] =
            [[48.0, 36.0, 30.0], [96.0, 66.0, 42.0], [30.0, 28.0, 28.0], [150.0, 112.0, 66.0]];
        const SHIRTS: [Colour; 6] = [
            [178.0, 52.0, 48.0],
            [62.0, 96.0, 172.0],
            [224.0, 206.0, 96.0],
            [70.0, 136.0, 92.0],
            [222.0, 222.0, 226.0],
            [122.0, 74.0, 138.0],
        ];
        const TROUSERS: [Colour; 4] =
            [[52.0, 60.0, 92.0], [56.0, 52.0, 50.0], [120.0, 104.0, 82.0], [40.0, 48.0, 62.0]];
        let shift = rng.usize(..6);
        let z_m = 2.55 + 2.2 * index as f32 / persons.max(3) as f32 + 0.2 * rng.f32();
        let cycle_s = 2.0 * (WALK_S + STAND_S);
        Self {
            height_m: 1.62 + 0.2 * rng.f32(),
            z_m,
            // Stays within a 4:3 picture.
            reach_m: 0.42 * z_m,
            ahead_s: cycle_s * (0.5 * (index % 2) as f32 + 0.13 * (index / 2) as f32) + 0.5 * rng.f32() + 0.9,
            waves_left: rng.bool(),
            look: Look {
                skin: SKINS[(index + shift) % SKINS.len()],
                hair: HAIRS[(index * 3 + shift) % HAIRS.len()],
                shirt: SHIRTS[(index + shift) % SHIRTS.len()],
                trousers: TROUSERS[(index + shift / 2) % TROUSERS.len()],
                shoes: [62.0, 50.0, 46.0],
                long_sleeves: rng.bool(),
            },
        }
    }

    /// The person at `t_s` seconds.
    pub fn at(&self, t_s: f32) -> Figure {
        let t = t_s + self.ahead_s;
        let leg_of_trip = (t / (WALK_S + STAND_S)).floor();
        let within_s = t - leg_of_trip * (WALK_S + STAND_S);
        let rightwards = leg_of_trip % 2.0 == 0.0;
        let side = if rightwards { 1.0 } else { -1.0 };
        // Speed rises and falls at the ends of a walk; steps follow the distance, so that no foot slides.
        let u = ease(within_s / WALK_S);
        let length_m = 2.0 * self.reach_m;
        let x_m = side * (u - 0.5) * length_m;
        let speed = ease_slope(within_s / WALK_S) * length_m / WALK_S;
        let vigour = (speed / 0.6).min(1.0);
        let strides = (leg_of_trip + u) * length_m / STRIDE_M;
        // Turns to the camera while it stands, to the next walk's side before it sets off.
        let turned = ease((within_s - WALK_S + 0.5) / 0.9);
        let turning_away = ease((within_s - (WALK_S + STAND_S - 0.5)) / 0.5);
        let heading = side * WALK_HEADING * (1.0 - turned) - side * WALK_HEADING * turning_away;
        let waving =
            ease((within_s - WALK_S - 0.1) / 0.5) * (1.0 - ease((within_s - (WALK_S + STAND_S - 0.7)) / 0.5));
        self.pose(x_m, heading, TAU * strides.fract(), vigour, waving, t)
    }

    fn pose(&self, x_m: f32, heading: f32, step: f32, vigour: f32, waving: f32, t_s: f32) -> Figure {
        let h = self.height_m;
        // Heading 0 faces the camera; positive turns to the picture's right.
        let facing = [heading.sin(), 0.0, -heading.cos()];
        let left = [heading.cos(), 0.0, heading.sin()];
        let along = |p: Point, f: f32, l: f32, u: f32| -> Point {
            [p[0] + f * facing[0] + l * left[0], p[1] + u, p[2] + f * facing[2] + l * left[2]]
        };
        // Each leg as two links, angles forward of the vertical.
        let leg = |phase: f32| {
            let swing = vigour * 0.42 * phase.sin() + 0.02;
            let flex = 0.06 + vigour * (0.10 + 0.75 * phase.cos().max(0.0).powf(1.5));
            (swing, swing - flex)
        };
        let (thigh_m, shin_m) = (0.245 * h, 0.246 * h);
        let legs = [leg(step), leg(step + PI)];
        let drop = |(thigh, shin): (f32, f32)| thigh_m * thigh.cos() + shin_m * shin.cos();
        let breath = 0.003 * (1.7 * t_s).sin();
        let pelvis_y = drop(legs[0]).max(drop(legs[1])) + 0.042 * h;
        let lean = 0.04 * vigour;
        let pelvis = [x_m, pelvis_y, self.z_m];
        let chest = along(pelvis, lean * 0.29 * h, 0.0, 0.288 * h + breath);
        // Shoulders turn against the hips.
        let twist = 0.16 * vigour * step.sin();
        let mut joints_m = [[0.0; 3]; JOINTS];
        let mut toes = [[0.0; 3]; 2];
        for (i, side) in [1.0f32, -1.0].into_iter().enumerate() {
            let (thigh, shin) = legs[i];
            let hip = along(pelvis, 0.3 * -twist * side * 0.06 * h, side * 0.056 * h, 0.0);
            let knee = along(hip, thigh_m * thigh.sin(), 0.0, -thigh_m * thigh.cos());
            let ankle = along(knee, shin_m * shin.sin(), 0.0, -shin_m * shin.cos());
            let pitch = (0.5 * shin).clamp(-0.5, 0.3);
            toes[i] = along(
                ankle,
                0.105 * h * pitch.cos(),
                side * 0.008 * h,
                -0.026 * h + 0.105 * h * pitch.sin().max(-0.1),
            );

            let shoulder = along(chest, twist * side * 0.1 * h, side * 0.108 * h, 0.0);
            let swing = -0.9 * legs[i].0 * vigour + 0.05;
            let bend = 0.25 + 0.35 * vigour * (0.5 - 0.5 * (step + if i == 0 { 0.0 } else { PI }).sin());
            let waves = (side > 0.0) == self.waves_left;
            let raise = if waves { waving } else { 0.0 };
            // Out to the side and up; the forearm swings over the head's height.
            let abduct = 0.09 + raise * 1.75;
            let forearm_abduct = abduct + raise * (0.85 + 0.45 * (7.5 * t_s).sin()) * 1.0;
            let (swing, bend) = (swing * (1.0 - raise), bend * (1.0 - raise));
            let link = |from: Point, length: f32, swing: f32, abduct: f32| {
                along(
                    from,
                    length * swing.sin() * abduct.cos(),
                    side * length * abduct.sin(),
                    -length * swing.cos() * abduct.cos(),
                )
            };
            let elbow = link(shoulder, 0.176 * h, swing, abduct);
            let wrist =
                link(elbow, 0.152 * h, swing + bend, forearm_abduct * if raise > 0.0 { 1.0 } else { 0.6 });
            let left_of = |j: Joint| j as usize + i;
            joints_m[left_of(Joint::LeftHip)] = hip;
            joints_m[left_of(Joint::LeftKnee)] = knee;
            joints_m[left_of(Joint::LeftAnkle)] = ankle;
            joints_m[left_of(Joint::LeftShoulder)] = shoulder;
            joints_m[left_of(Joint::LeftElbow)] = elbow;
            joints_m[left_of(Joint::LeftWrist)] = wrist;
        }
        let neck = along(chest, 0.01 * h, 0.0, 0.025 * h);
        let head = along(neck, 0.018 * h, 0.0, 0.092 * h);
        joints_m[Joint::Nose as usize] = along(head, 0.062 * h, 0.0, -0.008 * h);
        for (i, side) in [1.0f32, -1.0].into_iter().enumerate() {
            joints_m[Joint::LeftEye as usize + i] = along(head, 0.052 * h, side * 0.019 * h, 0.012 * h);
            joints_m[Joint::LeftEar as usize + i] = along(head, -0.002 * h, side * 0.044 * h, 0.002 * h);
        }
        Figure { joints_m, height_m: h, head, neck, toes, facing, left }
    }
}

impl Figure {
    /// Depth of the person, for the order of painting.
    pub fn depth_m(&self) -> f32 {
        self.joints_m[Joint::LeftHip as usize][2]
    }

    /// Paints the person; the canvas keeps what is nearer.
    pub fn paint(&self, canvas: &mut Canvas, look: &Look) {
        let h = self.height_m;
        let at = |j: Joint| self.joints_m[j as usize];
        for i in 0..2 {
            let joint = |left: Joint| self.joints_m[left as usize + i];
            let (hip, knee, ankle) = (joint(Joint::LeftHip), joint(Joint::LeftKnee), joint(Joint::LeftAnkle));
            canvas.capsule(ankle, 0.026 * h, self.toes[i], 0.02 * h, look.shoes);
            canvas.capsule(ankle, 0.028 * h, shift(ankle, self.facing, -0.018 * h), 0.026 * h, look.shoes);
            canvas.capsule(hip, 0.052 * h, knee, 0.035 * h, look.trousers);
            canvas.capsule(knee, 0.035 * h, mix(knee, ankle, 0.93), 0.026 * h, look.trousers);
        }
        // The trunk: a broad bundle of capsules, wider than deep.
        let (ls, rs) = (at(Joint::LeftShoulder), at(Joint::RightShoulder));
        let (lh, rh) = (at(Joint::LeftHip), at(Joint::RightHip));
        canvas.capsule(lh, 0.058 * h, rh, 0.058 * h, look.trousers);
        for k in 0..5 {
            let across = k as f32 / 4.0;
            let top = mix(mix(ls, rs, 0.08), mix(rs, ls, 0.08), across);
            let waist = mix(
                mix(mix(ls, lh, 0.72), mix(rs, rh, 0.72), 0.06),
                mix(mix(rs, rh, 0.72), mix(ls, lh, 0.72), 0.06),
                across,
            );
            let hem = mix(lh, rh, across);
            canvas.part(top, 0.05 * h, waist, 0.054 * h, look.shirt, 0.25);
            canvas.part(waist, 0.054 * h, [hem[0], hem[1] + 0.012 * h, hem[2]], 0.06 * h, look.shirt, 0.25);
        }
        canvas.capsule(mix(ls, rs, 0.5), 0.036 * h, self.neck, 0.036 * h, look.shirt);
        for i in 0..2 {
            let joint = |left: Joint| self.joints_m[left as usize + i];
            let (shoulder, elbow, wrist) =
                (joint(Joint::LeftShoulder), joint(Joint::LeftElbow), joint(Joint::LeftWrist));
            canvas.capsule(shoulder, 0.034 * h, elbow, 0.026 * h, look.skin);
            canvas.capsule(elbow, 0.025 * h, wrist, 0.018 * h, look.skin);
            let sleeve = if look.long_sleeves { elbow } else { mix(shoulder, elbow, 0.62) };
            canvas.capsule(shoulder, 0.041 * h, sleeve, 0.033 * h, look.shirt);
            if look.long_sleeves {
                canvas.capsule(elbow, 0.031 * h, mix(elbow, wrist, 0.86), 0.023 * h, look.shirt);
            }
            let palm = mix(elbow, wrist, 1.2);
            canvas.capsule(wrist, 0.02 * h, palm, 0.024 * h, look.skin);
            canvas.capsule(palm, 0.018 * h, mix(elbow, wrist, 1.46), 0.011 * h, look.skin);
        }
        self.paint_head(canvas, look);
    }

    fn paint_head(&self, canvas: &mut Canvas, look: &Look) {
        let h = self.height_m;
        let up = [0.0, 1.0, 0.0];
        canvas.capsule(self.neck, 0.03 * h, self.head, 0.032 * h, look.skin.map(|c| 0.9 * c));
        let chin = shift(shift(self.head, up, -0.034 * h), self.facing, 0.022 * h);
        let brow = shift(shift(self.head, up, 0.018 * h), self.facing, 0.004 * h);
        canvas.capsule(brow, 0.05 * h, chin, 0.034 * h, look.skin);
        // Hair: the back and top of the skull.
        let crown = shift(shift(self.head, up, 0.034 * h), self.facing, -0.012 * h);
        let nape = shift(shift(self.head, up, -0.01 * h), self.facing, -0.024 * h);
        canvas.capsule(crown, 0.051 * h, nape, 0.046 * h, look.hair);
        let fringe = shift(shift(self.head, up, 0.05 * h), self.facing, 0.03 * h);
        canvas.capsule(
            shift(fringe, self.left, 0.018 * h),
            0.022 * h,
            shift(fringe, self.left, -0.018 * h),
            0.022 * h,
            look.hair,
        );
        let at = |j: Joint| self.joints_m[j as usize];
        for ear in [Joint::LeftEar, Joint::RightEar] {
            canvas.capsule(
                shift(at(ear), up, 0.008 * h),
                0.011 * h,
                shift(at(ear), up, -0.01 * h),
                0.009 * h,
                look.skin.map(|c| 0.88 * c),
            );
        }
        for (eye, side) in [(Joint::LeftEye, 1.0), (Joint::RightEye, -1.0)] {
            let eye = at(eye);
            canvas.capsule(
                shift(eye, self.left, 0.006 * h),
                0.0055 * h,
                shift(eye, self.left, -0.006 * h),
                0.0055 * h,
                [236.0, 232.0, 228.0],
            );
            let pupil = shift(eye, self.facing, 0.004 * h);
            canvas.capsule(pupil, 0.0052 * h, pupil, 0.0052 * h, [40.0, 32.0, 30.0]);
            let brow = shift(shift(eye, up, 0.013 * h), self.facing, 0.002 * h);
            canvas.capsule(
                shift(brow, self.left, -side * 0.008 * h),
                0.0032 * h,
                shift(brow, self.left, side * 0.009 * h),
                0.0028 * h,
                look.hair,
            );
        }
        let nose = at(Joint::Nose);
        let bridge = shift(shift(nose, up, 0.02 * h), self.facing, -0.008 * h);
        canvas.capsule(
            bridge,
            0.005 * h,
            shift(nose, self.facing, -0.004 * h),
            0.009 * h,
            look.skin.map(|c| 1.05 * c),
        );
        let mouth = shift(shift(nose, up, -0.022 * h), self.facing, -0.006 * h);
        canvas.capsule(
            shift(mouth, self.left, 0.011 * h),
            0.004 * h,
            shift(mouth, self.left, -0.011 * h),
            0.004 * h,
            [168.0, 84.0, 80.0],
        );
    }
}

fn mix(a: Point, b: Point, t: f32) -> Point {
    std::array::from_fn(|i| a[i] + t * (b[i] - a[i]))
}

fn shift(p: Point, direction: Point, by_m: f32) -> Point {
    std::array::from_fn(|i| p[i] + by_m * direction[i])
}

/// 0 to 1 with soft ends.
fn ease(u: f32) -> f32 {
    0.5 - 0.5 * (u.clamp(0.0, 1.0) * PI).cos()
}

/// Slope of [`ease`].
fn ease_slope(u: f32) -> f32 {
    if (0.0..=1.0).contains(&u) { FRAC_PI_2 * (u * PI).sin() } else { 0.0 }
}
