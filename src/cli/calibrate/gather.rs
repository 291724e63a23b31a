//! Views of the board, from a camera's pictures, until there are enough.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::bail;
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

/// Which camera pictures are of.
pub struct Camera {
    pub name: String,
    pub usb_id: Option<String>,
    generation: u64,
}

impl Camera {
    /// That of the picture that `source` gave last.
    pub fn of(source: &dyn FrameSource) -> Self {
        let usb_id = source.usb_id().map(str::to_owned);
        Self { name: source.info().name, usb_id, generation: source.generation() }
    }

    /// Whether the picture that `source` gave last is of this one.
    fn is_still(&self, source: &dyn FrameSource) -> bool {
        // What has a USB id keeps it under any name.
        let is_named = || {
            self.usb_id.is_some()
                || self.generation == source.generation()
                || self.name == source.info().name
        };
        self.usb_id.as_deref() == source.usb_id() && is_named()
    }
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

/// The first picture that comes before `is_over`.
pub fn first_picture(source: &mut dyn FrameSource, is_over: &AtomicBool) -> anyhow::Result<Frame> {
    let name = source.info().name;
    let _progress = Progress::start(format!("{name}: waiting for the first picture"));
    match next_picture(source, is_over)? {
        Some(frame) => Ok(frame),
        None => bail!("{name}: no picture came"),
    }
}

/// The next one; `None` where the source has ended, or `is_over`.
fn next_picture(source: &mut dyn FrameSource, is_over: &AtomicBool) -> Result<Option<Frame>, CaptureError> {
    while !is_over.load(Ordering::Relaxed) {
        match source.next_frame(TICK) {
            Ok(Some(frame)) => return Ok(Some(frame)),
            Ok(None) | Err(CaptureError::Lost { .. }) => {}
            Err(CaptureError::Ended) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Looks for the board in the pictures from `first` on, until it has been seen in all the views that are wanted, the source has ended or
/// gives another camera's pictures, or `is_over`.
pub fn gather(
    source: &mut dyn FrameSource,
    camera: &Camera,
    first: Frame,
    wanted: &Wanted,
    mut page: Option<&mut Page>,
    is_over: &AtomicBool,
) -> anyhow::Result<Gathered> {
    let name = &camera.name;
    let (mut decoder, mut grey) = (Decoder::new()?, GreyPicture::default());
    let mut gathered: Option<Gathered> = None;
    let progress = Progress::start(format!("{name}: looking for the board"));
    let (mut next, mut looked_at) = (Some(first), 0_u64);
    while gathered.as_ref().is_none_or(|gathered| gathered.views.len() < wanted.views) {
        let Some(frame) = next.take().map_or_else(|| next_picture(source, is_over), |first| Ok(Some(first)))?
        else {
            break;
        };
        if !camera.is_still(source) {
            log::warn!(
                "{} has taken the place of {name}, and has another lens: what was gathered before will have to do",
                source.info().name
            );
            break;
        }
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
    match gathered {
        Some(gathered) => Ok(gathered),
        None => bail!("{name}: no picture can be read"),
    }
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use posewire::capture::SourceInfo;
    use posewire::picture::PixelFormat;

    use super::*;

    const BOARD: Board = Board { columns: 4, rows: 3 };

    /// Of each picture the USB id of its camera, how wide it is, and where the board is in it.
    struct Cameras(Vec<(&'static str, u32, u32)>, usize);

    impl FrameSource for Cameras {
        fn info(&self) -> SourceInfo {
            SourceInfo { name: "webcam".into(), width: 320, height: 240, fps: 30.0, live: true }
        }
        fn next_frame(&mut self, _: Duration) -> Result<Option<Frame>, CaptureError> {
            let &(_, width, left) = self.0.get(self.1).ok_or(CaptureError::Ended)?;
            self.1 += 1;
            let bytes = Arc::new((0..240).flat_map(|y| (0..width).map(move |x| level(x, y, left))).collect());
            let (format, seq) = (PixelFormat::Grey, self.1 as u64);
            Ok(Some(Frame { bytes, format, width, height: 240, stride: width, seq, captured_at_us: 0 }))
        }
        fn usb_id(&self) -> Option<&str> {
            Some(self.0[self.1.max(1) - 1].0)
        }
    }

    /// Squares of 20 pixels on grey.
    fn level(x: u32, y: u32, left: u32) -> u8 {
        let square = |v: u32, from: u32, count: u32| {
            v.checked_sub(from).map(|v| v / 20).filter(|square| *square < count)
        };
        match (square(x, left, BOARD.columns as u32 + 1), square(y, 60, BOARD.rows as u32 + 1)) {
            (Some(column), Some(row)) if (column + row) % 2 == 0 => 220,
            (Some(_), Some(_)) => 40,
            _ => 130,
        }
    }

    fn views(pictures: Vec<(&'static str, u32, u32)>) -> anyhow::Result<Gathered> {
        let (mut source, is_over) = (Cameras(pictures, 0), AtomicBool::new(false));
        let first = first_picture(&mut source, &is_over)?;
        let camera = Camera::of(&source);
        let wanted = Wanted { board: BOARD, views: 20 };
        gather(&mut source, &camera, first, &wanted, None, &is_over)
    }

    #[test]
    fn views_of_a_camera_that_takes_the_place_of_the_first_do_not_count() {
        let first: Vec<_> = (0..6).map(|i| ("046d:0825", 320, 20 + 15 * i)).collect();
        let with = |more: &[_]| views([&first[..], more].concat());
        assert_eq!(with(&[("046d:0825", 320, 125)]).unwrap().views.len(), 7, "it is back");
        for other in [("1234:5678", 320, 125), ("1234:5678", 400, 125)] {
            let gathered = with(&[other, other]).unwrap();
            assert_eq!((gathered.views.len(), gathered.size_px), (6, [320, 240]), "{other:?}");
        }
        assert!(with(&[("046d:0825", 400, 125)]).is_err(), "another size of the same camera");
    }
}
