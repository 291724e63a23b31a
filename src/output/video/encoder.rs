//! A child process `ffmpeg` that takes raw pictures from a pipe and writes a film.

use std::ffi::OsString;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, SendTimeoutError, Sender, bounded, unbounded};

use super::pace::FrameRate;
use crate::child_process::{gone_within, set_apart};
use crate::reason::Reason;
use crate::stderr_tail::StderrTail;

/// An encoder that takes no picture for so long hangs.
const STALL: Duration = Duration::from_secs(10);

/// The end of an MP4 or MOV that may be lost where ffmpeg is killed.
const PIECE_SECONDS: u32 = 2;

/// Pictures on their way: one that is drawn, one that waits, one that is written and may be shown again.
const PICTURES: usize = 3;

/// What ffmpeg makes films with here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codec {
    /// H.264, which every browser and phone plays.
    X264,
    /// Where ffmpeg was built without that.
    Mpeg4,
}

impl Codec {
    /// Asks `program` what it has.
    ///
    /// # Errors
    /// It is not installed, or has neither.
    pub fn of(program: &str) -> Result<Self, Reason> {
        let asked = Command::new(program)
            .args(["-hide_banner", "-v", "error", "-encoders"])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .map_err(|e| match e.kind() {
                ErrorKind::NotFound => {
                    "a video is made by ffmpeg, which is not installed: sudo apt install ffmpeg".into()
                }
                _ => Reason::new("ffmpeg cannot be started", e),
            })?;
        let text = String::from_utf8_lossy(&asked.stdout);
        let has = |name| text.lines().any(|line| line.split_whitespace().nth(1) == Some(name));
        match (has("libx264"), has("mpeg4")) {
            (true, _) => Ok(Self::X264),
            (false, true) => Ok(Self::Mpeg4),
            (false, false) => Err("this ffmpeg has neither libx264 nor mpeg4 to make a video with".into()),
        }
    }

    fn arguments(self) -> &'static [&'static str] {
        match self {
            // Nothing waits inside: the last picture is in the file when the pipe ends, on a small board too.
            Self::X264 => &["-c:v", "libx264", "-preset", "veryfast", "-tune", "zerolatency", "-crf", "21"],
            Self::Mpeg4 => &["-c:v", "mpeg4", "-q:v", "4"],
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::X264 => "H.264",
            Self::Mpeg4 => "MPEG-4",
        }
    }
}

/// How a film is made.
#[derive(Clone, Debug)]
pub(super) struct Film {
    pub program: String,
    pub codec: Codec,
    /// ffmpeg's word for the kind of file.
    pub container: &'static str,
    pub size_px: [usize; 2],
    pub rate: FrameRate,
}

/// What the pipe's thread is to write: the last picture so often again, then the new one.
struct Piece {
    again: u32,
    picture: Option<Vec<u8>>,
}

/// What ffmpeg ends with when it is asked to: it has taken no more pictures, and completed the film.
const ENDED_WHEN_ASKED: i32 = 255;

/// Why a film gets no more pictures.
#[derive(Debug)]
pub(super) struct Ended {
    pub why: String,
    pub left: Left,
}

/// What an encoder leaves that ends before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// A complete film: somebody else has ended ffmpeg in good order, as a service manager that ends a service with all its processes.
    Film,
    /// What was written can be played, but the last seconds may be missing: ffmpeg hangs, or was killed.
    Cut,
    /// The same, and there may be no room to do anything with it: ffmpeg has failed.
    Failed,
}

/// A film that is being made.
pub(super) struct Encoder {
    child: Child,
    stderr_tail: StderrTail,
    /// Gone when the pipe is to end.
    pieces: Option<Sender<Piece>>,
    empty: Receiver<Vec<u8>>,
    /// Pictures that ffmpeg has taken, repeated ones too.
    taken: Arc<AtomicU64>,
    /// How long it may take none.
    pub stall: Duration,
}

impl Encoder {
    /// Starts ffmpeg on `path`, which it overwrites.
    ///
    /// # Errors
    /// What the system says.
    pub fn start(film: &Film, path: &Path) -> io::Result<Self> {
        let [width, height] = film.size_px;
        let mut command = Command::new(&film.program);
        // Without `-xerror` a disk that fills up with the end of the film is told in words alone, and the status is that of success.
        command.args(["-hide_banner", "-v", "error", "-xerror"]);
        // And without this it gives up before the end of the file where the pipe's thread ends with the process in mid-picture.
        command.args(["-fflags", "+discardcorrupt", "-f", "rawvideo", "-pix_fmt", "rgb24"]);
        command.args(["-video_size", &format!("{width}x{height}"), "-framerate", &film.rate.to_string()]);
        command.args(["-i", "pipe:0", "-an", "-vf", &filters(film.size_px)]).args(film.codec.arguments());
        // Said in the file, or players take small pictures for those of old television.
        command.args(["-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"]);
        // A leading dash must not read as an option, nor a colon as a protocol.
        let mut file = OsString::from("file:");
        file.push(path);
        command.args(in_pieces(film)).args(["-f", film.container, "-y"]).arg(file);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        // No group that ends with us: what is left of the film is written by itself.
        set_apart(&mut command);
        let mut child = command.spawn()?;
        let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
        let (Some(stdin), Some(stderr)) = (stdin, stderr) else { return Err(ErrorKind::BrokenPipe.into()) };
        let stderr_tail = StderrTail::of(stderr)?;
        let bytes = 3 * width * height;
        let (pieces, due) = bounded(1);
        let (back, empty) = unbounded();
        for _ in 1..PICTURES {
            let _ = back.send(Vec::with_capacity(bytes));
        }
        let taken = Arc::new(AtomicU64::new(0));
        let pipe = Pipe { stdin, taken: taken.clone() };
        let pump = move || pump(pipe, &due, |picture| back.send(picture).is_ok(), Vec::with_capacity(bytes));
        std::thread::Builder::new().name("video-pipe".into()).spawn(pump)?;
        Ok(Self { child, stderr_tail, pieces: Some(pieces), empty, taken, stall: STALL })
    }

    /// Hands over a picture, after the one before it so often again.
    ///
    /// # Errors
    /// Why it takes no more.
    pub fn picture(&mut self, again: u32, rgb: &[u8]) -> Result<(), Ended> {
        let mut taken = self.taken.load(Ordering::Relaxed);
        let mut picture = loop {
            match self.empty.recv_timeout(self.stall) {
                Ok(picture) => break picture,
                Err(RecvTimeoutError::Timeout) => self.takes_more_than(&mut taken)?,
                Err(RecvTimeoutError::Disconnected) => return Err(self.why_it_ended()),
            }
        };
        picture.clear();
        picture.extend_from_slice(rgb);
        let mut piece = Piece { again, picture: Some(picture) };
        loop {
            // A still picture may fill the place of a piece while there is a buffer for the next one.
            match self.pieces.as_ref().map(|pieces| pieces.send_timeout(piece, self.stall)) {
                Some(Ok(())) => return Ok(()),
                Some(Err(SendTimeoutError::Timeout(unsent))) => {
                    self.takes_more_than(&mut taken)?;
                    piece = unsent;
                }
                _ => return Err(self.why_it_ended()),
            }
        }
    }

    /// After a wait in vain: whether ffmpeg is slow, and has taken more than the `taken` pictures of before it, or hangs.
    fn takes_more_than(&self, taken: &mut u64) -> Result<(), Ended> {
        let now = self.taken.load(Ordering::Relaxed);
        if std::mem::replace(taken, now) == now {
            let why = format!("ffmpeg has taken no picture for {} s", self.stall.as_secs_f32());
            return Err(Ended { why, left: Left::Cut });
        }
        Ok(())
    }

    /// Shows the last picture so often again; `false` where there is no room for that within that time.
    ///
    /// # Errors
    /// As [`Self::picture`].
    pub fn again(&mut self, again: u32, within: Duration) -> Result<bool, Ended> {
        let piece = Piece { again, picture: None };
        match self.pieces.as_ref().map(|pieces| pieces.send_timeout(piece, within)) {
            Some(Ok(())) => Ok(true),
            Some(Err(SendTimeoutError::Timeout(_))) => Ok(false),
            _ => Err(self.why_it_ended()),
        }
    }

    /// Pictures that ffmpeg has taken so far.
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Ends the pipe and waits for the film; `false` where ffmpeg is not done within that time: it goes on by itself.
    ///
    /// # Errors
    /// Why not all of it is there.
    pub fn finish(&mut self, within: Duration) -> Result<bool, Ended> {
        self.pieces = None;
        match gone_within(&mut self.child, within) {
            Some(status) if status.success() => Ok(true),
            Some(_) => Err(self.why_it_ended()),
            None => Ok(false),
        }
    }

    fn why_it_ended(&mut self) -> Ended {
        let status = gone_within(&mut self.child, Duration::from_millis(500));
        if status.is_some() {
            self.stderr_tail.wait_for_all();
        }
        let left = match status.map(|status| status.code()) {
            Some(Some(ENDED_WHEN_ASKED)) => Left::Film,
            // By a signal; or it takes nothing more and is still there.
            Some(None) | None => Left::Cut,
            Some(Some(_)) => Left::Failed,
        };
        let status = status.map_or_else(String::new, |status| format!(" ({status})"));
        let said = self.stderr_tail.one_line();
        let why = format!("ffmpeg ended{status}{}{said}", if said.is_empty() { "" } else { ": " });
        Ended { why, left }
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        // Only a film that is given up is still asked for pictures here.
        if self.pieces.is_some() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// A film is written so that it can be played up to where it ends, whatever ends ffmpeg: the processes of a service are killed with it, a
/// plug is pulled. An ordinary MP4 or MOV cannot be read at all before its index is written, which is the last thing ffmpeg does; with an
/// index every few seconds it can.
fn in_pieces(film: &Film) -> Vec<String> {
    let mut arguments = vec!["-flush_packets".to_owned(), "1".to_owned()];
    if matches!(film.container, "mp4" | "mov") {
        // Each piece begins with a whole picture.
        let FrameRate { frames, per_seconds } = film.rate;
        let piece = (PIECE_SECONDS * frames).div_ceil(per_seconds);
        let fragmented = "+frag_keyframe+empty_moov+default_base_moof";
        arguments.extend(["-g", &piece.to_string(), "-movflags", fragmented].map(str::to_owned));
    }
    arguments
}

/// Even sides, which all players want, by leaving out a row or a column; colours as HD has them.
fn filters([width, height]: [usize; 2]) -> String {
    let crop = match width % 2 + height % 2 {
        0 => String::new(),
        _ => format!("crop={}:{}:0:0,", width & !1, height & !1),
    };
    format!("{crop}scale=out_color_matrix=bt709:out_range=tv,format=yuv420p")
}

/// What ffmpeg reads from, and how many pictures it took.
struct Pipe {
    stdin: ChildStdin,
    taken: Arc<AtomicU64>,
}

impl Pipe {
    /// Whether it has taken the whole picture.
    fn write(&mut self, picture: &[u8]) -> bool {
        let is_written = self.stdin.write_all(picture).is_ok();
        self.taken.fetch_add(u64::from(is_written), Ordering::Relaxed);
        is_written
    }
}

/// Writes pieces until there are no more or nobody reads; gives each picture back once another has taken its place.
fn pump(mut pipe: Pipe, due: &Receiver<Piece>, give_back: impl Fn(Vec<u8>) -> bool, mut last: Vec<u8>) {
    while let Ok(Piece { again, picture }) = due.recv() {
        for _ in 0..again {
            if !pipe.write(&last) {
                return;
            }
        }
        let Some(picture) = picture else { continue };
        if !pipe.write(&picture) || !give_back(std::mem::replace(&mut last, picture)) {
            return;
        }
    }
}
