//! From places of joints to turns of bones: limbs swing after the joints, knees and elbows are hinges, ankles follow the
//! recorded ones so that feet do not slide, soles lie on the ground.

use crate::{
    asset::Asset,
    body::{Body, Bones, Posed, chain},
    math::{Mat3, UP, Vec3, asin, mix, smooth, vec3, yaw},
    motion::{
        Places,
        joint::{L_EAR, L_HIP, L_SHOULDER, NECK, NOSE, PELVIS, R_EAR, R_HIP, R_SHOULDER},
    },
    rng::Rng,
};

const AHEAD: Vec3 = vec3(0.0, 0.0, 1.0);

/// Little turns that make two people in one pose differ; radians.
#[derive(Debug, Clone, Copy, Default)]
pub struct Habit {
    /// Of the head, beyond the recorded.
    pub head: Vec3,
    /// Of the chest.
    pub chest: Vec3,
    /// How far each hand's fingers are curled.
    pub curl: [f32; 2],
    /// Each hand about the forearm.
    pub roll: [f32; 2],
    /// Feet outwards.
    pub out: f32,
}

impl Habit {
    /// Somebody's.
    pub fn draw(rng: &mut Rng, liveliness: f32) -> Self {
        let mut turn = |s: f32| rng.direction() * (s * liveliness * rng.normal());
        let (head, chest) = (turn(0.16), turn(0.06));
        Self {
            head,
            chest,
            curl: [0, 1].map(|_| (0.3 + 0.25 * rng.normal()).clamp(0.0, 1.1)),
            roll: [0, 1].map(|_| 0.35 * liveliness * rng.normal()),
            out: 0.12 + 0.08 * rng.normal(),
        }
    }
}

/// How a pose meets the ground.
#[derive(Debug, Clone, Copy)]
pub enum Ground {
    /// As recorded over a floor at 0, with the ankle of a standing foot this high.
    Recorded(f32),
    /// Wherever it was recorded: the caller sets it down.
    Free,
}

/// A body's turns of bones for `p`, and where its root is. Distances of `p` are scaled by the legs' length, about the origin.
pub fn follow(
    asset: &Asset,
    bones: &Bones,
    body: &Body,
    p: &Places,
    ground: Ground,
    habit: &Habit,
) -> Vec<Posed> {
    let h = &body.heads;
    let mut turns = vec![Mat3::IDENTITY; h.len()];
    let across =
        |q: &dyn Fn(usize) -> Vec3, l: usize, r: usize| Mat3::frame(q(NECK) - q(PELVIS), q(l) - q(r));
    let now = |j: usize| p[j];
    let rest = |j: usize| match j {
        L_HIP => h[bones.thigh[0]],
        R_HIP => h[bones.thigh[1]],
        L_SHOULDER => h[bones.arm[0]],
        R_SHOULDER => h[bones.arm[1]],
        NECK => h[bones.neck[0]],
        PELVIS => (h[bones.thigh[0]] + h[bones.thigh[1]]) * 0.5,
        _ => body.joints[j],
    };
    // The recorded trunk leans as its own skeleton's neck lies over its hips; the body's leans otherwise at rest: upright is upright.
    let rest_frame = Mat3::frame(UP, vec3(1.0, 0.0, 0.0));
    let hips = across(&now, L_HIP, R_HIP) * rest_frame.transpose();
    let shake = |v: Vec3| Mat3::about(v.unit(), v.length());
    let chest = limited(
        hips,
        across(&now, L_SHOULDER, R_SHOULDER) * rest_frame.transpose() * shake(habit.chest),
        1.2,
    );
    let face =
        |q: &dyn Fn(usize) -> Vec3| Mat3::frame(q(L_EAR) - q(R_EAR), q(NOSE) - (q(L_EAR) + q(R_EAR)) * 0.5);
    let head = face(&now) * face(&rest).transpose() * shake(habit.head);
    let head = limited(chest, head, 1.15);
    turns[bones.hips] = hips;
    turns[bones.hip_joint[0]] = hips;
    turns[bones.hip_joint[1]] = hips;
    turns[bones.spine[0]] = hips.toward(chest, 0.3);
    turns[bones.spine[1]] = hips.toward(chest, 0.65);
    turns[bones.spine[2]] = chest;
    turns[bones.neck[0]] = chest.toward(head, 0.35);
    turns[bones.neck[1]] = chest.toward(head, 0.65);
    turns[bones.neck[2]] = head;

    // The root: the recorded mid-hip scaled by the legs.
    let scale = leg_scale(bones, body, p);
    let floor =
        h.iter().zip(0..).filter(|(_, k)| bones.foot.contains(k)).map(|(p, _)| p.y).fold(0.0, f32::min);
    let sole = body.rest.iter().map(|v| v.y).fold(f32::MAX, f32::min);
    let ankle_m = floor - sole;
    let lift = match ground {
        Ground::Recorded(recorded_m) => vec3(0.0, ankle_m - scale * recorded_m, 0.0),
        Ground::Free => Vec3::ZERO,
    };
    let middle = p[PELVIS] * scale + lift;
    let root = middle - hips * (rest(PELVIS) - h[bones.hips]);

    for s in 0..2 {
        let side = if s == 0 { 1.0 } else { -1.0 };
        // Legs: the ankle goes where the recorded one went.
        let (hip, knee, ankle) = (L_HIP + s, L_HIP + 2 + s, L_HIP + 4 + s);
        let (rh, rk, ra) = (h[bones.thigh[s]], h[bones.shin[s]], h[bones.foot[s]]);
        let hip_at = root + hips * (rh - h[bones.hips]);
        let goal = p[ankle] * scale + lift;
        let (u, v) = two_bones(
            hip_at,
            goal,
            (rk - rh).length(),
            (ra - rk).length(),
            p[knee] - p[hip],
            p[ankle] - p[hip],
            hips * AHEAD,
        );
        let (thigh, shin) = hinged(hips, rk - rh, ra - rk, u, v, -AHEAD, true);
        turns[bones.thigh[s]] = thigh;
        turns[bones.shin[s]] = shin;
        let above = match ground {
            Ground::Recorded(_) => Some((hip_at + u + v).y - ankle_m),
            Ground::Free => None,
        };
        let foot = foot_turn(shin, v, above, body.height_m, side * habit.out);
        turns[bones.foot[s]] = foot.0;
        turns[bones.toe[s]] = foot.1;

        // Arms: directions as recorded.
        let (shoulder, elbow, wrist) = (L_SHOULDER + s, L_SHOULDER + 2 + s, L_SHOULDER + 4 + s);
        let (rs, re, rw) = (h[bones.arm[s]], h[bones.forearm[s]], h[bones.hand[s]]);
        // Recorded shoulders at ease lie less far below the neck than the body's: only what they do counts.
        let at_ease = chest * vec3(side * 0.965, -0.21, 0.0);
        let lean = Mat3::swing(at_ease, p[shoulder] - p[NECK]);
        let collar = limited(chest, Mat3::IDENTITY.toward(lean, 0.6) * chest, 0.6);
        turns[bones.collar[s]] = collar;
        let (u, v) =
            clear_of_trunk(chest, side, p[elbow] - p[shoulder], p[wrist] - p[elbow], body.traits.weight);
        let (arm, fore) = hinged(collar, re - rs, rw - re, u, v, AHEAD, false);
        turns[bones.arm[s]] = arm;
        turns[bones.forearm[s]] = fore;
        let along = (fore * (rw - re)).unit();
        let hand = Mat3::about(along, habit.roll[s]) * fore;
        // Fingers fold about the axis that points ahead at rest, towards the palm.
        let fold = |t: f32| Mat3::about(AHEAD, -side * t * habit.curl[s]);
        turns[bones.hand[s]] = hand * fold(0.35);
        turns[bones.thumb[s]] = hand * fold(0.3);
        turns[bones.fingers[0][s]] = hand * fold(0.9);
        turns[bones.fingers[1][s]] = hand * fold(1.9);
    }
    chain(asset, h, &turns, root)
}

/// Length of the body's legs for one of the pose's.
pub fn leg_scale(bones: &Bones, body: &Body, p: &Places) -> f32 {
    let h = &body.heads;
    let legs = |a: usize| (p[a + 2] - p[a]).length() + (p[a + 4] - p[a + 2]).length();
    let own =
        (h[bones.shin[0]] - h[bones.thigh[0]]).length() + (h[bones.foot[0]] - h[bones.shin[0]]).length();
    own / (0.5 * (legs(L_HIP) + legs(R_HIP))).max(0.1)
}

/// `to`, but no farther than `most` from `from`.
fn limited(from: Mat3, to: Mat3, most: f32) -> Mat3 {
    let away = (from.transpose() * to).angle();
    if away > most { from.toward(to, most / away) } else { to }
}

/// Two links from `hip` to `goal`, bent as the recorded limb is.
fn two_bones(hip: Vec3, goal: Vec3, l1: f32, l2: f32, knee: Vec3, ankle: Vec3, ahead: Vec3) -> (Vec3, Vec3) {
    let reach = goal - hip;
    let d = reach.length().clamp((l1 - l2).abs() + 0.05, 0.9985 * (l1 + l2));
    let to = reach.unit();
    let recorded = knee - ankle.unit() * ankle.unit().dot(knee);
    let forward = ahead - to * to.dot(ahead);
    let sure = smooth(0.01, 0.05, recorded.length());
    let mut pole = (forward.unit()).mix(recorded.unit(), sure);
    pole = (pole - to * to.dot(pole)).unit();
    let c = ((l1 * l1 + d * d - l2 * l2) / (2.0 * l1 * d)).clamp(-1.0, 1.0);
    let u = to * (l1 * c) + pole * (l1 * (1.0 - c * c).max(0.0).sqrt());
    (u, to * d - u)
}

/// Turns of the upper and lower bone of a limb along `u` and `v`; the lower one folds towards `fold` (at rest).
fn hinged(
    base: Mat3,
    rest_u: Vec3,
    rest_v: Vec3,
    u: Vec3,
    v: Vec3,
    fold: Vec3,
    is_knee: bool,
) -> (Mat3, Mat3) {
    let rest_hinge = rest_u.unit().cross(fold).unit();
    let plain = (Mat3::swing(base * rest_u, u) * base * rest_hinge).unit();
    let hinge = u.unit().cross(v.unit());
    let sure = smooth(0.1, 0.4, hinge.length());
    // A knee does not fold forwards.
    let against = is_knee && hinge.unit().dot(plain) < -0.3;
    let axis = if against { plain } else { (hinge.unit() * sure + plain * (1.0 - sure)).unit() };
    let upper = Mat3::frame(u, axis) * Mat3::frame(rest_u, rest_hinge).transpose();
    let lower = Mat3::swing(upper * rest_v, v) * upper;
    (upper, lower)
}

/// Turns of foot and toes. `above` is the ankle's height over a standing foot's.
fn foot_turn(shin: Mat3, along: Vec3, above: Option<f32>, height_m: f32, out: f32) -> (Mat3, Mat3) {
    let shin = shin * Mat3::about(vec3(0.0, 1.0, 0.0), out);
    let relaxed = shin * Mat3::about(vec3(1.0, 0.0, 0.0), 0.3);
    let Some(above) = above else { return (relaxed, relaxed) };
    let toe = shin * AHEAD;
    let ahead = toe.flat().unit();
    if toe.flat().length() < 0.3 {
        return (relaxed, relaxed);
    }
    let level = yaw(crate::math::atan2(ahead.x, ahead.z));
    let pitch = |angle: f32| level * Mat3::about(vec3(1.0, 0.0, 0.0), angle);
    // The shin leans over the toes: the heel comes up, the toes stay.
    let lean = -along.unit().dot(ahead);
    let ball_m = 0.085 * height_m;
    let risen = asin((above / ball_m).clamp(0.0, 0.9));
    let push = smooth(0.02, 0.25, lean);
    let near = 1.0 - smooth(0.05, 0.14, above);
    let strike = -0.35 * smooth(0.1, 0.4, -lean) * smooth(0.0, 0.03, above);
    let stands = pitch(mix(strike.max(-above / (0.06 * height_m)), risen, push));
    let foot = relaxed.toward(stands, near);
    let toes = foot.toward(pitch(0.2 * risen * push), near * push);
    (foot, toes)
}

/// An arm's two directions, moved out of the trunk where they would cut into it.
fn clear_of_trunk(chest: Mat3, side: f32, u: Vec3, v: Vec3, weight: f32) -> (Vec3, Vec3) {
    let back = chest.transpose();
    let (mut a, mut b) = ((back * u).unit(), (back * v).unit());
    // Hanging: the upper arm stands off by what lies between.
    let off = mix(0.1, 0.34, weight);
    let down = smooth(0.5, 0.95, -a.y);
    let besides = smooth(0.9, 0.2, a.z.abs());
    let lack = (off - side * a.x).max(0.0) * down * besides;
    a = (a + vec3(side * lack, 0.0, 0.0)).unit();
    // The forearm does not go through the belly: behind, it stays at the side.
    let wrist = a * 0.29 + b * 0.25;
    let inside =
        smooth(0.02, -0.1, side * wrist.x) * smooth(0.17, 0.02, wrist.z.abs()) * smooth(0.0, -0.3, wrist.y);
    b = (b + vec3(side * 0.5 * inside, 0.0, 0.7 * inside)).unit();
    (chest * a, chest * b)
}

/// Angle of a knee or elbow: 0 straight.
pub fn bend(upper: &Posed, lower: &Posed, rest_u: Vec3, rest_v: Vec3) -> f32 {
    let (u, v) = ((upper.turn * rest_u).unit(), (lower.turn * rest_v).unit());
    crate::math::acos(u.dot(v).clamp(-1.0, 1.0))
}
