//! `posewire-hub study`: how good it is, on virtual cameras.

use anyhow::{Result, ensure};
use posewire_hub::calibrate::{Known, calibrate};
use posewire_hub::simulate::{Level, Scene, Setting, score, worst};
use posewire_hub::{Extrinsics, V3};
use serde_json::json;

/// Measures places of cameras and of people against the truth: prints a table, or JSON as it is kept
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  posewire-hub study --seeds 5 --json > benches/results/hub.json")]
pub struct Args {
    /// Numbers of cameras
    #[arg(long, value_delimiter = ',', default_value = "2,4,8")]
    cameras: Vec<usize>,
    /// Numbers of persons, once the cameras' places are found
    #[arg(long, value_delimiter = ',', default_value = "1,3")]
    persons: Vec<usize>,
    /// Rooms of each kind
    #[arg(long, default_value_t = 3)]
    seeds: u64,
    /// Of each run
    #[arg(long, default_value_t = 60.0)]
    seconds: f64,
    /// Shares of pictures of somebody's back in which left and right are exchanged; both as networks have done it on rendered films
    #[arg(long = "turned", value_name = "TURNED", value_delimiter = ',', default_value = "0,0.35")]
    exchanged: Vec<f64>,
    /// The detector's error as in J-HMDB's small, blurred films
    #[arg(long)]
    blurred: bool,
    /// JSON in the place of the table
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<()> {
    ensure!(args.cameras.iter().all(|c| (2..=16).contains(c)), "--cameras: 2 to 16 each");
    ensure!(args.exchanged.iter().all(|t| (0.0..=0.95).contains(t)), "--turned: shares from 0 to 0.95");
    ensure!(args.persons.iter().all(|p| (1..=10).contains(p)), "--persons: 1 to 10 each");
    let level = if args.blurred { Level::Blurred } else { Level::Rendered };
    let mut rows = Vec::new();
    if !args.json {
        println!(
            "turned cameras persons seed | worst angle, distance | MPJPE, plain DLT, offline mm | told, switches, ghosts a moment"
        );
    }
    let each = args
        .exchanged
        .iter()
        .flat_map(|&exchanged| args.cameras.iter().map(move |&cameras| (exchanged, cameras)));
    for (exchanged_share, cameras) in each {
        for seed in 1..=args.seeds {
            let of = |persons| {
                let (seconds, base) = (args.seconds, Setting::default());
                Scene::new(Setting { cameras, persons, seconds, level, exchanged_share, seed, ..base })
            };
            let walk = of(1);
            let known = Known { stature_m: Some(walk.walkers[0].stature_m), distance: None };
            let found = calibrate(&walk.looks()?, cameras, known, 1)?;
            let (degrees, off) = worst(&found.places, &walk);
            for &persons in &args.persons {
                let scene = of(persons);
                // Each seed's cameras are the same, whoever walks.
                let room = between(&scene, &found.places);
                let s = score(&scene, found.places.clone(), room, |_, _| false);
                let p95 = s.all_mm[(s.all_mm.len() - 1) * 95 / 100];
                if args.json {
                    rows.push(json!({
                        "turned": exchanged_share, "cameras": cameras, "persons": persons, "seed": seed, "worst_degrees": degrees, "worst_distance": off,
                        "mpjpe_mm": s.mpjpe_mm, "p95_mm": p95, "dlt_mm": s.dlt_mm, "offline_mm": s.offline_mm, "told": s.told, "switches": s.switches,
                        "ghosts": s.ghosts,
                    }));
                } else {
                    println!(
                        "{exchanged_share:6.2} {cameras:7} {persons:7} {seed:4} | {degrees:5.2}° {:5.2} % | {:5.1} {:5.1} {:5.1} | {:.3} {} {:.4}",
                        100.0 * off,
                        s.mpjpe_mm,
                        s.dlt_mm,
                        s.offline_mm,
                        s.told,
                        s.switches,
                        s.ghosts
                    );
                }
            }
        }
    }
    if args.json {
        // As it was asked for: what prints the same figures again.
        let asked: Vec<String> = std::env::args().skip(1).collect();
        let (command, seconds) = (format!("posewire-hub {}", asked.join(" ")), args.seconds);
        println!(
            "{}",
            serde_json::to_string_pretty(&json!({"command": command, "seconds": seconds, "rows": rows}))?
        );
    }
    Ok(())
}

/// From the scene's room to the found one: by all cameras' places and directions together, without any stretching.
fn between(scene: &Scene, places: &[Extrinsics]) -> Extrinsics {
    // A few points before each camera, as both rooms have them.
    let mut points: Vec<(V3, V3)> = Vec::new();
    for ((_, truth), found) in scene.cameras.iter().zip(places) {
        for at in [V3::zeros(), V3::new(0.0, 0.0, 4.0), V3::new(1.0, 0.0, 4.0), V3::new(0.0, 1.0, 4.0)] {
            let of = |place: &Extrinsics| (place.inverse() * nalgebra::Point3::from(at)).coords;
            points.push((of(truth), of(found)));
        }
    }
    let n = points.len() as f64;
    let (a, b) = points.iter().fold((V3::zeros(), V3::zeros()), |s, p| (s.0 + p.0, s.1 + p.1));
    let (a, b) = (a / n, b / n);
    let spread: nalgebra::Matrix3<f64> = points.iter().map(|p| (p.1 - b) * (p.0 - a).transpose()).sum();
    let rotation = nalgebra::Rotation3::from_matrix(&spread);
    let rotation = nalgebra::UnitQuaternion::from_rotation_matrix(&rotation);
    Extrinsics::from_parts((b - rotation * a).into(), rotation)
}
