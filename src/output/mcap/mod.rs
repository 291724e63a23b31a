//! Poses as MCAP, with the camera's pictures where that was asked for: what Foxglove and many robots' tools open.
//!
//! | topic | schema | what |
//! |---|---|---|
//! | `/poses` | `posewire.Poses` | the JSON line in the format `full` |
//! | `/annotations` | `foxglove.ImageAnnotations` | skeletons and identities, to be laid over `/camera` |
//! | `/scene` | `foxglove.SceneUpdate` | skeletons in metres: in the frame `camera` (x right, y down, z forward) where the lens is known, else in `hips` |
//! | `/camera` | `foxglove.CompressedImage` | the camera's JPEGs |
//!
//! Messages are JSON with JSON Schemas: readers need nothing of Posewire. A file that ends well has an index; one that a pulled plug
//! left behind, as `FILE.….part`, is read from its beginning.

mod file;
mod messages;
mod schemas;

use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pose::{Pose, PoseFrame};
use serde_json::Value;

use self::file::{Channel, File};
use self::messages::Moment;
use super::display::PictureTap;
use super::jsonl::{Format, Head};
use super::{Host, PoseSink, Predict, SinkError};
use crate::files::Replacement;
use crate::picture::JpegEncoder;

/// Of pictures that are no JPEG yet.
const QUALITY: i32 = 90;

/// What a file is made of.
#[derive(Clone, Default)]
pub struct McapOptions {
    /// The moment that poses speak of.
    pub predict: Predict,
    /// The camera's pictures go into the file too.
    pub pictures: Option<PictureTap>,
    /// Times are the recording's own, from 0, rather than the day's.
    pub is_replayed: bool,
    /// Who knows where frames come from.
    pub host: Option<Arc<dyn Host>>,
}

/// The sink of `--mcap FILE`.
pub struct Mcap {
    name: String,
    options: McapOptions,
    file: Option<File<BufWriter<Replacement>>>,
    channels: Channels,
    encoder: Option<JpegEncoder>,
    /// From the clock of frames to the day's, microseconds; known with the first frame.
    day_us: Option<i64>,
    line: Vec<u8>,
    sequence: u32,
}

#[derive(Default)]
struct Channels {
    poses: Channel,
    annotations: Channel,
    scene: Channel,
    camera: Channel,
}

impl Mcap {
    /// A file at `path`, which is there when it is complete and has a frame.
    ///
    /// # Errors
    /// [`SinkError::Fatal`] where it cannot be made.
    pub fn create(path: &Path, options: McapOptions) -> Result<Self, SinkError> {
        let fatal = |e: &dyn std::fmt::Display| {
            SinkError::Fatal(format!("--mcap {}: cannot be created: {e}", path.display()))
        };
        let file = BufWriter::new(Replacement::create(path).map_err(|e| fatal(&e))?);
        let library = concat!("posewire ", env!("CARGO_PKG_VERSION"));
        let mut file = File::begin(file, library).map_err(|e| fatal(&e))?;
        let mut channels = Channels::default();
        let wanted = [
            (&mut channels.poses, "/poses", "posewire.Poses", schemas::poses()),
            (&mut channels.annotations, "/annotations", "foxglove.ImageAnnotations", schemas::annotations()),
            (&mut channels.scene, "/scene", "foxglove.SceneUpdate", schemas::scene()),
            (&mut channels.camera, "/camera", "foxglove.CompressedImage", schemas::image()),
        ];
        for (channel, topic, name, schema) in wanted {
            if topic != "/camera" || options.pictures.is_some() {
                *channel = file.add(topic, name, &schema.to_string()).map_err(|e| fatal(&e))?;
            }
        }
        Ok(Self {
            name: format!("mcap {}", path.display()),
            options,
            file: Some(file),
            channels,
            encoder: None,
            day_us: None,
            line: Vec::new(),
            sequence: 0,
        })
    }

    /// When a frame's light fell, of the day or of the recording.
    fn moment(&mut self, captured_at_us: i64, now_us: i64) -> Moment {
        let is_replayed = self.options.is_replayed;
        let day_us = *self.day_us.get_or_insert_with(|| {
            let day = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            if is_replayed { 0 } else { day.as_micros() as i64 - now_us }
        });
        Moment::of_us(captured_at_us.saturating_add(day_us))
    }

    fn put(&mut self, channel: Channel, at: Moment, message: &[u8]) -> Result<(), SinkError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        file.write(channel, self.sequence, at.ns(), message).map_err(|e| self.broken(&e))
    }

    fn put_json(&mut self, channel: Channel, at: Moment, message: &Value) -> Result<(), SinkError> {
        self.put(channel, at, message.to_string().as_bytes())
    }

    /// Ends the file where it is: what is in it can be read.
    fn broken(&mut self, error: &io::Error) -> SinkError {
        if let Some(file) = self.file.take() {
            let (mut file, _) = file.into_inner().into_parts();
            let _ = file.commit();
        }
        SinkError::Fatal(format!(
            "{}: {error}; what was written before can be read: make room and start again",
            self.name
        ))
    }

    /// The picture of frame `seq`, where it is still there.
    fn picture(&mut self, seq: u64) -> Option<Arc<Vec<u8>>> {
        let frame = self.options.pictures.as_ref()?.get(seq).filter(|frame| frame.seq == seq)?;
        if self.encoder.is_none() {
            self.encoder = JpegEncoder::new(QUALITY).ok();
        }
        // A damaged picture is counted elsewhere; its poses are kept.
        self.encoder.as_mut()?.jpeg_of(&frame).ok()
    }
}

impl PoseSink for Mcap {
    fn name(&self) -> &str {
        &self.name
    }

    fn send(&mut self, poses: &PoseFrame, now_us: i64) -> Result<(), SinkError> {
        let at = self.moment(poses.captured_at_us, now_us);
        self.sequence = poses.seq as u32;
        if let Some(jpeg) = self.picture(poses.frame) {
            self.put_json(self.channels.camera, at, &messages::image(at, &jpeg))?;
        }
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        let predict = self.options.predict;
        Format::Full.write(
            &mut line,
            &Head::of(poses, now_us, self.options.host.as_deref()),
            predict.poses(poses, now_us),
        );
        // The line's end: a message has its own.
        line.pop();
        let written = self.put(self.channels.poses, at, &line);
        self.line = line;
        written?;
        let persons: Vec<Pose> = predict.poses(poses, now_us).map(|pose| pose.value).collect();
        self.put_json(self.channels.annotations, at, &messages::annotations(at, &persons))?;
        self.put_json(self.channels.scene, at, &messages::scene(at, &persons))
    }

    fn finish(&mut self, _within: Duration) -> Result<(), SinkError> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        if self.day_us.is_none() {
            // No frame came: nothing takes its place.
            return Ok(());
        }
        let ended = file.finish();
        let (mut file, _) = file.into_inner().into_parts();
        ended
            .and(file.commit())
            .map_err(|e| SinkError::Fatal(format!("{}: {e}; what was written before can be read", self.name)))
    }
}
