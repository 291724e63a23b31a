//! `posewire-hub agent`: on a board, between `posewire run` and the hub.

use std::io::ErrorKind;
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context, Result};
use posewire_hub::clock::Exchange;
use posewire_hub::exchange::Said;

use super::sources::{now_us, stop_signal};

/// Passes a board's lines on, and lets the hub compare clocks: to half the network's asymmetry, where arrivals alone are late by its
/// shortest way
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  posewire run --udp 127.0.0.1:9100 --predict capture &
  posewire-hub agent --listen 127.0.0.1:9100 --to hub.local:9101
  posewire-hub agent --to hub-1.local:9101 --to hub-2.local:9101       two hubs of one room, of which one takes over from the other")]
pub struct Args {
    /// Where `posewire run` sends
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9100")]
    listen: String,
    /// The camera's address at the hub; more than once for several hubs
    #[arg(long, value_name = "HOST:PORT", required = true)]
    to: Vec<String>,
}

/// One hub, as this board knows it.
struct Hub {
    address: SocketAddr,
    socket: UdpSocket,
    asked_us: i64,
    answered: bool,
}

impl Hub {
    fn find(name: &str) -> Result<Self> {
        let address = name
            .to_socket_addrs()
            .with_context(|| format!("{name}: nobody knows that name; an address does, too"))?
            .next()
            .with_context(|| format!("{name}: no address"))?;
        let socket = UdpSocket::bind(if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" })?;
        socket.set_nonblocking(true)?;
        Ok(Self { address, socket, asked_us: 0, answered: false })
    }

    fn send(&self, bytes: &[u8]) {
        // A hub that is away hears the next one.
        let _ = self.socket.send_to(bytes, self.address);
    }

    /// Takes answers, and asks when it is time.
    fn compare_clocks(&mut self, bytes: &mut [u8]) {
        while let Ok((n, from)) = self.socket.recv_from(bytes) {
            let got_us = now_us();
            let said = std::str::from_utf8(&bytes[..n]).ok().and_then(Said::read);
            if let Some(Said::Answer(asked_us, heard_us, answered_us)) = said
                && from == self.address
                && asked_us == self.asked_us
            {
                let done = Said::Done(Exchange { asked_us, heard_us, answered_us, got_us });
                self.send(done.text().as_bytes());
                if !std::mem::replace(&mut self.answered, true) {
                    eprintln!(
                        "posewire-hub agent: {} answered within {} µs",
                        self.address,
                        got_us - asked_us
                    );
                }
            }
        }
        let now = now_us();
        if now - self.asked_us > ASK_US {
            self.asked_us = now;
            self.send(Said::Ask(now).text().as_bytes());
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
    let mut hubs = args.to.iter().map(|name| Hub::find(name)).collect::<Result<Vec<Hub>>>()?;
    let mut bytes = vec![0; 65_536];
    eprintln!("posewire-hub agent: {} to {}; Ctrl-C ends it", args.listen, args.to.join(" and "));
    while !stop.load(Ordering::Relaxed) {
        match lines.recv(&mut bytes) {
            Ok(n) => hubs.iter().for_each(|hub| hub.send(&bytes[..n])),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(e) => return Err(e).context("the board's lines"),
        }
        hubs.iter_mut().for_each(|hub| hub.compare_clocks(&mut bytes));
    }
    Ok(())
}
