//! The figures, as a table and as JSON.

use std::io::{Write, stdout};
use std::time::Duration;

use posewire::pipeline::Health;
use posewire::telemetry::{Count, Stage, Summary, alloc::Allocations, board};
use serde_json::{Value, json};

/// One network's time.
pub struct Network {
    pub name: String,
    pub engine: String,
    pub times: Summary,
}

/// Everything that was measured; what was not is empty.
#[derive(Default)]
pub struct Report {
    pub machine: String,
    pub cores: usize,
    pub governor: Option<String>,
    pub networks: Vec<Network>,
    /// How long the pipeline was measured; `None` for the networks alone.
    pub measured: Option<Duration>,
    pub first_pose: Option<Duration>,
    pub stages: [(&'static str, Summary); Stage::ALL.len()],
    pub frames: u64,
    pub health: Option<Health>,
    /// What the clip has, by its own words.
    pub source_fps: Option<f32>,
    pub allocations: Option<Allocations>,
    /// Until the last byte left the driver.
    pub to_wire: Summary,
    /// What the bits of one moment take at the baud rate.
    pub wire_us: u64,
    pub bytes_per_moment: f64,
    pub resident_bytes: Option<u64>,
}

impl Report {
    pub fn of_this_machine() -> Self {
        let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let named = ["model name", "Model", "Hardware"].iter().find_map(|key| {
            let line = cpu.lines().find(|line| line.starts_with(key))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        });
        Self {
            machine: named.unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            governor: board::governor(),
            ..Self::default()
        }
    }

    pub fn print(&self) -> std::io::Result<()> {
        let mut out = stdout().lock();
        writeln!(out, "{}, {} cores, posewire {}", self.machine, self.cores, env!("CARGO_PKG_VERSION"))?;
        writeln!(out, "\n{:<34}{:>9}{:>9}{:>9}{:>9}", "network, one core, ms", "p50", "p95", "p99", "max")?;
        for Network { name, engine, times } in &self.networks {
            row(&mut out, &format!("{name} ({engine})"), times)?;
        }
        let Some(measured) = self.measured else { return Ok(()) };
        writeln!(out, "\n{:<34}{:>9}{:>9}{:>9}{:>9}", "stage, ms", "p50", "p95", "p99", "max")?;
        for (name, times) in self.stages.iter().filter(|(_, times)| times.count > 0) {
            row(&mut out, name, times)?;
        }
        row(&mut out, "capture to serial driver", &self.to_wire)?;
        let plus_wire = |ns: u64| ns + self.wire_us * 1_000;
        let t = self.to_wire;
        let to_wire = Summary {
            count: t.count,
            p50_ns: plus_wire(t.p50_ns),
            p95_ns: plus_wire(t.p95_ns),
            p99_ns: plus_wire(t.p99_ns),
            max_ns: plus_wire(t.max_ns),
        };
        row(&mut out, "capture to wire at 921600 baud", &to_wire)?;
        writeln!(
            out,
            "\n{} frames in {:.1} s, {:.0} bytes each",
            self.frames,
            measured.as_secs_f64(),
            self.bytes_per_moment
        )?;
        if let Some(health) = &self.health {
            writeln!(out, "{health}")?;
        }
        if let Some(first) = self.first_pose {
            writeln!(out, "first pose {:.0} ms after the start", first.as_secs_f64() * 1e3)?;
        }
        if let Some(bytes) = self.resident_bytes {
            writeln!(out, "resident memory {:.1} MB", bytes as f64 / 1e6)?;
        }
        match self.allocations {
            Some(a) => writeln!(
                out,
                "allocations per frame: {} own, {:.1} the engine's",
                a.own as f64 / self.frames.max(1) as f64,
                a.engine as f64 / self.frames.max(1) as f64
            ),
            None => writeln!(out, "allocations not counted (build with --features alloc-count)"),
        }
    }

    pub fn json(&self) -> Value {
        let stages: serde_json::Map<String, Value> = self
            .stages
            .iter()
            .filter(|(_, times)| times.count > 0)
            .map(|(name, times)| ((*name).to_owned(), times_us(times)))
            .collect();
        let networks: Vec<Value> = self
            .networks
            .iter()
            .map(|n| json!({"name": n.name, "engine": n.engine, "us": times_us(&n.times)}))
            .collect();
        let counts = self.health.map(|h| {
            let count = |c: &Count| (c.name().to_owned(), Value::from(h.count(*c)));
            Count::ALL.iter().map(count).collect::<serde_json::Map<_, _>>()
        });
        json!({
            "posewire": env!("CARGO_PKG_VERSION"),
            "machine": {
                "processor": self.machine,
                "architecture": std::env::consts::ARCH,
                "cores": self.cores,
                "governor": self.governor,
                "temperature_c": self.health.and_then(|h| h.temperature_c),
            },
            "command": std::env::args().collect::<Vec<_>>().join(" "),
            "seconds": self.measured.map_or(0.0, |measured| (measured.as_secs_f64() * 100.0).round() / 100.0),
            "frames": self.frames,
            "networks": networks,
            "stages_us": stages,
            "capture_to_driver_us": times_us(&self.to_wire),
            "wire_us": self.wire_us,
            "bytes_per_moment": self.bytes_per_moment,
            "first_pose_ms": self.first_pose.map(|d| d.as_millis() as u64),
            "resident_bytes": self.resident_bytes,
            "allocations": self.allocations.map(|a| json!({"own": a.own, "engine": a.engine})),
            "counts": counts,
        })
    }
}

fn row(out: &mut impl Write, name: &str, times: &Summary) -> std::io::Result<()> {
    let ms = |ns: u64| ns as f64 / 1e6;
    let (p50, p95, p99, max) = (ms(times.p50_ns), ms(times.p95_ns), ms(times.p99_ns), ms(times.max_ns));
    writeln!(out, "{name:<34}{p50:>9.3}{p95:>9.3}{p99:>9.3}{max:>9.3}")
}

fn times_us(times: &Summary) -> Value {
    let us = |ns: u64| (ns as f64 / 100.0).round() / 10.0;
    json!({
        "count": times.count,
        "p50": us(times.p50_ns),
        "p95": us(times.p95_ns),
        "p99": us(times.p99_ns),
        "max": us(times.max_ns),
    })
}
