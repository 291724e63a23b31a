//! `posewire-hub agent`: on a board, between `posewire run` and the hub.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context, Result};
use posewire_hub::clock::Exchange;
use posewire_hub::ear;
use posewire_hub::exchange::Said;

use super::peer::Peer;
use super::sources::{now_us, stop_signal};
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

    /// What a hub said, without waiting; `None` where nothing did. Nobody else is listened to.
    fn answer(&self, bytes: &mut [u8]) -> Option<Option<Said>> {
        match self {
            Way::Datagrams(peer) => {
                let n = peer.receive(bytes)?;
                Some(std::str::from_utf8(&bytes[..n]).ok().and_then(Said::read))
            }
            Way::Key(way) => way.answer().map(|text| Said::read(&text)),
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
        let way = match ear::key(name).transpose().map_err(anyhow::Error::msg)? {
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
        while let Some(said) = self.way.answer(bytes) {
            let got_us = now_us();
            if let Some(Said::Answer(asked_us, heard_us, answered_us)) = said
                && asked_us == self.asked_us
            {
                let done = Said::Done(Exchange { asked_us, heard_us, answered_us, got_us });
                self.way.send(done.text().as_bytes());
                if !std::mem::replace(&mut self.answered, true) {
                    eprintln!("posewire-hub agent: {} answered within {} µs", self.name, got_us - asked_us);
                }
            }
        }
        let now = now_us();
        if now - self.asked_us > ASK_US {
            self.asked_us = now;
            self.way.send(Said::Ask(now).text().as_bytes());
        }
    }
}

/// From one question to the next.
const ASK_US: i64 = 1_000_000;
const LOOK: Duration = Duration::from_millis(5);

pub fn run(args: &Args) -> Result<()> {
    let stop = stop_signal()?;
    let lines = UdpSocket::bind(&args.listen)
        .with_context(|| format!("{} cannot be listened at: is another agent there?", args.listen))?;
    lines.set_read_timeout(Some(LOOK))?;
    // As long as the hubs.
    let mut session = None;
    let hubs = args.to.iter().map(|name| Hub::find(name, &args.net, &mut session));
    let mut hubs = hubs.collect::<Result<Vec<Hub>>>()?;
    let mut bytes = vec![0; 65_536];
    eprintln!("posewire-hub agent: {} to {}; Ctrl-C ends it", args.listen, args.to.join(" and "));
    while !stop.load(Ordering::Relaxed) {
        match lines.recv(&mut bytes) {
            Ok(n) => hubs.iter_mut().for_each(|hub| hub.way.send(&bytes[..n])),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(e) => return Err(e).context("the board's lines"),
        }
        hubs.iter_mut().for_each(|hub| hub.compare_clocks(&mut bytes));
    }
    Ok(())
}
