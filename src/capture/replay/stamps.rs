//! When each picture of a film is due, by what `ffmpeg` says of it while it decodes: what is not decoded (what a trimmed film keeps
//! for the sake of others, what is damaged) is not counted.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

/// Has ffmpeg write a line of each picture before it hands it on; only pictures with a note have one printed. Phones' and
/// cameras' full range becomes limited, which versions that do not say it in Y4M's header would leave.
pub(super) const FILTERS: &str =
    "scale=out_range=tv,settb=AVTB,metadata=mode=add:key=posewire:value=1,metadata=mode=print:key=posewire";

/// What its log is to hold for that: the lines themselves, and of each line how serious it is.
pub(super) const LOG_LEVEL: &str = "level+info";

/// How the lines of [`FILTERS`] begin.
const PRINTED: &[u8] = b"[Parsed_metadata_";

/// What of the log is no reason for anything.
const CHATTER: [&str; 5] = ["[warning] ", "[info] ", "[verbose] ", "[debug] ", "[trace] "];

/// What is longer is given on in pieces.
const MAX_LINE_BYTES: u64 = 4096;

/// A line is written before its picture, but by another pipe: a busy board may read it later.
const LINE_WITHIN: Duration = Duration::from_secs(2);

/// A time that is that much before the last one is of another clock: films that were joined.
const JUMP_US: i64 = 1_000_000;

/// From a picture to the next one of the same time.
const STEP_US: i64 = 1_000;

/// ffmpeg's log: times go to whoever waits for them, errors are read from here, the rest is left out.
pub(super) struct Log<R> {
    lines: BufReader<R>,
    /// What is read of `unread` bytes of an error.
    line: Vec<u8>,
    unread: usize,
    times_us: Sender<Option<i64>>,
}

impl<R: Read> Log<R> {
    pub fn new(log: R, times_us: Sender<Option<i64>>) -> Self {
        Self { lines: BufReader::new(log), line: Vec::new(), unread: 0, times_us }
    }

    /// The next error; empty at the end of the log.
    fn next_error(&mut self) -> io::Result<()> {
        loop {
            self.line.clear();
            let line = &mut self.line;
            self.lines.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', line)?;
            if line.starts_with(PRINTED) {
                if let Some(time_us) = time_us(&String::from_utf8_lossy(line)) {
                    // Nobody waits for it any more: the film is given up.
                    let _ = self.times_us.send(time_us);
                }
            } else if line.is_empty() || !is_chatter(&String::from_utf8_lossy(line)) {
                self.unread = line.len();
                return Ok(());
            }
        }
    }
}

impl<R: Read> Read for Log<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.unread == 0 {
            self.next_error()?;
        }
        let mut rest = &self.line[self.line.len() - self.unread..];
        let read = rest.read(out)?;
        self.unread -= read;
        Ok(read)
    }
}

/// The time that a line tells, where it tells one: `Some(None)` of a picture that has none.
fn time_us(line: &str) -> Option<Option<i64>> {
    let time = line.split_whitespace().find_map(|word| word.strip_prefix("pts:"))?;
    Some(time.parse().ok())
}

fn is_chatter(line: &str) -> bool {
    let of_a_part = |level| line.starts_with('[') && line.contains(&format!("] {level}"));
    CHATTER.into_iter().any(|level| line.starts_with(level) || of_a_part(level))
}

/// What a film's times may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Oddity {
    /// A picture without a time.
    Unknown,
    /// A time that does not come after the one before it.
    Doubled,
    /// A time long before the one before it.
    Jump,
}

impl std::fmt::Display for Oddity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Unknown => "has no time of its own: it comes when the film's rate says",
            Self::Doubled => "has no later time than the one before it: it comes 1 ms after that",
            Self::Jump => {
                "is long before the one before it by its time: the film goes on from there at its rate"
            }
        })
    }
}

/// Times from the first picture's on, which rise whatever the film says.
pub(super) struct FilmClock {
    times_us: Receiver<Option<i64>>,
    /// What the film calls 0.
    start_us: Option<i64>,
    /// Of the last picture: when it was due, and when it would have been at an even rate.
    last: Option<[i64; 2]>,
    has_told: bool,
}

impl FilmClock {
    pub fn new(times_us: Receiver<Option<i64>>) -> Self {
        Self { times_us, start_us: None, last: None, has_told: false }
    }

    /// When the next picture is due that would be at `even_us` at an even rate. The first oddity of the film is told of.
    pub fn next_us(&mut self, even_us: i64) -> (i64, Option<Oddity>) {
        let stamp_us = self.times_us.recv_timeout(LINE_WITHIN).ok().flatten();
        let (due_us, oddity) = self.place(stamp_us, even_us);
        self.last = Some([due_us, even_us]);
        let is_news = oddity.is_some() && !std::mem::replace(&mut self.has_told, true);
        (due_us, oddity.filter(|_| is_news))
    }

    fn place(&mut self, stamp_us: Option<i64>, even_us: i64) -> (i64, Option<Oddity>) {
        let on_us = self.last.map_or(0, |[last_us, last_even_us]| last_us + (even_us - last_even_us).max(1));
        let Some(stamp_us) = stamp_us else { return (on_us, Some(Oddity::Unknown)) };
        let start_us = *self.start_us.get_or_insert(stamp_us.saturating_sub(on_us));
        let due_us = stamp_us.saturating_sub(start_us);
        match self.last {
            Some([last_us, _]) if last_us.saturating_sub(due_us) > JUMP_US => {
                self.start_us = Some(stamp_us.saturating_sub(on_us));
                (on_us, Some(Oddity::Jump))
            }
            Some([last_us, _]) if due_us <= last_us => (on_us.min(last_us + STEP_US), Some(Oddity::Doubled)),
            _ => (due_us, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn of_the_log_times_and_errors_are_taken() {
        let log = "[info] Input #0, mov, from './a.mp4':\n\
                   [Parsed_metadata_2 @ 0x5] [info] frame:0    pts:-40000  pts_time:-0.04\n\
                   [Parsed_metadata_2 @ 0x5] [info] posewire=1\n\
                   [warning] -vsync is deprecated\n\
                   [h264 @ 0x7] [error] concealing 9 errors\n\
                   [Parsed_metadata_2 @ 0x5] [info] frame:1    pts:NOPTS   pts_time:NOPTS\n\
                   cannot be executed\n";
        let (sender, times_us) = channel();
        let errors = io::read_to_string(Log::new(log.as_bytes(), sender)).unwrap();
        assert_eq!(errors, "[h264 @ 0x7] [error] concealing 9 errors\ncannot be executed\n");
        assert_eq!(times_us.iter().collect::<Vec<_>>(), [Some(-40_000), None]);
    }

    /// The times of a film of 25 Hz that says these, and the oddities.
    fn times(stamps_us: &[Option<i64>]) -> (Vec<i64>, Vec<Oddity>) {
        let (sender, receiver) = channel();
        stamps_us.iter().for_each(|stamp| sender.send(*stamp).unwrap());
        drop(sender);
        let mut clock = FilmClock::new(receiver);
        let placed = (0..).zip(stamps_us).map(|(i, _)| clock.next_us(i * 40_000));
        let (times, oddities): (Vec<_>, Vec<_>) = placed.unzip();
        (times, oddities.into_iter().flatten().collect())
    }

    #[test]
    fn a_film_has_its_own_times_from_its_first_picture_on() {
        let stamps = [500_000, 533_000, 900_000, 20_000_000].map(Some);
        assert_eq!(times(&stamps), (vec![0, 33_000, 400_000, 19_500_000], vec![]));
    }

    #[test]
    fn one_odd_time_leaves_the_others_as_they_are() {
        let doubled = [0, 40_000, 40_000, 40_000, 160_000].map(Some);
        assert_eq!(times(&doubled), (vec![0, 40_000, 41_000, 42_000, 160_000], vec![Oddity::Doubled]));
        let unknown = [Some(7_000), None, Some(100_000), None];
        assert_eq!(times(&unknown), (vec![0, 40_000, 93_000, 133_000], vec![Oddity::Unknown]));
        let late = [None, None, Some(9_000), Some(59_000)];
        assert_eq!(times(&late), (vec![0, 40_000, 80_000, 130_000], vec![Oddity::Unknown]));
    }

    #[test]
    fn films_that_were_joined_go_on() {
        let joined = [0, 2_000_000, 4_000_000, 10_000, 60_000].map(Some);
        assert_eq!(times(&joined), (vec![0, 2_000_000, 4_000_000, 4_040_000, 4_090_000], vec![Oddity::Jump]));
    }
}
