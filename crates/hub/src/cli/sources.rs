//! Where lines come from: a socket for each camera, or a take that was recorded.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use posewire_hub::clock::Exchange;
use posewire_hub::config::Camera;
use posewire_hub::ear::Ear;
use posewire_hub::exchange::{Answers, Said, Then};
use posewire_hub::hub::Packet;
use posewire_hub::twin::Beat;
use serde::{Deserialize, Serialize};

use super::queue::Queue;
use super::zenoh;

/// A thread looks so often whether it is to end.
const LOOK: Duration = Duration::from_millis(200);
/// Lines of a camera that wait at most: for who tells of now, a quarter of a second, and for who keeps everything.
pub const NEWEST: usize = 8;
pub const EVERY: usize = 512;
/// A datagram's most.
const DATAGRAM: usize = 65_536;

/// What comes in.
pub enum Heard {
    /// A line.
    Line(Packet),
    /// A camera's agent and this hub looked at their clocks.
    Clocks(usize, Exchange),
    /// The other hub of this room tells.
    Twin(Beat),
}

/// The monotonic clock, microseconds.
pub fn now_us() -> i64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    t.tv_sec * 1_000_000 + t.tv_nsec / 1_000
}

/// What this thread has worked, microseconds of processor time.
pub fn worked_us() -> f64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    t.tv_sec as f64 * 1e6 + t.tv_nsec as f64 / 1e3
}

/// Set by SIGINT and SIGTERM.
pub fn stop_signal() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 1, stop.clone())?;
        signal_hook::flag::register(signal, stop.clone())?;
    }
    Ok(stop)
}

/// Everything that cameras send, or sent.
pub enum Source {
    /// Sockets, each with a thread, and what is published under keys as long as the session lasts.
    Live { told: Arc<Queue>, lost: u64, _session: Option<zenoh::Session> },
    /// A take, and its next line's number.
    Take { lines: std::io::Lines<BufReader<File>>, path: String, names: Vec<String>, number: usize },
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
                let what = || format!("camera {:?}: {}", camera.name, camera.ear);
                let mut line = Lines { camera: number, answers: Answers::default(), tell: told.clone() };
                match &camera.ear {
                    Ear::Port(at) => {
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
                    Ear::Key(key) => {
                        let session = match &session {
                            Some(session) => session,
                            None => session.insert(net.open(zenoh::End::Hub).with_context(what)?),
                        };
                        session
                            .hear(key, move |text| line.hear(text, now_us()).map(|s| s.text()))
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
                    .spawn(move || listen_to_twin(&socket, &tell, &stop))?;
            }
            return Ok(Source::Live { told, lost: 0, _session: session });
        };
        let file = File::open(path).with_context(|| {
            format!("{}: `posewire-hub record CAMERAS --out FILE` writes a take", path.display())
        })?;
        Ok(Source::Take {
            lines: BufReader::new(file).lines(),
            path: path.display().to_string(),
            names: cameras.iter().map(|c| c.name.clone()).collect(),
            number: 0,
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
                    eprintln!(
                        "posewire-hub: lines come faster than this machine hears them: the oldest are lost, {so_far} so far"
                    );
                }
                Ok(told.next(wait).map_or(Next::Nothing, Next::Heard))
            }
            Source::Take { lines, path, names, number } => {
                let Some(line) = lines.next() else { return Ok(Next::End) };
                *number += 1;
                let said = || format!("{path}, line {number}");
                let taken: Taken = serde_json::from_str(&line.with_context(said)?).with_context(said)?;
                let Some(camera) = names.iter().position(|n| *n == taken.camera) else {
                    bail!("{}: there is no camera {:?} in the file of cameras", said(), taken.camera);
                };
                let text = taken.line.to_string();
                Ok(Next::Heard(Heard::Line(Packet { camera, arrived_us: taken.arrived_us, text })))
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
    Heard(Heard),
    /// Nothing came in time.
    Nothing,
    /// Nothing will come any more: a take's end.
    End,
}

/// The other hub's beats.
fn listen_to_twin(socket: &UdpSocket, tell: &Queue, stop: &AtomicBool) {
    let mut bytes = vec![0; DATAGRAM];
    while !stop.load(Ordering::Relaxed) {
        let Ok(n) = socket.recv(&mut bytes) else { continue };
        if let Some(beat) = std::str::from_utf8(&bytes[..n]).ok().and_then(Beat::read) {
            tell.push(Heard::Twin(beat));
        }
    }
}

/// One camera's lines, from wherever they come.
struct Lines {
    camera: usize,
    answers: Answers,
    tell: Arc<Queue>,
}

impl Lines {
    /// Passes on what came; gives what its agent is to be answered.
    fn hear(&mut self, text: &str, arrived_us: i64) -> Option<Said> {
        let camera = self.camera;
        let heard = match Said::read(text) {
            Some(said) => match self.answers.hear(said, arrived_us, now_us())? {
                Then::Answer(answer) => return Some(answer),
                Then::Compared(exchange) => Heard::Clocks(camera, exchange),
            },
            None => Heard::Line(Packet { camera, arrived_us, text: text.to_owned() }),
        };
        self.tell.push(heard);
        None
    }
}

/// Who sends to one camera's port.
#[derive(Default)]
struct Senders {
    last: Option<SocketAddr>,
    before: Option<SocketAddr>,
    is_said: bool,
}

impl Senders {
    /// Something came `from` there; gives two who send in turn, once. A board that was started anew does not come back as the one before.
    fn hear(&mut self, from: SocketAddr) -> Option<[SocketAddr; 2]> {
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
        if let Some(answer) = lines.hear(text, arrived_us) {
            // An agent that is gone asks no more.
            let _ = socket.send_to(answer.text().as_bytes(), from);
        }
        if let Some([one, other]) = senders.hear(from) {
            eprintln!(
                "posewire-hub: camera {name:?}: {one} and {other} both send to its port: each board needs one of its own"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_boards_on_one_port_are_said_once_and_one_that_was_started_anew_is_not() {
        let [a, b, c] = [1, 2, 3].map(|port| SocketAddr::from(([10, 0, 0, 1], port)));
        let told = |all: &[SocketAddr]| {
            let mut senders = Senders::default();
            all.iter().filter_map(|from| senders.hear(*from)).collect::<Vec<_>>()
        };
        assert_eq!(told(&[a, a, b, b, b, c, c]), [[a; 2]; 0]);
        assert_eq!(told(&[a, a, b, b, a, b, a]), [[b, a]]);
    }
}
