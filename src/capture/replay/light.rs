//! When the light of a picture fell, as a Raspberry Pi's camera programs say it between the pictures of their stream.
//!
//! With `--metadata - --metadata-format txt` they write, after each picture, what the sensor said of it: a line `NAME=VALUE` each, among
//! them `SensorTimestamp` in nanoseconds of the kernel's clock. (`--save-pts` counts from the first picture, which is no use
//! here.)

/// What stands before the time.
const NAME: &[u8] = b"SensorTimestamp=";

/// How a JPEG begins.
const PICTURE: [u8; 3] = [0xff, 0xd8, 0xff];

/// No sensor says more of a picture.
const MAX_TEXT_BYTES: usize = 1 << 16;

/// So many pictures in a row of which nothing is said: nothing more is waited for.
const MISSES: u32 = 3;

/// Whether there is word of a picture in what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// Microseconds.
    Light(i64),
    /// The next picture has begun, or far too much was said.
    None,
    /// It may be still to come.
    Wait,
}

/// Looks into `bytes`, which follow a picture; `is_end` where no more can come.
pub(super) fn word(bytes: &[u8], is_end: bool) -> Word {
    let next = bytes.windows(3).position(|m| m == PICTURE);
    let text = &bytes[..next.unwrap_or(bytes.len())];
    if let Some(light) = time(text) {
        return Word::Light(light);
    }
    if next.is_some() || is_end || text.len() > MAX_TEXT_BYTES { Word::None } else { Word::Wait }
}

/// The time in `text`, where all of its digits are there.
fn time(text: &[u8]) -> Option<i64> {
    let at = text.windows(NAME.len()).position(|w| w == NAME)? + NAME.len();
    let digits = text[at..].iter().take_while(|b| b.is_ascii_digit()).count();
    // The next byte ends the line: it has arrived whole.
    text.get(at + digits)?;
    let ns: i64 = std::str::from_utf8(&text[at..at + digits]).ok()?.parse().ok()?;
    Some(ns / 1000)
}

/// Whether word of the next picture is to be waited for: not of a program that turns out to say nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hope {
    misses: u32,
}

impl Hope {
    pub fn is_there(self) -> bool {
        self.misses < MISSES
    }

    pub fn after(&mut self, word: Word) {
        match word {
            Word::Light(_) => self.misses = 0,
            Word::None => self.misses += 1,
            Word::Wait => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_counts_when_its_line_is_whole_and_before_the_next_picture() {
        let said = b"ExposureTime=9989\nSensorTimestamp=123456789000\nLux=380.1\n\n";
        assert_eq!(word(said, false), Word::Light(123_456_789));
        for cut in 0..=said.iter().position(|&b| b == b'L').unwrap() - 2 {
            assert_eq!(word(&said[..cut], false), Word::Wait, "{cut}");
        }
        assert_eq!(word(b"SensorTimestamp=12", true), Word::None);
        let late = [&PICTURE[..], b"...", said].concat();
        assert_eq!(word(&late, false), Word::None, "that is the next one's");
        assert_eq!(word(b"SensorTimestamp=none\n", true), Word::None);
        assert_eq!(word(&vec![b'x'; MAX_TEXT_BYTES + 1], false), Word::None);
    }

    #[test]
    fn of_a_program_that_says_nothing_nothing_is_hoped_for_long() {
        let mut hope = Hope::default();
        for expected in [true, true, true, false] {
            assert_eq!(hope.is_there(), expected);
            hope.after(Word::None);
        }
        hope.after(Word::Light(1));
        assert!(hope.is_there());
    }
}
