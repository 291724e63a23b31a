//! Displays: the skeletons over the camera's picture, on a PNG file, the terminal, the framebuffer or in a window.
//!
//! What is drawn is the same everywhere, by `pose-draw`; a [`Surface`] only says how large its picture is and shows it.

mod canvas;
mod framebuffer;
mod png;
mod status;
mod still;
mod style;
mod tap;
mod terminal;
#[cfg(feature = "window")]
mod window;

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use embedded_graphics::mono_font::MonoTextStyleBuilder;
use embedded_graphics::mono_font::ascii::FONT_4X6;
use embedded_graphics::pixelcolor::{Rgb888, RgbColor};
use embedded_graphics::prelude::{Dimensions, Drawable, Point};
use embedded_graphics::text::{Baseline, Text};
use pose::{Pose, PoseFrame, Stamped};
use pose_draw::{Fit, Metrics, Theme};

use crate::picture::{Affine, Decoder, PixelsMut, crop_resize_into};

use super::jsonl::source_of;
use super::{Host, PoseSink, Predict, Sending, SinkError};

pub use canvas::Canvas;
pub use framebuffer::Framebuffer;
pub use png::PngFiles;
pub use status::{Seen, Status};
pub use still::{draw_still, encode_still};
pub use style::DisplayStyle;
use style::Painter;
pub(super) use style::stand;
pub(super) use tap::JpegTap;
pub use tap::PictureTap;
pub use terminal::{LogTarget, Terminal, give_back, give_back_for_good};
#[cfg(feature = "window")]
pub use window::Window;

/// What `--display` takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DisplayTarget {
    /// A window of the desktop (feature `window`).
    Window,
    /// A Linux framebuffer: `fb` is `/dev/fb0`, `fb:/dev/fb1` another, as that of a small screen beside HDMI.
    Framebuffer(PathBuf),
    /// The terminal that standard output is.
    Terminal,
    /// `png:FILE.png`: the newest picture, replaced whole; `png:FOLDER`: one file a frame.
    Png(PathBuf),
}

impl FromStr for DisplayTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "window" => Ok(Self::Window),
            "fb" => Ok(Self::Framebuffer(framebuffer::FIRST.into())),
            "terminal" => Ok(Self::Terminal),
            _ => match text.split_once(':') {
                Some(("png", path)) if !path.is_empty() => Ok(Self::Png(path.into())),
                Some(("fb", device)) if !device.is_empty() => Ok(Self::Framebuffer(device.into())),
                _ => Err(format!(
                    "'{text}' is no display: give window, fb, terminal or png:PATH; fb:/dev/fb1 for another screen than the first"
                )),
            },
        }
    }
}

impl std::fmt::Display for DisplayTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Window => f.write_str("window"),
            Self::Framebuffer(device) if device == Path::new(framebuffer::FIRST) => f.write_str("fb"),
            Self::Framebuffer(device) => write!(f, "fb:{}", device.display()),
            Self::Terminal => f.write_str("terminal"),
            Self::Png(path) => write!(f, "png:{}", path.display()),
        }
    }
}

/// Which frame a picture is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameStamp {
    /// Counts what is shown.
    pub seq: u64,
    /// When its light fell.
    pub captured_at_us: i64,
    /// Now, on the same clock; its capture where time is the file's own.
    pub shown_at_us: i64,
}

/// Something that shows pictures.
pub trait Surface: Send {
    /// A name for the log: `png out/`.
    fn name(&self) -> &str;
    /// The size of the pictures it wants, pixels, where the source's are `image_px`.
    ///
    /// # Errors
    /// The surface cannot be asked.
    fn size_px(&mut self, image_px: [usize; 2]) -> Result<[usize; 2], SinkError>;
    /// Whether pixels are so few that a figure is made of thin lines, without an outline round them.
    fn is_coarse(&self) -> bool {
        false
    }
    /// What it may say beside the picture; called before each [`Self::show`] and [`Self::idle`]. Whether it says so: else the
    /// picture itself is made to tell when nobody is there.
    fn tell(&mut self, _status: &Status) -> bool {
        false
    }
    /// Whether it shows a picture that comes now: else none is drawn.
    fn wants_picture(&mut self) -> bool {
        true
    }
    /// Shows `canvas`, the picture of the frame that `stamp` tells.
    ///
    /// # Errors
    /// As [`PoseSink::send`].
    fn show(&mut self, canvas: &Canvas, stamp: FrameStamp) -> Result<(), SinkError>;
    /// Called about ten times a second while there is nothing to show.
    ///
    /// # Errors
    /// As [`PoseSink::idle`].
    fn idle(&mut self, _now_us: i64) -> Result<(), SinkError> {
        Ok(())
    }
    /// Leaves the place as it was found, and what was made complete.
    ///
    /// # Errors
    /// As [`PoseSink::finish`].
    fn finish(&mut self, _within: Duration) -> Result<(), SinkError> {
        Ok(())
    }
}

/// The sink of `--display`: draws each frame's poses and shows them.
pub struct Display<S> {
    surface: S,
    predict: Predict,
    tap: Option<PictureTap>,
    decoder: Option<Decoder>,
    canvas: Canvas,
    dim_percent: u8,
    painter: Painter,
    host: Option<Arc<dyn Host>>,
    status: Status,
}

impl<S: Surface> Display<S> {
    /// Shows poses on `surface`, over the pictures of `tap` where there is one.
    pub fn new(surface: S, predict: Predict, tap: Option<PictureTap>) -> Self {
        let (canvas, status) = (Canvas::default(), Status::default());
        let painter = Painter::default();
        Self { surface, predict, tap, decoder: None, canvas, dim_percent: 0, painter, host: None, status }
    }

    /// The pictures lose so much of their brightness.
    pub fn dimmed(self, dim_percent: u8) -> Self {
        Self { dim_percent, ..self }
    }

    /// Persons are drawn so.
    pub fn styled(self, style: DisplayStyle) -> Self {
        Self { painter: Painter::new(style), ..self }
    }

    /// The picture says when nobody is there, as `host` knows it.
    pub fn told_by(self, host: Arc<dyn Host>) -> Self {
        Self { host: Some(host), ..self }
    }

    /// What the user calls the source.
    pub fn named(mut self, source: &str) -> Self {
        self.status.label = source.into();
        self
    }

    /// Tells the surface how it goes; whether it shows that.
    fn tell(&mut self) -> bool {
        self.status.vitals = self.host.as_ref().map(|host| host.vitals());
        self.surface.tell(&self.status)
    }

    /// The picture shown last.
    pub fn canvas(&self) -> &Canvas {
        &self.canvas
    }

    /// Lays the picture of frame `seq` under what will be drawn; black where there is none or it cannot be decoded:
    /// `infer` counts damaged frames, and a display has nothing to add.
    fn draw_picture(&mut self, image_px: [usize; 2], seq: u64) {
        let Some(frame) = self.tap.as_ref().and_then(|tap| tap.get_or_newest(seq)) else { return };
        if self.decoder.is_none() {
            self.decoder = Decoder::new().ok();
        }
        let (width, height) = (self.canvas.width(), self.canvas.height());
        let image_from_canvas = canvas_from_image(image_px, [width, height]).inverse();
        let (Some(decoder), Some(image_from_canvas)) = (&mut self.decoder, image_from_canvas) else { return };
        let reduction = image_from_canvas.scale().max(1.0) as u32;
        if let Ok(picture) = decoder.decode(&frame, reduction) {
            let bytes = self.canvas.rgb_mut();
            let mut pixels = PixelsMut { bytes, width, height, row_bytes: 3 * width, pixel_bytes: 3 };
            crop_resize_into(&picture, &image_from_canvas, &mut pixels, [0; 3]);
            if self.dim_percent > 0 {
                self.canvas.dim(256 - 256 * u16::from(self.dim_percent.min(100)) / 100);
            }
        }
    }
}

impl<S: Surface> PoseSink for Display<S> {
    fn name(&self) -> &str {
        self.surface.name()
    }

    fn send(&mut self, poses: &PoseFrame, now_us: i64) -> Result<Sending, SinkError> {
        let image_px = [poses.width as usize, poses.height as usize];
        if image_px.contains(&0) {
            return Ok(Sending::Sent);
        }
        self.status.see(poses);
        if !self.surface.wants_picture() {
            self.tell();
            return Ok(Sending::Sent);
        }
        let size_px = self.surface.size_px(image_px)?;
        self.canvas.reset(size_px[0], size_px[1]);
        self.draw_picture(image_px, poses.frame);
        let shown = self.predict.poses(poses, now_us).map(|pose| pose.value);
        draw_over(&mut self.canvas, &mut self.painter, image_px, shown, self.surface.is_coarse());
        if !self.tell()
            && let Some(source) = source_of(self.host.as_deref(), poses.frame)
        {
            draw_notice(&mut self.canvas, source);
        }
        let captured_at_us = poses.captured_at_us;
        let stamp = FrameStamp { seq: poses.seq, captured_at_us, shown_at_us: now_us };
        self.surface.show(&self.canvas, stamp)?;
        Ok(Sending::Sent)
    }

    fn idle(&mut self, now_us: i64) -> Result<(), SinkError> {
        self.tell();
        self.surface.idle(now_us)
    }

    fn finish(&mut self, within: Duration) -> Result<(), SinkError> {
        self.surface.finish(within)
    }
}

/// Draws `poses`, whose places are pixels of a picture of `image_px`, on black, and shows that where a picture is wanted.
///
/// # Errors
/// As [`PoseSink::send`].
pub fn draw_poses(
    surface: &mut impl Surface,
    canvas: &mut Canvas,
    image_px: [usize; 2],
    poses: impl Iterator<Item = Stamped<Pose>>,
    stamp: FrameStamp,
) -> Result<(), SinkError> {
    if !surface.wants_picture() {
        return Ok(());
    }
    let size_px = surface.size_px(image_px)?;
    canvas.reset(size_px[0], size_px[1]);
    let painter = &mut Painter::default();
    draw_over(canvas, painter, image_px, poses.map(|pose| pose.value), surface.is_coarse());
    surface.show(canvas, stamp)
}

fn draw_over(
    canvas: &mut Canvas,
    painter: &mut Painter,
    image_px: [usize; 2],
    poses: impl Iterator<Item = Pose>,
    is_coarse: bool,
) {
    let area = canvas.bounding_box();
    let fit = Fit::new(image_px[0] as u32, image_px[1] as u32, area);
    let (mut theme, mut metrics) = (Theme::<Rgb888>::on_pictures(), Metrics::for_panel(area.size));
    if is_coarse {
        // An outline would hide the person: a darker picture sets the lines off instead.
        canvas.dim(176);
        theme = Theme::dark();
        metrics = Metrics { stroke: 1, joint: 1, font: &FONT_4X6, ..metrics };
    }
    painter.draw(canvas, image_px, poses, (&fit, &theme, &metrics));
}

/// Writes `notice` into the lower left corner, with a dark ground of its own.
fn draw_notice(canvas: &mut Canvas, notice: &str) {
    let area = canvas.bounding_box();
    let (theme, metrics) = (Theme::<Rgb888>::dark(), Metrics::for_panel(area.size));
    let style = MonoTextStyleBuilder::new()
        .font(metrics.font)
        .text_color(theme.text)
        .background_color(Rgb888::BLACK)
        .build();
    let height = metrics.font.character_size.height as i32;
    let place = Point::new(2, area.size.height as i32 - height - 2);
    // Drawing on memory cannot fail.
    let Ok(_) = Text::with_baseline(notice, place, style, Baseline::Top).draw(canvas);
}

/// Where `pose-draw` places a picture of `image_px` on a canvas of `canvas_px`.
fn canvas_from_image(image_px: [usize; 2], canvas_px: [usize; 2]) -> Affine {
    let [image_w, image_h] = image_px.map(|v| v as f32);
    let [canvas_w, canvas_h] = canvas_px.map(|v| v as f32);
    let scale = (canvas_w / image_w).min(canvas_h / image_h);
    Affine::scale_then_shift(scale, scale, canvas_w - scale * image_w, canvas_h - scale * image_h)
}
