//! `posewire doctor`: whether this machine can do the job, and what to do for each line that says no.

use std::fmt::Display;
use std::io::{Write, stdout};
use std::process::ExitCode;

use posewire::config::BUILTIN;
use posewire::output::serial::list_ports;
use posewire::telemetry::board;
use posewire::temporal::{self, Smoother};
use posewire::{infer, models};
use rustix::fs::{Access, access};

/// Above this a Raspberry Pi or a Jetson slows itself down within minutes.
const HOT_C: f32 = 75.0;

/// `doctor` found something to mend.
const EXIT_AILING: u8 = 3;

/// Checks cameras, serial ports, processor and models, and says what to do
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each line begins with ok, note (works, could be better) or FAIL (does not work) and says what to do.
Ends with 0 if nothing fails, else with 3.

Examples:
  posewire doctor")]
pub struct Args {}

pub fn run(_: Args) -> anyhow::Result<ExitCode> {
    let mut report = Report { out: stdout().lock(), ailing: false };
    cameras(&mut report)?;
    serial_ports(&mut report)?;
    processor(&mut report)?;
    the_models(&mut report)?;
    Ok(if report.ailing { ExitCode::from(EXIT_AILING) } else { ExitCode::SUCCESS })
}

struct Report<W> {
    out: W,
    ailing: bool,
}

impl<W: Write> Report<W> {
    fn ok(&mut self, what: impl Display) -> std::io::Result<()> {
        writeln!(self.out, "ok    {what}")
    }

    fn note(&mut self, what: impl Display) -> std::io::Result<()> {
        writeln!(self.out, "note  {what}")
    }

    fn fail(&mut self, what: impl Display) -> std::io::Result<()> {
        self.ailing = true;
        writeln!(self.out, "FAIL  {what}")
    }
}

#[cfg(all(feature = "v4l", target_os = "linux"))]
fn cameras(report: &mut Report<impl Write>) -> std::io::Result<()> {
    let cameras = posewire::capture::v4l::list_cameras();
    if !cameras.iter().any(|c| c.problem.is_none() && !c.modes.is_empty()) {
        report.note("no camera that gives pictures: plug one in (until then posewire runs the built-in clip)")?;
    }
    for camera in cameras {
        let path = camera.path.display();
        match camera.problem {
            // A node that the user may not open is the one problem with a cure of its own.
            Some(_) if access(&camera.path, Access::READ_OK | Access::WRITE_OK).is_err() => report.fail(format_args!(
                "{path} may not be opened: sudo usermod -aG video $USER, then log in again"
            ))?,
            Some(problem) => report.note(problem)?,
            None if camera.modes.iter().any(|m| m.fps >= 29.0) => {
                report.ok(format_args!("{path} ({}): {} modes", camera.name, camera.modes.len()))?;
            }
            None => report.note(format_args!(
                "{path} ({}) has no mode of 30 frames a second: use a USB 3 port, MJPEG or a smaller size",
                camera.name
            ))?,
        }
    }
    Ok(())
}

#[cfg(not(all(feature = "v4l", target_os = "linux")))]
fn cameras(report: &mut Report<impl Write>) -> std::io::Result<()> {
    report.note("built without the v4l feature: no V4L2 cameras")
}

fn serial_ports(report: &mut Report<impl Write>) -> std::io::Result<()> {
    let ports = list_ports();
    if ports.is_empty() {
        report.note("no serial port: plug in the adapter or the microcontroller")?;
    }
    for port in ports {
        let name = port.name().display();
        if access(&port.path, Access::READ_OK | Access::WRITE_OK).is_err() {
            report.fail(format_args!("{name} may not be opened: sudo usermod -aG dialout $USER, then log in again"))?;
        } else if let Some(hint) = port.latency_hint() {
            report.note(format_args!("{name}: {hint}"))?;
        } else {
            report.ok(name)?;
        }
    }
    Ok(())
}

fn processor(report: &mut Report<impl Write>) -> std::io::Result<()> {
    let (features, fast) = cpu_features();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let line = format!("{} cores, {}: {}", cores, std::env::consts::ARCH, features.join(" "));
    if fast {
        report.ok(line)?;
    } else {
        report.note(format_args!("{line}; no 8-bit dot product, so networks run several times slower"))?;
    }
    if cfg!(target_pointer_width = "32") {
        report.note("a 32-bit system: install the 64-bit one, networks run about twice as fast")?;
    }
    match board::governor().as_deref() {
        Some(governor @ ("powersave" | "conservative")) => report.note(format_args!(
            "frequency governor {governor}: echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"
        ))?,
        Some(governor) => report.ok(format_args!("frequency governor {governor}"))?,
        None => report.ok("no frequency governor (a fixed clock or a virtual machine)")?,
    }
    let board = board::read();
    match board.temperature_c {
        Some(c) if c >= HOT_C => {
            report.fail(format_args!("{c:.0} °C: the board slows itself down; give it a heat sink or a fan"))?;
        }
        Some(c) => report.ok(format_args!("{c:.0} °C"))?,
        None => report.ok("no temperature sensor")?,
    }
    if board.throttled == Some(true) {
        report.fail("the board is throttled (heat or low voltage): use its own power supply and a fan")?;
    }
    Ok(())
}

/// What the int8 kernels can use, and whether an 8-bit dot product is among it.
fn cpu_features() -> (Vec<&'static str>, bool) {
    macro_rules! detected {
        ($detect:ident, $($name:tt),*) => { [$(($name, std::arch::$detect!($name))),*] };
    }
    #[cfg(target_arch = "x86_64")]
    let all = detected!(is_x86_feature_detected, "avx2", "fma", "avxvnni", "avx512f", "avx512vnni");
    #[cfg(target_arch = "aarch64")]
    let all = detected!(is_aarch64_feature_detected, "neon", "dotprod", "i8mm", "fp16");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let all: [(&str, bool); 0] = [];
    let found: Vec<_> = all.into_iter().filter(|(_, is)| *is).map(|(name, _)| name).collect();
    let fast = found.iter().any(|name| ["avxvnni", "avx512vnni", "dotprod"].contains(name));
    (found, fast)
}

fn the_models(report: &mut Report<impl Write>) -> std::io::Result<()> {
    let networks =
        [("keypoints", models::keypoints(BUILTIN).map(Some)), ("finder", models::finder(BUILTIN))];
    for (role, model) in networks {
        let loaded = model.and_then(|model| {
            model.map(|m| infer::load(&m.manifest, &m.onnx).map(|plan| (m.manifest.name, plan))).transpose()
        });
        match loaded {
            Ok(Some((name, plan))) => report.ok(format_args!("{role} network {name} on {}", plan.engine()))?,
            Ok(None) => report.note(format_args!("no {role} network in this binary"))?,
            Err(error) => report.fail(format_args!("{error}: install posewire again"))?,
        }
    }
    let smoother = models::temporal(BUILTIN).map_err(|e| e.to_string()).and_then(|weights| {
        temporal::build(Smoother::Xl, Some(&weights)).map_err(|e| e.to_string())
    });
    match smoother {
        Ok(model) => report.ok(format_args!("learned smoother {}", model.name())),
        Err(error) => report.fail(format_args!("{error}: install posewire again")),
    }
}
