//! `posewire-hub run`: people in metres.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context, Result};
use posewire_hub::Place;
use posewire_hub::config::{Camera, cameras, room};
use posewire_hub::geometry::centre;
use posewire_hub::hub::{Hub, Moment};
use posewire_hub::output::{Slots, json_line};
use posewire_hub::twin::{Beat, Twin};

use super::sources::{Heard, Next, Source, now_us, stop_signal};
use super::web::Web;

/// Tells where everybody is, in metres of the room
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  posewire-hub run cameras.toml --room room.toml --jsonl -
  posewire-hub run cameras.toml --room room.toml --udp 192.168.1.20:9200 --osc 127.0.0.1:9000
  posewire-hub run cameras.toml --room room.toml --replay take.jsonl --jsonl people.jsonl
  posewire-hub run cameras.toml --web 127.0.0.1:8090               a view of the room, at http://127.0.0.1:8090/
Two hubs of one room, of which the second takes over; boards send to both (`posewire-hub agent`):
  posewire-hub run cameras.toml --twin hub-2.local:9190 --udp 192.168.1.20:9200
  posewire-hub run cameras.toml --twin hub-1.local:9190 --udp 192.168.1.20:9200 --standby")]
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
    /// A view of the room for browsers, and the JSON lines as a WebSocket at /lines
    #[arg(long, value_name = "ADDRESS:PORT")]
    web: Option<SocketAddr>,
    /// Where the other hub of this room hears this one
    #[arg(long, value_name = "HOST:PORT")]
    twin: Option<String>,
    /// Where this one hears the other
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "0.0.0.0:9190")]
    twin_listen: SocketAddr,
    /// Say nothing as long as the other hub tells; take over when it is silent for half a second
    #[arg(long, requires = "twin")]
    standby: bool,
    /// Moments a second at most; one follows each picture of any camera
    #[arg(long, value_name = "HZ", default_value_t = 60.0)]
    rate: f64,
    /// A take, as `record` writes it, in the place of the cameras
    #[arg(long, value_name = "FILE", conflicts_with = "twin")]
    replay: Option<PathBuf>,
}

/// Without a word from a camera for so long, it is told.
const SILENT_US: i64 = 3_000_000;

/// Where moments go.
struct Outputs {
    lines: Option<Box<dyn Write>>,
    udp: Option<(UdpSocket, SocketAddr)>,
    osc: Option<(UdpSocket, SocketAddr, Slots)>,
    web: Option<Web>,
}

/// The other hub of this room, and what it said last.
struct Other {
    twin: Twin,
    socket: UdpSocket,
    address: SocketAddr,
    told: bool,
}

pub fn run(args: &Args) -> Result<()> {
    let cameras = cameras(&args.cameras)?;
    let room = room(&args.room, &cameras)?;
    let stop = stop_signal()?;
    let listen = args.twin.as_ref().map(|_| args.twin_listen);
    let mut source = Source::open(&cameras, args.replay.as_deref(), listen, &stop)?;
    let mut other = args.twin.as_deref().map(|name| Other::find(name, args.standby)).transpose()?;
    let mut outputs = Outputs::open(args, &cameras_said(&cameras, &room.places))?;
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
                Next::Heard(Heard::Twin(beat)) => {
                    if let Some(other) = &mut other {
                        other.twin.hear(now_us());
                        hub.learn(&beat);
                        outputs.learn(&beat);
                    }
                }
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
        for camera in hub.fusion.placed_anew() {
            let eye = centre(&hub.fusion.places()[camera]);
            eprintln!(
                "posewire-hub run: camera {:?} is placed anew, at {:.2}, {:.2}, {:.2} m. {} still has the old place: after a restart it is found again, or walk about for `calibrate`",
                names[camera],
                eye.x,
                eye.y,
                eye.z,
                args.room.display()
            );
            outputs.place(cameras_said(&cameras, hub.fusion.places()));
        }
        let tells = other.as_mut().is_none_or(|other| other.look(&hub, &outputs));
        if let Some(moment) = hub.tell(gap_us).filter(|_| tells) {
            for camera in moment.moved.iter().filter(|c| !moved.contains(*c)) {
                eprintln!(
                    "posewire-hub run: camera {:?} was moved: what it sees does not fit any more. It is placed anew as soon as somebody has walked before it for some seconds whom two others see, too",
                    names[*camera],
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

/// A socket to send from, and where to.
pub fn datagrams(to: &str) -> Result<(UdpSocket, SocketAddr)> {
    let address = to
        .to_socket_addrs()
        .with_context(|| format!("{to}: nobody knows that name; an address does, too"))?
        .next()
        .with_context(|| format!("{to}: no address"))?;
    let socket = UdpSocket::bind(if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" })?;
    socket.set_nonblocking(true)?;
    Ok((socket, address))
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
        let (socket, address) = datagrams(name).context("--twin")?;
        Ok(Self { twin: Twin::new(standby, now_us()), socket, address, told: false })
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
            let numbers = outputs.osc.as_ref().map_or(&[][..], |osc| osc.2.ids());
            // A hub that is away hears the next one.
            let _ = self.socket.send_to(hub.beat(numbers).text().as_bytes(), self.address);
        }
        tells
    }
}

impl Outputs {
    fn open(args: &Args, cameras: &str) -> Result<Self> {
        let none = args.jsonl.is_none() && args.udp.is_none() && args.osc.is_none() && args.web.is_none();
        let lines: Option<Box<dyn Write>> = match &args.jsonl {
            Some(path) if path.as_os_str() != "-" => {
                let file =
                    File::create(path).with_context(|| format!("{} cannot be written", path.display()))?;
                Some(Box::new(BufWriter::new(file)))
            }
            None if !none => None,
            _ => Some(Box::new(std::io::stdout())),
        };
        let udp = args.udp.as_deref().map(datagrams).transpose()?;
        let osc = args.osc.as_deref().map(datagrams).transpose()?.map(|(s, a)| (s, a, Slots::default()));
        let web = args.web.map(|address| Web::start(address, cameras.to_owned())).transpose()?;
        Ok(Self { lines, udp, osc, web })
    }

    /// As the other hub tells it.
    fn learn(&mut self, beat: &Beat) {
        if let Some((_, _, slots)) = &mut self.osc {
            slots.take_over(&beat.numbers);
        }
    }

    fn place(&self, cameras: String) {
        if let Some(web) = &self.web {
            web.place(cameras);
        }
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
        if let Some(web) = &self.web {
            web.tell(&line);
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
