//! What a step of the temporal model costs, and what its cached memory saves.
//!
//! `cargo run --release -p temporal --example step [-- --json FILE | --steps N]` prints processor time, so other work on the machine
//! counts less than in wall time; ratios are taken from runs that alternate. `--json FILE` keeps the times too, for the study's page.
//! With `--steps N` it runs one stream of N observations with gaps and drop-outs instead, prints how far it has drifted from a model
//! that saw the last minutes alone, and fails where an answer is not finite, leaves the person, or drifts.

use std::{fs, path::Path, process::ExitCode};

use pose::{Forecast, HORIZONS_US, Keypoint, Keypoints};
use serde_json::{Value, json};
use temporal::{Gru, Observation, S4d, TemporalModel, Xl};

const FRAME_US: i64 = 33_333;
/// Odd, and many: a round is a few milliseconds, and other work on the machine comes and goes.
const ROUNDS: usize = 31;

fn main() -> ExitCode {
    let weights = shipped("xl");
    let given = |option: &str| std::env::args().skip_while(|a| a != option).nth(1);
    if let Some(steps) = given("--steps") {
        let steps = steps.parse().expect("--steps takes a whole number");
        return stream(&weights, steps);
    }
    persons(&weights);
    let mut rows = memories(&weights);
    rows.extend(smoothers(&weights));
    if let Some(file) = given("--json") {
        let made_by = "cargo run --release -p temporal --example step -- --json FILE";
        let lines: Vec<String> = rows.iter().map(Value::to_string).collect();
        let (made_by, processor) = (json!(made_by), json!(processor()));
        let kept = format!(
            "{{\n\"made_by\": {made_by},\n\"processor\": {processor},\n\"rows\": [\n{}\n]\n}}\n",
            lines.join(",\n")
        );
        fs::write(&file, kept).unwrap_or_else(|error| panic!("cannot write {file}: {error}"));
    }
    ExitCode::SUCCESS
}

fn shipped(smoother: &str) -> Vec<u8> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../models/temporal-{smoother}.pwt"));
    fs::read(&file).unwrap_or_else(|error| panic!("the repository holds {}: {error}", file.display()))
}

/// As the kernel names it.
fn processor() -> String {
    let known = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = known.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or_else(|| "unknown".to_owned(), |(_, name)| name.to_owned())
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
fn run(model: &mut dyn TemporalModel, persons: usize, frames: usize, at_us: &mut i64) -> f64 {
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

/// The shipped network looking back on 16 to 512 observations: cached, and with its whole window run anew each frame.
fn memories(weights: &[u8]) -> Vec<Value> {
    let mut rows = Vec::new();
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
        let (step_us, window_us, of) = (median(cached), median(anew), ratio(&anew, &cached));
        println!("| {memory} | {step_us:.1} | {window_us:.0} | {of:.0} |");
        rows.push(json!({ "row": "transformer-xl", "memory": memory, "step_us": rounded(step_us), "window_us": rounded(window_us) }));
    }
    rows
}

/// What else the device can run in its place, by turns with it.
fn smoothers(weights: &[u8]) -> Vec<Value> {
    let mut models: [(&str, Box<dyn TemporalModel>); 3] = [
        ("shipped", Box::new(Xl::new(weights, 0.0).expect("shipped weights"))),
        ("gru", Box::new(Gru::new(&shipped("gru"), 0.0).expect("shipped weights"))),
        ("s4d", Box::new(S4d::new(&shipped("s4d"), 0.0).expect("shipped weights"))),
    ];
    let mut at_us = 0;
    let times: [_; 3] = alternate(100, |i, frames| run(models[i].1.as_mut(), 1, frames, &mut at_us));
    println!("\n| smoother | µs a step | of the shipped |\n|---|---|---|");
    let row = |(i, time): (usize, &[f64; ROUNDS])| {
        let (name, step_us, of) = (models[i].0, median(*time), ratio(time, &times[0]));
        println!("| {name} | {step_us:.1} | {of:.2} |");
        json!({ "row": name, "step_us": rounded(step_us), "of_shipped": (100.0 * of).round() / 100.0 })
    };
    times.iter().enumerate().map(row).collect()
}

/// To a tenth.
fn rounded(us: f64) -> f64 {
    (10.0 * us).round() / 10.0
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
