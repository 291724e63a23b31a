//! Where moments go.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use pose_events::Watch;
use pose_mqtt::Broker;
use pose_osc::OscFormat;
use posewire_hub::events::{happened, line};
use posewire_hub::hub::Moment;
use posewire_hub::osc::Osc;
use posewire_hub::output::json_line;
use posewire_hub::twin::Beat;
use posewire_hub::zones::zones;

use super::mqtt::{Health, Mqtt};
use super::sources::now_us;
use super::web::Web;

/// Where moments go
#[derive(Debug, clap::Args)]
pub struct Args {
    /// JSON lines to a file, or to standard output (`-`); taken where no output is named
    #[arg(long, value_name = "PATH")]
    jsonl: Option<PathBuf>,
    /// JSON lines as datagrams
    #[arg(long, value_name = "HOST:PORT")]
    udp: Option<String>,
    /// OSC, as --osc-format says it
    #[arg(long, value_name = "HOST:PORT")]
    pub osc: Option<String>,
    /// What OSC says: posewire (own addresses, a bundle a moment), or one person as vrchat (its trackers, in metres) or vmc (bones as rotations)
    #[arg(long, value_name = "FORMAT", default_value_t, requires = "osc")]
    osc_format: OscFormat,
    /// A view of the room for browsers, and the JSON lines as a WebSocket at /lines
    #[arg(long, value_name = "ADDRESS:PORT")]
    web: Option<SocketAddr>,
    /// What happens, rather than where joints are, a JSON line an event, to a file or to standard output (`-`)
    #[arg(long, value_name = "PATH")]
    events: Option<PathBuf>,
    /// Tell a broker who is there, in which zone, what happens and how the cameras are: mqtt://[USER:PASSWORD@]HOST[:PORT]
    #[arg(long, value_name = "URL")]
    mqtt: Option<Broker>,
    /// This room's part of every topic; the machine's name where not given
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true, requires = "mqtt")]
    mqtt_name: String,
    /// Polygons on the room's floor that --events and --mqtt watch
    #[arg(long, value_name = "FILE")]
    zones: Option<PathBuf>,
}

/// Where moments go.
pub struct Outputs {
    lines: Option<Box<dyn Write>>,
    udp: Option<(UdpSocket, SocketAddr)>,
    osc: Option<(UdpSocket, SocketAddr, Osc)>,
    web: Option<Web>,
    events: Option<Box<dyn Write>>,
    mqtt: Option<Mqtt>,
    watch: Option<Watch>,
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

/// A file, or standard output for `-`.
fn target(path: &Path) -> Result<Box<dyn Write>> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(std::io::stdout()));
    }
    let file = File::create(path).with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(Box::new(BufWriter::new(file)))
}

/// False where the reader of a pipe is gone.
fn write(out: &mut dyn Write, text: &[u8], what: &str) -> Result<bool> {
    match out.write_all(text) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(false),
        done => done.map(|()| true).with_context(|| format!("{what}: is the disk full?")),
    }
}

impl Outputs {
    /// Opens what `args` name; `cameras`: where they stand, as JSON.
    pub fn open(args: &Args, cameras: &str, names: &[&str]) -> Result<Self> {
        let watches = args.events.is_some() || args.mqtt.is_some();
        let none = !watches
            && args.jsonl.is_none()
            && args.udp.is_none()
            && args.osc.is_none()
            && args.web.is_none();
        ensure!(
            args.zones.is_none() || watches,
            "--zones says what --events and --mqtt are to watch: add --events PATH, --events - or --mqtt URL"
        );
        let lines = match &args.jsonl {
            Some(path) => Some(target(path)?),
            None => none.then(|| target(Path::new("-"))).transpose()?,
        };
        let is_shown = |path: &Option<PathBuf>| path.as_deref() == Some(Path::new("-"));
        ensure!(
            !(is_shown(&args.jsonl) && is_shown(&args.events)),
            "--jsonl - and --events - cannot both have standard output: give one of them a file"
        );
        let udp = args.udp.as_deref().map(datagrams).transpose()?;
        let osc = args.osc.as_deref().map(datagrams).transpose()?;
        let osc = osc.map(|(socket, to)| (socket, to, Osc::new(args.osc_format)));
        let web = args.web.map(|address| Web::start(address, cameras.to_owned())).transpose()?;
        let events = args.events.as_deref().map(target).transpose()?;
        let broker = args.mqtt.clone().filter(|broker| broker.get().is_some());
        let mqtt = broker.map(|broker| Mqtt::new(broker, &args.mqtt_name, names, now_us()));
        let zones = args.zones.as_deref().map(zones).transpose()?.unwrap_or_default();
        let watch = watches.then(|| Watch::new(zones));
        Ok(Self { lines, udp, osc, web, events, mqtt, watch })
    }

    /// Of OSC, who has which number.
    pub fn numbers(&self) -> &[u32] {
        self.osc.as_ref().map_or(&[][..], |osc| osc.2.numbers())
    }

    /// As the other hub tells it.
    pub fn learn(&mut self, beat: &Beat) {
        if let Some((_, _, osc)) = &mut self.osc {
            osc.take_over(&beat.numbers);
        }
    }

    /// Where cameras stand now.
    pub fn place(&self, cameras: String) {
        if let Some(web) = &self.web {
            web.place(cameras);
        }
    }

    /// From time to time, whether a moment came or not; `tells`: no other hub of the room does.
    pub fn look(&mut self, health: &Health, tells: bool) -> Result<()> {
        if let (Some(mqtt), Some(watch)) = (&mut self.mqtt, &self.watch) {
            match tells {
                true => mqtt.look(watch, health, now_us())?,
                false => mqtt.hush(),
            }
        }
        Ok(())
    }

    /// False where the reader of a pipe is gone.
    pub fn send(&mut self, moment: &Moment, sent_us: i64, names: &[&str]) -> Result<bool> {
        // Whoever does not listen hears the next one. First what is made for those who wait for it.
        if let Some((socket, to, osc)) = &mut self.osc {
            let age_us = sent_us - moment.at_us;
            osc.tell(moment, since_1970_us() - age_us, |bytes| _ = socket.send_to(bytes, *to));
        }
        if self.udp.is_some() || self.lines.is_some() || self.web.is_some() {
            let text = json_line(moment, sent_us, names);
            if let Some((socket, to)) = &self.udp {
                let _ = socket.send_to(text.as_bytes(), to);
            }
            if let Some(web) = &self.web {
                web.tell(&text);
            }
            if let Some(out) = &mut self.lines
                && !write(out, text.as_bytes(), "the JSON lines")?
            {
                return Ok(false);
            }
        }
        let Some(watch) = &mut self.watch else { return Ok(true) };
        let events = happened(watch, moment);
        if let Some(mqtt) = &mut self.mqtt {
            mqtt.tell(watch, &events, sent_us)?;
        }
        if let Some(out) = &mut self.events {
            for event in &events {
                if !write(out, &line(event, watch.zones(), sent_us), "--events")? {
                    return Ok(false);
                }
            }
            // Seldom, and somebody waits for it.
            if !events.is_empty() {
                out.flush().context("--events: is the disk full?")?;
            }
        }
        Ok(true)
    }

    /// Everything is where it goes.
    pub fn end(&mut self) -> Result<()> {
        for out in [&mut self.lines, &mut self.events].into_iter().flatten() {
            out.flush().context("an output file: is the disk full?")?;
        }
        Ok(())
    }
}

fn since_1970_us() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as i64)
}
