//! `posewire-hub simulate`: cameras, a take and its truth, without a camera.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use posewire_hub::simulate::{Level, Scene, Setting};

use super::sources::Taken;

/// Writes a take of people of recorded motion before virtual cameras, with the detector's error, clocks that drift and frames that are lost
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  posewire-hub simulate --out demo --cameras 4
  posewire-hub calibrate demo/cameras.toml --replay demo/take.jsonl --out demo/room.toml
  posewire-hub run demo/cameras.toml --room demo/room.toml --replay demo/take.jsonl --jsonl -")]
pub struct Args {
    /// The folder for cameras.toml, the lenses, take.jsonl and truth.jsonl; what it holds of these is never replaced
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// Cameras round the room
    #[arg(long, default_value_t = 4)]
    cameras: usize,
    /// Who walks about; `calibrate` wants one
    #[arg(long, default_value_t = 1)]
    persons: usize,
    /// For how long
    #[arg(long, default_value_t = 60.0)]
    seconds: f64,
    /// Another room, other people
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Without any error of detector, clocks and network
    #[arg(long)]
    exact: bool,
}

const CAMERAS: &str = "cameras.toml";
const TAKE: &str = "take.jsonl";
const TRUTH: &str = "truth.jsonl";

fn lens_file(number: usize) -> String {
    format!("camera-{number}.toml")
}

/// Refuses a folder with files of these names: a real room's, somebody's walk, an earlier simulation.
fn keep(args: &Args) -> Result<()> {
    let files = [CAMERAS, TAKE, TRUTH].map(str::to_owned).into_iter();
    for file in files.chain((1..=args.cameras).map(lens_file)) {
        let path = args.out.join(file);
        ensure!(
            fs::symlink_metadata(&path).is_err(),
            "{} is there already, and would be replaced: name a new folder with --out, or delete what is in this one",
            path.display()
        );
    }
    Ok(())
}

pub fn run(args: &Args) -> Result<()> {
    ensure!((1..=64).contains(&args.cameras), "--cameras {}: 1 to 64", args.cameras);
    ensure!((1..=50).contains(&args.persons), "--persons {}: 1 to 50", args.persons);
    ensure!((1.0..=3_600.0).contains(&args.seconds), "--seconds {}: 1 to 3600", args.seconds);
    keep(args)?;
    let scene = Scene::new(Setting {
        cameras: args.cameras,
        persons: args.persons,
        seconds: args.seconds,
        level: if args.exact { Level::Exact } else { Level::Rendered },
        rough: !args.exact,
        seed: args.seed,
        ..Setting::default()
    });
    fs::create_dir_all(&args.out).with_context(|| format!("{} cannot be made", args.out.display()))?;
    let mut cameras = String::new();
    for (k, (lens, _)) in scene.cameras.iter().enumerate() {
        let n = k + 1;
        // The last key of such a file, without which `posewire run` takes it for half of one.
        let lens = toml::to_string(lens)? + "board = \"none\"\n";
        fs::write(args.out.join(lens_file(n)), lens)?;
        cameras += &format!(
            "[[camera]]\nname = \"camera-{n}\"\ncalibration = \"{}\"\nlisten = \"127.0.0.1:{}\"\n\n",
            lens_file(n),
            9_100 + n
        );
    }
    fs::write(args.out.join(CAMERAS), cameras)?;
    let mut take = BufWriter::new(File::create(args.out.join(TAKE))?);
    for packet in scene.packets() {
        let camera = format!("camera-{}", packet.camera + 1);
        let line = serde_json::from_str(&packet.text)?;
        serde_json::to_writer(&mut take, &Taken { camera, arrived_us: packet.arrived_us, line })?;
        take.write_all(b"\n")?;
    }
    take.flush()?;
    // In the simulation's own room; that of `calibrate` differs by where its origin is and whither it looks.
    let mut truth = BufWriter::new(File::create(args.out.join(TRUTH))?);
    for k in 0..(args.seconds * 30.0) as i64 {
        let at_us = k * 33_333;
        let persons: Vec<Vec<[f64; 3]>> =
            scene.truth(at_us).iter().map(|p| p.iter().map(|j| [j.x, j.y, j.z]).collect()).collect();
        writeln!(truth, "{}", serde_json::json!({"at_us": at_us, "persons": persons}))?;
    }
    truth.flush()?;
    let (out, stature) = (args.out.display(), scene.walkers[0].stature_m);
    println!("{out}: {} cameras; the first person is {stature:.3} m high", args.cameras);
    say!(
        "Now: posewire-hub calibrate {out}/{CAMERAS} --replay {out}/{TAKE} --stature {stature:.3} --out {out}/room.toml"
    );
    Ok(())
}
