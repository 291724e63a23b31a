//! Watches a running pipeline: health, the service manager's watchdog, and an end within 500 ms of being asked.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{Health, Pipeline, PipelineError};
use crate::telemetry::{Count, board};

/// From the signal to the end of every thread.
pub const STOP_WITHIN: Duration = Duration::from_millis(500);

/// How often the supervisor looks; a signal is noticed this late.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Over which the frame rate and the median age are taken.
const INTERVAL: Duration = Duration::from_secs(1);

/// Whoever started the process and wants to know how it is: a service manager.
pub trait Notify {
    /// Models are loaded, sinks open; the camera may still be looked for.
    fn ready(&mut self);
    /// Frames are being processed, or a lost camera looked for. About once a second; its absence means a hang.
    fn alive(&mut self, health: &Health);
    /// The end has begun.
    fn stopping(&mut self);
}

/// Nobody wants to know.
pub struct NoNotify;

impl Notify for NoNotify {
    fn ready(&mut self) {}
    fn alive(&mut self, _: &Health) {}
    fn stopping(&mut self) {}
}

/// How a pipeline ended.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What went wrong, in order; empty at the end of a file, after `--frames` or a signal.
    pub errors: Vec<PipelineError>,
    /// Threads that did not end in time (a driver that does not come back); the process ends without them.
    pub stuck: Vec<String>,
}

/// Runs `pipeline` to its end, or until `stop` is set by a signal.
///
/// Logs a health line every `health_every`, and tells `notify` of progress.
pub fn supervise(
    mut pipeline: Pipeline,
    stop: &AtomicBool,
    health_every: Option<Duration>,
    notify: &mut dyn Notify,
) -> Outcome {
    let session = pipeline.shared().session.clone();
    let telemetry = &session.telemetry;
    let mut interval = (Instant::now(), telemetry.count(Count::Processed));
    let mut last_health = Instant::now();
    let mut progress = 0;
    let mut ready = false;
    while pipeline.poll() && !stop.load(Ordering::Acquire) && !pipeline.shared().stopping() {
        std::thread::sleep(LOOK_EVERY);
        if !ready && pipeline.is_ready() {
            ready = true;
            notify.ready();
        }
        if interval.0.elapsed() < INTERVAL {
            continue;
        }
        let processed = telemetry.count(Count::Processed);
        telemetry.close_interval(processed - interval.1, interval.0.elapsed().as_secs_f32(), board::read());
        interval = (Instant::now(), processed);
        let health = session.health();
        if pipeline.shared().progress() != progress {
            progress = pipeline.shared().progress();
            notify.alive(&health);
        }
        if health_every.is_some_and(|every| last_health.elapsed() >= every) {
            last_health = Instant::now();
            log::info!("{health}");
        }
    }
    notify.stopping();
    pipeline.stop();
    pipeline.wait(STOP_WITHIN - LOOK_EVERY);
    let stuck: Vec<String> = pipeline.running().map(str::to_owned).collect();
    // Models that still load when the source turns out to be none: what ends the run is said, and is all there is to say.
    let has_not_begun = !pipeline.is_ready() && !pipeline.errors().is_empty();
    for name in stuck.iter().filter(|name| !(has_not_begun && *name == "infer")) {
        log::warn!("{name} did not end within {} ms and is left behind", STOP_WITHIN.as_millis());
    }
    Outcome { errors: pipeline.into_errors(), stuck }
}
