//! Datagrams to one peer that may be dead, slow, not there yet, or at another address tomorrow. Nothing here waits.
//!
//! UDP asks nobody whether somebody listens: what is sent to a dead peer is gone, and a peer that returns gets the next one. A name
//! is looked up on a thread of its own, because a resolver may take half a minute, and again from time to time. Time is an argument.
#![forbid(unsafe_code)]

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::Duration;

/// From one look for a name that is not known to the next.
const LOOK_AGAIN_US: i64 = 5_000_000;
/// A name that is known may belong to another address by now.
const LOOK_ANEW_US: i64 = 30_000_000;
/// How long the start waits for the name's first answer, so that a mistake is seen at once.
const FIRST_LOOK: Duration = Duration::from_secs(1);

/// More does not fit into a datagram of IPv4.
pub const MAX_BYTES: usize = 65_507;

/// Whether `text` is `HOST:PORT`; whether the host is there shows when it is used.
pub fn is_host_and_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    // Without brackets an address of version 6 would lose its last part to the port.
    let is_host = !host.is_empty() && (!host.contains(':') || (host.starts_with('[') && host.ends_with(']')));
    is_host && port.parse::<u16>().is_ok()
}

/// Why a datagram did not go out. The next one may.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The name has no address yet.
    #[error("{peer}: {why}; it is looked for every 5 s")]
    Unknown {
        /// `HOST:PORT`, as the user gave it.
        peer: String,
        /// What the resolver says.
        why: String,
    },
    /// More than [`MAX_BYTES`].
    #[error("{peer}: {bytes} bytes do not fit into a datagram, which takes {MAX_BYTES}; they are dropped")]
    TooLong {
        /// `HOST:PORT`, as the user gave it.
        peer: String,
        /// How many were to be sent.
        bytes: usize,
    },
    /// The network does not take it.
    #[error("{address}: {why}; what cannot be sent is dropped")]
    Refused {
        /// Where it was to go.
        address: SocketAddr,
        /// What the system says.
        why: io::Error,
    },
}

/// Where datagrams go.
#[derive(Debug)]
pub struct Datagrams {
    /// `HOST:PORT`, as the user gave it.
    to: String,
    socket: Option<UdpSocket>,
    address: Option<SocketAddr>,
    /// A name's address may change; an address does not.
    is_name: bool,
    /// A look for the name that is under way.
    look: Option<Receiver<io::Result<SocketAddr>>>,
    look_at_us: i64,
    /// Why the last look found nothing.
    unknown: Option<String>,
    has_failed: bool,
}

impl Datagrams {
    /// To `HOST:PORT`; a name that nobody knows yet is looked for from now on.
    pub fn to(to: &str) -> Self {
        let address = to.parse().ok();
        let is_name = address.is_none();
        let mut datagrams = Self {
            to: to.to_owned(),
            socket: None,
            address,
            is_name,
            look: None,
            look_at_us: i64::MIN,
            unknown: None,
            has_failed: false,
        };
        if is_name {
            datagrams.begin_look();
            let first = datagrams.look.as_ref().and_then(|look| look.recv_timeout(FIRST_LOOK).ok());
            if let Some(found) = first {
                datagrams.look = None;
                datagrams.take(found);
            }
        }
        datagrams
    }

    /// `HOST:PORT`, as the user gave it.
    pub fn peer(&self) -> &str {
        &self.to
    }

    /// Whether there is an address to send to, or may soon be.
    ///
    /// # Errors
    /// [`SendError::Unknown`]: nobody knows the name.
    pub fn known(&self) -> Result<(), SendError> {
        match (&self.address, &self.unknown) {
            (None, Some(why)) => Err(SendError::Unknown { peer: self.to.clone(), why: why.clone() }),
            // The first look may still be under way.
            _ => Ok(()),
        }
    }

    /// Whether the last datagram did not go out.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Sends `bytes` now or not at all.
    ///
    /// # Errors
    /// [`SendError`]
    pub fn send(&mut self, bytes: &[u8], now_us: i64) -> Result<(), SendError> {
        let sent = self.try_to_send(bytes, now_us);
        self.has_failed = sent.is_err();
        sent
    }

    fn try_to_send(&mut self, bytes: &[u8], now_us: i64) -> Result<(), SendError> {
        self.look_for_name(now_us);
        let Some(address) = self.address else { return self.known() };
        let told = |why: io::Error| SendError::Refused { address, why };
        let socket = match &self.socket {
            Some(socket) => socket,
            None => self.socket.insert(socket_for(address).map_err(told)?),
        };
        match socket.send_to(bytes, address) {
            Ok(_) => Ok(()),
            Err(_) if bytes.len() > MAX_BYTES => {
                Err(SendError::TooLong { peer: self.to.clone(), bytes: bytes.len() })
            }
            Err(why) => Err(told(why)),
        }
    }

    /// What the peer answers, without waiting: how many of `bytes` it fills. Nobody else is listened to.
    pub fn receive(&self, bytes: &mut [u8]) -> Option<usize> {
        let (socket, address) = (self.socket.as_ref()?, self.address?);
        loop {
            let (n, from) = socket.recv_from(bytes).ok()?;
            if from == address {
                return Some(n);
            }
        }
    }

    /// To wait for what the peer answers; `None` before anything was sent.
    pub fn socket(&self) -> Option<&UdpSocket> {
        self.socket.as_ref()
    }

    fn look_for_name(&mut self, now_us: i64) {
        if !self.is_name {
            return;
        }
        if let Some(look) = &self.look {
            match look.try_recv() {
                Ok(found) => {
                    self.look = None;
                    self.take(found);
                    let wait_us = if self.address.is_some() { LOOK_ANEW_US } else { LOOK_AGAIN_US };
                    self.look_at_us = now_us.saturating_add(wait_us);
                }
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => self.look = None,
            }
        } else if now_us >= self.look_at_us {
            // Counted from the first datagram: the start has just looked.
            if self.look_at_us != i64::MIN {
                self.begin_look();
            }
            let wait_us = if self.address.is_some() { LOOK_ANEW_US } else { LOOK_AGAIN_US };
            self.look_at_us = now_us.saturating_add(wait_us);
        }
    }

    fn begin_look(&mut self) {
        let (tell, told) = sync_channel(1);
        let to = self.to.clone();
        let looking = move || {
            // Whoever asked may be gone.
            let _ = tell.send(address_of(&to));
        };
        // Without a thread there is no answer; the next look may have one.
        if std::thread::Builder::new().name("name".into()).spawn(looking).is_ok() {
            self.look = Some(told);
        }
    }

    fn take(&mut self, found: io::Result<SocketAddr>) {
        match found {
            Ok(address) => {
                if self.address.is_some_and(|before| before != address) {
                    log::info!("{}: now at {address}", self.to);
                    self.socket = None;
                }
                self.address = Some(address);
                self.unknown = None;
            }
            // A name that was known keeps its address: the resolver is more often away than the peer.
            Err(e) => self.unknown = Some(e.to_string()),
        }
    }
}

/// Of several addresses one of version 4 where there is one: what listens for OSC mostly listens there alone.
fn address_of(to: &str) -> io::Result<SocketAddr> {
    // An address with the name of its interface, `[fe80::1%eth0]:9`, is known to the resolver alone, and without brackets.
    let scoped =
        to.strip_prefix('[').and_then(|to| to.rsplit_once("]:")).filter(|(host, _)| host.contains('%'));
    let scoped = scoped.and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?)));
    let all: Vec<SocketAddr> = match scoped {
        Some(host_and_port) => host_and_port.to_socket_addrs()?.collect(),
        None => to.to_socket_addrs()?.collect(),
    };
    let chosen = all.iter().find(|address| address.is_ipv4()).or(all.first());
    chosen.copied().ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no address"))
}

/// Not connected: a peer that is not there would otherwise be an error of the next datagram.
fn socket_for(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = match address {
        SocketAddr::V4(_) => UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?,
        SocketAddr::V6(_) => UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0))?,
    };
    socket.set_nonblocking(true)?;
    // 255.255.255.255 and a network's own such address reach everybody on it.
    if address.is_ipv4() {
        socket.set_broadcast(true)?;
    }
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(socket: &UdpSocket) -> Vec<u8> {
        let mut bytes = vec![0; 100];
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let n = socket.recv(&mut bytes).unwrap();
        bytes.truncate(n);
        bytes
    }

    #[test]
    fn a_peer_that_dies_and_returns_gets_what_is_sent_from_then_on() {
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = peer.local_addr().unwrap();
        let mut datagrams = Datagrams::to(&address.to_string());
        datagrams.send(b"one", 0).unwrap();
        assert_eq!(heard(&peer), b"one");
        drop(peer);
        for _ in 0..100 {
            datagrams.send(b"nobody", 1).unwrap();
        }
        let peer = UdpSocket::bind(address).unwrap();
        datagrams.send(b"two", 2).unwrap();
        assert_eq!(heard(&peer), b"two");
    }

    #[test]
    fn a_peer_that_does_not_read_holds_nobody_up() {
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut datagrams = Datagrams::to(&peer.local_addr().unwrap().to_string());
        // Many times what the kernel keeps for it.
        let began = std::time::Instant::now();
        for _ in 0..5_000 {
            // Dropped or told, but not waited for.
            let _ = datagrams.send(&[7; 1_400], 0);
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    }

    #[test]
    fn a_name_has_an_address_and_one_that_nobody_knows_is_told_and_looked_for() {
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut datagrams = Datagrams::to(&format!("localhost:{}", peer.local_addr().unwrap().port()));
        datagrams.send(b"by name", 0).unwrap();
        assert_eq!(heard(&peer), b"by name");
        assert!(!datagrams.has_failed());

        // Reserved so that nobody ever has it.
        let mut datagrams = Datagrams::to("posewire.invalid:9000");
        let began = std::time::Instant::now();
        let told = loop {
            match datagrams.send(b"x", 0) {
                Ok(()) if began.elapsed() < Duration::from_secs(60) => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                other => break other,
            }
        };
        assert!(
            matches!(&told, Err(SendError::Unknown { peer, .. }) if peer.contains("posewire.invalid")),
            "{told:?}"
        );
        assert!(datagrams.known().is_err() && datagrams.has_failed());
        assert!(datagrams.look.is_none());
        let _ = datagrams.send(b"x", LOOK_AGAIN_US + 1);
        assert!(datagrams.look.is_some(), "it is not looked for again");
    }

    #[test]
    fn a_name_that_is_known_is_looked_for_again_and_followed_to_where_it_is_now() {
        let [before, after] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        let mut datagrams = Datagrams::to(&format!("localhost:{}", before.local_addr().unwrap().port()));
        datagrams.send(b"one", 0).unwrap();
        assert_eq!(heard(&before), b"one");
        datagrams.send(b"two", LOOK_ANEW_US - 1).unwrap();
        assert!(datagrams.look.is_none());
        datagrams.send(b"three", LOOK_ANEW_US).unwrap();
        let began = std::time::Instant::now();
        while datagrams.look.is_some() && began.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(20));
            datagrams.send(b"three", LOOK_ANEW_US + 5).unwrap();
        }
        assert_eq!(datagrams.look_at_us, 2 * LOOK_ANEW_US + 5);
        // What the resolver cannot say now is where it was.
        datagrams.take(Err(io::Error::other("away")));
        assert!(datagrams.known().is_ok() && datagrams.send(b"four", LOOK_ANEW_US + 6).is_ok());
        datagrams.take(after.local_addr());
        assert!(datagrams.socket().is_none(), "it may be of the other version");
        datagrams.send(b"five", LOOK_ANEW_US + 7).unwrap();
        assert_eq!(heard(&after), b"five");
    }

    #[test]
    fn an_answer_that_has_not_come_is_not_waited_for() {
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut datagrams = Datagrams::to(&peer.local_addr().unwrap().to_string());
        datagrams.send(b"asks", 0).unwrap();
        let (tell, told) = sync_channel(1);
        std::thread::spawn(move || tell.send(datagrams.receive(&mut [0; 9])));
        assert_eq!(told.recv_timeout(Duration::from_secs(10)), Ok(None));
    }

    #[test]
    fn what_fits_into_no_datagram_is_told() {
        let mut datagrams = Datagrams::to("127.0.0.1:9");
        let told = datagrams.send(&vec![0; MAX_BYTES + 1], 0).map_err(|e| e.to_string());
        assert!(told.is_err_and(|text| text.contains("65508 bytes") && text.contains("127.0.0.1:9")));
    }

    #[test]
    fn of_a_name_the_address_of_version_4_is_taken_and_everybody_can_be_reached() {
        // Of both versions on most machines, in either order.
        assert!(address_of("localhost:9").unwrap().is_ipv4());
        assert!(socket_for("255.255.255.255:9".parse().unwrap()).unwrap().broadcast().unwrap());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_address_of_one_cable_is_known_by_its_interface() {
        let SocketAddr::V6(address) = address_of("[fe80::1%lo]:9").unwrap() else { panic!("of version 6") };
        let index = std::fs::read_to_string("/sys/class/net/lo/ifindex").unwrap();
        assert_eq!((address.scope_id(), address.port()), (index.trim().parse().unwrap(), 9));
        assert!(address_of("[fe80::1%no-such-one]:9").is_err());
    }

    #[test]
    fn the_peer_alone_is_listened_to() {
        let [peer, other] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        let mut datagrams = Datagrams::to(&peer.local_addr().unwrap().to_string());
        let mut bytes = [0; 100];
        assert_eq!(datagrams.receive(&mut bytes), None);
        datagrams.send(b"asks", 0).unwrap();
        let (_, from) = peer.recv_from(&mut bytes).unwrap();
        other.send_to(b"a stranger", from).unwrap();
        peer.send_to(b"answers", from).unwrap();
        let began = std::time::Instant::now();
        let heard = loop {
            match datagrams.receive(&mut bytes) {
                None if began.elapsed() < Duration::from_secs(10) => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                other => break other,
            }
        };
        assert_eq!(heard.map(|n| &bytes[..n]), Some(&b"answers"[..]));
    }
}
