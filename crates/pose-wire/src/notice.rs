//! NOTICE: something that happened.

use crate::{
    bytes::{Reader, Writer},
    packet::cut_text,
};

/// Bytes of the body.
pub(crate) const NOTICE_BODY_LEN: usize = 32;

/// What happened. Codes that this version does not know are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoticeCode(pub u8);

impl NoticeCode {
    /// A person is there.
    pub const APPEAR: Self = Self(1);
    /// They are not any more.
    pub const LEAVE: Self = Self(2);
    /// They are in the zone.
    pub const ENTER: Self = Self(3);
    /// They are out of it.
    pub const EXIT: Self = Self(4);
    /// They hold their left hand up.
    pub const LEFT_HAND_RAISED: Self = Self(5);
    /// They do not any more.
    pub const LEFT_HAND_LOWERED: Self = Self(6);
    /// They hold their right hand up.
    pub const RIGHT_HAND_RAISED: Self = Self(7);
    /// They do not any more.
    pub const RIGHT_HAND_LOWERED: Self = Self(8);
    /// They stand with crossed arms.
    pub const ARMS_CROSSED: Self = Self(9);
    /// They do not any more.
    pub const ARMS_UNCROSSED: Self = Self(10);
    /// They lie after having been up.
    pub const FALL: Self = Self(11);
    /// They are up again.
    pub const GOT_UP: Self = Self(12);
    /// There are now `persons`.
    pub const COUNT: Self = Self(13);

    /// The word of docs/events.md; `None` for a code of a later version.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::APPEAR => "appear",
            Self::LEAVE => "leave",
            Self::ENTER => "enter",
            Self::EXIT => "exit",
            Self::LEFT_HAND_RAISED => "left_hand_raised",
            Self::LEFT_HAND_LOWERED => "left_hand_lowered",
            Self::RIGHT_HAND_RAISED => "right_hand_raised",
            Self::RIGHT_HAND_LOWERED => "right_hand_lowered",
            Self::ARMS_CROSSED => "arms_crossed",
            Self::ARMS_UNCROSSED => "arms_uncrossed",
            Self::FALL => "fall",
            Self::GOT_UP => "got_up",
            Self::COUNT => "count",
            _ => return None,
        })
    }

    /// The code of a word; `None` where there is none.
    pub fn of_name(name: &str) -> Option<Self> {
        (1..=Self::COUNT.0).map(Self).find(|code| code.name() == Some(name))
    }
}

/// Something that happened; once, however often poses are sent.
///
/// ```text
///  4 number u32   8 captured_at µs i64   16 track_id u32   20 code u8   21 persons u8   22 zone u8   23 zero
/// 24 zone's name 12 bytes                                                                                 36 = end
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notice {
    /// Counts them; a gap is a loss. Wraps.
    pub number: u32,
    /// The frame in which it had held long enough, microseconds of the host's monotonic clock.
    pub captured_at_us: i64,
    /// Whose doing it is; 0: nobody's.
    pub track_id: u32,
    /// What.
    pub code: NoticeCode,
    /// How many are there.
    pub persons: u8,
    /// Place of the zone in its file, from 1; 0: none.
    pub zone: u8,
    /// Its name, UTF-8, cut and zero-padded: [`Notice::zone_text`].
    pub zone_name: [u8; 12],
}

impl Notice {
    /// A zone's name as the wire carries it: cut at a character's boundary.
    pub fn zone_text(name: &str) -> [u8; 12] {
        cut_text(name)
    }

    /// [`Notice::zone_name`] as text; what is no UTF-8 is cut off.
    pub fn zone_name(&self) -> &str {
        crate::packet::text_of(&self.zone_name)
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.put(self.number.to_le_bytes());
        w.put(self.captured_at_us.to_le_bytes());
        w.put(self.track_id.to_le_bytes());
        w.put([self.code.0, self.persons, self.zone, 0]);
        w.put(self.zone_name);
    }

    pub(crate) fn read(mut r: Reader<'_>) -> Option<Self> {
        let (number, captured_at_us, track_id) = (r.u32(), r.i64(), r.u32());
        let [code, persons, zone, _] = r.array();
        let zone_name = r.array();
        r.finish(Self { number, captured_at_us, track_id, code: NoticeCode(code), persons, zone, zone_name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What other programs have by number: `docs/wire.md`.
    #[test]
    fn codes_have_the_words_of_the_specification() {
        let words = [
            "appear",
            "leave",
            "enter",
            "exit",
            "left_hand_raised",
            "left_hand_lowered",
            "right_hand_raised",
            "right_hand_lowered",
            "arms_crossed",
            "arms_uncrossed",
            "fall",
            "got_up",
            "count",
        ];
        assert_eq!(core::array::from_fn(|i| NoticeCode(i as u8 + 1).name()), words.map(Some));
    }

    #[test]
    fn every_code_has_a_word_and_every_word_its_code() {
        for code in 1..=13 {
            let name = NoticeCode(code).name().unwrap();
            assert_eq!(NoticeCode::of_name(name), Some(NoticeCode(code)));
        }
        assert_eq!((NoticeCode(14).name(), NoticeCode::of_name("yawn")), (None, None));
    }

    #[test]
    fn long_names_of_zones_are_cut_between_characters() {
        let notice = Notice { zone_name: Notice::zone_text("hinter der Tür"), ..Notice::default() };
        assert_eq!(notice.zone_name(), "hinter der T");
        let notice = Notice { zone_name: Notice::zone_text("elf und ..ü"), ..Notice::default() };
        assert_eq!(notice.zone_name(), "elf und ..ü");
        let notice = Notice { zone_name: Notice::zone_text("elf und ...ü"), ..Notice::default() };
        assert_eq!(notice.zone_name(), "elf und ...");
    }
}
