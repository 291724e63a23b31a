//! Joins the stages: one thread each, newest-wins slots between them, and an end that always comes.
//!
//! ```text
//! capture ──Frame──▶ [newest] ──▶ infer ──PoseFrame──▶ [newest] ──▶ one thread a sink
//! ```
//!
//! `lossless` puts a rendezvous in the place of each slot: every frame of a file is processed, in order, and the same
//! file gives the same output. A thread ends when told to ([`Pipeline::stop`]) or when the one before it has ended, so
//! that what is in flight at the end of a file is still delivered. No wait is longer than [`TICK`].

mod capture_thread;
pub mod faults;
mod health;
mod host;
mod infer_thread;
mod patience;
mod session;
mod sink_thread;
pub mod supervisor;
mod timed;

pub use health::Health;
pub use session::{Session, SourceKind, SourceState};
pub use timed::Timed;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use latest::{Receiver, Sender, Sent};

use crate::capture::FrameSource;
use crate::clock::Clock;
use crate::output::PoseSink;
use crate::picture::Frame;
use crate::reason::Chain;
use crate::telemetry::{Count, Telemetry};
use crate::tracker::TrackError;
use pose::PoseFrame;

/// The longest that a thread waits before it looks whether it is to end: a fifth of the 500 ms that ending may take,
/// so that a chain of threads ends in time.
pub const TICK: Duration = Duration::from_millis(100);

/// A live source without a frame for this long counts as lost, unless its frames are rarer: 30 frames of a usual camera, and soon enough
/// to tell.
pub const SILENCE: Duration = Duration::from_secs(1);

/// How long sinks may take to complete their files when told to stop; the rest of the 500 ms is for waking up.
const FINISH_STOPPED: Duration = Duration::from_millis(250);
/// The same at the end of a file, where nobody is waiting with a SIGKILL; a film whose encoder gets on takes longer.
const FINISH_ENDED: Duration = Duration::from_secs(5);

/// From a frame to the poses in it: everything that the `infer` thread does.
pub trait PoseTracker: Send {
    /// Finds, identifies and filters the persons of one frame. Times go to `telemetry`.
    ///
    /// # Errors
    /// [`TrackError`]: damage of this frame alone skips it; anything else ends the pipeline.
    fn track(&mut self, frame: &Frame, telemetry: &Telemetry) -> Result<PoseFrame, TrackError>;

    /// Forgets identities and memories.
    fn reset(&mut self);
}

/// Why a pipeline ended before its time.
#[derive(Debug)]
pub enum PipelineError {
    /// A thread cannot go on.
    Failed {
        /// Which thread.
        thread: String,
        /// What happened and what to do.
        error: BoxError,
        /// It is in the log already: others went on.
        is_told: bool,
    },
    /// A bug: the thread panicked; its message is in the log.
    Panicked {
        /// Which thread.
        thread: String,
    },
}

impl std::fmt::Display for PipelineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Failed { thread, error, .. } => write!(f, "{thread}: {error}"),
            Self::Panicked { thread } => {
                write!(f, "{thread}: stopped by a bug; please report the message above")
            }
        }
    }
}

impl std::error::Error for PipelineError {
    /// What led to the thread's error, whose own words stand in this one's.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Failed { error, .. } => error.source(),
            Self::Panicked { .. } => None,
        }
    }
}

impl PipelineError {
    /// The thread that ended.
    pub fn thread(&self) -> &str {
        match self {
            PipelineError::Failed { thread, .. } | PipelineError::Panicked { thread } => thread,
        }
    }

    /// Whether the log says it already.
    pub fn is_told(&self) -> bool {
        matches!(self, PipelineError::Failed { is_told: true, .. })
    }
}

/// How the names of sinks' threads begin.
const SINK: &str = "sink";

/// What a thread ends with where it cannot go on.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// Makes a part on the thread that will use it, so that a slow start does not keep the others, or a signal, waiting.
pub type Factory<T> = Box<dyn FnOnce() -> Result<T, BoxError> + Send>;

/// What a pipeline is made of.
pub struct Parts {
    /// Opens the source, on `capture`.
    pub source: Factory<Box<dyn FrameSource>>,
    /// Loads the models, on `infer`.
    pub tracker: Factory<Box<dyn PoseTracker>>,
    /// Each gets a thread.
    pub sinks: Vec<Box<dyn PoseSink>>,
    /// The clock that stamps the source's frames.
    pub clock: Arc<dyn Clock>,
    /// What they share with their sinks.
    pub session: Arc<Session>,
}

/// How a pipeline runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// End after this many processed frames; `None` at the end of the source.
    pub frames: Option<u64>,
    /// Every frame is processed and sent, in order; the moment of sending is then said to be the moment of capture, so
    /// that nothing depends on the machine.
    pub lossless: bool,
}

/// What the threads of one pipeline share.
pub struct Shared {
    /// What they share with sinks.
    pub session: Arc<Session>,
    clock: Arc<dyn Clock>,
    options: Options,
    stop: AtomicBool,
    tracker_ready: AtomicBool,
    /// Moves on whenever `capture` looks for its lost source: a sign of life without frames.
    searches: AtomicU64,
}

impl Shared {
    /// Where times and counts go.
    pub fn telemetry(&self) -> &Telemetry {
        &self.session.telemetry
    }

    fn stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Grows while the pipeline works: with every processed frame and every look for a lost source.
    pub fn progress(&self) -> u64 {
        self.telemetry().count(Count::Processed)
            + self.telemetry().count(Count::Bad)
            + self.searches.load(Ordering::Relaxed)
    }
}

/// Poses on their way to a sink.
struct Delivery {
    poses: PoseFrame,
    handed_over_at_us: i64,
    /// What `infer` spent on the frame beside the networks.
    own_us: i64,
}

struct Worker {
    name: String,
    handle: JoinHandle<Result<(), BoxError>>,
}

/// A running pipeline. Dropping it tells its threads to end, without waiting for them.
pub struct Pipeline {
    shared: Arc<Shared>,
    workers: Vec<Worker>,
    errors: Vec<PipelineError>,
}

impl Pipeline {
    /// Starts every thread.
    ///
    /// # Errors
    /// The system has no room for another thread; those already started end.
    pub fn start(parts: Parts, options: Options) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            session: parts.session,
            clock: parts.clock,
            options,
            stop: AtomicBool::new(false),
            tracker_ready: AtomicBool::new(false),
            searches: AtomicU64::new(0),
        });
        let mut pipeline = Self { shared: shared.clone(), workers: Vec::new(), errors: Vec::new() };

        let mut to_sinks = Vec::with_capacity(parts.sinks.len());
        for (i, sink) in parts.sinks.into_iter().enumerate() {
            let (sender, receiver) = link(options);
            to_sinks.push(sender);
            let shared = shared.clone();
            let name = format!("{SINK}-{i} {}", sink.name());
            pipeline.spawn(name, move || sink_thread::run(sink, &receiver, &shared))?;
        }
        let (to_infer, frames) = link(options);
        let (factory, s) = (parts.tracker, shared.clone());
        pipeline.spawn("infer".into(), move || infer_thread::run(factory, &frames, to_sinks, &s))?;
        let (factory, s) = (parts.source, shared);
        pipeline.spawn("capture".into(), move || capture_thread::run(factory, &to_infer, &s))?;
        Ok(pipeline)
    }

    fn spawn(
        &mut self,
        name: String,
        work: impl FnOnce() -> Result<(), BoxError> + Send + 'static,
    ) -> std::io::Result<()> {
        let handle = thread::Builder::new().name(name.clone()).spawn(work)?;
        self.workers.push(Worker { name, handle });
        Ok(())
    }

    /// What the threads share.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Whether the models are loaded and `infer` waits for frames; the source may still be opening.
    pub fn is_ready(&self) -> bool {
        self.shared.tracker_ready.load(Ordering::Acquire)
    }

    /// Tells every thread to end.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Release);
    }

    /// Takes in the threads that have ended. `false` once all have.
    ///
    /// The pipeline is told to stop when `capture` or `infer` failed, when any thread panicked, or when no sink is left.
    pub fn poll(&mut self) -> bool {
        let mut i = 0;
        while i < self.workers.len() {
            if !self.workers[i].handle.is_finished() {
                i += 1;
                continue;
            }
            let Worker { name, handle } = self.workers.remove(i);
            let error = match handle.join() {
                Ok(Ok(())) => continue,
                Ok(Err(error)) => {
                    let is_told = name.starts_with(SINK) && self.has_sinks();
                    PipelineError::Failed { thread: name, error, is_told }
                }
                Err(_) => PipelineError::Panicked { thread: name },
            };
            // What ends the run is said by whoever started it; a lost sink would otherwise pass in silence.
            let is_bug = matches!(error, PipelineError::Panicked { .. });
            if is_bug || !error.thread().starts_with(SINK) {
                self.stop();
            } else if self.has_sinks() {
                log::error!("{}; the other outputs go on", Chain(&error));
            }
            self.errors.push(error);
        }
        if !self.has_sinks() {
            self.stop();
        }
        !self.workers.is_empty()
    }

    fn has_sinks(&self) -> bool {
        self.workers.iter().any(|w| w.name.starts_with(SINK))
    }

    /// Waits until every thread has ended or `within` is over, and says what went wrong.
    pub fn wait(&mut self, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        while self.poll() {
            if Instant::now() >= deadline {
                return false;
            }
            thread::sleep(Duration::from_millis(2));
        }
        true
    }

    /// What went wrong so far, in order.
    pub fn errors(&self) -> &[PipelineError] {
        &self.errors
    }

    /// What went wrong, in order; threads that still run are left to themselves.
    pub fn into_errors(mut self) -> Vec<PipelineError> {
        std::mem::take(&mut self.errors)
    }

    /// The names of the threads that still run.
    pub fn running(&self) -> impl Iterator<Item = &str> {
        self.workers.iter().map(|w| w.name.as_str())
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        self.stop();
    }
}

fn link<T>(options: Options) -> (Sender<T>, Receiver<T>) {
    if options.lossless { latest::rendezvous() } else { latest::newest_wins() }
}

/// Hands `value` over; `false` where there is nobody left to take it or the pipeline is stopping.
fn hand_over<T>(sender: &Sender<T>, mut value: T, shared: &Shared, lost: Count) -> bool {
    loop {
        match sender.send(value, TICK) {
            Sent::Delivered => return true,
            Sent::Displaced => {
                shared.telemetry().add(lost, 1);
                return true;
            }
            Sent::Closed => return false,
            Sent::Timeout(_) if shared.stopping() => return false,
            Sent::Timeout(back) => value = back,
        }
    }
}
