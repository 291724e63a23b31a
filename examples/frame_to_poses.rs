//! A frame in, its poses out: the tracker alone, on whatever gives frames.
//!
//! `cargo run --release --example frame_to_poses -- clip.mp4` (without a file: the built-in clip)

use std::time::Duration;

use posewire::capture::{self, CaptureError, FrameSource, SourceConfig};
use posewire::{Config, Tracker};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let source = match std::env::args_os().nth(1) {
        Some(path) => SourceConfig::Replay { path: path.into(), no_drop: true },
        None => SourceConfig::Synthetic {
            persons: 2,
            width: 640,
            height: 480,
            fps: 30.0,
            seed: 1,
            frames: Some(60),
            no_drop: true,
        },
    };
    let mut source = capture::open(&source)?;
    let mut tracker = Tracker::new(&Config::default())?;
    loop {
        let frame = match source.next_frame(Duration::from_secs(1)) {
            Ok(Some(frame)) => frame,
            Ok(None) => continue,
            Err(CaptureError::Ended) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        for pose in tracker.track(&frame)?.poses_at(frame.captured_at_us) {
            let nose = pose.value[pose::Joint::Nose];
            println!(
                "frame {}: person {}, nose at ({:.0}, {:.0})",
                frame.seq, pose.value.track_id, nose.x_px, nose.y_px
            );
        }
    }
}
