//! A film of what displays show: the pictures with their poses, in a file that every player plays, made by `ffmpeg`.
//!
//! A film has a constant rate, the source's. Live, frames are repeated and left out so that it runs at true speed; without
//! loss it has every frame, but where it is asked for at a lower rate than the file's. It is written beside its place and
//! renamed when it is complete.

mod encoder;
mod pace;
mod playable;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use self::encoder::{Codec, Encoder, Ended, Film, Left};
use self::pace::{FrameRate, Frames, Pace};
use self::playable::is_playable;
use super::display::{Canvas, FrameStamp, Surface};
use super::{Existing, SinkError, tell_of_earlier};
use crate::files::Replacement;
use crate::reason::Reason;

/// How long a program that has only been started may take to open its file, however short the time is.
const BEGUN_WITHIN: Duration = Duration::from_secs(5);

/// Whoever gives more time than this to end is in no hurry: a signal leaves less, and an encoder that gets on may then take its own.
const HURRY: Duration = Duration::from_secs(1);

/// A film that ends early is handed to the disk for so long: the run may be ending, too.
const SYNC_WITHIN: Duration = Duration::from_millis(250);

/// The kinds of file that hold both codecs, and ffmpeg's words for them.
const CONTAINERS: [(&str, &str); 5] =
    [("mp4", "mp4"), ("m4v", "mp4"), ("mov", "mov"), ("mkv", "matroska"), ("avi", "avi")];

/// ffmpeg's word for the kind of file that the name of `path` says.
fn container_of(path: &Path) -> Result<&'static str, SinkError> {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let container =
        CONTAINERS.into_iter().find(|(known, _)| *known == ending).map(|(_, container)| container);
    container.ok_or_else(|| {
        let why = "its name says no kind of video: end it with .mp4, .mov, .mkv or .avi";
        SinkError::fatal(format_args!("--video {}", path.display()), why)
    })
}

/// Whether a film can be called `path`.
///
/// # Errors
/// [`SinkError::Fatal`]: the name is of no film.
pub fn check_name(path: &Path) -> Result<(), SinkError> {
    container_of(path).map(drop)
}

/// Frames a second of the source, told by whoever opens it.
pub type SourceRate = Arc<OnceLock<f32>>;

/// How a [`Video`] is made.
#[derive(Clone, Debug)]
pub struct VideoOptions {
    /// Frames a second of the film; the source's where it is not said.
    pub rate_hz: Option<f32>,
    /// The source's.
    pub source_rate: SourceRate,
    /// The source is a file whose frames all come; none is left out, unless `rate_hz` has no place for it.
    pub takes_every_frame: bool,
}

/// `--video FILE`: a display whose pictures are a film's.
pub struct Video {
    name: String,
    path: PathBuf,
    existing: Existing,
    /// Gone once the film is in its place, or stays beside it.
    file: Option<Replacement>,
    options: VideoOptions,
    program: String,
    codec: Codec,
    container: &'static str,
    film: Option<Running>,
    /// ffmpeg ended early, and what there is of the film is in its place.
    is_cut_short: bool,
}

/// From the first picture on.
struct Running {
    encoder: Encoder,
    pace: Pace,
    rate: FrameRate,
    size_px: [usize; 2],
    /// Places that were to be filled while there was no room.
    owed: u32,
}

impl Video {
    /// A film in the file `path`, which is there when it is complete and has a frame.
    ///
    /// # Errors
    /// [`SinkError::Fatal`]: the name is of no film, the file cannot be made, ffmpeg is not installed.
    pub fn create(path: &Path, existing: Existing, options: VideoOptions) -> Result<Self, SinkError> {
        Self::with_program(path, existing, options, "ffmpeg")
    }

    fn with_program(
        path: &Path,
        existing: Existing,
        options: VideoOptions,
        program: &str,
    ) -> Result<Self, SinkError> {
        let name = format!("video {}", path.display());
        let fatal = |why: Reason| SinkError::fatal(format_args!("--{name}"), why);
        let container = container_of(path)?;
        let codec = Codec::of(program).map_err(fatal)?;
        let file = Replacement::create_alone(path).map_err(|e| fatal(Reason::new("cannot be created", e)))?;
        let (path, program) = (path.to_owned(), program.into());
        let (file, film) = (Some(file.following(existing)), None);
        Ok(Self { name, path, existing, file, options, program, codec, container, film, is_cut_short: false })
    }

    fn fatal(&self, why: impl Into<Reason>) -> SinkError {
        SinkError::fatal(&self.name, why)
    }

    /// What it means that a film gets no more pictures. What can be played of it is kept: it cannot be made again.
    fn cut_short(&mut self, ended: &Ended) -> SinkError {
        // One that hangs is killed here, before its file is anybody else's.
        self.film = None;
        let container = self.container;
        let is_kept = |file: &mut Replacement| is_playable(file.written_to(), container).unwrap_or(false);
        let Some(mut file) = self.file.take_if(is_kept) else { return self.fatal(&*ended.why) };
        let is_old_kept = ended.left != Left::Film && self.would_replace();
        if ended.left == Left::Failed || is_old_kept {
            let old = if is_old_kept { ", the old one in its place" } else { "" };
            return match file.keep() {
                Ok(beside) => self.fatal(format!(
                    "{}; what there is of the new video stays in {}{old}",
                    ended.why,
                    beside.display()
                )),
                Err(e) => self.fatal(Reason::of(e)),
            };
        }
        if let Err(e) = file.commit_within(SYNC_WITHIN) {
            return self.fatal(Reason::of(e));
        }
        tell_of_earlier(&self.name, &file);
        let why = format!("{}, and the video ends there", ended.why);
        if ended.left != Left::Film {
            // Nobody has asked for its end: that the run lacks it is no success.
            return self.fatal(why);
        }
        self.is_cut_short = true;
        SinkError::Closed(why.into())
    }

    /// Whether an earlier film would be gone once this one is in its place. A service keeps its earlier ones.
    fn would_replace(&self) -> bool {
        self.existing == Existing::Replace && self.path.is_file()
    }

    fn start(&self, size_px: [usize; 2]) -> Result<Running, SinkError> {
        let VideoOptions { rate_hz, ref source_rate, takes_every_frame } = self.options;
        let source_hz = source_rate.get().copied();
        let rate = FrameRate::of(rate_hz.or(source_hz).unwrap_or_default());
        let is_thinned = rate_hz.is_some_and(|rate_hz| source_hz.is_none_or(|own_hz| rate_hz < own_hz));
        let frames = match takes_every_frame {
            false => Frames::Live,
            true if is_thinned => Frames::FileThinned,
            true => Frames::File,
        };
        let film = Film {
            program: self.program.clone(),
            codec: self.codec,
            container: self.container,
            size_px,
            rate,
        };
        let path = self.file.as_ref().map_or(&*self.path, Replacement::written_to);
        let encoder = Encoder::start(&film, path)
            .map_err(|e| self.fatal(Reason::new("ffmpeg cannot be started", e)))?;
        Ok(Running { encoder, pace: Pace::new(rate, frames), rate, size_px, owed: 0 })
    }
}

impl Running {
    /// Shows the last picture as often as is owed and waits for the film; `false` where ffmpeg goes on by itself.
    fn end(&mut self, file: Option<&Replacement>, within: Duration) -> Result<bool, Ended> {
        let (ending, mut taken) = (Instant::now(), self.encoder.taken());
        if self.owed > 0 && self.encoder.again(self.owed, within)? {
            self.owed = 0;
        }
        let mut is_whole = self.encoder.finish(within.saturating_sub(ending.elapsed()))?;
        // The last picture may be owed a minute, which a slow one takes longer for than any limit.
        while !is_whole && within > HURRY && self.encoder.taken() > taken {
            taken = self.encoder.taken();
            is_whole = self.encoder.finish(within)?;
        }
        // One that has not even opened the file must not be left a name that leads nowhere.
        let began = Instant::now();
        let is_empty = || file.is_some_and(|file| file.is_empty().unwrap_or(false));
        while !is_whole && began.elapsed() < BEGUN_WITHIN && is_empty() {
            is_whole = self.encoder.finish(Duration::from_millis(20))?;
        }
        Ok(is_whole)
    }
}

impl Surface for Video {
    fn name(&self) -> &str {
        &self.name
    }

    /// The size of the first picture: a film has one.
    fn size_px(&mut self, image_px: [usize; 2]) -> Result<[usize; 2], SinkError> {
        let film = match self.film.take() {
            Some(film) => film,
            None => self.start(image_px)?,
        };
        Ok(self.film.insert(film).size_px)
    }

    fn show(&mut self, canvas: &Canvas, stamp: FrameStamp) -> Result<(), SinkError> {
        let Some(film) = &mut self.film else { return Ok(()) };
        let Some(again) = film.pace.frame(stamp.captured_at_us, stamp.shown_at_us) else { return Ok(()) };
        let again = again + std::mem::take(&mut film.owed);
        let taken = film.encoder.picture(again, canvas.rgb());
        taken.map_err(|ended| self.cut_short(&ended))
    }

    fn idle(&mut self, now_us: i64) -> Result<(), SinkError> {
        let Some(film) = &mut self.film else { return Ok(()) };
        film.owed += film.pace.still(now_us);
        if film.owed == 0 {
            return Ok(());
        }
        match film.encoder.again(film.owed, Duration::ZERO) {
            Ok(true) => {
                film.owed = 0;
                Ok(())
            }
            Ok(false) => Ok(()),
            Err(ended) => Err(self.cut_short(&ended)),
        }
    }

    fn finish(&mut self, within: Duration) -> Result<(), SinkError> {
        let Some(mut film) = self.film.take() else {
            if self.is_cut_short {
                return Ok(());
            }
            log::warn!("{}: no frame came, and there is no video", self.name);
            return Ok(());
        };
        let deadline = Instant::now() + within;
        let is_whole = match film.end(self.file.as_ref(), within) {
            Ok(is_whole) => is_whole,
            Err(ended) => {
                drop(film);
                let why = self.cut_short(&ended);
                if matches!(why, SinkError::Closed(_)) {
                    // To whoever ends a sink it is an end like any other.
                    log::warn!("{}: {why:#}", self.name);
                }
                return Err(why);
            }
        };
        let Some(mut file) = self.file.take() else { return Ok(()) };
        if !is_whole && self.would_replace() {
            // Whether it will be whole is not known yet, and the one that is there would be lost.
            let beside = file.keep().map_err(|e| self.fatal(Reason::of(e)))?;
            return Err(self.fatal(format!(
                "ffmpeg is still writing the end of the new video, which stays in {}; the old one stays in its place",
                beside.display()
            )));
        }
        // One limit for both; and of what ffmpeg still writes the disk has not everything in any case.
        let left = if is_whole { deadline.saturating_duration_since(Instant::now()) } else { Duration::ZERO };
        file.commit_within(left).map_err(|e| self.fatal(Reason::of(e)))?;
        tell_of_earlier(&self.name, &file);
        // What there was no room for to the end is not in the film.
        let (frames, rate) = (film.pace.taken() - u64::from(film.owed), film.rate);
        let seconds = frames as f64 * f64::from(rate.per_seconds) / f64::from(rate.frames);
        // An odd row or column is left out.
        let [width, height] = film.size_px.map(|side| side & !1);
        let codec = self.codec.name();
        log::info!("{}: {frames} frames, {seconds:.1} s, {width}x{height}, {codec}", self.name);
        let left_out_s = film.pace.left_out_us() as f64 / 1e6;
        if left_out_s > 0.0 {
            log::warn!("{}: {left_out_s:.1} s without a frame are left out", self.name);
        }
        let too_late = film.pace.too_late();
        if too_late > 0 {
            log::warn!(
                "{}: {too_late} frames are left out, whose poses came when the video had gone on without them",
                self.name
            );
        }
        if !is_whole {
            log::warn!(
                "{}: ffmpeg is still writing the end of it; a service manager that kills it leaves it without that",
                self.name
            );
        }
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests;
