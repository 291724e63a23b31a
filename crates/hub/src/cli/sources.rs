//! Where lines come from: a socket for each camera, or a take that was recorded.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use posewire_hub::clock::Exchange;
use posewire_hub::config::Camera;
use posewire_hub::endpoint::Endpoint;
use posewire_hub::exchange::{ClockMessage, ClockResponder, Response};
use posewire_hub::failover::Heartbeat;
use posewire_hub::hub::Packet;
use serde::{Deserialize, Serialize};
use timing::clock::now_us;

use super::queue::Queue;
use super::zenoh;

/// A thread looks so often whether it is to end.
const LOOK: Duration = Duration::from_millis(200);
/// Lines of a camera that wait at most: for who tells of now, a quarter of a second, and for who keeps everything.
pub const NEWEST: usize = 8;
pub const EVERY: usize = 512;
/// Between two lines of a take; longer than that no camera is silent.
const DAY_US: i64 = 86_400_000_000;
const LONGEST_US: i64 = 30 * DAY_US;
/// A datagram's most.
pub const DATAGRAM: usize = 65_536;

/// What comes in.
pub enum Incoming {
    /// A line.
    Line(Packet),
    /// A camera's agent and this hub looked at their clocks.
    Clocks(usize, Exchange),
    /// The other hub of this room is there, and reports.
    Heartbeat(Heartbeat),
}

/// Reads a length of time, of the command line.
pub fn seconds(text: &str) -> std::result::Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|s| s.is_finite() && *s > 0.0);
    seconds.ok_or_else(|| "give seconds, more than 0, as in 60".to_owned())
}

/// Reads how often, of the command line; as `posewire run --rate`.
pub fn rate(text: &str) -> std::result::Result<f64, String> {
    timing::parse_hz(text).ok_or_else(|| "give a number of Hz from 0.1 to 1000, as in 30".to_owned())
}

/// Everything that cameras send, or sent.
pub enum Source {
    /// Sockets, each with a thread, and what is published under keys as long as the session lasts.
    Live { told: Arc<Queue>, lost: u64, _session: Option<zenoh::Session> },
    /// A take, and its last line's number.
    Take {
        lines: BufReader<File>,
        path: String,
        names: Vec<String>,
        number: usize,
        /// When the line before arrived.
        before_us: Option<i64>,
    },
}

/// One line of a take.
#[derive(Serialize, Deserialize)]
pub struct Taken {
    /// By name.
    pub camera: String,
    /// By the hub's clock.
    pub arrived_us: i64,
    /// As it came.
    pub line: serde_json::Value,
}

impl Source {
    /// Opens sockets, or the take.
    /// `twin`: where the other hub of this room is heard; `waits`: so many lines of each camera at most, of those that are live.
    pub fn open(
        cameras: &[Camera],
        replay: Option<&Path>,
        net: &zenoh::Args,
        twin: Option<SocketAddr>,
        waits: usize,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self> {
        let Some(path) = replay else {
            let told = Arc::new(Queue::new(waits));
            let mut session = None;
            for (number, camera) in cameras.iter().enumerate() {
                let what = || format!("camera {:?}: {}", camera.name, camera.endpoint);
                let mut line = Lines { camera: number, clock: ClockResponder::default(), tell: told.clone() };
                match &camera.endpoint {
                    Endpoint::Udp(at) => {
                        let socket = UdpSocket::bind(at).with_context(|| {
                            format!(
                                "{} cannot be listened at: another program has the port, or this machine has no such address",
                                what()
                            )
                        })?;
                        socket.set_read_timeout(Some(LOOK))?;
                        let (name, stop) = (camera.name.clone(), stop.clone());
                        std::thread::Builder::new()
                            .name(name.chars().take(15).collect())
                            .spawn(move || listen(&socket, line, &name, &stop))?;
                    }
                    Endpoint::Zenoh(key) => {
                        let session = match &session {
                            Some(session) => session,
                            None => session.insert(net.open(zenoh::End::Hub).with_context(what)?),
                        };
                        session
                            .subscribe(key, move |text| line.receive(text, now_us()).map(|s| s.text()))
                            .with_context(what)?;
                    }
                }
            }
            if let Some(at) = twin {
                let socket = UdpSocket::bind(at)
                    .with_context(|| format!("--twin-listen {at}: another program has the port"))?;
                socket.set_read_timeout(Some(LOOK))?;
                let (tell, stop) = (told.clone(), stop.clone());
                std::thread::Builder::new()
                    .name("twin".into())
                    .spawn(move || listen_to_peer_hub(&socket, &tell, &stop))?;
            }
            return Ok(Source::Live { told, lost: 0, _session: session });
        };
        let file = File::open(path).with_context(|| {
            format!("{}: `posewire-hub record CAMERAS --out FILE` writes a take", path.display())
        })?;
        Ok(Source::Take {
            lines: BufReader::new(file),
            path: path.display().to_string(),
            names: cameras.iter().map(|c| c.name.clone()).collect(),
            number: 0,
            before_us: None,
        })
    }

    /// The next thing heard, or that nothing came within `wait`. `Err`: the take is wrong.
    pub fn next(&mut self, wait: Duration) -> Result<Next> {
        match self {
            Source::Live { told, lost, .. } => {
                // The 1st, and whenever they have doubled.
                let so_far = told.lost();
                if so_far >= (2 * *lost).max(1) {
                    *lost = so_far;
                    say!(
                        "posewire-hub: lines come faster than this machine hears them: the oldest are lost, {so_far} so far"
                    );
                }
                Ok(told.next(wait).map_or(Next::Nothing, Next::Incoming))
            }
            Source::Take { lines, path, names, number, before_us } => {
                *number += 1;
                let said = || format!("{path}, line {number}");
                let mut line = Vec::new();
                if lines.read_until(b'\n', &mut line).with_context(said)? == 0 {
                    ensure!(
                        *number > 1,
                        "{path}: there is no line in it: `posewire-hub record CAMERAS --out FILE` writes a take"
                    );
                    return Ok(Next::End);
                }
                let taken: Taken = match serde_json::from_slice(&line) {
                    Ok(taken) => taken,
                    // A take that was cut off, by a pulled plug or a full disk, is good up to there.
                    Err(_) if !line.ends_with(b"\n") && *number > 1 => {
                        say!("posewire-hub: {} is cut off: the take ends before it", said());
                        return Ok(Next::End);
                    }
                    Err(e) => return Err(e).with_context(said),
                };
                let Some(camera) = names.iter().position(|n| *n == taken.camera) else {
                    bail!("{}: there is no camera {:?} in the file of cameras", said(), taken.camera);
                };
                // Sums of such stamps cannot overflow.
                ensure!(
                    taken.arrived_us.unsigned_abs() <= 1 << 60,
                    "{}: arrived_us {} is no time in microseconds: take the line out",
                    said(),
                    taken.arrived_us
                );
                let after_us = taken.arrived_us - before_us.unwrap_or(taken.arrived_us);
                ensure!(
                    after_us < LONGEST_US,
                    "{}: arrived_us {} is {} days after the line before: take the line out, or, if several takes were put into one file, use each by itself",
                    said(),
                    taken.arrived_us,
                    after_us / DAY_US
                );
                *before_us = Some(taken.arrived_us);
                let text = taken.line.to_string();
                Ok(Next::Incoming(Incoming::Line(Packet { camera, arrived_us: taken.arrived_us, text })))
            }
        }
    }

    /// Whether time goes by as the take says, not by the clock.
    pub fn is_take(&self) -> bool {
        matches!(self, Source::Take { .. })
    }
}

/// What [`Source::next`] gives.
pub enum Next {
    /// Something came.
    Incoming(Incoming),
    /// Nothing came in time.
    Nothing,
    /// Nothing will come any more: a take's end.
    End,
}

/// The other hub's heartbeats.
fn listen_to_peer_hub(socket: &UdpSocket, tell: &Queue, stop: &AtomicBool) {
    let mut bytes = vec![0; DATAGRAM];
    while !stop.load(Ordering::Relaxed) {
        let Ok(n) = socket.recv(&mut bytes) else { continue };
        if let Some(heartbeat) = std::str::from_utf8(&bytes[..n]).ok().and_then(Heartbeat::read) {
            tell.push(Incoming::Heartbeat(heartbeat));
        }
    }
}

/// One camera's lines, from wherever they come.
struct Lines {
    camera: usize,
    clock: ClockResponder,
    tell: Arc<Queue>,
}

impl Lines {
    /// Passes on what came; returns the answer to its agent, if there is one.
    fn receive(&mut self, text: &str, arrived_us: i64) -> Option<ClockMessage> {
        let camera = self.camera;
        let incoming = match ClockMessage::read(text) {
            Some(message) => match self.clock.receive(message, arrived_us, now_us())? {
                Response::Answer(answer) => return Some(answer),
                Response::Compared(exchange) => Incoming::Clocks(camera, exchange),
            },
            None => Incoming::Line(Packet { camera, arrived_us, text: text.to_owned() }),
        };
        self.tell.push(incoming);
        None
    }
}

/// Who sends to one port.
#[derive(Default)]
pub struct Senders {
    last: Option<SocketAddr>,
    before: Option<SocketAddr>,
    is_said: bool,
}

impl Senders {
    /// Something came `from` there; gives two who send in turn, once. A board that was started anew does not come back as the one before.
    pub fn receive(&mut self, from: SocketAddr) -> Option<[SocketAddr; 2]> {
        let last = self.last.replace(from).filter(|last| *last != from)?;
        let in_turn = self.before.replace(last) == Some(from);
        (in_turn && !std::mem::replace(&mut self.is_said, true)).then_some([last, from])
    }
}

/// One camera's socket: stamps what comes, answers agents.
fn listen(socket: &UdpSocket, mut lines: Lines, name: &str, stop: &AtomicBool) {
    let mut bytes = vec![0; DATAGRAM];
    let mut senders = Senders::default();
    while !stop.load(Ordering::Relaxed) {
        // Nothing came, or an answer of before that nobody took any more.
        let Ok((n, from)) = socket.recv_from(&mut bytes) else { continue };
        let arrived_us = now_us();
        let Ok(text) = std::str::from_utf8(&bytes[..n]) else { continue };
        if let Some(answer) = lines.receive(text, arrived_us) {
            // An agent that is gone asks no more.
            let _ = socket.send_to(answer.text().as_bytes(), from);
        }
        if let Some([one, other]) = senders.receive(from) {
            say!(
                "posewire-hub: camera {name:?}: {one} and {other} both send to its port: each board needs one of its own"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_take_that_was_cut_off_is_read_up_to_there_and_a_fault_elsewhere_is_told() {
        let lens = "width_px = 640\nheight_px = 480\nfx_px = 500\nfy_px = 500\ncx_px = 320\ncy_px = 240\nk1 = 0\nk2 = 0\n";
        let lens = posewire_hub::camera::Lens::read(lens).unwrap();
        let endpoint = Endpoint::Zenoh("door".to_owned());
        let camera = Camera { name: "door".to_owned(), lens, calibration: "lens.toml".into(), endpoint };
        let line = "{\"camera\":\"door\",\"arrived_us\":1,\"line\":{\"name\":\"ü\"}}\n";
        let heard = |text: &[u8]| {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(text).unwrap();
            let (net, stop) = (zenoh::Args::default(), Arc::default());
            let camera = std::slice::from_ref(&camera);
            let mut source = Source::open(camera, Some(file.path()), &net, None, NEWEST, &stop).unwrap();
            let mut count = 0;
            loop {
                match source.next(Duration::ZERO) {
                    Ok(Next::Incoming(_)) => count += 1,
                    Ok(_) => break Ok(count),
                    Err(e) => break Err(e.to_string()),
                }
            }
        };
        let two = line.repeat(2);
        for end in line.len()..two.len() - 1 {
            assert_eq!(heard(&two.as_bytes()[..end]), Ok(1), "{end}");
        }
        assert_eq!(heard(two.trim_end().as_bytes()), Ok(2));
        let at = |us: &str| format!("{line}{}", line.replace(":1,", &format!(":{us},")));
        assert_eq!(heard(at("864000000000").as_bytes()), Ok(2), "ten days later");
        for us in ["864000000000000", "9223372036854775807", "-9223372036854775808"] {
            let said = heard(at(us).as_bytes()).unwrap_err();
            assert!(said.contains("line 2: arrived_us") && said.contains("take the line out"), "{said}");
        }
        let broken = format!("{line}{{\n{line}");
        assert!(heard(broken.as_bytes()).unwrap_err().ends_with("line 2"));
        assert!(heard(b"no take").unwrap_err().ends_with("line 1"));
    }

    #[test]
    fn two_boards_on_one_port_are_said_once_and_one_that_was_started_anew_is_not() {
        let [a, b, c] = [1, 2, 3].map(|port| SocketAddr::from(([10, 0, 0, 1], port)));
        let told = |all: &[SocketAddr]| {
            let mut senders = Senders::default();
            all.iter().filter_map(|from| senders.receive(*from)).collect::<Vec<_>>()
        };
        assert_eq!(told(&[a, a, b, b, b, c, c]), [[a; 2]; 0]);
        assert_eq!(told(&[a, a, b, b, a, b, a]), [[b, a]]);
    }
}
