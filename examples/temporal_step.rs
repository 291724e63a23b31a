//! What a step of the temporal model costs, and what its cached memory saves.
//!
//! `cargo run --release --example temporal_step [-- --steps N]` prints processor time, so other work on the machine
//! counts less than in wall time; ratios are taken from runs that alternate. With `--steps N` it runs one stream of N
//! observations with gaps and drop-outs instead, prints how far it has drifted from a model that saw the last minutes alone,
//! and fails where an answer is not finite, leaves the person, or drifts.

use std::{fs, path::Path, process::ExitCode};

use pose::{Forecast, HORIZONS_US, Keypoint, Keypoints};
use posewire::temporal::{Observation, TemporalModel, Xl};

const FRAME_US: i64 = 33_333;
/// Odd, and many: a round is a few milliseconds, and other work on the machine comes and goes.
const ROUNDS: usize = 31;

fn main() -> ExitCode {
    let weights = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("models/temporal-xl.pwt"))
        .expect("the repository holds models/temporal-xl.pwt");
    let mut arguments = std::env::args().skip_while(|a| a != "--steps").skip(1);
    if let Some(steps) = arguments.next() {
        let steps = steps.parse().expect("--steps takes a whole number");
        return stream(&weights, steps);
    }
    persons(&weights);
    memories(&weights);
    ExitCode::SUCCESS
}

/// A person who sways in front of the camera, `slot` of them side by side.
fn seen(slot: usize, captured_at_us: i64) -> Observation {
    let mut keypoints = Keypoints { score: 1.0, ..Keypoints::default() };
    let phase = (captured_at_us % 62_831_853) as f32 * 1e-6;
    for (j, k) in keypoints.joints.iter_mut().enumerate() {
        let (across, down) = ((j % 2) as f32 * 60.0, j as f32 * 12.0);
        let sway = 20.0 * (phase + 0.3 * j as f32).sin();
        *k = Keypoint {
            x_px: 100.0 + 80.0 * slot as f32 + across + sway,
            y_px: 80.0 + down,
            score: 0.8,
            sigma_px: 0.0,
        };
    }
    Observation { slot, captured_at_us, keypoints: Some(keypoints) }
}

/// `frames` frames of `persons` persons from `at_us` on; processor microseconds of the steps alone.
fn run(model: &mut Xl, persons: usize, frames: usize, at_us: &mut i64) -> f64 {
    let mut forecasts = [Forecast::default(); pose::MAX_PERSONS];
    let seen: Vec<Observation> = (0..frames)
        .flat_map(|frame| {
            let at_us = *at_us + (frame as i64 + 1) * FRAME_US;
            (0..persons).map(move |slot| seen(slot, at_us))
        })
        .collect();
    *at_us += frames as i64 * FRAME_US;
    let before = processor_us();
    for observations in seen.chunks_exact(persons) {
        model.step(observations, &mut forecasts);
        std::hint::black_box(&forecasts);
    }
    processor_us() - before
}

/// Processor time of this process in microseconds.
fn processor_us() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 * 1e-3
}

/// What `work(i)` takes a call, in rounds in which they take turns: `[i][round]`, processor microseconds.
fn alternate<const N: usize>(calls: usize, mut work: impl FnMut(usize, usize) -> f64) -> [[f64; ROUNDS]; N] {
    let mut times = [[0.0; ROUNDS]; N];
    for round in 0..ROUNDS {
        for (i, times) in times.iter_mut().enumerate() {
            times[round] = work(i, calls) / calls as f64;
        }
    }
    times
}

fn median(mut values: [f64; ROUNDS]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[ROUNDS / 2]
}

/// Of the quotients round by round: what else the machine does weighs on both.
fn ratio(of: &[f64; ROUNDS], to: &[f64; ROUNDS]) -> f64 {
    median(std::array::from_fn(|round| of[round] / to[round]))
}

fn persons(weights: &[u8]) {
    const CROWDS: [usize; 4] = [1, 2, 4, 8];
    let mut models = CROWDS.map(|_| Xl::new(weights, 0.0).expect("shipped weights"));
    let mut at_us = 0;
    let times: [_; 4] = alternate(100, |i, frames| run(&mut models[i], CROWDS[i], frames, &mut at_us));
    println!("| persons | µs a frame | of one person's |\n|---|---|---|");
    for (n, time) in CROWDS.iter().zip(times) {
        println!("| {n} | {:.1} | {:.2} |", median(time), ratio(&time, &times[0]));
    }
}

fn memories(weights: &[u8]) {
    println!("\n| memory | µs a step, cached | window run anew | ratio |\n|---|---|---|---|");
    for memory in [16, 32, 64, 128, 256, 512] {
        let weights = with_memory(weights, memory);
        let mut models = [0, 1].map(|_| Xl::new(&weights, 0.0).expect("shipped weights, another memory"));
        let mut at_us = 0;
        run(&mut models[0], 1, memory + 1, &mut at_us);
        let [cached, anew] = alternate(2, |i, frames| {
            if i == 0 {
                return run(&mut models[0], 1, frames, &mut at_us);
            }
            let window = |_| {
                models[1].reset(0);
                run(&mut models[1], 1, memory + 1, &mut 0)
            };
            (0..frames).map(window).sum()
        });
        println!("| {memory} | {:.1} | {:.0} | {:.0} |", median(cached), median(anew), ratio(&anew, &cached));
    }
}

/// The same weights looking back on another number of observations: no tensor's shape depends on it.
fn with_memory(weights: &[u8], memory: usize) -> Vec<u8> {
    let mut out = weights.to_vec();
    out[20..24].copy_from_slice(&(memory as u32).to_le_bytes());
    let body = out.len() - 4;
    let crc = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(&out[..body]);
    out[body..].copy_from_slice(&crc.to_le_bytes());
    out
}

/// The model that begins late sees this many of the last observations: forgets slower than this would be drift.
const LATE_STEPS: u64 = 1_500;
/// Between two answers that should be one, pixels of a person of 200.
const MAX_DRIFT_PX: f32 = 0.02;

fn stream(weights: &[u8], steps: u64) -> ExitCode {
    let [mut model, mut late] = [0, 1].map(|_| Xl::new(weights, 0.0).expect("shipped weights"));
    let mut drift_px = 0.0f32;
    let mut random = fastrand::Rng::with_seed(1);
    let (mut at_us, mut worst_px) = (0, 0.0f32);
    for step in 0..steps {
        at_us += random.i64(8_000..100_000);
        let mut observation = seen(0, at_us);
        let truth = observation.keypoints.expect("seen");
        for k in &mut observation.keypoints.as_mut().expect("seen").joints {
            k.score = if random.u8(..) < 13 { 0.0 } else { k.score };
        }
        if random.u8(..) < 3 {
            observation.keypoints = None;
        }
        let mut forecast = [Forecast::default()];
        model.step(&[observation], &mut forecast);
        if step + LATE_STEPS >= steps {
            let mut later = [Forecast::default()];
            late.step(&[observation], &mut later);
            let places = forecast[0].places_px.iter().flatten().zip(later[0].places_px.iter().flatten());
            drift_px = places.map(|(a, b)| (a[0] - b[0]).hypot(a[1] - b[1])).fold(0.0, f32::max);
        }
        let places = forecast[0].places_px[0].iter().zip(&truth.joints);
        let off_px = places.map(|(p, k)| (p[0] - k.x_px).hypot(p[1] - k.y_px)).fold(0.0, f32::max);
        let finite = forecast[0].places_px.iter().flatten().flatten().all(|v| v.is_finite());
        if !finite || (step > 60 && off_px > 100.0) {
            println!("step {step} of {steps}: finite {finite}, {off_px} px off; horizons {HORIZONS_US:?}");
            return ExitCode::FAILURE;
        }
        if step > 60 {
            worst_px = worst_px.max(off_px);
        }
    }
    println!(
        "{steps} steps: all finite, never more than {worst_px:.1} px from a person of 200 px; at the end {drift_px:.5} px \
         from a model that saw the last {LATE_STEPS} alone"
    );
    if drift_px <= MAX_DRIFT_PX { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
