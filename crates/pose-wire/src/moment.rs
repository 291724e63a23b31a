//! Packets to moments: all persons of one moment of sending, put together by the same rules wherever they are received.

use pose::{MAX_PERSONS, Pose, Stamped};

use crate::{Person, PosePacket};

/// A packet that is this many moments old, or older, is no straggler: its sender has started anew and counts from 0.
const STRAGGLERS: u32 = 16;
/// Silence, in microseconds, after which the rest of a moment is not coming: whoever receives calls [`Assembly::flush`] then.
pub const QUIET_US: u64 = 50_000;

/// The persons that were sent with one `seq`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Counts moments of sending; wraps. A gap is a loss.
    pub seq: u32,
    /// Capture time, microseconds of the host's clock.
    pub captured_at_us: i64,
    /// How old that was when the newest of the moment's packets here was handed to the serial driver, microseconds.
    pub age_us: i32,
    /// What the poses describe: this long after the capture, microseconds.
    pub horizon_us: i32,
    /// How many persons it was sent with: more than there are [`Self::persons`] where packets were lost.
    pub expected: u8,
    /// By their index.
    places: [Option<Person>; MAX_PERSONS],
}

impl Moment {
    fn begun(packet: &PosePacket) -> Self {
        let PosePacket { seq, captured_at_us, age_us, horizon_us, persons, .. } = *packet;
        Self { seq, captured_at_us, age_us, horizon_us, expected: persons, places: [None; MAX_PERSONS] }
    }

    /// The persons that arrived, by their index. Those beyond [`MAX_PERSONS`] are not kept.
    pub fn persons(&self) -> impl Iterator<Item = &Person> {
        self.places.iter().flatten()
    }

    /// The persons that arrived, in pixels of the source image, with their times on the host's clock.
    pub fn poses(&self) -> impl Iterator<Item = Stamped<Pose>> + '_ {
        let (captured_at_us, valid_at_us) = (self.captured_at_us, self.valid_at_us());
        self.persons().map(move |p| Stamped { captured_at_us, valid_at_us, value: p.pose() })
    }

    /// The person `track_id`: what a robot follows.
    pub fn pose_of(&self, track_id: u32) -> Option<Stamped<Pose>> {
        self.poses().find(|p| p.value.track_id == track_id)
    }

    /// When it was handed to the sender's serial driver, microseconds of the host's clock.
    pub fn sent_at_us(&self) -> i64 {
        self.captured_at_us.saturating_add(i64::from(self.age_us))
    }

    /// The moment that the poses speak of, microseconds of the host's clock.
    pub fn valid_at_us(&self) -> i64 {
        self.captured_at_us.saturating_add(i64::from(self.horizon_us))
    }

    /// Whether every person that was sent, and that there is a place for, is there.
    pub fn is_whole(&self) -> bool {
        self.persons().count() == usize::from(self.expected).min(MAX_PERSONS)
    }

    /// Whether `packet` was sent with the same moment.
    fn has(&self, packet: &PosePacket) -> bool {
        (self.seq, self.captured_at_us) == (packet.seq, packet.captured_at_us)
    }

    /// Takes a packet of this moment; says whether it brought anything new. The first packet's word holds: one that
    /// contradicts it, or brings a person again, is none of the moment's.
    fn insert(&mut self, packet: &PosePacket) -> bool {
        if (packet.persons, packet.horizon_us) != (self.expected, self.horizon_us) {
            return false;
        }
        if let Some(person) = packet.person
            && let Some(place) = self.places.get_mut(usize::from(person.index))
        {
            if place.is_some() {
                return false;
            }
            *place = Some(person);
        }
        self.age_us = packet.age_us;
        true
    }
}

/// What an [`Assembly`] made so far; all wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MomentCounters {
    /// Moments given out.
    pub given: u32,
    /// Of these, moments of which a person's packet is missing.
    pub incomplete: u32,
    /// Moments that the sender counted and of which no packet arrived.
    pub missed: u32,
    /// Packets that were not taken: doubled, older than what is there already, or contradicting their own moment.
    pub refused: u32,
}

/// Puts packets together into [`Moment`]s. Holds one moment at most, whatever arrives; never waits.
///
/// 1. Packets of one `seq` and one `captured_at` make a moment. It is given out with the last of its persons.
/// 2. A packet of a later moment ends the one before: that is given out as far as it came.
/// 3. A packet of a moment that was there before is refused: up to 15 moments back, captured no later than the newest.
///    Any other step back is a sender that has started anew.
/// 4. A packet that brings a person again, or another number of persons or horizon than its moment's first, is refused.
#[derive(Clone, Debug, Default)]
pub struct Assembly {
    pending: Option<Moment>,
    /// `seq` and capture of the moment that was begun last.
    newest: Option<(u32, i64)>,
    counters: MomentCounters,
}

impl Assembly {
    /// Nothing received yet.
    pub const fn new() -> Self {
        let counters = MomentCounters { given: 0, incomplete: 0, missed: 0, refused: 0 };
        Self { pending: None, newest: None, counters }
    }

    /// What was made so far.
    pub fn counters(&self) -> MomentCounters {
        self.counters
    }

    /// Takes a packet; `give` gets each moment that it ends: none, one, or the one before and its own.
    pub fn push(&mut self, packet: &PosePacket, mut give: impl FnMut(&Moment)) {
        if !self.pending.as_ref().is_some_and(|moment| moment.has(packet)) {
            if self.is_late(packet) {
                self.counters.refused = self.counters.refused.wrapping_add(1);
                return;
            }
            self.flush(&mut give);
            self.begin(packet);
        }
        let Some(moment) = &mut self.pending else { return };
        if !moment.insert(packet) {
            self.counters.refused = self.counters.refused.wrapping_add(1);
        } else if moment.is_whole() {
            self.flush(give);
        }
    }

    /// Gives out what is there of a moment whose last packet is not coming.
    pub fn flush(&mut self, mut give: impl FnMut(&Moment)) {
        // Given where it lies: a microcontroller's stack has no room for a copy.
        let Some(moment) = &self.pending else { return };
        let c = &mut self.counters;
        c.given = c.given.wrapping_add(1);
        c.incomplete = c.incomplete.wrapping_add(u32::from(!moment.is_whole()));
        give(moment);
        self.pending = None;
    }

    fn is_late(&self, packet: &PosePacket) -> bool {
        self.newest.is_some_and(|(seq, captured_at_us)| {
            seq.wrapping_sub(packet.seq) < STRAGGLERS && packet.captured_at_us <= captured_at_us
        })
    }

    fn begin(&mut self, packet: &PosePacket) {
        // Only a step forward of less than half the range is a gap.
        let step = self.newest.map_or(1, |(seq, _)| packet.seq.wrapping_sub(seq));
        if (2..1 << 31).contains(&step) {
            self.counters.missed = self.counters.missed.wrapping_add(step - 1);
        }
        self.newest = Some((packet.seq, packet.captured_at_us));
        self.pending = Some(Moment::begun(packet));
    }
}
