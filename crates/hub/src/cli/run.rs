//! `posewire-hub run`: people in metres.

mod replay;

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;
use posewire_hub::config::{self, Camera, cameras};
use posewire_hub::hub::Hub;
use timing::clock::now_us;
use timing::{Histogram, Summary};

use super::cameras::Cameras;
use super::outputs::{self, Outputs};
use super::peer_hub::PeerHub;
use super::signals::stop_signal;
use super::sources::{Incoming, NEWEST, Next, Source, rate};
use super::text::IfLate;
use super::zenoh;
use replay::{Pace, replay};

/// So many pictures of somebody are a minute of most cameras.
const MINUTE: u64 = 1_800;

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
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "0.0.0.0:9190", requires = "twin")]
    twin_listen: SocketAddr,
    /// Say nothing as long as the other hub tells; take over when it is silent for half a second
    #[arg(long, requires = "twin")]
    standby: bool,
    /// Moments a second at most; one follows each picture of any camera, and no picture waits longer than that
    #[arg(long, value_name = "HZ", default_value_t = 120.0, value_parser = rate)]
    rate: f64,
    /// Leave the room's file as it is when a camera that was moved has been placed anew
    #[arg(long)]
    keep_room: bool,
    /// A take, as `record` writes it, in the place of the cameras: as fast as it was recorded where --udp, --osc, --web or --mqtt take it,
    /// else as fast as it can be read
    #[arg(long, value_name = "FILE", conflicts_with_all = ["twin", "twin_listen", "standby", "zenoh", "zenoh_listen"])]
    replay: Option<PathBuf>,
}

/// What runs between what comes in and what goes out; time is an argument.
struct Room {
    hub: Hub,
    cameras: Cameras,
    peer_hub: Option<PeerHub>,
    outputs: Outputs,
    gap_us: i64,
    /// No other hub of the room is.
    is_active: bool,
}

pub fn run(args: &Args) -> Result<()> {
    speak();
    let all = cameras(&args.cameras)?;
    // Before anything is opened.
    let inputs = [Some(&*args.cameras), Some(&*args.room), args.replay.as_deref()];
    let lenses = all.iter().map(|camera| &*camera.calibration);
    args.outputs.keep(inputs.into_iter().flatten().chain(lenses))?;
    let places = config::room(&args.room, &all)?;
    let stop = stop_signal()?;
    // Before boards' lines wait, too.
    let Ok(_held) = args.outputs.wait_for_readers(&stop) else { return Ok(()) };
    let listen = args.twin.as_ref().map(|_| args.twin_listen);
    let mut source = Source::open(&all, args.replay.as_deref(), &args.net, listen, NEWEST, &stop)?;
    let mut room = Room::open(args, all, places, &stop, now_us())?;
    let told = tell_all(args, &mut room, &mut source, &stop);
    // Whatever ended it: lines that wait are written.
    let ended = room.outputs.end();
    told.and(ended)?;
    let is_whole = !stop.load(Ordering::Relaxed);
    room.cameras.end(args.replay.as_deref().filter(|_| is_whole))
}

/// The whole take, or until nobody takes any more, or `stop` is set.
fn tell_all(args: &Args, room: &mut Room, source: &mut Source, stop: &AtomicBool) -> Result<()> {
    if let Some(path) = &args.replay {
        let mut pace = Pace::default();
        let pace = |at_us: i64| {
            if !args.outputs.are_live() {
                return;
            }
            let (due_us, pause_us) = pace.due_us(at_us, now_us());
            if let Some(us) = pause_us {
                let (file, s) = (path.display(), us / 1_000_000);
                say!("posewire-hub run: {file}: no line came for {s} s: that time is left out");
            }
            while !stop.load(Ordering::Relaxed) {
                let left_us = due_us - now_us();
                if left_us <= 0 {
                    break;
                }
                std::thread::sleep(Duration::from_micros(left_us.min(100_000) as u64));
            }
        };
        let stale_lines = replay(room, |wait| source.next(wait), pace, stop)?;
        if let Some(said) = stale_lines.left_out() {
            say!("posewire-hub run: {}: {said}", path.display());
        }
    } else {
        say!("posewire-hub run: {} cameras; Ctrl-C ends it", room.cameras.names().len());
        let added = live(room, |wait| source.next(wait), now_us, stop)?;
        let Summary { count, p50_ns, p99_ns, max_ns, .. } = added.summary();
        let [p50, p99, most] = [p50_ns, p99_ns, max_ns].map(|ns| ns as f64 / 1e6);
        say!(
            "posewire-hub run: from a line's arrival to its moment on the way: p50 {p50:.2} ms, p99 {p99:.2} ms, most {most:.2} ms, of {count}"
        );
    }
    Ok(())
}

/// As time goes by, until `stop` is set or nobody takes any more; how long lines waited from their arrival to their moment's way out.
fn live(
    room: &mut Room,
    mut next: impl FnMut(Duration) -> Result<Next>,
    now_us: impl Fn() -> i64,
    stop: &AtomicBool,
) -> Result<Histogram> {
    let (mut since_us, added) = (None, Histogram::default());
    while !stop.load(Ordering::Relaxed) {
        let wait_us = room.hub.due_us(room.gap_us).map_or(100_000, |due| (due - now_us()).clamp(0, 100_000));
        let mut wait = Duration::from_micros(wait_us as u64);
        // What has come meanwhile goes into the same moment. Where lines come as fast as they are heard, that would never end.
        let mut until_us = None;
        while let Next::Incoming(incoming) = next(wait)? {
            let arrived_us = match &incoming {
                Incoming::Line(packet) => Some(packet.arrived_us),
                _ => None,
            };
            room.receive(incoming, now_us());
            // A line that was overtaken, or is none, makes no moment.
            if let (Some(arrived_us), Some(_)) = (arrived_us, room.hub.due_us(room.gap_us)) {
                since_us.get_or_insert(arrived_us);
            }
            wait = Duration::ZERO;
            let now = now_us();
            if now >= *until_us.get_or_insert(now + room.gap_us) || stop.load(Ordering::Relaxed) {
                break;
            }
        }
        let told = room.tell(now_us())?;
        if told != Told::Nothing
            && let Some(since_us) = since_us.take()
        {
            added.record((now_us() - since_us).max(0) as u64 * 1_000);
        }
        if told == Told::ToNobody {
            break;
        }
        room.look(now_us())?;
    }
    Ok(added)
}

/// What became of a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// None was due.
    Nothing,
    /// It is on its way, or another hub tells it.
    Moment,
    /// Nobody is left who takes any more.
    ToNobody,
}

impl Room {
    fn open(
        args: &Args,
        all: Vec<Camera>,
        places: config::Room,
        stop: &Arc<AtomicBool>,
        now_us: i64,
    ) -> Result<Self> {
        let peer_hub =
            args.twin.as_deref().map(|name| PeerHub::open(name, args.standby, now_us)).transpose()?;
        let lenses = all.iter().map(|camera| camera.lens.clone()).collect();
        let hub = Hub::new(lenses, places.places, places.offsets_us);
        // Of a take nothing is written down, and nothing lost; live, what is not taken is.
        let is_take = args.replay.is_some();
        let written = (!is_take && !args.keep_room).then(|| args.room.clone());
        let if_late = if is_take { IfLate::Waits(stop.clone()) } else { IfLate::Lost };
        let cameras = Cameras::new(all, written, now_us);
        let outputs =
            Outputs::open(&args.outputs, &cameras.said(hub.fusion.places()), cameras.names(), &if_late)?;
        let gap_us = (1e6 / args.rate) as i64;
        let is_active = peer_hub.is_none();
        Ok(Self { hub, cameras, peer_hub, outputs, gap_us, is_active })
    }

    /// Takes in one thing that came.
    fn receive(&mut self, incoming: Incoming, now_us: i64) {
        match incoming {
            Incoming::Clocks(camera, exchange) => self.hub.inputs.exchanged(camera, exchange),
            Incoming::Heartbeat(heartbeat) => {
                if self.peer_hub.as_mut().is_some_and(|hub| hub.receive(now_us)) {
                    self.hub.learn(&heartbeat);
                    self.outputs.learn(&heartbeat);
                }
            }
            Incoming::Line(packet) => {
                let persons = self.hub.receive(&packet);
                // Where somebody was, so that this is so once.
                if persons.as_ref().is_ok_and(|persons| *persons > 0)
                    && let (MINUTE, Some(warning)) = self.hub.inputs.coverage(packet.camera)
                {
                    self.cameras.warn(packet.camera, &warning);
                }
                self.cameras.heard(packet.camera, persons.err(), now_us);
            }
        }
    }

    /// Tells a moment where one is due.
    fn tell(&mut self, now_us: i64) -> Result<Told> {
        for camera in self.hub.fusion.placed_anew() {
            let places = self.hub.fusion.places();
            self.cameras.placed(camera, &places[camera]);
            self.outputs.place(self.cameras.said(places));
        }
        let (hub, outputs) = (&self.hub, &self.outputs);
        let heartbeat = || hub.heartbeat(outputs.numbers());
        self.is_active = self.peer_hub.as_mut().is_none_or(|hub| hub.poll(now_us, heartbeat));
        let Some(moment) = self.hub.tell(now_us, self.gap_us) else { return Ok(Told::Nothing) };
        self.cameras.moved(&moment.moved);
        if !self.is_active {
            self.outputs.follow(&moment);
            return Ok(Told::Moment);
        }
        let is_taken = self.outputs.send(&moment, now_us)?;
        Ok(if is_taken { Told::Moment } else { Told::ToNobody })
    }

    /// From time to time, of what is live: how the cameras are.
    fn look(&mut self, now_us: i64) -> Result<()> {
        self.cameras.look_for_silence(now_us);
        self.outputs.look(&self.cameras.health, self.is_active)
    }
}

/// What libraries say goes where the hub's own words go.
fn speak() {
    let _ = env_logger::Builder::new()
        .filter_level(log::LevelFilter::Info)
        .filter_module("zenoh", log::LevelFilter::Warn)
        .format(|to, record| writeln!(to, "posewire-hub run: {}", record.args()))
        .try_init();
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;
    use std::path::Path;

    use clap::Parser;
    use posewire_hub::hub::Packet;
    use serde_json::Value;

    use super::*;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        args: Args,
    }

    /// Two cameras whose moments go to out.jsonl, at most one in 8 ms.
    fn room(folder: &Path, is_take: bool) -> Room {
        let lens = "width_px = 640\nheight_px = 480\nfx_px = 500\nfy_px = 500\ncx_px = 320\ncy_px = 240\nk1 = 0\nk2 = 0\n";
        let (mut two, mut stand) = (String::new(), String::new());
        for name in ["door", "window"] {
            two +=
                &format!("[[camera]]\nname = '{name}'\ncalibration = 'lens.toml'\nlisten = 'zenoh:{name}'\n");
            stand +=
                &format!("[[camera]]\nname = '{name}'\nat_m = [0.0, 0.0, 2.0]\nrotation = [1.0, 0, 0, 0]\n");
        }
        let at = |name: &str, text: &str| {
            fs::write(folder.join(name), text).unwrap();
            folder.join(name).display().to_string()
        };
        let (_, two, stand, out) =
            (at("lens.toml", lens), at("two.toml", &two), at("room.toml", &stand), at("out.jsonl", ""));
        let mut words = vec!["run", &*two, "--room", &stand, "--jsonl", &out, "--rate", "125"];
        if is_take {
            words.extend(["--replay", "take.jsonl"]);
        }
        let args = Words::parse_from(words).args;
        let all = cameras(&args.cameras).unwrap();
        let places = config::room(&args.room, &all).unwrap();
        Room::open(&args, all, places, &Arc::default(), 0).unwrap()
    }

    fn line(camera: usize, arrived_us: i64) -> Next {
        let text = format!("{{\"captured_us\":{arrived_us},\"emitted_us\":{arrived_us},\"persons\":[]}}");
        Next::Incoming(Incoming::Line(Packet { camera, arrived_us, text }))
    }

    /// When the moments were sent, milliseconds.
    fn sent_ms(mut room: Room, folder: &Path) -> Vec<i64> {
        room.outputs.end().unwrap();
        let text = fs::read_to_string(folder.join("out.jsonl")).unwrap();
        let moments = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        moments.map(|moment| moment["sent_us"].as_i64().unwrap() / 1_000).collect()
    }

    #[test]
    fn where_lines_come_as_fast_as_they_are_heard_moments_are_told_and_the_end_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let mut room = room(folder.path(), false);
        let (now_us, stop) = (Cell::new(10_000_000), AtomicBool::new(false));
        let next = |_| {
            // Until it is there, the next one has come.
            now_us.set(now_us.get() + 3_000);
            stop.store(now_us.get() >= 10_100_000, Ordering::Relaxed);
            assert!(now_us.get() < 11_000_000, "it does not end");
            Ok(line(0, now_us.get()))
        };
        live(&mut room, next, || now_us.get(), &stop).unwrap();
        let sent_ms = sent_ms(room, folder.path());
        assert!(sent_ms.len() >= 8 && sent_ms.windows(2).all(|two| two[1] - two[0] < 20), "{sent_ms:?}");
    }

    #[test]
    fn a_line_of_no_use_is_nobodys_wait() {
        let folder = tempfile::tempdir().unwrap();
        let mut room = room(folder.path(), false);
        let (now_us, stop) = (Cell::new(10_000_000), AtomicBool::new(false));
        let next = |_| {
            now_us.set(now_us.get() + 3_000);
            stop.store(now_us.get() >= 19_100_000, Ordering::Relaxed);
            match now_us.get() {
                ..10_010_000 => {
                    let text = "no line".to_owned();
                    Ok(Next::Incoming(Incoming::Line(Packet { camera: 0, arrived_us: now_us.get(), text })))
                }
                10_010_000..19_000_000 => Ok(Next::Nothing),
                _ => Ok(line(0, now_us.get())),
            }
        };
        let waited = live(&mut room, next, || now_us.get(), &stop).unwrap().summary();
        assert!(waited.count > 0 && waited.max_ns < 100_000_000, "{waited:?}");
    }

    #[test]
    fn of_a_take_the_moment_that_is_due_at_the_end_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let mut room = room(folder.path(), true);
        let mut lines = vec![line(0, 1_000_000), line(1, 1_002_000)].into_iter();
        let mut paced_ms = Vec::new();
        let next = |_| Ok(lines.next().unwrap_or(Next::End));
        replay(&mut room, next, |at_us| paced_ms.push(at_us / 1_000), &AtomicBool::new(false)).unwrap();
        assert_eq!(sent_ms(room, folder.path()), [1_000, 1_008]);
        assert_eq!(paced_ms, [1_000, 1_002, 1_008], "who listens hears them as they were");
    }

    #[test]
    fn lines_of_a_take_whose_clock_goes_back_are_left_out_and_counted() {
        let folder = tempfile::tempdir().unwrap();
        let mut room = room(folder.path(), true);
        // The second camera's thread was held up a little; from the fourth line on another take follows.
        let heard = [(0, 9_000), (0, 9_020), (1, 8_990), (0, 1_000), (1, 1_020), (0, 9_040)];
        let mut lines = heard.iter().map(|&(camera, at_ms)| line(camera, 1_000 * at_ms));
        let next = |_| Ok(lines.next().unwrap_or(Next::End));
        let stale_lines = replay(&mut room, next, |_| {}, &AtomicBool::new(false)).unwrap();
        let said = stale_lines.left_out().unwrap();
        assert!(said.starts_with("2 of its lines") && said.contains("line 4"), "{said}");
        assert_eq!(sent_ms(room, folder.path()), [9_000, 9_020, 9_028, 9_040]);
    }
}
