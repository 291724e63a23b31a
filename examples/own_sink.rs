//! A sink of one's own: whoever raises a hand is greeted. Capture, tracking and the thread come with the pipeline.
//!
//! `cargo run --release --example own_sink`

use std::sync::Arc;
use std::time::Duration;

use pose::PoseFrame;
use pose::gesture::hands_raised;
use posewire::capture::{self, SourceConfig};
use posewire::clock::Monotonic;
use posewire::output::{PoseSink, Predict, Sending, SinkError};
use posewire::pipeline::{Options, Parts, Pipeline, Timed};
use posewire::reason::Chain;
use posewire::{Config, Tracker};

/// Greets each person once.
#[derive(Default)]
struct Greeter {
    greeted: Vec<u32>,
}

impl PoseSink for Greeter {
    fn name(&self) -> &str {
        "greeter"
    }

    fn send(&mut self, frame: &PoseFrame, now_us: i64) -> Result<Sending, SinkError> {
        for pose in Predict::Now.poses(frame, now_us).map(|pose| pose.value) {
            // A joint that is absent raises nothing.
            let is_raised = hands_raised(&pose).contains(&Some(true));
            if is_raised && !self.greeted.contains(&pose.track_id) {
                println!("hello, person {}", pose.track_id);
                self.greeted.push(pose.track_id);
            }
        }
        Ok(Sending::Sent)
    }

    fn finish(&mut self, _within: Duration) -> Result<(), SinkError> {
        println!("greeted {} persons", self.greeted.len());
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clip = SourceConfig::Synthetic {
        persons: 3,
        width: 640,
        height: 480,
        fps: 30.0,
        seed: 1,
        frames: Some(300),
        no_drop: true,
    };
    let parts = Parts {
        source: Box::new(move || Ok(capture::open(&clip)?)),
        tracker: Box::new(|| {
            let tracker = Tracker::new(&Config::default())?;
            Ok(Box::new(Timed::new(tracker, Arc::new(Monotonic), None)))
        }),
        sinks: vec![Box::new(Greeter::default())],
        clock: Arc::new(Monotonic),
        session: Arc::default(),
    };
    let mut pipeline = Pipeline::start(parts, Options { frames: None, lossless: true })?;
    pipeline.wait(Duration::from_secs(60));
    pipeline.errors().iter().for_each(|error| eprintln!("{}", Chain(error)));
    Ok(())
}
