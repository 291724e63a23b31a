//! What a frame's pixels cost: decoding a 640x480 JPEG at each scale and only a square part of it, and cropping a person with rows and columns blended
//! one after the other (upright crops) against sample by sample (any other), interleaved on one core.
//!
//! `cargo run --release --example pixels [ROUNDS]` prints the least and the median of each in microseconds.

use std::time::{Duration, Instant};

use anyhow::Context;
use posewire::capture::{SourceConfig, open};
use posewire::picture::{Affine, Decoder, Frame, Part, PixelFormat, PixelsMut, crop_resize_into};

/// Side of the keypoint network's input, pixels.
const NET: usize = 160;

fn main() -> anyhow::Result<()> {
    let rounds: usize = std::env::args().nth(1).map_or(Ok(200), |n| n.parse())?;
    let frame = jpeg()?;
    let mut decoder = Decoder::new()?;
    let mut times: Vec<(String, Vec<u64>)> = Vec::new();
    let mut note = |name: String, nanos: u64| match times.iter_mut().find(|(n, _)| *n == name) {
        Some((_, all)) => all.push(nanos),
        None => times.push((name, vec![nanos])),
    };
    let mut bytes = vec![0; NET * NET * 4];
    for _ in 0..rounds {
        for reduction in [8, 4, 2, 1] {
            let began = Instant::now();
            decoder.decode(&frame, reduction)?;
            note(format!("decode 1/{reduction}"), began.elapsed().as_nanos() as u64);
        }
        for side_px in [120, 240, 400] {
            let part = Part { columns: 40..40 + side_px, rows: 40..40 + side_px };
            let began = Instant::now();
            decoder.decode_part(&frame, 1, Some(&part))?;
            note(format!("decode {side_px} px of it"), began.elapsed().as_nanos() as u64);
        }
        let picture = decoder.decode(&frame, 1)?;
        for side_px in [120.0f32, 240.0, 400.0, 480.0] {
            let scale = side_px / NET as f32;
            // So small a turn moves no sample, but is no upright crop.
            for (name, turn) in [("upright", 0.0), ("general", 1e-9)] {
                let mut m = Affine::scale_then_shift(scale, scale, 40.0, 0.0);
                m.xy = turn;
                let mut net = PixelsMut {
                    bytes: &mut bytes,
                    width: NET,
                    height: NET,
                    row_bytes: NET * 4,
                    pixel_bytes: 4,
                };
                let began = Instant::now();
                crop_resize_into(&picture, &m, &mut net, [0; 3]);
                note(format!("crop of {side_px} px, {name}"), began.elapsed().as_nanos() as u64);
            }
        }
    }
    println!("{:<28}{:>10}{:>10}", "microseconds", "least", "median");
    for (name, mut all) in times {
        all.sort_unstable();
        println!("{name:<28}{:>10.1}{:>10.1}", all[0] as f64 / 1e3, all[all.len() / 2] as f64 / 1e3);
    }
    Ok(())
}

/// A frame of the built-in clip.
fn jpeg() -> anyhow::Result<Frame> {
    let source = SourceConfig::Synthetic {
        persons: 1,
        width: 640,
        height: 480,
        fps: 30.0,
        seed: 1,
        frames: Some(1),
        no_drop: true,
    };
    let frame =
        open(&source)?.next_frame(Duration::from_secs(20))?.context("the built-in clip gives no frame")?;
    anyhow::ensure!(frame.format == PixelFormat::Mjpeg, "the built-in clip is no JPEG");
    Ok(frame)
}
