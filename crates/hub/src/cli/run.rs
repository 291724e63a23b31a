//! `posewire-hub run`: people in metres.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context, Result};
use posewire_hub::Place;
use posewire_hub::config::{Camera, cameras, placed_text, room};
use posewire_hub::geometry::centre;
use posewire_hub::hub::Hub;
use posewire_hub::line::LineError;
use posewire_hub::spread::Spread;
use posewire_hub::twin::Twin;

use super::mqtt::Health;
use super::outputs::{self, Outputs};
use super::peer::Peer;
use super::sources::{Heard, Next, Source, now_us, stop_signal};
use super::text::IfLate;
use super::zenoh;

/// Tells where everybody is, in metres of the room
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  posewire-hub run cameras.toml --room room.toml --jsonl -
  posewire-hub run cameras.toml --room room.toml --udp 192.168.1.20:9200 --osc 127.0.0.1:9000
  posewire-hub run cameras.toml --room room.toml --osc 127.0.0.1:39539 --osc-format vmc      one person as an avatar
  posewire-hub run cameras.toml --room room.toml --replay take.jsonl --jsonl people.jsonl
  posewire-hub run cameras.toml --web 127.0.0.1:8090               a view of the room, at http://127.0.0.1:8090/
  posewire-hub run cameras.toml --mqtt mqtt://192.168.1.10 --mqtt-name hall --zones zones.toml --events -
zones.toml, in metres of the room's floor:
  [[zone]]
  name = \"stage\"
  at = \"feet\"                     # or hips, head, hands
  polygon = [[-1.0, 2.0], [1.0, 2.0], [1.0, 4.0], [-1.0, 4.0]]
Two hubs of one room, of which the second takes over; boards send to both (`posewire-hub agent`):
  posewire-hub run cameras.toml --twin hub-2.local:9190 --udp 192.168.1.20:9200
  posewire-hub run cameras.toml --twin hub-1.local:9190 --udp 192.168.1.20:9200 --standby")]
pub struct Args {
    /// The file of cameras
    cameras: PathBuf,
    /// The room's file, as `calibrate` writes it
    #[arg(long, value_name = "FILE", default_value = "room.toml")]
    room: PathBuf,
    #[command(flatten)]
    outputs: outputs::Args,
    #[command(flatten)]
    net: zenoh::Args,
    /// Where the other hub of this room hears this one
    #[arg(long, value_name = "HOST:PORT")]
    twin: Option<String>,
    /// Where this one hears the other
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "0.0.0.0:9190")]
    twin_listen: SocketAddr,
    /// Say nothing as long as the other hub tells; take over when it is silent for half a second
    #[arg(long, requires = "twin")]
    standby: bool,
    /// Moments a second at most; one follows each picture of any camera, and no picture waits longer than that
    #[arg(long, value_name = "HZ", default_value_t = 120.0)]
    rate: f64,
    /// Leave the room's file as it is when a camera that was moved has been placed anew
    #[arg(long)]
    keep_room: bool,
    /// A take, as `record` writes it, in the place of the cameras
    #[arg(long, value_name = "FILE", conflicts_with = "twin")]
    replay: Option<PathBuf>,
}

/// Without a word from a camera for so long, it is told.
const SILENT_US: i64 = 3_000_000;

/// The other hub of this room, and what it said last.
struct Other {
    twin: Twin,
    peer: Peer,
    told: bool,
}

/// What is known of the cameras beside what they see.
struct Cameras {
    all: Vec<Camera>,
    heard_us: Vec<i64>,
    health: Health,
    bad: Vec<u64>,
}

pub fn run(args: &Args) -> Result<()> {
    speak();
    // Before anything is opened.
    let inputs = [Some(&*args.cameras), Some(&*args.room), args.replay.as_deref()];
    args.outputs.keep(inputs.into_iter().flatten())?;
    let all = cameras(&args.cameras)?;
    let room = room(&args.room, &all)?;
    let stop = stop_signal()?;
    let listen = args.twin.as_ref().map(|_| args.twin_listen);
    let mut source = Source::open(&all, args.replay.as_deref(), &args.net, listen, &stop)?;
    let mut other = args.twin.as_deref().map(|name| Other::find(name, args.standby)).transpose()?;
    let mut hub = Hub::new(all.iter().map(|c| c.lens.clone()).collect(), room.places, room.offsets_us);
    let mut cameras = Cameras::new(all);
    let names = cameras.names();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    // Live, what is not taken is lost; of a take nothing is.
    let if_late = if source.is_take() { IfLate::Waits } else { IfLate::Lost };
    let stand = cameras_said(&cameras.all, hub.fusion.places());
    let mut outputs = Outputs::open(&args.outputs, &stand, &names, if_late)?;
    let gap_us = (1e6 / args.rate.clamp(0.1, 10_000.0)) as i64;
    // From the arrival of the oldest line that waits for a moment to that moment's way out.
    let (mut waits_since_us, mut added) = (None, Spread::default());
    if !source.is_take() {
        eprintln!("posewire-hub run: {} cameras; Ctrl-C ends it", names.len());
    }
    while !stop.load(Ordering::Relaxed) {
        let wait_us = hub.due_us(gap_us).map_or(100_000, |due| (due - now_us()).clamp(0, 100_000));
        let mut next = source.next(Duration::from_micros(wait_us as u64))?;
        // What has come meanwhile goes into the same moment; of a take each line is its own.
        let take_us = loop {
            match next {
                Next::End => return outputs.end(),
                Next::Nothing => break None,
                Next::Heard(Heard::Clocks(camera, exchange)) => hub.ears.exchanged(camera, exchange),
                Next::Heard(Heard::Twin(beat)) => {
                    if let Some(other) = &mut other {
                        other.twin.hear(now_us());
                        hub.learn(&beat);
                        outputs.learn(&beat);
                    }
                }
                Next::Heard(Heard::Line(packet)) => {
                    if source.is_take() {
                        // What was due before this line came.
                        let due_us = hub.due_us(gap_us).filter(|due| *due < packet.arrived_us);
                        let moment = due_us.and_then(|due| Some((hub.tell(due, gap_us)?, due)));
                        if let Some((moment, due)) = moment
                            && !outputs.send(&moment, due, &names)?
                        {
                            return outputs.end();
                        }
                    }
                    waits_since_us = waits_since_us.or(Some(packet.arrived_us));
                    let heard = hub.hear(&packet);
                    cameras.heard(packet.camera, heard.err());
                    if source.is_take() {
                        break Some(packet.arrived_us);
                    }
                }
            }
            match source.next(Duration::ZERO)? {
                Next::Nothing => break None,
                more => next = more,
            }
        };
        for camera in hub.fusion.placed_anew() {
            cameras.placed(camera, &hub, args, source.is_take());
            outputs.place(cameras_said(&cameras.all, hub.fusion.places()));
        }
        let tells = other.as_mut().is_none_or(|other| other.look(&hub, &outputs));
        if let Some(moment) = hub.tell(take_us.unwrap_or_else(now_us), gap_us) {
            cameras.moved(&moment.moved);
            if !tells {
                outputs.follow(&moment);
            } else if !outputs.send(&moment, take_us.unwrap_or_else(now_us), &names)? {
                return outputs.end();
            }
            if let Some(since_us) = waits_since_us.take() {
                added.add((now_us() - since_us).max(0) as u64);
            }
        }
        if !source.is_take() {
            cameras.look_for_silence();
            outputs.look(&cameras.health, tells)?;
        }
    }
    if !source.is_take() {
        eprintln!("posewire-hub run: {}", added.said("from a line's arrival to its moment on the way"));
    }
    outputs.end()
}

/// What libraries say goes where the hub's own words go.
fn speak() {
    let _ = env_logger::Builder::new()
        .filter_level(log::LevelFilter::Info)
        .filter_module("zenoh", log::LevelFilter::Warn)
        .format(|to, record| writeln!(to, "posewire-hub run: {}", record.args()))
        .try_init();
}

impl Cameras {
    fn new(all: Vec<Camera>) -> Self {
        let n = all.len();
        let health = Health { silent: vec![false; n], moved: vec![false; n] };
        Self { all, heard_us: vec![now_us(); n], health, bad: vec![0; n] }
    }

    fn names(&self) -> Vec<String> {
        self.all.iter().map(|c| c.name.clone()).collect()
    }

    /// A line came, and what was wrong with it.
    fn heard(&mut self, camera: usize, wrong: Option<LineError>) {
        self.heard_us[camera] = now_us();
        let name = &self.all[camera].name;
        if std::mem::take(&mut self.health.silent[camera]) {
            eprintln!("posewire-hub run: camera {name:?} is back");
        }
        if let Some(wrong) = wrong {
            self.bad[camera] += 1;
            // The 1st, 2nd, 4th, 8th …
            if self.bad[camera].is_power_of_two() {
                eprintln!("posewire-hub run: camera {name:?}: {wrong}");
            }
        }
    }

    fn look_for_silence(&mut self) {
        for (c, camera) in self.all.iter().enumerate() {
            if !self.health.silent[c] && now_us() - self.heard_us[c] > SILENT_US {
                self.health.silent[c] = true;
                let (name, wants) = (&camera.name, camera.ear.wants());
                eprintln!("posewire-hub run: camera {name:?} is silent: does its board run {wants}?");
            }
        }
    }

    fn moved(&mut self, moved: &[usize]) {
        for (c, was) in self.health.moved.iter_mut().enumerate() {
            let is = moved.contains(&c);
            if is && !*was {
                eprintln!(
                    "posewire-hub run: camera {:?} was moved: what it sees does not fit any more. It is placed anew as soon as somebody has walked before it for some seconds whom two others see, too",
                    self.all[c].name,
                );
            }
            *was = is;
        }
    }

    /// Says where a camera was placed anew, and writes it down, so that it is known after a restart.
    fn placed(&self, camera: usize, hub: &Hub, args: &Args, is_take: bool) {
        let (place, name) = (&hub.fusion.places()[camera], &self.all[camera].name);
        let eye = centre(place);
        let where_to =
            format!("camera {name:?} is placed anew, at {:.2}, {:.2}, {:.2} m", eye.x, eye.y, eye.z);
        let room = args.room.display();
        if is_take || args.keep_room {
            eprintln!("posewire-hub run: {where_to}. {room} keeps the old place");
            return;
        }
        match write_down(&args.room, name, place) {
            Ok(before) => eprintln!(
                "posewire-hub run: {where_to}, and {room} says so now; what it said before is in {}. A new `calibrate` knows it better",
                before.display()
            ),
            Err(e) => eprintln!(
                "posewire-hub run: {where_to}. {room} still has the old place ({e:#}): after a restart it is found again, or walk about for `calibrate`"
            ),
        }
    }
}

/// Writes a camera's place into the room's file; gives where the file as `calibrate` wrote it is kept.
fn write_down(room: &Path, name: &str, place: &Place) -> Result<PathBuf> {
    let text = std::fs::read_to_string(room)?;
    let with = |tail: &str| {
        let mut path = room.as_os_str().to_owned();
        path.push(tail);
        PathBuf::from(path)
    };
    let (before, fresh) = (with(".before"), with(".new"));
    // The first one stays: it is the one that somebody walked for.
    if !before.exists() {
        std::fs::write(&before, &text)?;
    }
    std::fs::write(&fresh, placed_text(&text, name, place).context("it is no room's file any more")?)?;
    std::fs::rename(&fresh, room)?;
    Ok(before)
}

/// Where cameras stand, for the view: rows of the rotation are their right, down and ahead; `half` is the tangent of half the picture.
fn cameras_said(cameras: &[Camera], places: &[Place]) -> String {
    let one = |(camera, place): (&Camera, &Place)| {
        let (eye, turn) = (centre(place), place.rotation.to_rotation_matrix());
        let row = |k: usize| [turn[(k, 0)], turn[(k, 1)], turn[(k, 2)]];
        let lens = &camera.lens;
        let half =
            [0.5 * f64::from(lens.width_px) / lens.fx_px, 0.5 * f64::from(lens.height_px) / lens.fy_px];
        serde_json::json!({ "name": camera.name, "at_m": [eye.x, eye.y, eye.z], "rotation": [row(0), row(1), row(2)], "half": half })
    };
    serde_json::Value::from_iter(cameras.iter().zip(places).map(one)).to_string()
}

impl Other {
    fn find(name: &str, standby: bool) -> Result<Self> {
        let peer = Peer::open("run: --twin", name)?;
        Ok(Self { twin: Twin::new(standby, now_us()), peer, told: false })
    }

    /// Whether this hub tells now; says so to the other one.
    fn look(&mut self, hub: &Hub, outputs: &Outputs) -> bool {
        let now = now_us();
        let tells = self.twin.tells(now);
        if tells != self.told {
            self.told = tells;
            let what = if tells { "tells from now on" } else { "listens: the other hub tells" };
            eprintln!("posewire-hub run: this hub {what}");
        }
        if self.twin.beats(now) {
            self.peer.send(hub.beat(outputs.numbers()).text().as_bytes());
        }
        tells
    }
}
