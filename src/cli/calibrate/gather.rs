//! Views of the board, from a camera's pictures, until there are enough.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use posewire::calibrate::{Board, Coverage, Grey, View, find_corners};
use posewire::capture::{CaptureError, FrameSource};
use posewire::picture::{Decoder, Frame};
use posewire::progress::Progress;

use super::page::Page;

/// How long a wait for a frame may keep Ctrl-C waiting.
const TICK: Duration = Duration::from_millis(100);
/// A view counts as another one when the board has moved this far from every view before, in parts of the picture's
/// width: more than a hand shakes, less than a tilt by 30 degrees moves them.
const NEW_VIEW: f64 = 0.02;

/// What is gathered, and of what.
pub struct Wanted {
    pub board: Board,
    pub views: usize,
}

/// Views of one camera.
pub struct Gathered {
    pub size_px: [usize; 2],
    pub views: Vec<View>,
    pub coverage: Coverage,
}

impl Gathered {
    fn new(size_px: [usize; 2]) -> Self {
        Self { size_px, views: Vec::new(), coverage: Coverage::new(size_px) }
    }

    /// How far it has come: views, and percent of the picture.
    fn so_far(&self) -> (usize, f64) {
        (self.views.len(), 100.0 * self.coverage.share())
    }

    /// What to show next.
    pub fn next_view(&self) -> String {
        match self.coverage.missing() {
            Some(part) => format!("show the board at the {part}"),
            None => "tilt it to another side, or go farther away".into(),
        }
    }

    /// Keeps a view that differs from those before; whether it does.
    fn take(&mut self, view: View) -> bool {
        let least_px = NEW_VIEW * self.size_px[0] as f64;
        let is_new = self.views.iter().all(|other| view.moved_px(other) > least_px);
        if is_new {
            self.coverage.add(view.corners.iter().map(|corner| corner.seen_px));
            self.views.push(view);
        }
        is_new
    }
}

/// What is said of one picture.
pub fn seen(view: Option<&View>) -> &'static str {
    match view {
        Some(view) if view.is_whole => "the board is seen: move or tilt it",
        Some(_) => "a part of the board is seen, which will do: move or tilt it",
        None => "no board is seen",
    }
}

/// Looks for the board until it has been seen in all the views that are wanted, the source has ended, or `is_over`.
pub fn gather(
    source: &mut dyn FrameSource,
    wanted: &Wanted,
    mut page: Option<&mut Page>,
    is_over: &AtomicBool,
) -> anyhow::Result<Gathered> {
    let name = source.info().name;
    let (mut decoder, mut grey) = (Decoder::new()?, GreyPicture::default());
    let mut gathered: Option<Gathered> = None;
    let progress = Progress::start(format!("{name}: waiting for the first picture"));
    let mut looked_at = 0_u64;
    while !is_over.load(Ordering::Relaxed)
        && gathered.as_ref().is_none_or(|gathered| gathered.views.len() < wanted.views)
    {
        let frame = match source.next_frame(TICK) {
            Ok(Some(frame)) => frame,
            Ok(None) | Err(CaptureError::Lost { .. }) => continue,
            Err(CaptureError::Ended) => break,
            Err(error) => return Err(error.into()),
        };
        let picture = match grey.of(&mut decoder, &frame) {
            Ok(picture) => picture,
            Err(error) => {
                log::warn!("frame {}: {error}; left out", frame.seq);
                continue;
            }
        };
        let size_px = [picture.width, picture.height];
        let gathered = gathered.get_or_insert_with(|| Gathered::new(size_px));
        if gathered.size_px != size_px {
            bail!("{name}: pictures of different sizes are not of one camera's mode: calibrate one size");
        }
        looked_at += 1;
        let view = find_corners(picture, wanted.board);
        let (count, percent) = gathered.so_far();
        progress.at(format_args!(
            "{count} of {} views, {percent:.0} % of the picture, {looked_at} pictures; {}",
            wanted.views,
            seen(view.as_ref())
        ));
        if let Some(page) = page.as_deref_mut() {
            page.show(&frame, view.as_ref(), gathered, wanted.views)?;
        }
        if let Some(view) = view
            && gathered.take(view)
        {
            let ((count, percent), next) = (gathered.so_far(), gathered.next_view());
            log::info!("view {count} of {}, {percent:.0} % of the picture: {next}", wanted.views);
        }
    }
    gathered.with_context(|| format!("{name}: no picture came"))
}

/// Buffers from frame to frame.
#[derive(Default)]
struct GreyPicture {
    rgb: Vec<u8>,
    grey: Vec<u8>,
}

impl GreyPicture {
    /// The picture's brightness.
    fn of(&mut self, decoder: &mut Decoder, frame: &Frame) -> anyhow::Result<Grey<'_>> {
        let (width, height) = (frame.width as usize, frame.height as usize);
        let picture = decoder.decode(frame, 1)?;
        posewire::picture::whole_rgb_into(&picture, width, height, &mut self.rgb);
        self.grey.clear();
        // BT.601 in 256ths.
        let luma =
            |p: &[u8]| ((77 * u32::from(p[0]) + 150 * u32::from(p[1]) + 29 * u32::from(p[2])) >> 8) as u8;
        self.grey.extend(self.rgb.chunks_exact(3).map(luma));
        Ok(Grey { bytes: &self.grey, width, height })
    }
}
