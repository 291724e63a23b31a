//! `posewire-hub merge`: the rooms of a building, each with a hub of its own.

use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use posewire_hub::building::{Building, RoomPlacement, Said};
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
    let name = args.building.display();
    let text = files::read_text_at_most(&args.building, files::MAX_TEXT_BYTES)
        .with_context(|| format!("{name}: `posewire-hub merge --help` shows how such a file looks"))?;
    let file: File = toml::from_str(&text).with_context(|| format!("{name}"))?;
    if file.room.is_empty() {
        bail!("{name}: there is no [[room]] in it");
    }
    for (k, room) in file.room.iter().enumerate() {
        if let Some(fault) = room.fault() {
            bail!("{name}: room {:?}: {fault}", room.name);
        }
        if let Some(other) = file.room[..k].iter().find(|o| o.name == room.name || o.listen == room.listen) {
            bail!("{name}: {:?} and {:?} need a name and a port of their own each", other.name, room.name);
        }
    }
    let stop = stop_signal()?;
    let (tell, told) = sync_channel::<(usize, Said)>(512);
    for (number, room) in file.room.iter().enumerate() {
        let socket = UdpSocket::bind(room.listen).with_context(|| {
            format!(
                "room {:?}: {} cannot be listened at: another program has the port",
                room.name, room.listen
            )
        })?;
        socket.set_read_timeout(Some(Duration::from_millis(200)))?;
        let (tell, stop, name) = (tell.clone(), stop.clone(), room.name.clone());
        let mut known = rooms::Room::new(name.clone(), room.listen.port(), now_us());
        std::thread::Builder::new().name("room".into()).spawn(move || {
            let (mut bytes, mut wrong) = (vec![0; DATAGRAM], 0u64);
            while !stop.load(Ordering::Relaxed) {
                let heard = socket.recv_from(&mut bytes);
                let told = match &heard {
                    Ok((_, from)) => known.hear(*from, now_us()),
                    Err(_) => known.look(now_us()),
                };
                if let Some(told) = told {
                    say!("posewire-hub merge: {told}");
                }
                let Ok((n, _)) = heard else { continue };
                match serde_json::from_slice(&bytes[..n]) {
                    Ok(said) => _ = tell.try_send((number, said)),
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
        })?;
    }
    let udp = args.udp.as_deref().map(|to| Peer::open("merge: --udp", to)).transpose()?;
    let mut udp = udp.map(|peer| peer.or("for so many people leave --udp out, and take standard output"));
    // By a thread of its own: whoever pauses it holds up neither the rooms nor the end.
    let to_standard_output = || {
        let to = Box::new(std::io::stdout());
        Text::to("merge", "standard output".into(), IfLate::Lost, to)
    };
    let mut lines = udp.is_none().then(to_standard_output).transpose()?;
    let placement = |r: &Room| RoomPlacement { at_m: r.at_m, turn_degrees: r.turn_degrees };
    let mut building = Building::new(file.room.iter().map(placement).collect());
    let gap_us = (1e6 / args.rate) as i64;
    let (mut next_us, mut seq) = (now_us() + gap_us, 0u64);
    say!("posewire-hub merge: {} rooms; Ctrl-C ends it", file.room.len());
    while !stop.load(Ordering::Relaxed) {
        let wait_us = (next_us - now_us()).clamp(0, 100_000) as u64;
        match told.recv_timeout(Duration::from_micros(wait_us)) {
            Ok((room, said)) => building.take(room, &said, now_us()),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        let now = now_us();
        if now < next_us {
            continue;
        }
        next_us = (next_us + gap_us).max(now);
        let person = |r: &posewire_hub::building::Resident| {
            // Tenths of a millimetre, as the rooms themselves say.
            let joints = r.joints.map(|j| j.map(|j| j.map(|v| (1e4 * v).round() / 1e4)));
            json!({ "id": r.id, "room": file.room[r.room].name, "cameras": r.cameras, "joints": joints })
        };
        let persons: Vec<_> = building.residents(now).into_iter().map(person).collect();
        let line = json!({ "seq": seq, "sent_us": now, "persons": persons }).to_string() + "\n";
        seq += 1;
        if let Some(peer) = &mut udp {
            peer.send(line.as_bytes());
        }
        if let Some(out) = &mut lines {
            out.write(line.into_bytes());
            match out.ended() {
                Some(Ended::Failed(error)) => return Err(error),
                // Its reader has had enough.
                Some(Ended::Left(_)) => return Ok(()),
                None => {}
            }
        }
    }
    match lines.as_mut().and_then(Text::finish) {
        Some(Ended::Failed(error)) => Err(error),
        Some(Ended::Left(why)) => {
            say!("posewire-hub merge: {why}");
            Ok(())
        }
        None => Ok(()),
    }
}
