//! `posewire-hub bench`: what a picture costs.

use anyhow::{Result, ensure};
use posewire_hub::hub::{Hub, Packet};
use posewire_hub::line;
use posewire_hub::output::json_line;
use posewire_hub::simulate::Scene;

/// Measures what each picture costs the hub, on one core: processor time from the datagram to the line that goes out
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  posewire-hub bench --cameras 64 --persons 200")]
pub struct Args {
    /// Cameras of the hall
    #[arg(long, default_value_t = 64)]
    cameras: usize,
    /// Persons in the hall; a camera tells of the nearest eight
    #[arg(long, default_value_t = 200)]
    persons: usize,
    /// Of simulated time
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
}

pub fn run(args: &Args) -> Result<()> {
    ensure!((2..=256).contains(&args.cameras), "--cameras {}: 2 to 256", args.cameras);
    ensure!((1..=1_000).contains(&args.persons), "--persons {}: 1 to 1000", args.persons);
    let scene = Scene::hall(args.cameras, args.persons, args.seconds);
    let packets: Vec<Packet> = scene
        .packets()
        .into_iter()
        .map(|p| Packet { camera: p.camera, arrived_us: p.arrived_us, text: p.text })
        .collect();
    let lenses = scene.cameras.iter().map(|c| c.0.clone()).collect();
    let places = scene.cameras.iter().map(|c| c.1).collect();
    let mut hub = Hub::new(lenses, places, vec![0; args.cameras]);
    let (mut read_us, mut all_us, mut tell_us) = (0.0, Vec::new(), Vec::new());
    let (mut seen, mut told) = (0usize, 0usize);
    for packet in &packets {
        let began = worked_us();
        // Apart, to know its share.
        line::read(&packet.text, &scene.cameras[packet.camera].0)?;
        let read = worked_us() - began;
        let began = worked_us();
        seen += hub.hear(packet)?;
        all_us.push(worked_us() - began);
        read_us += read;
        if let Some(moment) = hub.tell(packet.arrived_us, 16_666) {
            let began = worked_us();
            told = json_line(&moment, 0, &[""; 256]).len().max(told);
            tell_us.push(worked_us() - began);
        }
    }
    let sum: f64 = all_us.iter().sum();
    let people = hub.fusion.people(hub.fusion.newest_us()).len();
    println!(
        "{} pictures of {} cameras, {:.1} persons each; {people} in the room at the end",
        all_us.len(),
        args.cameras,
        seen as f64 / all_us.len() as f64
    );
    println!(
        "a person in a picture: {:.2} µs, of which reading its JSON {:.2} µs",
        sum / seen as f64,
        read_us / seen as f64
    );
    println!(
        "a picture: p50 {:.0} µs, p99 {:.0} µs, most {:.0} µs",
        at(&mut all_us, 0.5),
        at(&mut all_us, 0.99),
        at(&mut all_us, 1.0)
    );
    println!(
        "a moment told: p50 {:.0} µs, p99 {:.0} µs, {told} bytes at most",
        at(&mut tell_us, 0.5),
        at(&mut tell_us, 0.99)
    );
    let busy = (sum + tell_us.iter().sum::<f64>()) / (args.seconds * 1e6);
    println!("one core is busy for {:.1} % of the time", 100.0 * busy);
    Ok(())
}

/// What this thread has worked, microseconds of processor time.
fn worked_us() -> f64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    t.tv_sec as f64 * 1e6 + t.tv_nsec as f64 / 1e3
}

fn at(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(((values.len().max(1) - 1) as f64 * share) as usize).copied().unwrap_or(0.0)
}
