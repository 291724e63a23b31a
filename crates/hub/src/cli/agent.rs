//! `posewire-hub agent`: on a board, between `posewire run` and the hub.

use std::io::ErrorKind;
use std::net::{ToSocketAddrs, UdpSocket};
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
  posewire-hub agent --listen 127.0.0.1:9100 --to hub.local:9101")]
pub struct Args {
    /// Where `posewire run` sends
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9100")]
    listen: String,
    /// The camera's address at the hub
    #[arg(long, value_name = "HOST:PORT")]
    to: String,
}

/// From one question to the next.
const ASK_US: i64 = 1_000_000;
const LOOK: Duration = Duration::from_millis(5);

pub fn run(args: &Args) -> Result<()> {
    let stop = stop_signal()?;
    let lines = UdpSocket::bind(&args.listen)
        .with_context(|| format!("{} cannot be listened at: is another agent there?", args.listen))?;
    lines.set_read_timeout(Some(LOOK))?;
    let hub = args
        .to
        .to_socket_addrs()
        .with_context(|| format!("{}: nobody knows that name; an address does, too", args.to))?
        .next()
        .with_context(|| format!("{}: no address", args.to))?;
    let out = UdpSocket::bind(if hub.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" })?;
    out.set_nonblocking(true)?;
    let (mut bytes, mut asked_us, mut first) = (vec![0; 65_536], 0, true);
    eprintln!("posewire-hub agent: {} to {hub}; Ctrl-C ends it", args.listen);
    while !stop.load(Ordering::Relaxed) {
        match lines.recv(&mut bytes) {
            // A hub that is away hears the next one.
            Ok(n) => drop(out.send_to(&bytes[..n], hub)),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(e) => return Err(e).context("the board's lines"),
        }
        while let Ok((n, from)) = out.recv_from(&mut bytes) {
            let got_us = now_us();
            let said = std::str::from_utf8(&bytes[..n]).ok().and_then(Said::read);
            if let Some(Said::Answer(asked, heard_us, answered_us)) = said
                && from == hub
                && asked == asked_us
            {
                let done = Said::Done(Exchange { asked_us: asked, heard_us, answered_us, got_us });
                let _ = out.send_to(done.text().as_bytes(), hub);
                if std::mem::take(&mut first) {
                    eprintln!("posewire-hub agent: the hub answered within {} µs", got_us - asked);
                }
            }
        }
        let now = now_us();
        if now - asked_us > ASK_US {
            asked_us = now;
            let _ = out.send_to(Said::Ask(now).text().as_bytes(), hub);
        }
    }
    Ok(())
}
