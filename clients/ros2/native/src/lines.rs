//! The datagrams of `posewire run --udp`, one JSON line each.

use std::convert::Infallible;
use std::net::UdpSocket;

use crate::convert::Frame;

/// Where `posewire run --udp` sends to unless told otherwise in the documents.
const PORT: u16 = 9100;
/// No datagram is longer.
const LONGEST: usize = 65_535;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}: no port; the first argument is the one that `posewire run --udp 127.0.0.1:PORT` sends to")]
    Usage(String),
    #[error("UDP port {0}: {1}; is another program listening there?")]
    Port(u16, std::io::Error),
}

/// Whoever listens for lines.
pub struct Lines {
    pub port: u16,
    ear: UdpSocket,
}

impl Lines {
    /// On the port of that word, or the documents' own.
    pub fn open(port: Option<String>) -> Result<Self, Error> {
        let port = port.map_or(Ok(PORT), |word| word.parse().map_err(|_| Error::Usage(word)))?;
        let ear = UdpSocket::bind(("127.0.0.1", port)).map_err(|e| Error::Port(port, e))?;
        Ok(Self { port, ear })
    }

    /// Hands over every frame of a camera or a recording with its line, until the port fails.
    pub fn each(&self, mut tell: impl FnMut(&Frame, &str)) -> Result<Infallible, Error> {
        let mut datagram = vec![0; LONGEST];
        let mut was_built_in = false;
        loop {
            let count = self.ear.recv(&mut datagram).map_err(|e| Error::Port(self.port, e))?;
            let Ok(line) = std::str::from_utf8(&datagram[..count]) else { continue };
            // What is no line of ours is passed over: anybody may send datagrams.
            let Ok(frame) = serde_json::from_str::<Frame>(line) else { continue };
            let is_built_in = frame.is_built_in();
            if is_built_in && !was_built_in {
                eprintln!("the tracker has no camera and sends its built-in clip, which is not published");
            }
            was_built_in = is_built_in;
            if !is_built_in {
                tell(&frame, line.trim_end());
            }
        }
    }
}
