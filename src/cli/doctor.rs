//! `posewire doctor`: whether this machine can do the job, and what to do for each line that says no.

use std::fmt::Display;
use std::io::{Write, stdout};
use std::path::Path;
use std::process::ExitCode;

#[cfg(all(feature = "v4l", target_os = "linux"))]
use posewire::capture::v4l::{CameraListing, NodeKind};
use posewire::config::{BUILTIN, SMOOTHER};
use posewire::output::serial::{PortInfo, list_ports};
use posewire::permission::{Denial, forbidden};
use posewire::telemetry::board;
use posewire::temporal;
use posewire::{infer, models};
use rustix::fs::{Access, access};

/// Little is left to 80 °C, from which a Raspberry Pi slows itself down. Of others it is not known.
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
    let sensors = posewire::capture::child::csi::list_cameras().unwrap_or_default();
    csi_cameras(report, &sensors)?;
    if sensors.is_empty() && !cameras.iter().any(|c| c.problem.is_none() && !c.modes.is_empty()) {
        report.note(NO_CAMERA)?;
    }
    video_nodes(report, &cameras, !sensors.is_empty())
}

/// A board has nodes of its codec and picture processor by the dozen: those that are no camera are one line.
#[cfg(all(feature = "v4l", target_os = "linux"))]
fn video_nodes(
    report: &mut Report<impl Write>,
    nodes: &[CameraListing],
    has_csi_camera: bool,
) -> std::io::Result<()> {
    nodes.iter().filter(|node| node.kind == NodeKind::Camera).try_for_each(|node| camera(report, node))?;
    // Its sensor is not listed, so the program that develops its pictures is missing, or does not see it.
    if let Some(raw) = nodes.iter().find(|node| node.kind == NodeKind::Ribbon && !has_csi_camera) {
        camera(report, raw)?;
    }
    if let Some(piped) = nodes.iter().find(|node| node.kind == NodeKind::Piped) {
        camera(report, piped)?;
    }
    match nodes.iter().filter(|node| node.kind != NodeKind::Camera).count() {
        0 => Ok(()),
        others => report
            .ok(format_args!("other video nodes, no cameras: {others} (posewire devices says what each is)")),
    }
}

#[cfg(all(feature = "nokhwa", not(all(feature = "v4l", target_os = "linux"))))]
fn cameras(report: &mut Report<impl Write>) -> std::io::Result<()> {
    match posewire::capture::nokhwa::list_cameras() {
        Err(problem) => report.fail(problem),
        Ok(cameras) if cameras.is_empty() => report.note(NO_CAMERA),
        Ok(cameras) => {
            cameras.iter().try_for_each(|(number, name)| report.ok(format_args!("camera {number} ({name})")))
        }
    }
}

#[cfg(not(any(feature = "nokhwa", all(feature = "v4l", target_os = "linux"))))]
fn cameras(report: &mut Report<impl Write>) -> std::io::Result<()> {
    report.note("built without cameras: build it with --features v4l (Linux) or nokhwa (macOS, Windows)")
}

#[cfg(any(feature = "nokhwa", all(feature = "v4l", target_os = "linux")))]
const NO_CAMERA: &str =
    "no camera that gives pictures: plug one in (until then posewire runs the built-in clip)";

#[cfg(all(feature = "v4l", target_os = "linux"))]
fn camera(report: &mut Report<impl Write>, camera: &CameraListing) -> std::io::Result<()> {
    let path = camera.path.display();
    match &camera.problem {
        // A node that may not be opened is the one problem with a cure of its own.
        Some(_) if camera.denial == Some(Denial::Permissions) => report
            .fail(format_args!("{path} may not be opened: sudo usermod -aG video $USER, then log in again")),
        Some(problem) if camera.denial == Some(Denial::DeviceList) => report.fail(problem),
        Some(problem) => report.note(problem),
        None if camera.modes.iter().any(|m| m.fps >= 29.0) => {
            report.ok(format_args!("{path} ({}): {} modes", camera.name, camera.modes.len()))
        }
        None => report.note(format_args!(
            "{path} ({}) has no mode of 30 frames per second: use a USB 3 port, MJPEG or a smaller size",
            camera.name
        )),
    }
}

/// `sensors` as the board's own program lists them.
#[cfg(all(feature = "v4l", target_os = "linux"))]
fn csi_cameras(report: &mut Report<impl Write>, sensors: &[String]) -> std::io::Result<()> {
    sensors.iter().enumerate().try_for_each(|(number, sensor)| {
        report
            .ok(format_args!("camera {sensor} on the board's connector: posewire run --camera csi:{number}"))
    })
}

/// What keeps the user from `path`: whatever else does counts as its permissions.
fn denial(path: &Path) -> Option<Denial> {
    let error = access(path, Access::READ_OK | Access::WRITE_OK).err()?;
    Some(Denial::of(&error.into()).unwrap_or(Denial::Permissions))
}

fn serial_ports(report: &mut Report<impl Write>) -> std::io::Result<()> {
    let ports = list_ports();
    if ports.is_empty() {
        report.note("no serial port: plug in the adapter or the microcontroller")?;
    }
    ports.iter().try_for_each(|p| serial_port(report, p, denial(&p.path)))
}

fn serial_port(
    report: &mut Report<impl Write>,
    port: &PortInfo,
    denial: Option<Denial>,
) -> std::io::Result<()> {
    let name = port.name().display();
    // No group gives access to a console's port, and nothing is wrong where another one is used.
    match (denial.filter(|_| !port.is_console), port.hint()) {
        (Some(Denial::Permissions), _) => report
            .fail(format_args!("{name} may not be opened: sudo usermod -aG {} $USER, then log in again", port.group())),
        (Some(Denial::DeviceList), _) => report.fail(format_args!("{name}: {}", forbidden(&port.path))),
        (None, Some(hint)) => report.note(format_args!("{name}: {hint}")),
        (None, None) => report.ok(name),
    }
}

fn processor(report: &mut Report<impl Write>) -> std::io::Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let (features, fast) = cpu_features();
    cpu(report, cores, &features, fast)?;
    if cfg!(target_pointer_width = "32") {
        report.note("a 32-bit system: the 64-bit one runs the networks faster")?;
    }
    governor(report, board::governor().as_deref())?;
    let board = board::read();
    heat(report, board.temperature_c, board.throttled == Some(true))
}

fn cpu(report: &mut Report<impl Write>, cores: usize, features: &[&str], fast: bool) -> std::io::Result<()> {
    let line = format!("{cores} cores, {}: {}", std::env::consts::ARCH, features.join(" "));
    if fast {
        report.ok(line)
    } else {
        report.note(format_args!(
            "{line}; no 8-bit dot product, so networks run several times slower: expect fewer frames per second, or use a \
             newer board (Raspberry Pi 5, Jetson)"
        ))
    }
}

fn governor(report: &mut Report<impl Write>, governor: Option<&str>) -> std::io::Result<()> {
    match governor {
        Some(slow @ ("powersave" | "conservative")) => report.note(format_args!(
            "frequency governor {slow}: echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"
        )),
        Some(other) => report.ok(format_args!("frequency governor {other}")),
        None => report.ok("no frequency governor (a fixed clock or a virtual machine)"),
    }
}

fn heat(report: &mut Report<impl Write>, temperature_c: Option<f32>, throttled: bool) -> std::io::Result<()> {
    match temperature_c {
        Some(c) if c >= HOT_C => {
            report.note(format_args!(
                "{c:.0} °C is hot: a Raspberry Pi slows itself down from 80 °C on; a heat sink or a fan helps"
            ))?;
        }
        Some(c) => report.ok(format_args!("{c:.0} °C"))?,
        None => report.ok("no temperature sensor")?,
    }
    if throttled {
        report.fail("the board is throttled (heat or low voltage): use its own power supply and a fan")?;
    }
    Ok(())
}

/// What the int8 kernels can use, and whether an 8-bit dot product is among it.
fn cpu_features() -> (Vec<&'static str>, bool) {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
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
    let networks = [("keypoints", models::keypoints(BUILTIN).map(Some)), ("finder", models::finder(BUILTIN))];
    for (role, model) in networks {
        let loaded = model.and_then(|model| {
            model.map(|m| infer::load(&m.manifest, &m.onnx).map(|plan| (m.manifest.name, plan))).transpose()
        });
        let loaded = loaded.map(|model| model.map(|(name, plan)| format!("{name} on {}", plan.engine())));
        network(report, role, loaded.map_err(|e| format!("{e:#}")))?;
    }
    let smoother = models::temporal(BUILTIN, SMOOTHER).map_err(|e| format!("{e:#}")).and_then(|weights| {
        temporal::build(SMOOTHER, weights.as_deref(), None).map_err(|e| e.to_string())
    });
    network(report, "temporal", smoother.map(|model| Some(model.name().to_owned())))
}

fn network(
    report: &mut Report<impl Write>,
    role: &str,
    loaded: Result<Option<String>, String>,
) -> std::io::Result<()> {
    match loaded {
        Ok(Some(what)) => report.ok(format_args!("{role} network {what}")),
        Ok(None) => report.note(format_args!("no {role} network in this binary: install posewire again")),
        Err(error) => report.fail(format_args!("{role} network: {error}: install posewire again")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `check` reports, and whether it fails.
    fn told(check: impl FnOnce(&mut Report<&mut Vec<u8>>) -> std::io::Result<()>) -> (String, bool) {
        let mut text = Vec::new();
        let mut report = Report { out: &mut text, ailing: false };
        check(&mut report).unwrap();
        let ailing = report.ailing;
        (String::from_utf8(text).unwrap(), ailing)
    }

    #[cfg(all(feature = "v4l", target_os = "linux"))]
    #[test]
    fn a_camera_is_judged_by_permission_and_modes() {
        use posewire::capture::v4l::Mode;
        use posewire::picture::PixelFormat::Yuyv;

        let listing = |fps: f32, problem: Option<&str>, denial: Option<Denial>| CameraListing {
            path: "/dev/video7".into(),
            by_id: None,
            name: "HD Webcam".into(),
            modes: vec![Mode { format: Yuyv, width: 640, height: 480, fps }],
            problem: problem.map(Into::into),
            kind: NodeKind::Camera,
            denial,
        };
        let [group, unit] = [Denial::Permissions, Denial::DeviceList].map(Some);
        for (fps, problem, denial, begins, says, fails) in [
            (30.0, None, None, "ok", "HD Webcam", false),
            (15.0, None, None, "note", "use a USB 3 port", false),
            (30.0, Some("no permission"), group, "FAIL", "usermod -aG video", true),
            (30.0, Some("a unit allows it"), unit, "FAIL  a unit allows it", "", true),
            (30.0, Some("busy: another program uses it"), None, "note", "another program uses it", false),
        ] {
            let (text, ailing) = told(|report| camera(report, &listing(fps, problem, denial)));
            assert!(text.starts_with(begins) && text.contains(says), "{text}");
            assert_eq!(ailing, fails, "{text}");
        }
    }

    #[cfg(all(feature = "v4l", target_os = "linux"))]
    #[test]
    fn nodes_that_are_no_cameras_are_one_line() {
        let node = |kind| CameraListing {
            path: "/dev/video10".into(),
            by_id: None,
            name: String::new(),
            modes: Vec::new(),
            problem: Some("/dev/video10 (x): what it is".into()),
            kind,
            denial: None,
        };
        let nodes =
            [node(NodeKind::Other), node(NodeKind::Ribbon), node(NodeKind::Ribbon), node(NodeKind::Other)];
        let (text, ailing) = told(|report| video_nodes(report, &nodes, true));
        assert!(
            text.starts_with("ok    other video nodes, no cameras: 4 (")
                && text.lines().count() == 1
                && !ailing,
            "{text}"
        );
        let (text, _) = told(|report| video_nodes(report, &nodes, false));
        assert!(
            text.starts_with("note  /dev/video10 (x): what it is") && text.lines().count() == 2,
            "{text}"
        );
        let (text, _) = told(|report| video_nodes(report, &[node(NodeKind::Piped)], true));
        assert!(text.starts_with("note  /dev/video10 (x)") && text.lines().count() == 2, "{text}");
        assert_eq!(told(|report| video_nodes(report, &[], false)).0, "");
    }

    #[cfg(all(feature = "v4l", target_os = "linux"))]
    #[test]
    fn of_a_camera_on_the_connector_it_is_said_how_to_use_it() {
        let (text, ailing) =
            told(|report| csi_cameras(report, &["imx219 [3280x2464]".into(), "ov5647".into()]));
        assert!(text.contains("imx219 [3280x2464]") && text.contains("--camera csi:1") && !ailing, "{text}");
    }

    #[test]
    fn a_port_is_judged_by_permission_console_and_latency() {
        let [group, unit] = [Denial::Permissions, Denial::DeviceList].map(Some);
        let port = |latency_timer_ms| PortInfo {
            path: "/dev/ttyUSB0".into(),
            by_id: Some("/dev/serial/by-id/usb-x".into()),
            driver: None,
            product: None,
            latency_timer_ms,
            is_console: false,
            is_debug_connector: false,
        };
        let (text, ailing) = told(|report| serial_port(report, &port(Some(1)), None));
        assert!(text.starts_with("ok") && text.contains("by-id/usb-x") && !ailing, "{text}");
        let (text, ailing) = told(|report| serial_port(report, &port(None), group));
        assert!(text.starts_with("FAIL") && text.contains("usermod -aG dialout") && ailing, "{text}");
        let (text, ailing) = told(|report| serial_port(report, &port(None), unit));
        assert!(text.starts_with("FAIL") && text.contains("DeviceAllow=/dev/ttyUSB0 rw") && ailing, "{text}");
        let (text, ailing) = told(|report| serial_port(report, &port(Some(16)), None));
        assert!(text.starts_with("note") && text.contains("latency_timer") && !ailing, "{text}");
        for denial in [group, unit, None] {
            let console = PortInfo { is_console: true, ..port(None) };
            let (text, ailing) = told(|report| serial_port(report, &console, denial));
            assert!(text.starts_with("note") && text.contains("console") && !ailing, "{text}");
            assert!(!text.contains("usermod"), "{text}");
        }
    }

    #[test]
    fn a_board_is_judged_by_processor_governor_and_heat() {
        let (text, ailing) = told(|report| cpu(report, 4, &["avx2", "avxvnni"], true));
        assert!(text.starts_with("ok") && text.contains("4 cores") && text.contains("avxvnni") && !ailing);
        let (text, _) = told(|report| cpu(report, 4, &["neon"], false));
        assert!(text.starts_with("note") && text.contains("a newer board"), "{text}");
        let (text, _) = told(|report| governor(report, Some("powersave")));
        assert!(text.starts_with("note") && text.contains("scaling_governor"), "{text}");
        assert!(told(|report| governor(report, Some("schedutil"))).0.starts_with("ok"));
        assert!(told(|report| governor(report, None)).0.starts_with("ok"));
        for (c, throttled, begins, fails) in [
            (Some(50.0), false, "ok", false),
            (Some(HOT_C), false, "note", false),
            (Some(HOT_C), true, "note", true),
            (None, false, "ok", false),
            (Some(50.0), true, "ok", true),
        ] {
            let (text, ailing) = told(|report| heat(report, c, throttled));
            assert!(text.starts_with(begins), "{text}");
            assert_eq!(ailing, fails, "{text}");
        }
        let (hot, _) = told(|report| heat(report, Some(HOT_C), false));
        assert!(hot.contains("75 °C") && hot.contains("a Raspberry Pi") && !hot.contains("soon"), "{hot}");
        assert!(told(|report| heat(report, None, true)).0.contains("power supply"));
    }

    #[test]
    fn a_network_is_judged_by_whether_it_loads() {
        let (text, ailing) = told(|report| network(report, "finder", Ok(Some("person on int8".into()))));
        assert!(text.starts_with("ok    finder network person") && !ailing, "{text}");
        let (text, ailing) = told(|report| network(report, "finder", Err("sha256 differs".into())));
        assert!(text.starts_with("FAIL") && text.contains("install posewire again") && ailing, "{text}");
        assert!(told(|report| network(report, "finder", Ok(None))).0.starts_with("note"));
    }
}
