//! The example of a servo: it moves when it is asked to, no faster than it may, and never because of what is not known.

#[path = "../../examples/servo.rs"]
#[allow(dead_code, reason = "its main function is the example's")]
mod example;

use pose::{Joint, JointState, Pose, PoseJoint, Stamped};
use pose_wire::{Emission, Packet, PosePacket, SourceState, Status};
use posewire::output::serial::Reader;

use crate::wire::frame;
use example::ElbowServo;

/// Somebody upright, 100 pixels of trunk, the left hand up or down, the right elbow bent to so many degrees.
fn somebody(is_left_up: bool, elbow_degrees: f32) -> Pose {
    let mut pose = Pose { track_id: 1, score: 0.9, ..Pose::default() };
    let mut place = |joint: Joint, x_px: f32, y_px: f32| {
        pose.joints[joint as usize] =
            PoseJoint { x_px, y_px, sigma_px: 1.0, score: 0.9, state: JointState::Measured };
    };
    place(Joint::LeftShoulder, 230.0, 100.0);
    place(Joint::RightShoulder, 170.0, 100.0);
    place(Joint::LeftHip, 220.0, 200.0);
    place(Joint::RightHip, 180.0, 200.0);
    place(Joint::LeftWrist, 240.0, if is_left_up { 20.0 } else { 220.0 });
    place(Joint::RightElbow, 170.0, 150.0);
    // From the elbow the shoulder is straight up.
    let (sin, cos) = elbow_degrees.to_radians().sin_cos();
    place(Joint::RightWrist, 170.0 - 50.0 * sin, 150.0 - 50.0 * cos);
    pose
}

/// What the servo is told last, after `frames` at 30 frames a second from `from_us` on.
fn held(servo: &mut ElbowServo, pose: &Pose, from_us: i64, frames: i64) -> f32 {
    (0..frames).map(|i| servo.update(pose, from_us + i * 33_333)).last().unwrap()
}

#[test]
fn it_copies_the_elbow_while_the_other_hand_is_raised() {
    let mut servo = ElbowServo::default();
    assert_eq!(held(&mut servo, &somebody(false, 180.0), 0, 60), 1000.0, "nobody has asked");
    assert_eq!(held(&mut servo, &somebody(true, 180.0), 2_000_000, 5), 1000.0, "a hand that flits by");
    assert!((held(&mut servo, &somebody(true, 180.0), 2_200_000, 30) - 2000.0).abs() < 1.0);
    let bent = held(&mut servo, &somebody(true, 104.3), 3_300_000, 30);
    assert!((bent - 1500.0).abs() < 3.0, "half way is {bent}");
    // It follows for as long as the hand does not count as down, and then stays.
    let stays = held(&mut servo, &somebody(false, 104.3), 4_400_000, 30);
    assert_eq!(held(&mut servo, &somebody(false, 180.0), 5_500_000, 60), stays);
}

#[test]
fn it_heeds_the_first_person_alone_and_nobody_of_the_built_in_clip() {
    let (mut reader, mut servo) = (Reader::default(), ElbowServo::default());
    let mut heard = |packets: &[Packet]| -> Vec<f32> {
        let mut told = Vec::new();
        for packet in packets {
            let hear = |heard| {
                told.extend(servo.hear(&heard));
                Ok(())
            };
            reader.feed(&frame(packet), hear).unwrap();
        }
        told
    };
    let of = |seq: u32, index, persons| {
        let stamped = Stamped {
            captured_at_us: i64::from(seq) * 33_333,
            value: somebody(true, 180.0),
            ..Stamped::default()
        };
        Packet::Pose(PosePacket::new(&stamped, index, Emission { seq, sent_at_us: 0, persons, scale: 0 }))
    };
    let status = |source| Packet::Status(Status { source, ..Status::default() });
    assert!(heard(&[of(0, 0, 1), status(SourceState::BUILT_IN), of(1, 0, 1)]).is_empty());
    assert_eq!(heard(&[status(SourceState::RUNNING), of(2, 0, 1)]).len(), 1);
    assert_eq!(
        heard(&[of(3, 1, 2), of(4, 0, 2), of(4, 1, 2)]).len(),
        1,
        "of the third the first person's packet was lost"
    );
}

#[test]
fn it_never_moves_faster_than_it_may_nor_because_of_what_is_not_known() {
    let mut servo = ElbowServo::default();
    let mut before = held(&mut servo, &somebody(true, 20.0), 0, 30);
    for i in 0..30 {
        let pulse_us =
            servo.update(&somebody(true, if i % 2 == 0 { 180.0 } else { 30.0 }), 1_000_000 + i * 33_333);
        assert!((pulse_us - before).abs() <= 0.0334 / 0.5 * 1000.0, "{before} to {pulse_us}");
        before = pulse_us;
    }
    // An hour later, as after a lost line: no leap.
    let late = servo.update(&somebody(true, 180.0), 3_600_000_000);
    assert!((late - before).abs() <= 200.1, "{before} to {late}");
    let mut unknown = somebody(true, 20.0);
    unknown.joints[Joint::RightElbow as usize].state = JointState::Absent;
    assert_eq!(held(&mut servo, &unknown, 3_600_100_000, 30), late);
}
