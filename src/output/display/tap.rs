//! Where the newest processed frames can be looked at.

use std::sync::{Arc, Mutex, PoisonError};

use crate::picture::{Frame, JpegEncoder};

/// Frames that a display can still look at: the one whose poses it draws, the one that `infer` has finished meanwhile,
/// and one for a display that comes late. Each keeps a buffer from its pool.
const PICTURES: usize = 3;

/// `infer` puts the newest processed frames there, displays look up the one that their poses belong to. Cloning a [`Frame`] shares
/// its pixels.
#[derive(Clone, Debug, Default)]
pub struct PictureTap(Arc<Mutex<[Option<Frame>; PICTURES]>>);

impl PictureTap {
    /// Shows `frame`, in the place of the oldest one.
    pub fn put(&self, frame: &Frame) {
        let mut frames = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        frames.rotate_right(1);
        frames[0] = Some(frame.clone());
    }

    /// The frame with this number, where it is still there.
    pub fn get(&self, seq: u64) -> Option<Frame> {
        let frames = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        frames.iter().flatten().find(|frame| frame.seq == seq).cloned()
    }

    /// The same, or the newest where it is gone; `None` before the first.
    pub fn get_or_newest(&self, seq: u64) -> Option<Frame> {
        let frames = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        frames.iter().flatten().find(|frame| frame.seq == seq).or(frames[0].as_ref()).cloned()
    }
}

/// The frames of a tap as JPEGs: a camera's own as they came.
pub(in crate::output) struct JpegTap {
    tap: PictureTap,
    /// Of pictures that are no JPEG yet, 1 to 100.
    quality: i32,
    /// Made with the first of these.
    encoder: Option<JpegEncoder>,
}

impl JpegTap {
    pub fn new(tap: PictureTap, quality: i32) -> Self {
        Self { tap, quality, encoder: None }
    }

    /// The picture of frame `seq`, where it is still there: poses over another moment's picture would look wrong. A damaged one is
    /// counted elsewhere, and its poses go alone.
    pub fn get(&mut self, seq: u64) -> Option<Arc<Vec<u8>>> {
        let frame = self.tap.get(seq)?;
        if self.encoder.is_none() {
            self.encoder = JpegEncoder::new(self.quality).ok();
        }
        self.encoder.as_mut()?.jpeg_of(&frame).ok()
    }
}
