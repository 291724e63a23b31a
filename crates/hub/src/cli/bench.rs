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

/// What was measured; processor time in microseconds.
#[derive(Default)]
struct Costs {
    /// Reading the JSON of all lines.
    read_us: f64,
    /// Of each picture.
    picture_us: Vec<f64>,
    /// Of each moment's line.
    line_us: Vec<f64>,
    /// Persons in all pictures.
    persons: usize,
    longest_line: usize,
    /// People in the room at the end.
    people: usize,
}

pub fn run(args: &Args) -> Result<()> {
    ensure!((2..=256).contains(&args.cameras), "--cameras {}: 2 to 256", args.cameras);
    ensure!((1..=1_000).contains(&args.persons), "--persons {}: 1 to 1000", args.persons);
    let mut costs = measure(&Scene::hall(args.cameras, args.persons, args.seconds))?;
    costs.print(args);
    Ok(())
}

/// Lets all datagrams of the scene come to a hub.
fn measure(scene: &Scene) -> Result<Costs> {
    let lenses = scene.cameras.iter().map(|c| c.0.clone()).collect();
    let places = scene.cameras.iter().map(|c| c.1).collect();
    let mut hub = Hub::new(lenses, places, vec![0; scene.cameras.len()]);
    let mut costs = Costs::default();
    for p in scene.packets() {
        let packet = Packet { camera: p.camera, arrived_us: p.arrived_us, text: p.text };
        let began = worked_us();
        // Apart, to know its share.
        line::read(&packet.text, &scene.cameras[packet.camera].0)?;
        costs.read_us += worked_us() - began;
        let began = worked_us();
        costs.persons += hub.receive(&packet)?;
        costs.picture_us.push(worked_us() - began);
        if let Some(moment) = hub.tell(packet.arrived_us, 16_666) {
            let began = worked_us();
            costs.longest_line = json_line(&moment, 0, &[""; 256]).len().max(costs.longest_line);
            costs.line_us.push(worked_us() - began);
        }
    }
    costs.people = hub.fusion.people(hub.fusion.newest_us()).len();
    Ok(costs)
}

impl Costs {
    fn print(&mut self, args: &Args) {
        let Self { read_us, persons, longest_line, people, .. } = *self;
        let (pictures, sum) = (self.picture_us.len(), self.picture_us.iter().sum::<f64>());
        println!(
            "{pictures} pictures of {} cameras, {:.1} persons each; {people} in the room at the end",
            args.cameras,
            persons as f64 / pictures as f64
        );
        println!(
            "a person in a picture: {:.2} µs, of which reading its JSON {:.2} µs",
            sum / persons as f64,
            read_us / persons as f64
        );
        let [p50, p99, most] = [0.5, 0.99, 1.0].map(|share| at(&mut self.picture_us, share));
        println!("a picture: p50 {p50:.0} µs, p99 {p99:.0} µs, most {most:.0} µs");
        let [p50, p99] = [0.5, 0.99].map(|share| at(&mut self.line_us, share));
        println!("a moment told: p50 {p50:.0} µs, p99 {p99:.0} µs, {longest_line} bytes at most");
        let busy = (sum + self.line_us.iter().sum::<f64>()) / (args.seconds * 1e6);
        println!("one core is busy for {:.1} % of the time", 100.0 * busy);
    }
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
