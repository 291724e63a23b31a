//! `posewire-hub run`: people in metres.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context, Result};
use posewire_hub::config::{cameras, room};
use posewire_hub::hub::{Hub, Moment};
use posewire_hub::output::{Slots, json_line};

use super::sources::{Heard, Next, Source, now_us, stop_signal};

/// Tells where everybody is, in metres of the room
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  posewire-hub run cameras.toml --room room.toml --jsonl -
  posewire-hub run cameras.toml --room room.toml --udp 192.168.1.20:9200 --osc 127.0.0.1:9000
  posewire-hub run cameras.toml --room room.toml --replay take.jsonl --jsonl people.jsonl")]
pub struct Args {
    /// The file of cameras
    cameras: PathBuf,
    /// The room's file, as `calibrate` writes it
    #[arg(long, value_name = "FILE", default_value = "room.toml")]
    room: PathBuf,
    /// JSON lines to a file, or to standard output (`-`); taken where no output is named
    #[arg(long, value_name = "PATH")]
    jsonl: Option<PathBuf>,
    /// JSON lines as datagrams
    #[arg(long, value_name = "HOST:PORT")]
    udp: Option<String>,
    /// OSC, a bundle a moment
    #[arg(long, value_name = "HOST:PORT")]
    osc: Option<String>,
    /// Moments a second at most; one follows each picture of any camera
    #[arg(long, value_name = "HZ", default_value_t = 60.0)]
    rate: f64,
    /// A take, as `record` writes it, in the place of the cameras
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
}

/// Without a word from a camera for so long, it is told.
const SILENT_US: i64 = 3_000_000;

/// Where moments go.
struct Outputs {
    lines: Option<Box<dyn Write>>,
    udp: Option<(UdpSocket, SocketAddr)>,
    osc: Option<(UdpSocket, SocketAddr, Slots)>,
}

pub fn run(args: &Args) -> Result<()> {
    let cameras = cameras(&args.cameras)?;
    let room = room(&args.room, &cameras)?;
    let stop = stop_signal()?;
    let mut source = Source::open(&cameras, args.replay.as_deref(), &stop)?;
    let mut outputs = Outputs::open(args)?;
    let names: Vec<&str> = cameras.iter().map(|c| c.name.as_str()).collect();
    let mut hub = Hub::new(cameras.iter().map(|c| c.lens.clone()).collect(), room.places, room.offsets_us);
    let gap_us = (1e6 / args.rate.clamp(0.1, 10_000.0)) as i64;
    let mut heard_us = vec![now_us(); cameras.len()];
    let mut silent = vec![false; cameras.len()];
    let (mut moved, mut bad) = (Vec::new(), vec![0u64; cameras.len()]);
    if !source.is_take() {
        eprintln!("posewire-hub run: {} cameras; Ctrl-C ends it", cameras.len());
    }
    while !stop.load(Ordering::Relaxed) {
        let mut next = source.next(Duration::from_millis(100))?;
        // What has come meanwhile goes into the same moment; of a take each line is its own.
        let sent_us = loop {
            match next {
                Next::End => return outputs.end(),
                Next::Nothing => break None,
                Next::Heard(Heard::Clocks(camera, exchange)) => hub.ears.exchanged(camera, exchange),
                Next::Heard(Heard::Line(packet)) => {
                    heard_us[packet.camera] = now_us();
                    let name = names[packet.camera];
                    if std::mem::take(&mut silent[packet.camera]) {
                        eprintln!("posewire-hub run: camera {name:?} is back");
                    }
                    if let Err(e) = hub.hear(&packet) {
                        bad[packet.camera] += 1;
                        // The 1st, 2nd, 4th, 8th …
                        if bad[packet.camera].is_power_of_two() {
                            eprintln!("posewire-hub run: camera {name:?}: {e}");
                        }
                    }
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
        if let Some(moment) = hub.tell(gap_us) {
            for camera in moment.moved.iter().filter(|c| !moved.contains(*c)) {
                eprintln!(
                    "posewire-hub run: camera {:?} was moved: what it sees does not fit any more. Walk about for `posewire-hub calibrate {} --out {}`",
                    names[*camera],
                    args.cameras.display(),
                    args.room.display()
                );
            }
            moved.clone_from(&moment.moved);
            if !outputs.send(&moment, sent_us.unwrap_or_else(now_us), &names)? {
                return Ok(());
            }
        }
        if !source.is_take() {
            for (c, heard) in heard_us.iter().enumerate() {
                if !silent[c] && now_us() - heard > SILENT_US {
                    silent[c] = true;
                    let (name, port) = (names[c], cameras[c].listen.port());
                    eprintln!(
                        "posewire-hub run: camera {name:?} is silent: does its board run `posewire run --udp THIS-MACHINE:{port}`?"
                    );
                }
            }
        }
    }
    outputs.end()
}

impl Outputs {
    fn open(args: &Args) -> Result<Self> {
        let datagrams = |to: &String| -> Result<(UdpSocket, SocketAddr)> {
            let address = to
                .to_socket_addrs()
                .with_context(|| format!("{to}: nobody knows that name; an address does, too"))?
                .next()
                .with_context(|| format!("{to}: no address"))?;
            let socket = UdpSocket::bind(if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" })?;
            socket.set_nonblocking(true)?;
            Ok((socket, address))
        };
        let none = args.jsonl.is_none() && args.udp.is_none() && args.osc.is_none();
        let lines: Option<Box<dyn Write>> = match &args.jsonl {
            Some(path) if path.as_os_str() != "-" => {
                let file =
                    File::create(path).with_context(|| format!("{} cannot be written", path.display()))?;
                Some(Box::new(BufWriter::new(file)))
            }
            None if !none => None,
            _ => Some(Box::new(std::io::stdout())),
        };
        let udp = args.udp.as_ref().map(datagrams).transpose()?;
        let osc = args.osc.as_ref().map(datagrams).transpose()?.map(|(s, a)| (s, a, Slots::default()));
        Ok(Self { lines, udp, osc })
    }

    /// False where the reader of a pipe is gone.
    fn send(&mut self, moment: &Moment, sent_us: i64, names: &[&str]) -> Result<bool> {
        let line = json_line(moment, sent_us, names);
        if let Some(out) = &mut self.lines {
            match out.write_all(line.as_bytes()) {
                Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => return Ok(false),
                done => done.context("the JSON lines: is the disk full?")?,
            }
        }
        // Whoever does not listen hears the next one.
        if let Some((socket, to)) = &self.udp {
            let _ = socket.send_to(line.as_bytes(), to);
        }
        if let Some((socket, to, slots)) = &mut self.osc {
            let age_us = sent_us - moment.at_us;
            let _ = socket.send_to(&slots.bundle(moment, since_1970_us() - age_us), *to);
        }
        Ok(true)
    }

    fn end(&mut self) -> Result<()> {
        if let Some(out) = &mut self.lines {
            out.flush().context("the JSON lines: is the disk full?")?;
        }
        Ok(())
    }
}

fn since_1970_us() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as i64)
}
