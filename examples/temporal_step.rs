//! What a step of the temporal model costs, and what its cached memory saves.
//!
//! `cargo run --release --example temporal_step [-- --steps N]` prints processor time, so other work on the machine
//! counts less than in wall time; ratios are taken from runs that alternate. With `--steps N` it runs one stream of N
//! observations with gaps and drop-outs instead and fails where an answer is not finite or leaves the person.

use std::{fs, path::Path, process::ExitCode};

use pose::{Keypoint, Keypoints};
use posewire::temporal::{Forecast, HORIZONS_US, Observation, TemporalModel, Xl};

const FRAME_US: i64 = 33_333;
const ROUNDS: usize = 9;

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

/// `frames` frames of `persons` persons from `at_us` on.
fn run(model: &mut Xl, persons: usize, frames: usize, at_us: &mut i64) {
    let mut forecasts = [Forecast::default(); pose::MAX_PERSONS];
    for _ in 0..frames {
        *at_us += FRAME_US;
        let observations: Vec<Observation> = (0..persons).map(|slot| seen(slot, *at_us)).collect();
        model.step(&observations, &mut forecasts);
        std::hint::black_box(&forecasts);
    }
}

/// Processor time of this process in microseconds.
fn processor_us() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 * 1e-3
}

/// Processor microseconds a call of each of `work`, the medians over rounds in which they take turns.
fn alternate<const N: usize>(calls: usize, mut work: impl FnMut(usize, usize)) -> [f64; N] {
    let mut times = [const { Vec::new() }; N];
    for _ in 0..ROUNDS {
        for (i, times) in times.iter_mut().enumerate() {
            let before = processor_us();
            work(i, calls);
            times.push((processor_us() - before) / calls as f64);
        }
    }
    times.map(|mut t| {
        t.sort_by(f64::total_cmp);
        t[ROUNDS / 2]
    })
}

fn persons(weights: &[u8]) {
    const CROWDS: [usize; 4] = [1, 2, 4, 8];
    let mut models = CROWDS.map(|_| Xl::new(weights, 0.0).expect("shipped weights"));
    let mut at_us = 0;
    let times: [f64; 4] = alternate(400, |i, frames| run(&mut models[i], CROWDS[i], frames, &mut at_us));
    println!("| persons | µs a frame | of one person's |\n|---|---|---|");
    for (n, time) in CROWDS.iter().zip(times) {
        println!("| {n} | {time:.1} | {:.2} |", time / times[0]);
    }
}

fn memories(weights: &[u8]) {
    println!("\n| memory | µs a step, cached | window run anew | ratio |\n|---|---|---|---|");
    for memory in [16, 32, 64, 128, 256, 512] {
        let weights = with_memory(weights, memory);
        let mut models = [0, 1].map(|_| Xl::new(&weights, 0.0).expect("shipped weights, another memory"));
        let mut at_us = 0;
        run(&mut models[0], 1, memory + 1, &mut at_us);
        let [cached, anew]: [f64; 2] = alternate(8, |i, frames| {
            for _ in 0..frames {
                if i == 0 {
                    run(&mut models[0], 1, 1, &mut at_us);
                } else {
                    models[1].reset(0);
                    let mut at_us = 0;
                    run(&mut models[1], 1, memory + 1, &mut at_us);
                }
            }
        });
        println!("| {memory} | {cached:.1} | {anew:.0} | {:.0} |", anew / cached);
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

fn stream(weights: &[u8], steps: u64) -> ExitCode {
    let mut model = Xl::new(weights, 0.0).expect("shipped weights");
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
    println!("{steps} steps: all finite, never more than {worst_px:.1} px from a person of 200 px");
    ExitCode::SUCCESS
}
