//! What a line can carry, and what is given up where it cannot carry everything.

use core::fmt;

use crate::{
    CRC_LEN, HEADER_LEN,
    notice::NOTICE_BODY_LEN,
    packet::{HELLO_BODY_LEN, STATUS_BODY_LEN},
    place_packet::PLACE_BODY_LEN,
    pose_packet::{BODY_LEN, BODY_LEN_3D},
};

/// Share of the line that a stream may fill. The rest absorbs HELLO on request, clocks that disagree by some percent, and
/// lets a late packet catch up instead of making every later one late.
pub const LINE_SHARE: f32 = 0.9;

/// The rate of a line, bits a second, where nobody says another. Every UART and USB bridge has it, an Uno's clock still makes
/// it, and native USB ignores the number; who needs more than two persons at 30 Hz says so at both ends.
pub const DEFAULT_BAUD: u32 = 115_200;

/// Poses a second of each person below which no line is worth using, and which no consumer may ask to go below.
pub const MIN_RATE_HZ: f32 = 1.0;

/// A byte takes a start bit, eight data bits and a stop bit (8N1).
const BITS_PER_BYTE: f32 = 10.0;
/// HELLO and STATUS, each once a second.
const HOUSEKEEPING_BYTES_PER_S: f32 = (frame_len(HELLO_BODY_LEN) + frame_len(STATUS_BODY_LEN)) as f32;

/// NOTICEs of each person a second, when much happens.
const NOTICES_HZ: f32 = 2.0;

/// Header, CRC, one byte of COBS and the 0x00 round a body.
const fn frame_len(body_len: usize) -> usize {
    HEADER_LEN + body_len + CRC_LEN + 2
}

/// A configured stream of poses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stream {
    /// How often each person is sent, Hz.
    pub rate_hz: f32,
    /// Persons at most.
    pub persons: u8,
    /// Whether the 3D block is sent.
    pub with_3d: bool,
    /// Whether a PLACE goes with each POSE.
    pub with_place: bool,
    /// Whether NOTICEs are sent: some two a second and person, when much happens.
    pub with_events: bool,
}

impl Stream {
    /// Bytes of one POSE on the wire, and of the PLACE that goes with it.
    pub fn packet_bytes(&self) -> usize {
        let place = if self.with_place { frame_len(PLACE_BODY_LEN) } else { 0 };
        frame_len(if self.with_3d { BODY_LEN_3D } else { BODY_LEN }) + place
    }

    /// Bytes a second whatever the rate.
    fn fixed_bytes_per_s(&self) -> f32 {
        let notices = if self.with_events { NOTICES_HZ * f32::from(self.persons) } else { 0.0 };
        HOUSEKEEPING_BYTES_PER_S + notices * frame_len(NOTICE_BODY_LEN) as f32
    }

    /// Bytes a second with every person there, HELLO and STATUS included.
    pub fn bytes_per_s(&self) -> f32 {
        self.rate_hz * f32::from(self.persons) * self.packet_bytes() as f32 + self.fixed_bytes_per_s()
    }

    /// Share of a line of `baud` bits a second, 8N1; above 1 it does not fit.
    pub fn load(&self, baud: u32) -> f32 {
        self.bytes_per_s() * BITS_PER_BYTE / baud as f32
    }
}

/// What had to be given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Downgrade {
    /// The 3D block is left out.
    pub dropped_3d: bool,
    /// The rate is lower than asked.
    pub lowered_rate: bool,
}

/// A stream that a line carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// What is sent.
    pub stream: Stream,
    /// What was given up for it.
    pub downgrade: Downgrade,
    /// Share of the line it takes, at most [`LINE_SHARE`].
    pub load: f32,
}

impl Fit {
    /// How often each of `persons` can be sent where the rate had to be lowered: fewer than were planned for go more often.
    pub fn carried_hz(&self, persons: u8) -> f32 {
        self.stream.rate_hz * f32::from(self.stream.persons) / f32::from(persons.max(1))
    }
}

/// Not even one pose of each person a second fits.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{baud} baud carries {carried:.1} poses per second, fewer than one of each person; {}", Cures(self))]
pub struct TooSlow {
    /// Bits a second.
    pub baud: u32,
    /// Poses a second that fit, without 3D.
    pub carried: f32,
    /// Persons asked for.
    pub persons: u8,
    /// Whether room is kept for their NOTICEs.
    pub with_events: bool,
    /// Whether a PLACE goes with each of their poses.
    pub with_place: bool,
}

/// What can be done about it, what costs nothing first.
struct Cures<'a>(&'a TooSlow);

impl fmt::Display for Cures<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &TooSlow { persons, with_events, with_place, .. } = self.0;
        f.write_str(match (with_events, with_place) {
            (true, true) => "turn with_events or with_place off, ",
            (true, false) => "turn with_events off, ",
            (false, true) => "turn with_place off, ",
            (false, false) => "",
        })?;
        if persons > 1 {
            write!(f, "follow fewer than {persons} persons, or ")?;
        } else if with_events || with_place {
            f.write_str("or ")?;
        }
        f.write_str("use a faster line")
    }
}

/// What of `wanted` a line of `baud` bits a second carries within [`LINE_SHARE`]. The rule, in this order:
/// everything; without the 3D block; without it and at the highest rate that fits.
///
/// # Errors
/// Where that rate is below [`MIN_RATE_HZ`].
pub fn fits_baud(baud: u32, wanted: Stream) -> Result<Fit, TooSlow> {
    let fits = |s: &Stream| s.load(baud) <= LINE_SHARE;
    let mut stream = wanted;
    let mut downgrade = Downgrade::default();
    if !fits(&stream) && stream.with_3d {
        stream.with_3d = false;
        downgrade.dropped_3d = true;
    }
    if !fits(&stream) {
        let for_poses = baud as f32 * LINE_SHARE / BITS_PER_BYTE - stream.fixed_bytes_per_s();
        let carried = (for_poses / stream.packet_bytes() as f32).max(0.0);
        stream.rate_hz = carried / f32::from(stream.persons);
        downgrade.lowered_rate = true;
        if stream.rate_hz.is_nan() || stream.rate_hz < MIN_RATE_HZ {
            let Stream { persons, with_events, with_place, .. } = stream;
            return Err(TooSlow { baud, carried, persons, with_events, with_place });
        }
    }
    Ok(Fit { stream, downgrade, load: stream.load(baud) })
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::ToString;

    use super::*;

    fn stream(rate_hz: f32, persons: u8, with_3d: bool) -> Stream {
        Stream { rate_hz, persons, with_3d, with_place: false, with_events: false }
    }

    #[test]
    fn two_persons_at_30_hz_fit_115200_baud_and_four_at_100_hz_fit_921600() {
        let two = fits_baud(115_200, stream(30.0, 2, false)).unwrap();
        assert_eq!(two.downgrade, Downgrade::default());
        assert_eq!(two.stream.packet_bytes(), 140);
        let four = fits_baud(921_600, stream(100.0, 4, false)).unwrap();
        assert_eq!(four.downgrade, Downgrade::default());
    }

    #[test]
    fn the_3d_block_goes_first_and_the_rate_second() {
        let first = fits_baud(115_200, stream(30.0, 2, true)).unwrap();
        assert_eq!(first.downgrade, Downgrade { dropped_3d: true, lowered_rate: false });
        assert_eq!(first.stream.rate_hz, 30.0);
        let second = fits_baud(115_200, stream(100.0, 4, true)).unwrap();
        assert_eq!(second.downgrade, Downgrade { dropped_3d: true, lowered_rate: true });
        assert!(second.stream.rate_hz > 15.0 && second.load <= LINE_SHARE + 1e-4);
        let one = Stream { rate_hz: second.carried_hz(1), persons: 1, ..second.stream };
        assert!((one.load(115_200) - second.load).abs() < 1e-4, "one person has the line of four");
    }

    #[test]
    fn places_and_notices_are_counted() {
        let plain = stream(30.0, 2, false);
        let all = Stream { with_place: true, with_events: true, ..plain };
        assert_eq!(all.packet_bytes(), plain.packet_bytes() + 42);
        assert_eq!(all.bytes_per_s() - plain.bytes_per_s(), 30.0 * 2.0 * 42.0 + 2.0 * 2.0 * 42.0);
    }

    #[test]
    fn a_line_too_slow_for_one_pose_a_second_is_refused() {
        let error = fits_baud(1200, stream(30.0, 1, false)).unwrap_err();
        assert!(error.carried < 1.0);
        assert!(fits_baud(0, stream(30.0, 1, false)).is_err());
        // 108 bytes of housekeeping and 140 a pose.
        let [slow, enough] = [2_700, 2_800].map(|baud| fits_baud(baud, stream(30.0, 1, false)));
        assert!(
            slow.is_err_and(|told| told.carried > 0.9) && enough.is_ok_and(|fit| fit.stream.rate_hz < 1.1)
        );
    }

    #[test]
    fn what_is_said_of_a_line_that_is_too_slow_names_what_takes_its_room() {
        let told = |wanted| fits_baud(9600, wanted).unwrap_err().to_string();
        let four = Stream { with_events: true, ..stream(30.0, 4, false) };
        assert_eq!(
            told(four),
            "9600 baud carries 3.0 poses per second, fewer than one of each person; turn with_events off, follow fewer than 4 persons, or use a faster line"
        );
        assert!(fits_baud(9600, Stream { with_events: false, ..four }).is_ok(), "the advice helps");
        let many = Stream { with_events: true, with_place: true, ..stream(30.0, 8, false) };
        assert!(told(many).contains("turn with_events or with_place off, follow"));
        let alone =
            |with_place| fits_baud(1200, Stream { with_place, ..stream(30.0, 1, false) }).unwrap_err();
        assert!(alone(false).to_string().ends_with("person; use a faster line"));
        assert!(alone(true).to_string().ends_with("person; turn with_place off, or use a faster line"));
    }

    #[test]
    fn a_tenth_of_the_line_is_left_and_a_byte_has_ten_bits() {
        let wanted = stream(30.0, 2, false);
        let full = wanted.bytes_per_s() * 10.0 / 0.9;
        let fit = fits_baud(full.ceil() as u32, wanted).unwrap();
        assert_eq!((fit.stream, fit.downgrade), (wanted, Downgrade::default()));
        assert!(fit.load <= 0.9 && fit.load > 0.899, "{}", fit.load);
        let fit = fits_baud(full.floor() as u32 - 1, wanted).unwrap();
        assert_eq!(fit.downgrade, Downgrade { dropped_3d: false, lowered_rate: true });
        assert!(fit.stream.rate_hz > 29.9, "{}", fit.stream.rate_hz);
    }

    #[test]
    fn nobody_to_follow_costs_only_the_housekeeping() {
        let fit = fits_baud(9600, stream(1000.0, 0, false)).unwrap();
        assert_eq!(fit.stream.bytes_per_s(), HOUSEKEEPING_BYTES_PER_S);
    }
}
