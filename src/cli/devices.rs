//! `posewire devices`: the cameras and serial ports of this machine.

use std::io::{Write, stdout};
use std::process::ExitCode;

use posewire::capture::child::csi;
use posewire::output::serial::list_ports;

/// Lists cameras with their modes, and serial ports
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Use the lasting name (by-id) where there is one: it stays when devices are plugged in another order.

Examples:
  posewire devices
  posewire devices --modes")]
pub struct Args {
    /// Every mode of every camera
    #[arg(long)]
    modes: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut out = stdout().lock();
    cameras(&mut out, args.modes)?;
    for (number, sensor) in csi::list_cameras().unwrap_or_default().iter().enumerate() {
        writeln!(out, "  csi:{number}: {sensor} on the board's own connector")?;
    }
    writeln!(out, "serial ports:")?;
    let ports = list_ports();
    if ports.is_empty() {
        writeln!(out, "  none; plug in the adapter or the microcontroller")?;
    }
    for port in ports {
        let product = port.product.as_deref().or(port.driver.as_deref()).unwrap_or("unknown");
        writeln!(out, "  {}: {product}", port.name().display())?;
        if port.by_id.is_some() {
            writeln!(out, "      now {}", port.path.display())?;
        }
        if let Some(hint) = port.hint() {
            writeln!(out, "      {hint}")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(all(feature = "v4l", target_os = "linux"))]
fn cameras(out: &mut impl Write, all_modes: bool) -> std::io::Result<()> {
    let cameras = posewire::capture::v4l::list_cameras();
    writeln!(out, "cameras:")?;
    if cameras.is_empty() {
        writeln!(out, "  none; plug one in, or use --replay or --synthetic")?;
    }
    for camera in cameras {
        let name = camera.by_id.as_ref().unwrap_or(&camera.path);
        writeln!(out, "  {}: {}", name.display(), camera.name)?;
        if camera.by_id.is_some() {
            writeln!(out, "      now {}", camera.path.display())?;
        }
        if let Some(problem) = camera.problem {
            writeln!(out, "      {problem}")?;
        }
        // The few that matter: the usual sizes are at the front of every camera's list.
        let shown = if all_modes { usize::MAX } else { 4 };
        for mode in camera.modes.iter().take(shown) {
            writeln!(out, "      {mode}")?;
        }
        if camera.modes.len() > shown {
            writeln!(out, "      and {} more (--modes)", camera.modes.len() - shown)?;
        }
    }
    Ok(())
}

#[cfg(all(feature = "nokhwa", not(all(feature = "v4l", target_os = "linux"))))]
fn cameras(out: &mut impl Write, _: bool) -> std::io::Result<()> {
    writeln!(out, "cameras:")?;
    match posewire::capture::nokhwa::list_cameras() {
        Err(problem) => writeln!(out, "  {problem}"),
        Ok(cameras) if cameras.is_empty() => {
            writeln!(out, "  none; plug one in, or use --replay or --synthetic")
        }
        Ok(cameras) => cameras.iter().try_for_each(|(number, name)| writeln!(out, "  {number}: {name}")),
    }
}

#[cfg(not(any(feature = "nokhwa", all(feature = "v4l", target_os = "linux"))))]
fn cameras(out: &mut impl Write, _: bool) -> std::io::Result<()> {
    writeln!(out, "cameras: this posewire was built without the features v4l and nokhwa")
}
