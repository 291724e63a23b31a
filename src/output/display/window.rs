//! A window of the desktop (feature `window`, X11).

use std::thread::JoinHandle;
use std::time::Duration;

use latest::{Received, Sender, Sent, newest_wins};
use minifb::{Scale, ScaleMode, WindowOptions};

use super::{Canvas, FrameStamp, Surface};
use crate::output::SinkError;
use crate::reason::Reason;

/// How often the window looks for input while there is no picture: closing it should feel immediate.
const TICK: Duration = Duration::from_millis(50);

/// `--display window`. The window belongs to one thread for its whole life, so it has one of its own.
pub struct Window {
    pictures: Sender<Picture>,
    thread: Option<JoinHandle<Result<(), Reason>>>,
}

struct Picture {
    size_px: [usize; 2],
    /// 0x00RRGGBB.
    pixels: Vec<u32>,
}

impl Window {
    /// Opens the window with the first picture.
    ///
    /// # Errors
    /// [`SinkError::Fatal`] where there is no room for a thread.
    pub fn open() -> Result<Self, SinkError> {
        let (pictures, received) = newest_wins::<Picture>();
        let thread = std::thread::Builder::new()
            .name("window".into())
            .spawn(move || {
                let mut window = None;
                let mut picture: Option<Picture> = None;
                loop {
                    match received.recv_timeout(TICK) {
                        Received::Value(newer) => picture = Some(newer),
                        Received::Timeout => {}
                        Received::Closed => return Ok(()),
                    }
                    let Some(Picture { size_px: [width, height], pixels }) = &picture else { continue };
                    let window = match &mut window {
                        Some(window) => window,
                        None => window.insert(create(*width, *height)?),
                    };
                    if !window.is_open() {
                        return Ok(());
                    }
                    window.update_with_buffer(pixels, *width, *height).map_err(Reason::of)?;
                }
            })
            .map_err(|e| SinkError::fatal("--display window", Reason::of(e)))?;
        Ok(Self { pictures, thread: Some(thread) })
    }
}

fn create(width: usize, height: usize) -> Result<minifb::Window, Reason> {
    let options = WindowOptions {
        resize: true,
        scale: Scale::X1,
        scale_mode: ScaleMode::AspectRatioStretch,
        ..WindowOptions::default()
    };
    minifb::Window::new("Posewire", width, height, options).map_err(|e| {
        let words = "no window can be opened; is there a desktop (DISPLAY)? --display terminal and png:PATH need none";
        Reason::new(words, e)
    })
}

impl Surface for Window {
    fn name(&self) -> &str {
        "window"
    }

    fn size_px(&mut self, image_px: [usize; 2]) -> Result<[usize; 2], SinkError> {
        Ok(image_px)
    }

    fn show(&mut self, canvas: &Canvas, _stamp: FrameStamp) -> Result<(), SinkError> {
        let pixels =
            canvas.rgb().chunks_exact(3).map(|c| u32::from_be_bytes([0, c[0], c[1], c[2]])).collect();
        let picture = Picture { size_px: [canvas.width(), canvas.height()], pixels };
        if matches!(self.pictures.send(picture, TICK), Sent::Closed) { self.ended() } else { Ok(()) }
    }

    fn idle(&mut self, _now_us: i64) -> Result<(), SinkError> {
        // Closed while no frame comes, it would run on unseen.
        if self.thread.as_ref().is_some_and(JoinHandle::is_finished) { self.ended() } else { Ok(()) }
    }
}

impl Window {
    /// Why its thread has ended.
    fn ended(&mut self) -> Result<(), SinkError> {
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(Err(reason))) => Err(SinkError::Fatal(reason)),
            Some(Err(_)) => Err(SinkError::Fatal("the window's thread stopped by a bug".into())),
            Some(Ok(Ok(()))) | None => Err(SinkError::Closed("the window was closed".into())),
        }
    }
}
