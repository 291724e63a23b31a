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
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pose::{Pose, PoseFrame};
use serde_json::Value;

use self::file::{Channel, File};
use self::messages::Moment;
use super::display::PictureTap;
use super::jsonl::{Format, Head};
use super::{PoseSink, Predict, SinkError};
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
    fn picture(&mut self, seq: u64) -> Option<std::sync::Arc<Vec<u8>>> {
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
        Format::Full.write(&mut line, &Head::of(poses, now_us, None), predict.poses(poses, now_us));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::{Frame, PixelFormat};
    use pose::{Forecast, JointState, MAX_PERSONS, Place, TrackedPerson};

    fn frame(seq: u64) -> PoseFrame {
        let mut persons = [None; MAX_PERSONS];
        let forecast = Forecast {
            captured_at_us: 33_000 * seq as i64,
            places_px: [std::array::from_fn(|j| [10.0 * j as f32, 20.0]); 4],
            score: [0.9; pose::JOINTS],
            state: [JointState::Measured; pose::JOINTS],
            joints_3d_m: Some([[0.1, 0.2, 0.0]; pose::JOINTS]),
            ..Forecast::default()
        };
        let place = Place { at_m: [0.0, 0.0, 3.0], ..Place::default() };
        persons[0] =
            Some(TrackedPerson { track_id: 7, score: 0.5, forecast, seen: None, place: Some(place) });
        let captured_at_us = 33_000 * seq as i64;
        PoseFrame { seq, frame: seq, captured_at_us, width: 320, height: 240, persons }
    }

    /// A record's fields, taken one after the other.
    struct Taken<'a>(&'a [u8]);

    impl<'a> Taken<'a> {
        fn some(&mut self, bytes: usize) -> &'a [u8] {
            let (some, rest) = self.0.split_at(bytes);
            self.0 = rest;
            some
        }
        fn int(&mut self, bytes: usize) -> u64 {
            self.some(bytes).iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte))
        }
        fn text(&mut self) -> String {
            let bytes = self.int(4) as usize;
            String::from_utf8(self.some(bytes).to_vec()).unwrap()
        }
        fn record(&mut self) -> (u8, Taken<'a>) {
            let kind = self.int(1) as u8;
            let bytes = self.int(8) as usize;
            (kind, Taken(self.some(bytes)))
        }
    }

    /// Topic, schema, time and text of every message, as somebody reads who goes from the beginning. Another's reader goes by the
    /// index: `tests/test_mcap.py`.
    fn read(path: &Path) -> Vec<(String, String, u64, Value)> {
        let bytes = std::fs::read(path).unwrap();
        let inside = bytes.strip_prefix(b"\x89MCAP0\r\n").unwrap().strip_suffix(b"\x89MCAP0\r\n").unwrap();
        let (mut schemas, mut topics, mut messages) = (Vec::new(), Vec::new(), Vec::new());
        let mut all = Taken(inside);
        loop {
            let (kind, mut fields) = all.record();
            match kind {
                3 => {
                    assert_eq!(fields.int(2), schemas.len() as u64 + 1);
                    schemas.push(fields.text());
                    assert_eq!(fields.text(), "jsonschema");
                    let schema: Value = serde_json::from_str(&fields.text()).unwrap();
                    assert!(schema["properties"].is_object());
                }
                4 => {
                    let (_, schema) = (fields.int(2), fields.int(2));
                    topics.push((fields.text(), schemas[schema as usize - 1].clone()));
                }
                6 => {
                    fields.some(8 + 8 + 8 + 4 + 4 + 8);
                    while !fields.0.is_empty() {
                        let (_, mut message) = fields.record();
                        let (topic, schema) = topics[message.int(2) as usize].clone();
                        message.some(4);
                        let at_ns = message.int(8);
                        message.some(8);
                        messages.push((topic, schema, at_ns, serde_json::from_slice(message.0).unwrap()));
                    }
                }
                15 => return messages,
                _ => {}
            }
        }
    }

    #[test]
    fn what_is_written_is_read_back_with_its_times_and_pictures() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("poses.mcap");
        let tap = PictureTap::default();
        let options =
            McapOptions { predict: Predict::Capture, pictures: Some(tap.clone()), is_replayed: true };
        let mut sink = Mcap::create(&path, options).unwrap();
        for seq in 0..3 {
            // The picture of the last one has gone.
            let bytes = std::sync::Arc::new(vec![0xff, 0xd8, seq as u8]);
            let (format, stride) = (PixelFormat::Mjpeg, 0);
            let captured_at_us = 0;
            tap.put(&Frame {
                bytes,
                format,
                width: 320,
                height: 240,
                stride,
                seq: seq.min(1),
                captured_at_us,
            });
            sink.send(&frame(seq), 99).unwrap();
        }
        assert!(!path.exists(), "only a whole file takes its place");
        sink.finish(Duration::ZERO).unwrap();
        let messages = read(&path);
        let of = |topic: &str| messages.iter().filter(|m| m.0 == topic).collect::<Vec<_>>();
        assert_eq!(["/poses", "/annotations", "/scene", "/camera"].map(|t| of(t).len()), [3, 3, 3, 2]);
        let (_, schema, at_ns, line) = of("/poses")[1];
        assert_eq!((&**schema, *at_ns, &line["persons"][0]["id"]), ("posewire.Poses", 33_000_000, &7.into()));
        assert_eq!(of("/camera")[0].3["data"], "/9gA");
        let marks = &of("/annotations")[2].3;
        assert_eq!(marks["texts"][0]["text"], "7");
        assert_eq!(marks["points"][0]["timestamp"], serde_json::json!({"sec": 0, "nsec": 66_000_000}));
        let entity = &of("/scene")[0].3["entities"][0];
        assert_eq!((&entity["frame_id"], &entity["id"]), (&"camera".into(), &"person 7".into()));
        let z = entity["lines"][0]["points"][0]["z"].as_f64().unwrap();
        assert!((z - 3.0).abs() < 1e-6, "hip-centred, placed before the camera: {z}");
    }

    #[test]
    fn a_file_without_a_frame_leaves_no_trace_and_one_that_cannot_be_made_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("poses.mcap");
        let mut sink = Mcap::create(&path, McapOptions::default()).unwrap();
        sink.finish(Duration::ZERO).unwrap();
        drop(sink);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let error = Mcap::create(Path::new("/no/such/folder/x.mcap"), McapOptions::default()).err().unwrap();
        assert!(error.to_string().contains("/no/such/folder/x.mcap"), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_ends_it() {
        let mut sink = Mcap::create(Path::new("/dev/full"), McapOptions::default()).unwrap();
        let error = (0..100_000).find_map(|seq| sink.send(&frame(seq), 9).err()).expect("an error");
        assert!(matches!(&error, SinkError::Fatal(told) if told.contains("make room")), "{error}");
        assert!(sink.finish(Duration::ZERO).is_ok(), "it has ended already");
    }
}
