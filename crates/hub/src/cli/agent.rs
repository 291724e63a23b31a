//! `posewire-hub agent`: on a board, between `posewire run` and the hub.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result};
use posewire_hub::clock::Exchange;
use posewire_hub::endpoint;
use posewire_hub::exchange::ClockMessage;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use timing::clock::now_us;

use super::peer::Peer;
use super::signals::stop_signal;
use super::sources::DATAGRAM;
use super::zenoh;

/// Passes a board's lines on, and lets the hub compare clocks: to half the network's asymmetry, where arrivals alone are late by its
/// shortest way
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  posewire run --udp 127.0.0.1:9100 --predict capture &
  posewire-hub agent --listen 127.0.0.1:9100 --to hub.local:9101
  posewire-hub agent --to hub-1.local:9101 --to hub-2.local:9101       two hubs of one room, of which one takes over from the other
By Zenoh, in a posewire-hub that was built with it; the hub's cameras.toml says listen = \"zenoh:hall/door\":
  posewire-hub agent --to zenoh:hall/door                                 hubs of this network are found
  posewire-hub agent --to zenoh:hall/door --zenoh tcp/router.example:7447     through a router, from anywhere")]
pub struct Args {
    /// Where `posewire run` sends
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9100")]
    listen: String,
    /// The camera's address at the hub, or its key in Zenoh; more than once for several hubs
    #[arg(long, value_name = "HOST:PORT|zenoh:KEY", required = true)]
    to: Vec<String>,
    #[command(flatten)]
    net: zenoh::Args,
}

/// How a hub is reached.
enum Way {
    Datagrams(Peer),
    /// Several may hear.
    Key(zenoh::Way),
}

impl Way {
    fn send(&mut self, bytes: &[u8]) {
        match self {
            Way::Datagrams(peer) => peer.send(bytes),
            Way::Key(way) => way.send(bytes),
        }
    }

    /// What a hub said and when that came, without waiting; `None` where nothing did. Nobody else is listened to.
    fn answer(&self, bytes: &mut [u8]) -> Option<(Option<ClockMessage>, i64)> {
        match self {
            Way::Datagrams(peer) => {
                let n = peer.receive(bytes)?;
                Some((std::str::from_utf8(&bytes[..n]).ok().and_then(ClockMessage::read), now_us()))
            }
            Way::Key(way) => way.answer().map(|(text, got_us)| (ClockMessage::read(&text), got_us)),
        }
    }

    /// Where answers come in that have no stamp yet.
    fn socket(&self) -> Option<&UdpSocket> {
        match self {
            Way::Datagrams(peer) => peer.socket(),
            Way::Key(_) => None,
        }
    }
}

/// One hub, or those that hear a key, as this board knows them.
struct Hub {
    name: String,
    way: Way,
    asked_us: i64,
    answered: bool,
}

impl Hub {
    fn find(name: &str, net: &zenoh::Args, session: &mut Option<zenoh::Session>) -> Result<Self> {
        let way = match endpoint::zenoh_key(name).transpose().map_err(anyhow::Error::msg)? {
            None => Way::Datagrams(Peer::open("agent: --to", name)?),
            Some(key) => {
                let session = match session {
                    Some(session) => session,
                    None => session.insert(net.open(zenoh::End::Board)?),
                };
                Way::Key(session.way(key)?)
            }
        };
        Ok(Self { name: name.to_owned(), way, asked_us: 0, answered: false })
    }

    /// Takes answers, and asks when it is time.
    fn compare_clocks(&mut self, bytes: &mut [u8]) {
        while let Some((said, got_us)) = self.way.answer(bytes) {
            if let Some(ClockMessage::Answer(asked_us, heard_us, answered_us)) = said
                && asked_us == self.asked_us
            {
                let done = ClockMessage::Done(Exchange { asked_us, heard_us, answered_us, got_us });
                self.way.send(done.text().as_bytes());
                if !std::mem::replace(&mut self.answered, true) {
                    say!("posewire-hub agent: {} answered within {} µs", self.name, got_us - asked_us);
                }
            }
        }
        let now = now_us();
        if now - self.asked_us > ASK_US {
            self.asked_us = now;
            self.way.send(ClockMessage::Ask(now).text().as_bytes());
        }
    }
}

/// From one question to the next.
const ASK_US: i64 = 1_000_000;
/// Waits no longer for anything.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

pub fn run(args: &Args) -> Result<()> {
    let stop = stop_signal()?;
    let lines = UdpSocket::bind(&args.listen)
        .with_context(|| format!("{} cannot be listened at: is another agent there?", args.listen))?;
    lines.set_nonblocking(true)?;
    // As long as the hubs.
    let mut session = None;
    let hubs = args.to.iter().map(|name| Hub::find(name, &args.net, &mut session));
    let mut hubs = hubs.collect::<Result<Vec<Hub>>>()?;
    let mut bytes = vec![0; DATAGRAM];
    say!("posewire-hub agent: {} to {}; Ctrl-C ends it", args.listen, args.to.join(" and "));
    while !stop.load(Ordering::Relaxed) {
        wait(&lines, &hubs, &LOOK)?;
        // Answers first: what they wait here would look like their way.
        hubs.iter_mut().for_each(|hub| hub.compare_clocks(&mut bytes));
        match lines.recv(&mut bytes) {
            Ok(n) => hubs.iter_mut().for_each(|hub| hub.way.send(&bytes[..n])),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(e) => return Err(e).context("the board's lines"),
        }
    }
    Ok(())
}

/// Until a line or a hub's answer is there, or a signal; no longer than `most`.
fn wait(lines: &UdpSocket, hubs: &[Hub], most: &Timespec) -> Result<()> {
    let answers = hubs.iter().filter_map(|hub| hub.way.socket());
    let sockets = std::iter::once(lines).chain(answers);
    let mut all: Vec<PollFd<'_>> = sockets.map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
    match poll(&mut all, Some(most)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(e) => Err(e).context("the agent's sockets"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_hub_s_answer_does_not_wait_for_the_board_s_next_line() {
        let [board, far] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        let to = far.local_addr().unwrap().to_string();
        let mut hub = Hub::find(&to, &zenoh::Args::default(), &mut None).unwrap();
        let mut bytes = vec![0; 1_000];
        hub.compare_clocks(&mut bytes);
        let (n, from) = far.recv_from(&mut bytes).unwrap();
        let Some(ClockMessage::Ask(asked)) =
            std::str::from_utf8(&bytes[..n]).ok().and_then(ClockMessage::read)
        else {
            panic!("no question");
        };
        far.send_to(ClockMessage::Answer(asked, 1, 2).text().as_bytes(), from).unwrap();
        let began = Instant::now();
        wait(&board, std::slice::from_ref(&hub), &Timespec { tv_sec: 60, tv_nsec: 0 }).unwrap();
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
        hub.compare_clocks(&mut bytes);
        let n = far.recv(&mut bytes).unwrap();
        assert!(bytes[..n].starts_with(b"clock done"));
    }
}
