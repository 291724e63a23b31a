//! `posewire-hub calibrate`: where the cameras stand.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use posewire_hub::calibrate::{CalibrateError, Known, STATURES_M, calibrate};
use posewire_hub::camera::Lens;
use posewire_hub::config::{Camera, cameras, room_text};
use posewire_hub::geometry::centre;
use posewire_hub::hub::CameraInputs;
use posewire_hub::line::Look;
use timing::clock::now_us;

use super::cameras::Wrong;
use super::signals::stop_signal;
use super::sources::{EVERY, Incoming, Next, Source, seconds};
use super::stale_lines::StaleLineFilter;
use super::text;
use super::zenoh;

/// Finds where the cameras stand, from one person who walks about for a minute
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Walk through the whole room, to and fro and across, alone, seen from head to foot by two cameras or more at a time.

Examples:
  posewire-hub calibrate cameras.toml --stature 1.78 --out room.toml
  posewire-hub calibrate cameras.toml --distance door,window,3.42 --out room.toml
  posewire-hub calibrate cameras.toml --replay take.jsonl --stature 1.78 --out room.toml")]
pub struct Args {
    /// The file of cameras
    cameras: PathBuf,
    /// The room's file
    #[arg(long, value_name = "FILE", default_value = "room.toml")]
    out: PathBuf,
    /// Whoever walks is so high, in metres, shoes included; without it or a distance the room may be 6 % too large or too small
    #[arg(long, value_name = "M", conflicts_with = "distance")]
    stature: Option<f64>,
    /// Two cameras' lenses are so far apart, as a tape measures it
    #[arg(long, value_name = "NAME,NAME,M")]
    distance: Option<String>,
    /// For how long to watch
    #[arg(long, default_value_t = 60.0, value_parser = seconds)]
    seconds: f64,
    /// A take, as `record` writes it, in the place of the cameras
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seconds", "zenoh", "zenoh_listen"])]
    replay: Option<PathBuf>,
    #[command(flatten)]
    net: zenoh::Args,
}

pub fn run(args: &Args) -> Result<()> {
    let cameras = cameras(&args.cameras)?;
    let lenses = cameras.iter().map(|camera| &*camera.calibration);
    let inputs = [Some(&*args.cameras), args.replay.as_deref()].into_iter().flatten();
    text::keep(inputs.chain(lenses), &args.out)?;
    let known = known(args, &cameras)?;
    // Before anybody walks about for it.
    text::try_replace(&args.out)?;
    let stop = stop_signal()?;
    let (looks, wrong) = watched(args, &cameras, &stop)?;
    say!("posewire-hub calibrate: {} pictures, now they are fitted …", looks.len());
    let found = match calibrate(&looks, cameras.len(), known, 1) {
        Ok(found) => found,
        Err(error) => {
            let text = error.told(|k| format!("{:?}", cameras[k].name));
            if let (CalibrateError::NoDistance { .. }, Some(given)) = (&error, &args.distance) {
                bail!("--distance {given}: {text}");
            }
            // Whoever was seen by no line was perhaps in one that was of no use.
            match wrong.told() {
                Some(wrong) => bail!("{text}. But {wrong}"),
                None => bail!("{text}"),
            }
        }
    };
    let names: Vec<&str> = cameras.iter().map(|c| c.name.as_str()).collect();
    // Whoever asked for the end while it was fitted keeps the room of before.
    ensure!(!stop.load(Ordering::Relaxed), "given up");
    text::replace(&args.out, &room_text(&found, &names))?;
    let mut table = String::new();
    for (name, place) in names.iter().zip(&found.places) {
        // No minus before a zero.
        let eye = centre(place).map(|v| if v.abs() < 0.005 { 0.0 } else { v });
        table += &format!("{name:16} {:7.2} {:7.2} {:7.2} m\n", eye.x, eye.y, eye.z);
    }
    table += &format!(
        "{} moments, rays meet within {:.2} sigma; lengths to {:.1} %\n",
        found.moments,
        found.misfit,
        100.0 * found.scale_sigma
    );
    if args.distance.is_some() {
        table +=
            &format!("whoever walked is {:.2} m high by that distance, shoes included\n", found.stature_m);
    }
    // The room is there, whether anybody still reads of it or not.
    let _ = std::io::stdout().write_all(table.as_bytes());
    if found.misfit > 2.5 {
        say!(
            "posewire-hub calibrate: rays meet badly: was a camera moved meanwhile, or is a calibration file another camera's?"
        );
    }
    let (file, out) = (args.cameras.display(), args.out.display());
    say!("{out}: written. Now: posewire-hub run {file} --room {out} --jsonl -");
    Ok(())
}

fn known(args: &Args, cameras: &[Camera]) -> Result<Known> {
    if let Some(stature) = args.stature
        && !STATURES_M.contains(&stature)
    {
        bail!("--stature {stature}: nobody is {stature} m high");
    }
    let Some(text) = &args.distance else {
        return Ok(Known { stature_m: args.stature, distance: None });
    };
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    let number = |name: &str| cameras.iter().position(|c| c.name == name);
    let [a, b, metres] = parts[..] else { bail!("--distance {text}: as in --distance door,window,3.42") };
    match (number(a), number(b), metres.parse::<f64>()) {
        (Some(a), Some(b), Ok(metres)) if a != b && metres > 0.05 && metres < 200.0 => {
            Ok(Known { stature_m: None, distance: Some((a, b, metres)) })
        }
        (None, _, _) | (_, None, _) => bail!("--distance {text}: a name that is not in the file of cameras"),
        _ => bail!("--distance {text}: two cameras and the metres between them, as in door,window,3.42"),
    }
}

/// What the cameras see meanwhile, and what was of no use.
fn watched(args: &Args, cameras: &[Camera], stop: &Arc<AtomicBool>) -> Result<(Vec<Look>, Wrong)> {
    let mut source = Source::open(cameras, args.replay.as_deref(), &args.net, None, EVERY, stop)?;
    let lenses: Vec<Lens> = cameras.iter().map(|c| c.lens.clone()).collect();
    let mut inputs = CameraInputs::new(lenses, vec![0; cameras.len()]);
    let (began, mut said) = (now_us(), 0);
    let (mut looks, mut alone) = (Vec::new(), vec![0usize; cameras.len()]);
    let (mut wrong, mut stale_lines) = (Wrong::new("calibrate", cameras), StaleLineFilter::default());
    if !source.is_take() {
        say!("posewire-hub calibrate: walk about for {:.0} s, alone; Ctrl-C gives up", args.seconds);
    }
    loop {
        if stop.load(Ordering::Relaxed) {
            bail!("given up");
        }
        let gone_s = (now_us() - began) as f64 / 1e6;
        if !source.is_take() && gone_s > args.seconds {
            break;
        }
        if !source.is_take() && gone_s as u64 / 5 > said {
            said = gone_s as u64 / 5;
            let seen: Vec<String> =
                cameras.iter().zip(&alone).map(|(c, n)| format!("{} {n}", c.name)).collect();
            say!("{gone_s:3.0} s, pictures of one person: {}", seen.join(", "));
        }
        match source.next(Duration::from_millis(100))? {
            Next::End => break,
            Next::Nothing | Next::Incoming(Incoming::Heartbeat(_)) => {}
            Next::Incoming(Incoming::Clocks(camera, exchange)) => inputs.exchanged(camera, exchange),
            Next::Incoming(Incoming::Line(packet))
                if source.is_take() && !stale_lines.accepts(packet.arrived_us) => {}
            Next::Incoming(Incoming::Line(packet)) => match inputs.receive(&packet) {
                Ok(Some(look)) => {
                    alone[look.camera] += usize::from(look.persons.len() == 1);
                    looks.push(look);
                }
                Ok(None) => {}
                Err(e) => wrong.add(packet.camera, &e),
            },
        }
    }
    for (k, camera) in cameras.iter().enumerate() {
        if let (_, Some(warning)) = inputs.coverage(k) {
            say!("posewire-hub calibrate: camera {:?}: {warning}", camera.name);
        }
    }
    if let (Some(path), Some(said)) = (&args.replay, stale_lines.left_out()) {
        say!("posewire-hub calibrate: {}: {said}", path.display());
    }
    if looks.is_empty() {
        return Err(wrong.nothing(cameras));
    }
    Ok((looks, wrong))
}
