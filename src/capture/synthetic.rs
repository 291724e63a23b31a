//! The built-in clip: people rendered by the crate `people` walk about a room, turn round, do things and hide one another; with
//! the truth of every joint. The same seed gives the same bytes.

use std::sync::Arc;

use people::{
    damage::{Stream, add_noise},
    film::Film,
    motion::Motion,
    render::{JointTruth, Truth},
    rng::Rng,
};
use pose::{JOINTS, Keypoint, Keypoints};
use turbojpeg::{Compressor, OutputBuf, Subsamp};

use super::{CaptureError, SourceInfo, clip::Clip};
use crate::picture::{BufferPool, Frame, PixelFormat, check_size};
use crate::reason::Reason;

/// Truth of a joint that something stands before: its place is still true.
pub const HIDDEN_SCORE: f32 = 0.5;

/// Quality of the MJPEG variant: what USB cameras send is about this.
const JPEG_QUALITY: i32 = 90;

/// Standard deviation of the sensor's noise, levels of 255: a webcam in a lit room.
const NOISE: f32 = 2.5;

/// Persons that are drawn at most: more than are followed, as in a crowd.
pub const MAX_CLIP_PERSONS: usize = 12;

/// Frames of the built-in clip; endless unless [`frames`](Self::frames) says.
pub struct Synthetic {
    film: Film,
    size: (u32, u32),
    rgb: Vec<u8>,
    fps: f32,
    seed: u64,
    frames: Option<u64>,
    next: u64,
    truth: Vec<Keypoints>,
    pool: BufferPool,
    jpeg: Option<Compressor>,
    stream: Option<Stream>,
}

impl Synthetic {
    /// `persons` people at `fps` on pictures of `width`×`height`, RGB24.
    ///
    /// # Errors
    /// [`CaptureError::Unusable`] for no or more than [`MAX_CLIP_PERSONS`] persons, a size of less than 32 pixels or more
    /// than [`MAX_PIXELS`](crate::picture::MAX_PIXELS), or a rate that is not between 1 and 240.
    pub fn new(persons: usize, width: u32, height: u32, fps: f32, seed: u64) -> Result<Self, CaptureError> {
        let refuse = |what: String| Err(CaptureError::unusable("synthetic clip", what));
        if !(1..=MAX_CLIP_PERSONS).contains(&persons) {
            return refuse(format!("{persons} persons asked for, 1 to {MAX_CLIP_PERSONS} can be drawn"));
        }
        if width.min(height) < 32 || check_size(width as usize, height as usize).is_err() {
            return refuse(format!("{width}x{height} asked for, at least 32x32 and at most 8K can be drawn"));
        }
        if !(1.0..=240.0).contains(&fps) {
            return refuse(format!("{fps} frames a second asked for, 1 to 240 can be drawn"));
        }
        Ok(Self {
            film: Film::new(persons, width as usize, height as usize, seed),
            size: (width, height),
            rgb: Vec::new(),
            fps,
            seed,
            frames: None,
            next: 0,
            truth: vec![Keypoints::default(); persons],
            pool: BufferPool::new(),
            jpeg: None,
            stream: None,
        })
    }

    /// Of people who do what is in `motion`, from nearer and farther: what [`Film::lively`] shows. Before any frame was given.
    pub fn lively(mut self, motion: &Arc<Motion>) -> Self {
        let (width, height) = (self.size.0 as usize, self.size.1 as usize);
        self.film = Film::lively(self.truth.len(), width, height, self.seed, motion);
        self
    }

    /// Ends after `frames`.
    pub fn frames(mut self, frames: Option<u64>) -> Self {
        self.frames = frames;
        self
    }

    /// Gives MJPEG, so that the whole path of a USB camera is taken.
    ///
    /// # Errors
    /// [`CaptureError::Unusable`] where the JPEG library cannot be set up (out of memory).
    pub fn as_mjpeg(mut self) -> Result<Self, CaptureError> {
        let jpeg = Compressor::new().and_then(|mut jpeg| {
            jpeg.set_quality(JPEG_QUALITY)?;
            // What UVC cameras send.
            jpeg.set_subsamp(Subsamp::Sub2x1)?;
            Ok(jpeg)
        });
        self.jpeg = Some(jpeg.map_err(|e| CaptureError::unusable("JPEG library", Reason::of(e)))?);
        Ok(self)
    }

    /// As a film that went through an encoder, which one by the seed: changes lag, detail pulses.
    pub fn compressed(mut self) -> Self {
        self.stream = Some(Stream::drawn(self.seed));
        self
    }

    /// Where everybody was in the frame given last: one per person, always in the same order. A joint's score is 1 where
    /// it is seen, [`HIDDEN_SCORE`] behind something (or on the far side of its own body), 0 outside the picture.
    pub fn truth(&self) -> &[Keypoints] {
        &self.truth
    }

    /// The same joints in the camera's axes (right, down, ahead), metres; those outside the picture too.
    pub fn truth_m(&self) -> impl Iterator<Item = [[f32; 3]; JOINTS]> {
        self.film.truth().iter().map(|person| person.joints.each_ref().map(|j| j.camera_m))
    }

    /// By person: whether any pixel of the frame shows them, as it may of whoever has no joint in it.
    pub fn are_shown(&self) -> impl Iterator<Item = bool> {
        self.film.truth().iter().map(|person| person.area_px > 0.0)
    }

    /// How tall everybody is, sole to crown, metres.
    pub fn heights_m(&self) -> impl Iterator<Item = f32> {
        self.film.heights_m()
    }

    /// The camera's focal length, pixels; its axis is in the middle of the picture, its lens without distortion.
    pub fn focal_px(&self) -> f32 {
        self.film.camera().focal_px
    }

    /// How high the camera is above the floor, metres.
    pub fn camera_height_m(&self) -> f32 {
        self.film.camera().eye.y
    }

    fn draw(&mut self, frame: u64) {
        self.film.draw((frame as f64 / f64::from(self.fps)) as f32, &mut self.rgb);
        for (known, truth) in self.truth.iter_mut().zip(self.film.truth()) {
            *known = keypoints(truth);
        }
        add_noise(&mut self.rgb, NOISE, &mut Rng::new(self.seed, frame));
        if let Some(stream) = &mut self.stream {
            stream.pass(&mut self.rgb, self.size.0 as usize, self.size.1 as usize);
        }
    }
}

/// The renderer's truth in the words of a measurement.
fn keypoints(truth: &Truth) -> Keypoints {
    let joint = |j: &JointTruth| {
        let score = match (j.is_inside, j.is_seen) {
            (false, _) => 0.0,
            (true, false) => HIDDEN_SCORE,
            (true, true) => 1.0,
        };
        Keypoint { x_px: j.x_px, y_px: j.y_px, score, sigma_px: 0.0 }
    };
    let joints = truth.joints.each_ref().map(joint);
    let score = if joints.iter().all(|j| j.score == 0.0) { 0.0 } else { 1.0 };
    Keypoints { joints, score }
}

impl Clip for Synthetic {
    fn info(&self) -> SourceInfo {
        let (width, height) = self.size;
        SourceInfo { name: "synthetic".into(), width, height, fps: self.fps, live: false }
    }

    fn poll(&mut self) -> Result<Option<Frame>, CaptureError> {
        let seq = self.next;
        if self.frames.is_some_and(|frames| seq >= frames) {
            return Err(CaptureError::Ended);
        }
        self.next += 1;
        self.draw(seq);
        let (width, height) = (self.size.0 as usize, self.size.1 as usize);
        let rgb = self.rgb.as_slice();
        let (bytes, format, stride): (Arc<Vec<u8>>, _, _) = match &mut self.jpeg {
            None => (self.pool.copy(rgb), PixelFormat::Rgb24, 3 * width),
            Some(jpeg) => {
                let format = turbojpeg::PixelFormat::RGB;
                let image = turbojpeg::Image { pixels: rgb, width, pitch: 3 * width, height, format };
                let most = jpeg.buf_len(width, height).unwrap_or(rgb.len());
                let encoded = self.pool.fill(|buffer| {
                    buffer.resize(most, 0);
                    let mut output = OutputBuf::borrowed(buffer);
                    jpeg.compress(image, &mut output)?;
                    let len = output.len();
                    drop(output);
                    buffer.truncate(len);
                    Ok(())
                });
                let bytes = encoded.map_err(|e: turbojpeg::Error| {
                    CaptureError::unusable("synthetic clip", Reason::new("JPEG", e))
                })?;
                (bytes, PixelFormat::Mjpeg, 0)
            }
        };
        let captured_at_us = (seq as f64 * 1e6 / f64::from(self.fps)).round() as i64;
        let (width, height, stride) = (width as u32, height as u32, stride as u32);
        Ok(Some(Frame { bytes, format, width, height, stride, seq, captured_at_us }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pose::Joint;

    fn clip(persons: usize, seed: u64) -> Synthetic {
        Synthetic::new(persons, 320, 240, 30.0, seed).expect("valid")
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
        let (mut a, mut b, mut c) = (clip(3, 7), clip(3, 7), clip(3, 8));
        for _ in 0..5 {
            let (a, b, c) = (a.next().expect("frame"), b.next().expect("frame"), c.next().expect("frame"));
            assert!(a.bytes == b.bytes);
            assert!(a.bytes != c.bytes);
        }
        assert_eq!(a.truth(), b.truth());
    }

    #[test]
    fn people_are_on_their_feet_and_move_smoothly() {
        let mut clip = clip(2, 1);
        let mut before: Option<Vec<Keypoints>> = None;
        for _ in 0..300 {
            clip.next().expect("frame");
            for (i, person) in clip.truth().iter().enumerate() {
                let y = |j: Joint| person[j].y_px;
                assert!(y(Joint::LeftHip) < y(Joint::LeftAnkle) && y(Joint::RightHip) < y(Joint::RightAnkle));
                if let Some(before) = &before {
                    for j in 0..JOINTS {
                        let (a, b) = (before[i].joints[j], person.joints[j]);
                        let step = (a.x_px - b.x_px).hypot(a.y_px - b.y_px);
                        assert!(step < 45.0, "joint {j} jumps by {step} px in 1/30 s");
                    }
                }
            }
            before = Some(clip.truth().to_vec());
        }
    }

    #[test]
    fn people_cross_and_joints_are_hidden_for_a_while_and_seen_again() {
        let mut clip = clip(3, 1);
        let (mut crossings, mut hidden, mut seen) = (0, 0, 0);
        let mut side = None;
        for _ in 0..600 {
            clip.next().expect("frame");
            let t = clip.truth();
            let left_of = t[0][Joint::LeftHip].x_px < t[1][Joint::LeftHip].x_px;
            crossings += usize::from(side.is_some_and(|s| s != left_of));
            side = Some(left_of);
            let scores = t.iter().flat_map(|p| p.joints.iter().map(|j| j.score));
            hidden += scores.clone().filter(|&s| s == HIDDEN_SCORE).count();
            seen += scores.filter(|&s| s == 1.0).count();
        }
        assert!(crossings >= 2, "{crossings} crossings in 20 s");
        // Of whoever walks sideways the far limbs are hidden, and furniture hides legs.
        assert!(hidden > 600 && seen > hidden, "{hidden} hidden, {seen} seen");
    }

    #[test]
    fn frames_come_from_a_pool_and_as_mjpeg_show_the_same_scene() {
        let mut rgb = clip(1, 3);
        let mut mjpeg = clip(1, 3).as_mjpeg().expect("sets up");
        let first = mjpeg.next().expect("frame");
        let place = first.bytes.as_ptr();
        let mut decoder = crate::picture::Decoder::new().expect("sets up");
        let truth = rgb.next().expect("frame");
        let picture = decoder.decode(&first, 1).expect("decodes");
        let difference: u64 =
            picture.bytes.iter().zip(truth.bytes.iter()).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
        assert!((difference as f64) < 4.0 * truth.bytes.len() as f64, "mean difference above 4 levels");
        drop(first);
        assert_eq!(mjpeg.next().expect("frame").bytes.as_ptr(), place, "the buffer is used again");
    }

    #[test]
    fn it_ends_when_told_and_refuses_what_it_cannot_draw() {
        let mut clip = clip(1, 1).frames(Some(2));
        assert!(clip.next().is_ok() && clip.next().is_ok());
        assert!(matches!(clip.next(), Err(CaptureError::Ended)));
        for (persons, w, h, fps) in
            [(0, 320, 240, 30.0), (13, 320, 240, 30.0), (1, 10_000, 10_000, 30.0), (1, 320, 240, 0.0)]
        {
            assert!(matches!(Synthetic::new(persons, w, h, fps, 1), Err(CaptureError::Unusable(_))));
        }
    }
}
