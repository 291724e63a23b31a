//! Poses as MCAP, with the camera's pictures where that was asked for: what Foxglove and many robots' tools open.
//!
//! | topic | schema | what |
//! |---|---|---|
//! | `/poses` | `posewire.Poses` | the JSON line in the format `full`, one a frame, of its capture |
//! | `/annotations` | `foxglove.ImageAnnotations` | skeletons and identities, to be laid over `/camera` |
//! | `/scene` | `foxglove.SceneUpdate` | skeletons in metres: in the frame `camera` (x right, y down, z forward) where the lens is known, else in `hips` |
//! | `/camera` | `foxglove.CompressedImage` | the camera's JPEGs |
//!
//! Messages are JSON with JSON Schemas: readers need nothing of Posewire. A file that ends well has an index; one that a pulled plug or
//! a full disk left behind, as `FILE.….part`, is read from its beginning.

mod file;
mod messages;
mod schemas;
mod teller;

use std::error::Error;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pose::PoseFrame;

use self::file::{Channel, File};
use super::display::PictureTap;
use super::{Existing, Host, PoseSink, Predict, Sending, SinkError, tell_of_earlier};
use crate::files::Replacement;
use crate::reason::Reason;

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

type Begun = File<BufWriter<Replacement>>;

/// The sink of `--mcap FILE`.
pub struct Mcap {
    name: String,
    teller: Teller,
    file: Option<Begun>,
    /// In the order of [`Topic::ALL`]; a topic that is not wanted has none.
    channels: [Option<Channel>; Topic::ALL.len()],
}

impl Mcap {
    /// A file at `path`, which is there when it is complete and has a frame.
    ///
    /// # Errors
    /// [`SinkError::Fatal`] where it cannot be made.
    pub fn create(path: &Path, existing: Existing, options: McapOptions) -> Result<Self, SinkError> {
        let fatal = |e: io::Error| {
            let what = format_args!("--mcap {}", path.display());
            SinkError::fatal(what, Reason::new("cannot be created", e))
        };
        let file = Replacement::create_alone(path).map_err(fatal)?.following(existing);
        let library = concat!("posewire ", env!("CARGO_PKG_VERSION"));
        let mut file = File::begin(BufWriter::new(file), library).map_err(fatal)?;
        let mut channels = [None; Topic::ALL.len()];
        for topic in Topic::ALL {
            if topic.is_wanted(&options) {
                let schema = topic.json_schema().to_string();
                let channel = file.add(topic.name(), topic.schema(), &schema).map_err(fatal)?;
                channels[topic as usize] = Some(channel);
            }
        }
        let name = format!("mcap {}", path.display());
        Ok(Self { name, teller: Teller::new(options), file: Some(file), channels })
    }

    /// Lets go of a file that gets no end: beside its place, as what stands there may be whole, if anything in it can be read.
    fn cut_short(&self, file: Begun, why: impl Into<Box<dyn Error + Send + Sync>>) -> SinkError {
        let name = &self.name;
        let is_readable = file.has_chunk();
        let (file, _) = file.into_inner().into_parts();
        let kept = is_readable.then(|| file.keep().ok()).flatten();
        let words = match kept {
            Some(path) => {
                let path = path.display();
                format!("what was written before can be read in {path}: make room and start again")
            }
            None => "nothing could be recorded: make room and start again".to_owned(),
        };
        SinkError::fatal(name, Reason::new(words, why))
    }
}

impl PoseSink for Mcap {
    fn name(&self) -> &str {
        &self.name
    }

    fn send(&mut self, poses: &PoseFrame, now_us: i64) -> Result<Sending, SinkError> {
        let Some(file) = &mut self.file else { return Ok(Sending::LeftOut) };
        let (channels, sequence) = (self.channels, poses.seq as u32);
        let told = self.teller.tell(poses, now_us, &mut |topic, at, message| {
            let Some(channel) = channels[topic as usize] else { return Ok(()) };
            file.write(channel, sequence, at.ns(), message).map_err(|e| SinkError::Fatal(Reason::of(e)))
        });
        match (told, self.file.take()) {
            (Err(why), Some(file)) => Err(self.cut_short(file, why)),
            (told, file) => {
                self.file = file;
                told.map(|()| Sending::Sent)
            }
        }
    }

    fn finish(&mut self, within: Duration) -> Result<(), SinkError> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        if !self.teller.has_begun() {
            // No frame came: nothing takes its place.
            return Ok(());
        }
        let deadline = Instant::now() + within;
        if let Err(e) = file.finish() {
            return Err(self.cut_short(file, e));
        }
        let (mut file, _) = file.into_inner().into_parts();
        file.commit_within(deadline.saturating_duration_since(Instant::now()))
            .map_err(|e| SinkError::fatal(&self.name, Reason::of(e)))?;
        tell_of_earlier(&self.name, &file);
        Ok(())
    }
}
