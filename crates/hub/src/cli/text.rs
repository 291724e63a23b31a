//! What is written, to files or to standard output. Nothing that is read is overwritten; an output that ended, or that nobody takes for a while,
//! leaves the others alone.

use std::fmt;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, ensure};
use files::{Existing, LinesFile, Replacement};

/// Lines that wait to be written, at most: two seconds of moments.
const ROOM: usize = 256;

/// What is left at the end is taken within so long, or lost.
const END: Duration = Duration::from_secs(2);

/// Refuses an output that would overwrite what is read, under whatever name.
pub fn keep<'a>(inputs: impl IntoIterator<Item = &'a Path>, output: &Path) -> Result<()> {
    for input in inputs {
        ensure!(
            files::is_stdout(output) || !files::would_be_same(input, output),
            "{} would overwrite {}, which is read: name another output",
            output.display(),
            input.display()
        );
    }
    Ok(())
}

/// Whether [`replace`] could write there now; changes nothing.
pub fn try_replace(path: &Path) -> Result<()> {
    // Whoever reads a pipe would take a trial's end for the end.
    let is_tried = fs::metadata(path).map_or(true, |there| there.is_file() || there.is_dir());
    is_tried.then(|| Replacement::create(path)).transpose().with_context(|| cannot(path))?;
    Ok(())
}

/// Writes a whole file, or leaves what is there.
pub fn replace(path: &Path, text: &str) -> Result<()> {
    let write = || {
        let mut file = Replacement::create(path)?;
        file.write_all(text.as_bytes())?;
        file.commit()
    };
    write().with_context(|| cannot(path))
}

fn cannot(path: &Path) -> String {
    format!("{} cannot be written", path.display())
}

/// What becomes of a line for which there is no room, since those before it are not taken.
#[derive(Clone, Debug)]
pub enum IfLate {
    /// It is lost, and counted: what is live goes on.
    Lost,
    /// Everything waits, for of a take each line counts, until this is set: whoever asks for the end does not wait for a reader who pauses.
    Waits(Arc<AtomicBool>),
}

/// Text that goes to a file or to standard output, by a thread of its own, as long as somebody takes it.
pub struct Text {
    /// Of the command line: who writes, and to what.
    command: &'static str,
    name: String,
    if_late: IfLate,
    lines: Option<SyncSender<Vec<u8>>>,
    /// Until it is known how it ended.
    thread: Option<JoinHandle<io::Result<()>>>,
    lost: u64,
}

impl Text {
    /// To a file, whose first new line takes the place of what it holds, or to standard output for `-`; `option` of `command` named it.
    pub fn create(command: &'static str, option: &str, path: &Path, if_late: IfLate) -> Result<Self> {
        let to: Box<dyn Write + Send> = if files::is_stdout(path) {
            Box::new(io::stdout())
        } else {
            let file = LinesFile::open(path, Existing::Replace)
                .with_context(|| format!("{option} {}: it cannot be written", path.display()))?;
            Box::new(file)
        };
        Self::to(command, format!("{option} {}", path.display()), if_late, to)
    }

    /// To whatever takes it, by that name.
    pub fn to(
        command: &'static str,
        name: String,
        if_late: IfLate,
        to: Box<dyn Write + Send>,
    ) -> Result<Self> {
        let (lines, told) = mpsc::sync_channel(ROOM);
        let thread = std::thread::Builder::new().name("text".into()).spawn(move || pass_on(&told, to))?;
        let (lines, thread) = (Some(lines), Some(thread));
        Ok(Self { command, name, if_late, lines, thread, lost: 0 })
    }

    /// Writes, unless it has ended; whole lines.
    pub fn write(&mut self, text: Vec<u8>) {
        // Whoever takes no more has ended, which `ended` tells.
        let Some(lines) = &self.lines else { return };
        match &self.if_late {
            IfLate::Waits(stop) => {
                let mut text = text;
                while let Err(TrySendError::Full(back)) = lines.try_send(text) {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    text = back;
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            IfLate::Lost => {
                if let Err(TrySendError::Full(_)) = lines.try_send(text) {
                    self.lost += 1;
                    // The 1st, 2nd, 4th, 8th …
                    if self.lost.is_power_of_two() {
                        let (command, name, lost) = (self.command, &self.name, self.lost);
                        say!(
                            "posewire-hub {command}: {name} is not read, or written too slowly: {lost} of its lines are lost"
                        );
                    }
                }
            }
        }
    }

    /// Why it takes nothing any more; `None` as long as it does.
    pub fn ended(&mut self) -> Option<Ended> {
        self.thread.as_ref()?.is_finished().then(|| self.how_it_ended())?
    }

    /// The end: what is left is written, or why it is not.
    pub fn finish(&mut self) -> Option<Ended> {
        self.lines = None;
        let began = Instant::now();
        while !self.thread.as_ref()?.is_finished() {
            let waits = matches!(&self.if_late, IfLate::Waits(stop) if !stop.load(Ordering::Relaxed));
            if !waits && began.elapsed() > END {
                self.thread = None;
                return Some(Ended::Left(format!("{} is not read: its last lines are lost", self.name)));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.how_it_ended()
    }

    fn how_it_ended(&mut self) -> Option<Ended> {
        let error = match self.thread.take()?.join() {
            Ok(result) => result.err()?,
            Err(_) => io::Error::other("its thread has failed"),
        };
        Some(Ended::by(&self.name, error))
    }
}

/// Writes what comes, all of it that waits at once.
fn pass_on(lines: &Receiver<Vec<u8>>, mut to: Box<dyn Write + Send>) -> io::Result<()> {
    while let Ok(mut text) = lines.recv() {
        for more in lines.try_iter().take(ROOM) {
            text.extend_from_slice(&more);
        }
        to.write_all(&text)?;
        to.flush()?;
    }
    Ok(())
}

/// Why a text takes nothing any more.
pub enum Ended {
    /// Its reader has had enough, or takes nothing: no fault.
    Left(String),
    /// The text is not whole.
    Failed(Error),
}

impl Ended {
    /// What writing to `name` ended with.
    pub fn by(name: &str, error: io::Error) -> Self {
        if error.kind() == ErrorKind::BrokenPipe {
            return Ended::Left(format!("{name}: its reader is gone"));
        }
        let said = format!("{name} cannot be written any more: is the disk full?");
        Ended::Failed(Error::new(error).context(said))
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Left(why) => f.write_str(why),
            Ended::Failed(error) => write!(f, "{error:#}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_known_under_every_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("take.jsonl"), "a take").unwrap();
        fs::hard_link(at("take.jsonl"), at("linked.jsonl")).unwrap();
        fs::create_dir(at("more")).unwrap();
        for output in ["take.jsonl", "more/../take.jsonl", "linked.jsonl"] {
            let told = keep([&*at("take.jsonl")], &at(output)).unwrap_err().to_string();
            assert!(told.contains("take.jsonl") && told.contains("name another"), "{told}");
        }
        keep([&*at("take.jsonl")], &at("people.jsonl")).unwrap();
        keep([Path::new("-")], Path::new("-")).unwrap();
        let told = keep([&*at("new.jsonl")], &at("more/../new.jsonl"));
        assert!(told.is_err(), "neither is there yet");
    }

    #[test]
    fn a_trial_says_what_the_writing_would_and_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("room.toml"), "a room").unwrap();
        for path in [at("room.toml"), at("new.toml"), "/dev/null".into()] {
            try_replace(&path).unwrap();
        }
        assert_eq!(fs::read_to_string(at("room.toml")).unwrap(), "a room");
        for path in [at("none/room.toml"), folder.path().to_owned()] {
            let told = try_replace(&path).unwrap_err().to_string();
            assert_eq!(told, format!("{} cannot be written", path.display()));
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn a_reader_that_pauses_holds_up_nothing_and_loses_the_newest_lines_alone() {
        let (mut reader, writer) = io::pipe().unwrap();
        let mut text = Text::to("run", "--jsonl -".into(), IfLate::Lost, Box::new(writer)).unwrap();
        // More than the pipe and the room hold: this would never end if a line waited for the one before.
        let lines = 2_000;
        for k in 0..lines {
            text.write(format!("{k:1023}\n").into_bytes());
        }
        assert!(text.lost > 0 && text.ended().is_none());
        let (lost, began) = (text.lost, Instant::now());
        let read = std::thread::spawn(move || {
            let mut all = String::new();
            io::Read::read_to_string(&mut reader, &mut all).map(|_| all)
        });
        assert!(text.finish().is_none(), "it is read in the end");
        assert!(began.elapsed() < END);
        let read = read.join().unwrap().unwrap();
        let numbers: Vec<u64> = read.lines().map(|line| line.trim().parse().unwrap()).collect();
        assert_eq!(numbers.len() as u64, lines - lost);
        assert!(numbers.windows(2).all(|two| two[0] < two[1]));
    }

    #[test]
    fn a_reader_that_never_comes_back_does_not_hold_up_the_end() {
        let (reader, writer) = io::pipe().unwrap();
        let mut text = Text::to("run", "--events -".into(), IfLate::Lost, Box::new(writer)).unwrap();
        (0..2_000).for_each(|k| text.write(format!("{k:1023}\n").into_bytes()));
        assert!(matches!(text.finish(), Some(Ended::Left(why)) if why.contains("last lines are lost")));
        drop(reader);
    }

    #[test]
    fn of_a_take_every_line_is_written_however_slowly_it_is_read() {
        let (reader, writer) = io::pipe().unwrap();
        let mut text =
            Text::to("run", "--jsonl -".into(), IfLate::Waits(Arc::default()), Box::new(writer)).unwrap();
        let read = std::thread::spawn(move || io::BufRead::lines(io::BufReader::new(reader)).count());
        (0..2_000).for_each(|k| text.write(format!("{k:1023}\n").into_bytes()));
        assert!(text.finish().is_none());
        assert_eq!((read.join().unwrap(), text.lost), (2_000, 0));
    }

    #[test]
    fn whoever_asks_for_the_end_of_a_take_does_not_wait_for_a_reader_who_pauses() {
        let (_reader, writer) = io::pipe().unwrap();
        let stop = Arc::<AtomicBool>::default();
        let waits = IfLate::Waits(stop.clone());
        let mut text = Text::to("run", "--jsonl -".into(), waits, Box::new(writer)).unwrap();
        let asks = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            stop.store(true, Ordering::Relaxed);
        });
        // More than the pipe and the room hold.
        (0..2_000).for_each(|k| text.write(format!("{k:1023}\n").into_bytes()));
        asks.join().unwrap();
        assert!(matches!(text.finish(), Some(Ended::Left(why)) if why.contains("last lines are lost")));
    }
}
