//! Every packet of version 1 but POSE (see [`crate::PosePacket`]).
//!
//! Offsets in the drawings count from the start of the payload, so that a C struct with the four header bytes in front
//! has its fields where the compiler would put them: each lies at a multiple of its size.

use crate::{
    Notice, PlacePacket, PosePacket,
    bytes::{Reader, Writer},
};

/// Type codes. Below 0x80 the host speaks, from 0x80 on the consumer.
pub(crate) mod kind {
    pub const HELLO: u8 = 0x01;
    pub const POSE: u8 = 0x02;
    pub const STATUS: u8 = 0x03;
    pub const PLACE: u8 = 0x04;
    pub const NOTICE: u8 = 0x05;
    pub const COMMAND: u8 = 0x81;
    pub const RECEIPT: u8 = 0x82;
}

/// Bytes of a HELLO's body.
pub(crate) const HELLO_BODY_LEN: usize = 56;
/// Bytes of a STATUS's body.
pub(crate) const STATUS_BODY_LEN: usize = 32;

/// One packet, decoded. Fields hold wire units as they are: encode∘decode is the identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "boxing needs an allocator")]
pub enum Packet {
    /// Who speaks and in what units; once a second and whenever asked.
    Hello(Hello),
    /// One person at one moment, or "nobody is there".
    Pose(PosePacket),
    /// How the host is.
    Status(Status),
    /// Where one person stands before the camera.
    Place(PlacePacket),
    /// Something that happened.
    Notice(Notice),
    /// The consumer asks for something.
    Command(Command),
    /// How the consumer is, and what it has seen.
    Receipt(Receipt),
}

/// Who speaks and in what units: enough to use a stream joined in the middle.
///
/// ```text
///  4 minor u8   5 skeleton u8   6 joints u8   7 max_persons u8   8 model_hash 8 bytes   16 backend 16 bytes
/// 32 width u16   34 height u16   36 frame_rate u16   38 pose_rate u16   40 scale u8   41 flags u8   42 load u16
/// 44 uptime u32   48 frames_dropped u32   52 poses_dropped u32   56 packets_sent u32                     60 = end
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hello {
    /// Extensions of version 1 that the sender knows: [`crate::MINOR`].
    pub minor: u8,
    /// Which joints, in which order: [`crate::SKELETON_COCO17`].
    pub skeleton: u8,
    /// How many joints a POSE has: 17.
    pub joints: u8,
    /// How many persons are followed at most.
    pub max_persons: u8,
    /// First eight bytes of the SHA-256 of the keypoint model; zeros where there is none.
    pub model_hash: [u8; 8],
    /// What runs the networks, UTF-8, zero-padded: [`text16`].
    pub backend: [u8; 16],
    /// Source image, pixels.
    pub width_px: u16,
    /// Source image, pixels.
    pub height_px: u16,
    /// Frames processed, 1/100 Hz.
    pub frame_rate_chz: u16,
    /// Poses sent of each person, 1/100 Hz; 0: as frames come.
    pub pose_rate_chz: u16,
    /// Coordinates of POSE are in units of 2^scale/8 px.
    pub scale: u8,
    /// What the stream contains and what was left out.
    pub flags: HelloFlags,
    /// Share of the line that the stream takes, 1/1000; 0: not known.
    pub load_permille: u16,
    /// Milliseconds since the host's program started; wraps.
    pub uptime_ms: u32,
    /// Frames overwritten by newer ones before they were processed.
    pub frames_dropped: u32,
    /// Poses overwritten by newer ones before they were sent.
    pub poses_dropped: u32,
    /// Packets sent before this one.
    pub packets_sent: u32,
}

/// Bits of [`Hello::flags`]; unknown bits are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HelloFlags(pub u8);

impl HelloFlags {
    /// POSE packets carry the 3D block.
    pub const WITH_3D: u8 = 1 << 0;
    /// Poses are predicted to a moment after their capture.
    pub const PREDICTED: u8 = 1 << 1;
    /// The 3D block was left out because the line is too slow.
    pub const DROPPED_3D: u8 = 1 << 2;
    /// The rate was lowered because the line is too slow.
    pub const LOWERED_RATE: u8 = 1 << 3;
    /// PLACE goes with each POSE, where the camera's lens is known.
    pub const WITH_PLACE: u8 = 1 << 4;
    /// NOTICEs tell of what happens.
    pub const WITH_NOTICES: u8 = 1 << 5;

    /// Whether every bit of `mask` is set.
    pub const fn has(self, mask: u8) -> bool {
        self.0 & mask == mask
    }
}

/// Where frames come from, and whether they do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceState(pub u8);

impl SourceState {
    /// Frames arrive.
    pub const RUNNING: Self = Self(1);
    /// The camera is gone; it is being looked for.
    pub const LOST: Self = Self(2);
    /// A file, not a camera.
    pub const REPLAY: Self = Self(3);
    /// The built-in clip: nobody is there.
    pub const BUILT_IN: Self = Self(4);
}

/// How the host is; once a second.
///
/// ```text
///  4 uptime u32   8 temperature i16   10 frame_rate u16   12 frames_dropped u32   16 poses_dropped u32
/// 20 camera_losses u32   24 camera_errors u32   28 wire_errors u32   32 source u8   33 persons u8   34 flags u16
///                                                                                                         36 = end
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Milliseconds since the host's program started; wraps.
    pub uptime_ms: u32,
    /// 1/100 °C; [`Status::NO_TEMPERATURE`] where there is no sensor.
    pub temperature_cc: i16,
    /// Frames processed over the last second, 1/100 Hz.
    pub frame_rate_chz: u16,
    /// Frames overwritten by newer ones before they were processed.
    pub frames_dropped: u32,
    /// Poses overwritten by newer ones before they were sent.
    pub poses_dropped: u32,
    /// How often the camera was lost.
    pub camera_losses: u32,
    /// Frames that the driver or the decoder found damaged.
    pub camera_errors: u32,
    /// Damaged frames received from the consumer.
    pub wire_errors: u32,
    /// Where frames come from.
    pub source: SourceState,
    /// Persons followed now.
    pub persons: u8,
    /// Bit 0: the processor is throttled (heat or voltage).
    pub flags: u16,
}

impl Status {
    /// [`Status::temperature_cc`] where there is no sensor.
    pub const NO_TEMPERATURE: i16 = i16::MIN;
    /// Bit of [`Status::flags`]: the processor is throttled.
    pub const THROTTLED: u16 = 1 << 0;
}

impl Default for Status {
    fn default() -> Self {
        Self {
            uptime_ms: 0,
            temperature_cc: Self::NO_TEMPERATURE,
            frame_rate_chz: 0,
            frames_dropped: 0,
            poses_dropped: 0,
            camera_losses: 0,
            camera_errors: 0,
            wire_errors: 0,
            source: SourceState::default(),
            persons: 0,
            flags: 0,
        }
    }
}

/// What the consumer asks for.
///
/// ```text
///  4 command u8   5 zero ×3   8 argument u32                                                              12 = end
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// 1: send HELLO now.
    RequestHello,
    /// 2: send each person this often, 1/100 Hz; 0: as frames come. HELLO's `pose_rate` answers.
    SetRate {
        /// 1/100 Hz.
        rate_chz: u16,
    },
    /// 3: forget identities and memories and start anew.
    Reset,
}

/// How the consumer is: what it has seen of the host's packets. Sent after each drawn or used frame at most.
///
/// ```text
///  4 seq u32   8 packets u32   12 crc_errors u32   16 framing_errors u32   20 overfull u32   24 skipped u32
/// 28 overruns u32   32 superseded u32   36 busy u32                                                       40 = end
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    /// `seq` of the newest POSE that was used (drawn, acted on).
    pub seq: u32,
    /// Packets decoded.
    pub packets: u32,
    /// Frames whose CRC did not match.
    pub crc_errors: u32,
    /// Frames that were no valid COBS, or whose lengths do not add up.
    pub framing_errors: u32,
    /// Frames longer than [`crate::MAX_FRAME`].
    pub overfull: u32,
    /// Packets of a type or version that the consumer does not know.
    pub skipped: u32,
    /// Bytes that the receiver lost because nobody fetched them in time.
    pub overruns: u32,
    /// Poses that a newer one replaced before they were used.
    pub superseded: u32,
    /// How long the last use (a redraw) took, microseconds.
    pub busy_us: u32,
}

/// `text` in 16 bytes of UTF-8, cut at a character's boundary and zero-padded.
pub fn text16(text: &str) -> [u8; 16] {
    cut_text(text)
}

/// The same of any length.
pub(crate) fn cut_text<const N: usize>(text: &str) -> [u8; N] {
    let mut end = text.len().min(N);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut to = [0; N];
    to[..end].copy_from_slice(&text.as_bytes()[..end]);
    to
}

/// Zero-padded bytes as text; what is no UTF-8 is cut off.
pub(crate) fn text_of(bytes: &[u8]) -> &str {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    match core::str::from_utf8(&bytes[..end]) {
        Ok(text) => text,
        Err(e) => core::str::from_utf8(&bytes[..e.valid_up_to()]).unwrap_or(""),
    }
}

impl Hello {
    /// [`Hello::backend`] as text; what is no UTF-8 is cut off.
    pub fn backend(&self) -> &str {
        text_of(&self.backend)
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.put([self.minor, self.skeleton, self.joints, self.max_persons]);
        w.put(self.model_hash);
        w.put(self.backend);
        w.put(self.width_px.to_le_bytes());
        w.put(self.height_px.to_le_bytes());
        w.put(self.frame_rate_chz.to_le_bytes());
        w.put(self.pose_rate_chz.to_le_bytes());
        w.put([self.scale, self.flags.0]);
        w.put(self.load_permille.to_le_bytes());
        w.put(self.uptime_ms.to_le_bytes());
        w.put(self.frames_dropped.to_le_bytes());
        w.put(self.poses_dropped.to_le_bytes());
        w.put(self.packets_sent.to_le_bytes());
    }

    pub(crate) fn read(mut r: Reader<'_>) -> Option<Self> {
        let hello = Self {
            minor: r.u8(),
            skeleton: r.u8(),
            joints: r.u8(),
            max_persons: r.u8(),
            model_hash: r.array(),
            backend: r.array(),
            width_px: r.u16(),
            height_px: r.u16(),
            frame_rate_chz: r.u16(),
            pose_rate_chz: r.u16(),
            scale: r.u8(),
            flags: HelloFlags(r.u8()),
            load_permille: r.u16(),
            uptime_ms: r.u32(),
            frames_dropped: r.u32(),
            poses_dropped: r.u32(),
            packets_sent: r.u32(),
        };
        r.finish(hello)
    }
}

impl Status {
    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.put(self.uptime_ms.to_le_bytes());
        w.put(self.temperature_cc.to_le_bytes());
        w.put(self.frame_rate_chz.to_le_bytes());
        w.put(self.frames_dropped.to_le_bytes());
        w.put(self.poses_dropped.to_le_bytes());
        w.put(self.camera_losses.to_le_bytes());
        w.put(self.camera_errors.to_le_bytes());
        w.put(self.wire_errors.to_le_bytes());
        w.put([self.source.0, self.persons]);
        w.put(self.flags.to_le_bytes());
    }

    pub(crate) fn read(mut r: Reader<'_>) -> Option<Self> {
        let status = Self {
            uptime_ms: r.u32(),
            temperature_cc: r.i16(),
            frame_rate_chz: r.u16(),
            frames_dropped: r.u32(),
            poses_dropped: r.u32(),
            camera_losses: r.u32(),
            camera_errors: r.u32(),
            wire_errors: r.u32(),
            source: SourceState(r.u8()),
            persons: r.u8(),
            flags: r.u16(),
        };
        r.finish(status)
    }
}

/// A command's body, understood or not.
pub(crate) enum CommandBody {
    Known(Command),
    Unknown,
}

impl Command {
    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        let (code, argument) = match *self {
            Command::RequestHello => (1, 0),
            Command::SetRate { rate_chz } => (2, u32::from(rate_chz)),
            Command::Reset => (3, 0),
        };
        w.put([code, 0, 0, 0]);
        w.put(argument.to_le_bytes());
    }

    /// A rate beyond 655.35 Hz is read as that: no line carries either.
    pub(crate) fn read(mut r: Reader<'_>) -> Option<CommandBody> {
        let [code, ..] = r.array::<4>();
        let argument = r.u32();
        let body = match code {
            1 => CommandBody::Known(Command::RequestHello),
            2 => {
                CommandBody::Known(Command::SetRate { rate_chz: u16::try_from(argument).unwrap_or(u16::MAX) })
            }
            3 => CommandBody::Known(Command::Reset),
            _ => CommandBody::Unknown,
        };
        r.finish(body)
    }
}

impl Receipt {
    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        for field in [
            self.seq,
            self.packets,
            self.crc_errors,
            self.framing_errors,
            self.overfull,
            self.skipped,
            self.overruns,
            self.superseded,
            self.busy_us,
        ] {
            w.put(field.to_le_bytes());
        }
    }

    pub(crate) fn read(mut r: Reader<'_>) -> Option<Self> {
        let receipt = Self {
            seq: r.u32(),
            packets: r.u32(),
            crc_errors: r.u32(),
            framing_errors: r.u32(),
            overfull: r.u32(),
            skipped: r.u32(),
            overruns: r.u32(),
            superseded: r.u32(),
            busy_us: r.u32(),
        };
        r.finish(receipt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(&text16("tract int8"), b"tract int8\0\0\0\0\0\0");
        assert_eq!(&text16("fifteen bytes..é"), b"fifteen bytes..\0", "not half of a character");
        let hello = Hello { backend: text16("fifteen bytes..é"), ..Hello::default() };
        assert_eq!(hello.backend(), "fifteen bytes..");
        let damaged = Hello { backend: *b"ab\xff\xfecdefghijklmn", ..Hello::default() };
        assert_eq!(damaged.backend(), "ab");
    }

    /// What other programs have by number: `docs/wire.md`.
    #[test]
    fn numbers_are_those_of_the_specification() {
        use HelloFlags as F;
        let flags =
            [F::WITH_3D, F::PREDICTED, F::DROPPED_3D, F::LOWERED_RATE, F::WITH_PLACE, F::WITH_NOTICES];
        assert_eq!(flags, [0x01, 0x02, 0x04, 0x08, 0x10, 0x20]);
        use SourceState as S;
        assert_eq!([S::RUNNING, S::LOST, S::REPLAY, S::BUILT_IN].map(|state| state.0), [1, 2, 3, 4]);
        assert_eq!((Status::THROTTLED, Status::NO_TEMPERATURE), (1, -32768));
        let both = HelloFlags(F::PREDICTED | F::LOWERED_RATE);
        assert!(both.has(F::PREDICTED) && !both.has(F::PREDICTED | F::WITH_3D));
    }

    #[test]
    fn a_rate_beyond_what_is_carried_is_the_highest() {
        let body = [2, 0, 0, 0, 0, 0, 1, 0];
        let read = Command::read(Reader::new(&body));
        assert!(matches!(read, Some(CommandBody::Known(Command::SetRate { rate_chz: u16::MAX }))));
    }
}
