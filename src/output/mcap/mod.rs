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
mod teller;

use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pose::PoseFrame;

use self::file::{Channel, File};
use super::display::PictureTap;
use super::{Existing, Host, PoseSink, Predict, Sending, SinkError, tell_of_earlier};
use crate::files::Replacement;

#[cfg(feature = "foxglove")]
pub(super) use self::messages::Moment;
pub(super) use self::teller::{Teller, Topic};

/// What is told of, and how.
#[derive(Clone, Default)]
pub struct McapOptions {
    /// The moment that poses speak of.
    pub predict: Predict,
    /// The camera's pictures too.
    pub pictures: Option<PictureTap>,
    /// Times are the recording's own, from 0, rather than the day's.
    pub is_replayed: bool,
    /// Who knows where frames come from.
    pub host: Option<Arc<dyn Host>>,
}

/// The sink of `--mcap FILE`.
pub struct Mcap {
    name: String,
    teller: Teller,
    file: Option<File<BufWriter<Replacement>>>,
    /// In the order of [`Topic::ALL`]; a topic that is not wanted has none.
    channels: [Option<Channel>; Topic::ALL.len()],
}

impl Mcap {
    /// A file at `path`, which is there when it is complete and has a frame.
    ///
    /// # Errors
    /// [`SinkError::Fatal`] where it cannot be made.
    pub fn create(path: &Path, existing: Existing, options: McapOptions) -> Result<Self, SinkError> {
        let fatal = |e: &dyn std::fmt::Display| {
            SinkError::Fatal(format!("--mcap {}: cannot be created: {e}", path.display()))
        };
        let file = Replacement::create_alone(path).map_err(|e| fatal(&e))?.following(existing);
        let library = concat!("posewire ", env!("CARGO_PKG_VERSION"));
        let mut file = File::begin(BufWriter::new(file), library).map_err(|e| fatal(&e))?;
        let mut channels = [None; Topic::ALL.len()];
        for topic in Topic::ALL {
            if topic.is_wanted(&options) {
                let schema = topic.json_schema().to_string();
                let channel = file.add(topic.name(), topic.schema(), &schema).map_err(|e| fatal(&e))?;
                channels[topic as usize] = Some(channel);
            }
        }
        let name = format!("mcap {}", path.display());
        Ok(Self { name, teller: Teller::new(options), file: Some(file), channels })
    }

    /// Ends the file where it is: what is in it can be read.
    fn broken(&mut self) {
        if let Some(file) = self.file.take() {
            let (mut file, _) = file.into_inner().into_parts();
            if file.commit().is_ok() {
                tell_of_earlier(&self.name, &file);
            }
        }
    }
}

impl PoseSink for Mcap {
    fn name(&self) -> &str {
        &self.name
    }

    fn send(&mut self, poses: &PoseFrame, now_us: i64) -> Result<Sending, SinkError> {
        let Some(file) = &mut self.file else { return Ok(Sending::LeftOut) };
        let (name, channels, sequence) = (&self.name, self.channels, poses.seq as u32);
        let told = self.teller.tell(poses, now_us, &mut |topic, at, message| {
            let Some(channel) = channels[topic as usize] else { return Ok(()) };
            file.write(channel, sequence, at.ns(), message).map_err(|e: io::Error| {
                let advice = "what was written before can be read: make room and start again";
                SinkError::Fatal(format!("{name}: {e}; {advice}"))
            })
        });
        if told.is_err() {
            self.broken();
        }
        told.map(|()| Sending::Sent)
    }

    fn finish(&mut self, _within: Duration) -> Result<(), SinkError> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        if !self.teller.has_begun() {
            // No frame came: nothing takes its place.
            return Ok(());
        }
        let ended = file.finish();
        let (mut file, _) = file.into_inner().into_parts();
        let in_place = file.commit();
        tell_of_earlier(&self.name, &file);
        ended
            .and(in_place)
            .map_err(|e| SinkError::Fatal(format!("{}: {e}; what was written before can be read", self.name)))
    }
}
