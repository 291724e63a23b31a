//! `posewire read`: the wire's other end on a host.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use pose_wire::{
    Command, DEFAULT_BAUD, Hello, MAX_PACKET, Moment, Notice, Packet, QUIET_US, SourceState, encode,
};
use posewire::output::display::{Canvas, FrameStamp, Seen, Status, Surface, Terminal, draw_poses};
use posewire::output::jsonl::{BUILT_IN, Format, Head};
use posewire::output::serial::{Heard, Places, PortSpec, Reader, ReceivePort};
use posewire::progress::say;
use signal_hook::consts::{SIGHUP, SIGQUIT};

use super::signals;

/// A moment that is not complete after this long lost its last packet.
const QUIET: Duration = Duration::from_micros(QUIET_US);

/// The sender answers the request for HELLO at once and says STATUS every second.
const HINT_AFTER: Duration = Duration::from_millis(1500);

/// Read poses from a serial port: JSON lines, or drawn live in the terminal
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints the same lines as run --jsonl, with what the wire keeps: places in steps of 1/8 pixel (more for pictures beyond
4095 pixels), scores in 1/63, the person's in 1/255, sigma to 5 bits, 3D in mm. seq counts moments on the wire, frame is
null, emitted_us is when the sender handed the pose to its serial driver. Where persons stand is in the lines if the sender
sends it ([serial] with_place); what happens (with_events) goes to stderr, and counters at the end.

Examples:
  posewire read /dev/ttyUSB0 | jq '.persons[0].keypoints[9]'
  posewire read /dev/ttyUSB0 --jsonl-format csv > poses.csv
  posewire read /dev/serial/by-id/usb-…@921600 --live")]
pub struct Args {
    /// The port, its rate if it is not 115200, and whether this end stops the other by RTS/CTS
    #[arg(value_name = "PORT[@BAUD][,rtscts]")]
    port: PortSpec,
    /// One JSON line a moment on standard output (the default)
    #[arg(long, conflicts_with = "live")]
    jsonl: bool,
    /// What a line is, as in posewire run: full, named, coco, flat or csv
    #[arg(long, value_name = "FORMAT", default_value_t, conflicts_with = "live")]
    jsonl_format: Format,
    /// Draw the skeletons in this terminal
    #[arg(long)]
    live: bool,
    /// End after this many moments
    #[arg(long, value_name = "N")]
    frames: Option<u64>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let is_over = Arc::new(AtomicBool::new(false));
    // Those that leave a picture standing in the terminal where nobody takes it away.
    let live = if args.live { &[SIGHUP, SIGQUIT][..] } else { &[] };
    shutdown::set_on_signal(&is_over, live).context("cannot listen for signals")?;
    signals::arm(&is_over).context("cannot start a thread")?;
    let mut view = if args.live {
        View::Live(Live::open(&args.port, &is_over)?)
    } else {
        View::Lines(Lines::new(args.jsonl_format))
    };
    let mut port = ReceivePort::open(&args.port)?;
    // Pictures are drawn to the size that HELLO tells; do not wait a second for it.
    let mut ask = [0; MAX_PACKET];
    let n = encode(&Packet::Command(Command::RequestHello), &mut ask)?;
    port.send(&ask[..n]);

    let mut reader = Reader::default();
    let mut bytes = [0; 1024];
    let mut heard_at = Instant::now();
    let mut left = args.frames.unwrap_or(u64::MAX);
    let mut received = 0;
    let mut hint_at = Some(Instant::now() + HINT_AFTER);
    while !is_over.load(Ordering::Relaxed) && left > 0 {
        let mut show = |heard| match heard {
            Heard::Moment(..) if left == 0 => Ok(()),
            Heard::Moment(moment, places) => {
                left -= 1;
                view.moment(&moment, &places)
            }
            Heard::Notice(notice) => {
                log::info!("{}", told(&notice));
                Ok(())
            }
            Heard::Hello(hello) => {
                view.hello(&hello);
                Ok(())
            }
            Heard::Status(status) => {
                view.status(&status);
                Ok(())
            }
        };
        let n = port.receive(&mut bytes);
        if received == 0 && n > 0 {
            // Whoever sends may be started later: what comes is judged from its first byte on.
            hint_at = Some(Instant::now() + HINT_AFTER);
        }
        received += n;
        if hint_at.take_if(|at| Instant::now() > *at).is_some() {
            hint(&args.port, received, reader.counters().wire.packets);
        }
        let shown = if n > 0 {
            heard_at = Instant::now();
            reader.feed(&bytes[..n], &mut show)
        } else if heard_at.elapsed() > QUIET {
            reader.flush(&mut show)
        } else {
            Ok(())
        };
        shown.and_then(|()| view.idle()).context("standard output")?;
    }
    drop(view);
    let c = reader.counters();
    say(format_args!(
        "{} moments, {} missed, {} incomplete; {} packets, {} doubled or late, {} damaged frames, {} of unknown type or version; the port was lost {} times",
        args.frames.unwrap_or(u64::MAX) - left,
        c.moments.missed,
        c.moments.incomplete,
        c.wire.packets,
        c.moments.refused,
        c.wire.damaged(),
        c.wire.unknown_type + c.wire.version,
        port.losses()
    ));
    Ok(ExitCode::SUCCESS)
}

/// What happened, for people: `enter, person 3, zone door; 2 there`.
fn told(notice: &Notice) -> String {
    let what = notice.code.name().unwrap_or("an event of a later version");
    let who = if notice.track_id > 0 { format!(", person {}", notice.track_id) } else { String::new() };
    let zone = match (notice.zone, notice.zone_name()) {
        (0, _) => String::new(),
        (number, "") => format!(", zone {number}"),
        (_, name) => format!(", zone {name}"),
    };
    format!("{what}{who}{zone}; {} there", notice.persons)
}

/// Says what may be wrong with a line on which nothing was understood.
fn hint(port: &PortSpec, received: usize, packets: u32) {
    let (path, baud) = (port.path.display(), port.baud);
    if packets > 0 {
        return;
    }
    if received == 0 {
        log::warn!(
            "{path}: nothing received yet: does posewire run with --serial at the other end, and is its TX wired to this RX?"
        );
    } else {
        let other = if baud == DEFAULT_BAUD { 921_600 } else { DEFAULT_BAUD };
        log::warn!(
            "{path}: {received} bytes received, nothing understood at {baud} baud: the other end runs at another rate (try \
             {path}@{other}), or sends something else"
        );
    }
}

#[allow(clippy::large_enum_variant, reason = "there is one")]
enum View {
    Lines(Lines),
    Live(Live),
}

impl View {
    fn moment(&mut self, moment: &Moment, places: &Places) -> io::Result<()> {
        match self {
            Self::Lines(lines) => lines.moment(moment, places),
            Self::Live(live) => live.moment(moment),
        }
    }

    /// Sees to the keys, and shows what the log says.
    fn idle(&mut self) -> io::Result<()> {
        match self {
            Self::Lines(_) => Ok(()),
            Self::Live(live) => live.terminal.idle(0).map_err(io::Error::other),
        }
    }

    fn hello(&mut self, hello: &Hello) {
        // Before its first picture a tracker does not know.
        if hello.width_px == 0 || hello.height_px == 0 {
            return;
        }
        let sides = [hello.width_px, hello.height_px];
        match self {
            Self::Lines(lines) => lines.size_px = Some(sides.map(u32::from)),
            Self::Live(live) => live.image_px = sides.map(usize::from),
        }
    }

    fn status(&mut self, status: &pose_wire::Status) {
        let is_built_in = status.source == SourceState::BUILT_IN;
        match self {
            Self::Lines(lines) => lines.is_built_in = is_built_in,
            Self::Live(live) => live.status.label = label(&live.port, is_built_in),
        }
    }
}

/// What the terminal calls the source.
fn label(port: &str, is_built_in: bool) -> Arc<str> {
    if is_built_in { format!("{BUILT_IN}, {port}").into() } else { port.into() }
}

/// What goes to the standard output.
struct Lines {
    format: Format,
    is_begun: bool,
    /// By the newest HELLO, which goes out before the first pose of a picture of another size, and once a second.
    size_px: Option<[u32; 2]>,
    /// By the newest STATUS, which goes out once a second.
    is_built_in: bool,
    bytes: Vec<u8>,
}

impl Lines {
    const fn new(format: Format) -> Self {
        Self { format, is_begun: false, size_px: None, is_built_in: false, bytes: Vec::new() }
    }

    fn moment(&mut self, moment: &Moment, places: &Places) -> io::Result<()> {
        self.write(moment, places);
        let mut out = io::stdout().lock();
        out.write_all(&self.bytes)?;
        out.flush()
    }

    fn write(&mut self, moment: &Moment, places: &Places) {
        self.bytes.clear();
        if !std::mem::replace(&mut self.is_begun, true) {
            self.format.write_first_row(&mut self.bytes);
        }
        let head = Head {
            seq: moment.seq.into(),
            frame: None,
            captured_at_us: moment.captured_at_us,
            emitted_at_us: moment.sent_at_us(),
            size_px: self.size_px,
            source: self.is_built_in.then_some(BUILT_IN),
            floor: None,
        };
        self.format.write(&mut self.bytes, &head, places.poses(moment));
    }
}

/// The terminal and the size of the picture that places refer to.
struct Live {
    terminal: Terminal,
    canvas: Canvas,
    image_px: [usize; 2],
    port: String,
    status: Status,
}

impl Live {
    fn open(port: &PortSpec, is_over: &Arc<AtomicBool>) -> anyhow::Result<Self> {
        let terminal = Terminal::open()?.stopping(is_over.clone());
        let port = port.path.display().to_string();
        let status = Status { label: label(&port, false), ..Status::default() };
        // Until HELLO tells: the size of most cameras' first mode.
        Ok(Self { terminal, canvas: Canvas::default(), image_px: [640, 480], port, status })
    }

    fn moment(&mut self, moment: &Moment) -> io::Result<()> {
        let captured_at_us = moment.captured_at_us;
        let stamp = FrameStamp { seq: moment.seq.into(), captured_at_us, shown_at_us: captured_at_us };
        self.status.image_px = self.image_px;
        let seen = |pose: pose::Pose| Seen { track_id: pose.track_id, score: pose.score };
        self.status.see_persons(moment.poses().map(|pose| seen(pose.value)));
        self.terminal.tell(&self.status);
        draw_poses(&mut self.terminal, &mut self.canvas, self.image_px, moment.poses(), stamp)
            .map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use pose_wire::{Emission, PosePacket};

    use super::*;

    #[test]
    fn the_terminal_says_that_it_shows_the_built_in_clip() {
        assert_eq!(&*label("/dev/ttyUSB0", true), "built-in clip, /dev/ttyUSB0");
        assert_eq!(&*label("/dev/ttyUSB0", false), "/dev/ttyUSB0");
    }

    #[test]
    fn lines_say_what_the_sender_said_last_of_its_source_and_its_picture() {
        let status = |source| pose_wire::Status {
            uptime_ms: 0,
            temperature_cc: pose_wire::Status::NO_TEMPERATURE,
            frame_rate_chz: 3_000,
            frames_dropped: 0,
            poses_dropped: 0,
            camera_losses: 0,
            camera_errors: 0,
            wire_errors: 0,
            source,
            persons: 0,
            flags: 0,
        };
        let hello = |width_px, height_px| Packet::Hello(Hello { width_px, height_px, ..Hello::default() });
        let nobody = |seq| {
            let at = Emission { seq, sent_at_us: 0, persons: 0, scale: 0 };
            Packet::Pose(PosePacket::nobody(i64::from(seq), i64::from(seq), at))
        };
        let mut view = View::Lines(Lines::new(Format::Full));
        let mut lines = Vec::new();
        let mut reader = Reader::default();
        let sent = [
            nobody(0),
            Packet::Status(status(SourceState::BUILT_IN)),
            nobody(1),
            Packet::Status(status(SourceState::RUNNING)),
            hello(0, 0),
            nobody(2),
            hello(640, 480),
            nobody(3),
        ];
        for packet in &sent {
            let mut bytes = [0; MAX_PACKET];
            let n = encode(packet, &mut bytes).unwrap();
            let hear = |heard| {
                match heard {
                    Heard::Status(status) => view.status(&status),
                    Heard::Hello(hello) => view.hello(&hello),
                    Heard::Moment(moment, places) => {
                        let View::Lines(out) = &mut view else { unreachable!() };
                        out.write(&moment, &places);
                        lines.push(String::from_utf8(out.bytes.clone()).unwrap());
                    }
                    _ => {}
                }
                Ok(())
            };
            reader.feed(&bytes[..n], hear).unwrap();
        }
        let say_so: Vec<_> = lines.iter().map(|line| line.contains("\"source\":\"built-in clip\"")).collect();
        assert_eq!(say_so, [false, true, false, false], "{lines:?}");
        let sizes: Vec<_> = lines.iter().map(|line| line.contains(",\"width\":640,\"height\":480,")).collect();
        assert_eq!(sizes, [false, false, false, true], "{lines:?}");
    }
}
