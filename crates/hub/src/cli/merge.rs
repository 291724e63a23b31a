//! `posewire-hub merge`: the rooms of a building, each with a hub of its own.

use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use posewire_hub::building::{Building, Resident, RoomPlacement, RoomReport};
use serde::Deserialize;
use serde_json::json;
use timing::clock::now_us;

use super::peer::Peer;
use super::rooms;
use super::signals::stop_signal;
use super::sources::{DATAGRAM, rate};
use super::text::{Ended, IfLate, Text};

/// Puts several hubs' rooms together to one building: whoever goes from one to the next keeps their identity
#[derive(Debug, clap::Args)]
#[command(after_help = "\
building.toml, metres and degrees from the building's origin to each room's:
  [[room]]
  name = \"hall\"
  listen = \"0.0.0.0:9301\"      # posewire-hub run cameras.toml --udp THIS-MACHINE:9301
  at_m = [0.0, 0.0, 0.0]
  turn_degrees = 0.0
  [[room]]
  …

Examples:
  posewire-hub merge building.toml
  posewire-hub merge building.toml --udp 192.168.1.20:9200 --rate 20")]
pub struct Args {
    /// The file of rooms
    building: PathBuf,
    /// JSON lines as datagrams, in the place of standard output
    #[arg(long, value_name = "HOST:PORT")]
    udp: Option<String>,
    /// Lines a second
    #[arg(long, value_name = "HZ", default_value_t = 30.0, value_parser = rate)]
    rate: f64,
}

/// No building is larger, metres.
const FAR_M: f64 = 10_000.0;
/// Reports that wait at most.
const WAITING: usize = 512;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    room: Vec<Room>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Room {
    name: String,
    listen: SocketAddr,
    at_m: [f64; 3],
    #[serde(default)]
    turn_degrees: f64,
}

impl Room {
    /// What no place in a building is.
    fn fault(&self) -> Option<String> {
        // What is not a number lies in no range.
        if !self.at_m.iter().all(|v| (-FAR_M..=FAR_M).contains(v)) {
            let at_m = self.at_m;
            return Some(format!("at_m = {at_m:?} is no place in a building: metres, {FAR_M} at most each"));
        }
        let turn = self.turn_degrees;
        let is_turn = (-360.0..=360.0).contains(&turn);
        (!is_turn).then(|| format!("turn_degrees = {turn} is no turn: -360 to 360"))
    }
}

pub fn run(args: &Args) -> Result<()> {
    let rooms = read(&args.building)?;
    let stop = stop_signal()?;
    let reports = listen(&rooms, &stop)?;
    let mut output = Output::open(args)?;
    let placement = |r: &Room| RoomPlacement { at_m: r.at_m, turn_degrees: r.turn_degrees };
    let mut building = Building::new(rooms.iter().map(placement).collect());
    let gap_us = (1e6 / args.rate) as i64;
    let (mut next_us, mut seq) = (now_us() + gap_us, 0u64);
    say!("posewire-hub merge: {} rooms; Ctrl-C ends it", rooms.len());
    while !stop.load(Ordering::Relaxed) {
        let wait_us = (next_us - now_us()).clamp(0, 100_000) as u64;
        match reports.recv_timeout(Duration::from_micros(wait_us)) {
            Ok((room, report)) => building.take(room, &report, now_us()),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        let now = now_us();
        if now < next_us {
            continue;
        }
        next_us = (next_us + gap_us).max(now);
        if !output.send(line(&building, &rooms, seq, now))? {
            return Ok(());
        }
        seq += 1;
    }
    output.end()
}

/// The rooms of the file `path`.
fn read(path: &Path) -> Result<Vec<Room>> {
    let name = path.display();
    let text = files::read_text_at_most(path, files::MAX_TEXT_BYTES)
        .with_context(|| format!("{name}: `posewire-hub merge --help` shows how such a file looks"))?;
    let rooms = toml::from_str::<File>(&text).with_context(|| format!("{name}"))?.room;
    if rooms.is_empty() {
        bail!("{name}: there is no [[room]] in it");
    }
    for (k, room) in rooms.iter().enumerate() {
        if let Some(fault) = room.fault() {
            bail!("{name}: room {:?}: {fault}", room.name);
        }
        if let Some(other) = rooms[..k].iter().find(|o| o.name == room.name || o.listen == room.listen) {
            bail!("{name}: {:?} and {:?} need a name and a port of their own each", other.name, room.name);
        }
    }
    Ok(rooms)
}

/// Opens each room's port, with a thread each; what comes there, and from which room.
fn listen(rooms: &[Room], stop: &Arc<AtomicBool>) -> Result<Receiver<(usize, RoomReport)>> {
    let (tell, reports) = sync_channel(WAITING);
    for (number, room) in rooms.iter().enumerate() {
        let socket = UdpSocket::bind(room.listen).with_context(|| {
            format!(
                "room {:?}: {} cannot be listened at: another program has the port",
                room.name, room.listen
            )
        })?;
        socket.set_read_timeout(Some(Duration::from_millis(200)))?;
        let known = rooms::Room::new(room.name.clone(), room.listen.port(), now_us());
        let (name, tell, stop) = (room.name.clone(), tell.clone(), stop.clone());
        let tell = move |report| _ = tell.try_send((number, report));
        std::thread::Builder::new()
            .name("room".into())
            .spawn(move || listen_to(&socket, &name, known, tell, &stop))?;
    }
    Ok(reports)
}

/// One room's port, until `stop` is set.
fn listen_to(
    socket: &UdpSocket,
    name: &str,
    mut known: rooms::Room,
    tell: impl Fn(RoomReport),
    stop: &AtomicBool,
) {
    let (mut bytes, mut wrong) = (vec![0; DATAGRAM], 0u64);
    while !stop.load(Ordering::Relaxed) {
        let received = socket.recv_from(&mut bytes);
        let news = match &received {
            Ok((_, from)) => known.receive(*from, now_us()),
            Err(_) => known.look(now_us()),
        };
        if let Some(news) = news {
            say!("posewire-hub merge: {news}");
        }
        let Ok((n, _)) = received else { continue };
        match serde_json::from_slice(&bytes[..n]) {
            Ok(report) => tell(report),
            Err(e) => {
                wrong += 1;
                // The 1st, 2nd, 4th, 8th …
                if wrong.is_power_of_two() {
                    say!(
                        "posewire-hub merge: room {name:?}: not a hub's line ({e}), {wrong} so far: `posewire-hub run --udp` sends them; boards send to a hub"
                    );
                }
            }
        }
    }
}

/// Everybody in the building at `now_us`, as a JSON line.
fn line(building: &Building, rooms: &[Room], seq: u64, now_us: i64) -> String {
    let person = |r: &Resident| {
        // Tenths of a millimetre, as the rooms themselves say.
        let joints = r.joints.map(|j| j.map(|j| j.map(|v| (1e4 * v).round() / 1e4)));
        json!({ "id": r.id, "room": rooms[r.room].name, "cameras": r.cameras, "joints": joints })
    };
    let persons: Vec<_> = building.residents(now_us).into_iter().map(person).collect();
    json!({ "seq": seq, "sent_us": now_us, "persons": persons }).to_string() + "\n"
}

/// Where lines go.
enum Output {
    Udp(Peer),
    /// By a thread of its own: a reader that pauses holds up neither the rooms nor the end.
    Stdout(Text),
}

impl Output {
    fn open(args: &Args) -> Result<Self> {
        if let Some(to) = &args.udp {
            let peer = Peer::open("merge: --udp", to)?;
            return Ok(Self::Udp(peer.or("for so many people leave --udp out, and take standard output")));
        }
        let to = Box::new(std::io::stdout());
        Ok(Self::Stdout(Text::to("merge", "standard output".into(), IfLate::Lost, to)?))
    }

    /// False where nobody reads any more.
    fn send(&mut self, line: String) -> Result<bool> {
        let out = match self {
            Self::Udp(peer) => {
                peer.send(line.as_bytes());
                return Ok(true);
            }
            Self::Stdout(out) => out,
        };
        out.write(line.into_bytes());
        match out.ended() {
            Some(Ended::Failed(error)) => Err(error),
            Some(Ended::Left(_)) => Ok(false),
            None => Ok(true),
        }
    }

    /// Lines that wait are written.
    fn end(&mut self) -> Result<()> {
        let Self::Stdout(out) = self else { return Ok(()) };
        match out.finish() {
            Some(Ended::Failed(error)) => Err(error),
            Some(Ended::Left(why)) => {
                say!("posewire-hub merge: {why}");
                Ok(())
            }
            None => Ok(()),
        }
    }
}
