//! The page of `--web`: what the camera sees, and what to do next.

use posewire::calibrate::View;
use posewire::output::web::{Calibrating, CalibrationPage};
use posewire::picture::{Frame, JpegEncoder};
use posewire::progress::say;

use super::gather::{Gathered, seen};

/// Of the pictures that the camera does not give as JPEG.
const QUALITY: i32 = 75;

/// The page, and what makes its pictures.
pub struct Page {
    page: CalibrationPage,
    jpeg: JpegEncoder,
}

impl Page {
    /// Serves it, and says where.
    pub fn open(address: &str) -> anyhow::Result<Self> {
        let page = CalibrationPage::open(address)?;
        say(format_args!("open {} in a browser", page.link()));
        if let Some(warning) = page.warning() {
            log::warn!("{warning}");
        }
        Ok(Self { page, jpeg: JpegEncoder::new(QUALITY)? })
    }

    /// Shows a picture to whoever looks, with what was seen in it and what was gathered before.
    pub fn show(
        &mut self,
        frame: &Frame,
        view: Option<&View>,
        gathered: &Gathered,
        wanted: usize,
    ) -> anyhow::Result<()> {
        if !self.page.is_watched() {
            return Ok(());
        }
        let next = gathered.next_view();
        let corners = view.iter().flat_map(|view| view.corners.iter().map(|corner| corner.seen_px));
        let state = Calibrating {
            size: [frame.width, frame.height],
            corners: corners.collect(),
            views: gathered.views.len(),
            wanted,
            cells: gathered.coverage.cells().map(|row| row.to_vec()).to_vec(),
            told: if view.is_some() { next } else { format!("{}; {next}", seen(view)) },
            ..Calibrating::default()
        };
        self.page.show(self.jpeg.jpeg_of(frame)?.to_vec(), state);
        Ok(())
    }

    /// Says what came of it.
    pub fn finish(&self, told: &str) {
        self.page.finish(told);
    }
}
