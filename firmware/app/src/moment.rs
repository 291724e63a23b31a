//! All persons of one moment of sending.

use pose::{MAX_PERSONS, Pose, Stamped};
use pose_wire::{Person, PosePacket};

/// The persons that were sent with one `seq`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Counts moments of sending.
    pub seq: u32,
    /// Start of the exposure, microseconds of the host's clock.
    pub captured_at_us: i64,
    /// What the poses describe: this long after the capture, microseconds.
    pub horizon_us: i32,
    /// How old the capture was when the last packet of the moment was sent, microseconds.
    pub age_us: i32,
    /// When that packet was received, microseconds of this board's clock.
    pub received_at_us: u64,
    expected: u8,
    persons: [Option<Person>; MAX_PERSONS],
}

impl Moment {
    pub(crate) fn new(packet: &PosePacket, now_us: u64) -> Self {
        Self {
            seq: packet.seq,
            captured_at_us: packet.captured_at_us,
            horizon_us: packet.horizon_us,
            age_us: packet.age_us,
            received_at_us: now_us,
            expected: packet.persons,
            persons: [None; MAX_PERSONS],
        }
    }

    /// Takes a packet of the same `seq`. Persons beyond [`MAX_PERSONS`] are not kept.
    pub(crate) fn insert(&mut self, packet: &PosePacket, now_us: u64) {
        self.age_us = packet.age_us;
        self.received_at_us = now_us;
        let Some(person) = packet.person else { return };
        if let Some(place) = self.persons.get_mut(usize::from(person.index)) {
            *place = Some(person);
        }
    }

    pub(crate) fn is_complete(&self) -> bool {
        let expected = usize::from(self.expected).min(MAX_PERSONS);
        self.persons.iter().flatten().count() == expected
    }

    /// The persons, in pixels of the source image.
    pub fn poses(&self) -> impl Iterator<Item = Pose> + '_ {
        self.persons.iter().flatten().map(Person::pose)
    }

    /// The person `track_id`, with its times on the host's clock; what a robot follows.
    pub fn person(&self, track_id: u32) -> Option<Stamped<Pose>> {
        let value = self.poses().find(|p| p.track_id == track_id)?;
        let valid_at_us = self.captured_at_us + i64::from(self.horizon_us);
        Some(Stamped { captured_at_us: self.captured_at_us, valid_at_us, value })
    }

    /// How old the light behind the poses is at `now_us` of this board's clock, milliseconds.
    pub fn age_ms(&self, now_us: u64) -> i32 {
        let here_us = now_us.saturating_sub(self.received_at_us);
        let here_us = i32::try_from(here_us).unwrap_or(i32::MAX);
        self.age_us.saturating_add(here_us) / 1000
    }
}
