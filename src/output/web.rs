//! The web preview: a page that draws skeletons, for a board without a screen.
//!
//! Nothing listens unless `--web ADDR` asks for it. The page needs nothing from elsewhere; poses come to it as
//! server-sent events, the JSON lines of [`super::jsonl`]; no picture ever leaves. Anybody who reaches the address sees
//! the poses: it is meant for the loopback (`ssh -L` brings it to a desk) and says so where it is not.
//!
//! Everything is bounded: `MAX_CLIENTS` connections, a small request head, a time to write; a client that is slow gets the
//! newest poses when it is ready, one that is stuck is let go. Written on the standard library's sockets because a
//! request's time and the number of connections must be bounded, which small HTTP servers leave open.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::jsonl::{Format, Head, source_of};
use super::{Host, PoseSink, Predict, SinkError};
use pose::PoseFrame;

/// A preview for a few people; each connection is a thread.
const MAX_CLIENTS: usize = 8;
/// Browsers send about 1 KiB.
const MAX_HEAD_BYTES: usize = 8 * 1024;
/// A client that has not sent its whole request, or not taken a whole answer or event, after so long is let go.
const PATIENCE: Duration = Duration::from_secs(2);
/// How soon the threads notice that they are to end.
const TICK: Duration = Duration::from_millis(50);
/// Some proxies close a stream that says nothing for a minute; this is far below.
const KEEP_ALIVE_TICKS: u32 = 200;

const PAGE: &str = include_str!("web.html");

/// The sink of `--web`.
pub struct Web {
    name: String,
    predict: Predict,
    address: SocketAddr,
    shared: Arc<Shared>,
    line: Vec<u8>,
    host: Option<Arc<dyn Host>>,
    listener: Option<JoinHandle<()>>,
}

/// What the sink gives and every connection takes.
struct Shared {
    newest: Mutex<Newest>,
    changed: Condvar,
    is_over: AtomicBool,
    clients: AtomicUsize,
    /// Where only this machine is served, other names in a request mean that a page elsewhere has it sent.
    is_local: bool,
    page: String,
}

#[derive(Default)]
struct Newest {
    /// Counts what was sent; 0 before the first.
    count: u64,
    size_px: (u32, u32),
    line: Vec<u8>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Newest> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}

impl Web {
    /// Listens on `address`: `127.0.0.1:8080`, `localhost:8080`, `[::]:8080`.
    ///
    /// # Errors
    /// [`SinkError::Fatal`] where that is no address or cannot be listened on.
    pub fn open(address: &str, predict: Predict) -> Result<Self, SinkError> {
        let fatal = |e: io::Error| {
            SinkError::Fatal(format!(
                "--web {address}: {e}; give an address of this machine and a free port, as in 127.0.0.1:8080"
            ))
        };
        let addresses: Vec<SocketAddr> = address.to_socket_addrs().map_err(fatal)?.collect();
        let listener = TcpListener::bind(&addresses[..]).map_err(fatal)?;
        listener.set_nonblocking(true).map_err(fatal)?;
        let address = listener.local_addr().map_err(fatal)?;
        let is_local = address.ip().is_loopback();
        log::info!("web preview: http://{address}/");
        if !is_local {
            log::warn!(
                "web preview: anybody who reaches {address} sees the poses; 127.0.0.1 keeps them on this machine"
            );
        }
        let bones = pose::BONES.map(|(a, b)| [a as usize, b as usize]);
        let colours: Vec<String> = (0..pose_draw::PALETTE as u32)
            .map(|id| pose_draw::colour_of(id).map(|c| format!("{c:02x}")).concat())
            .map(|hex| format!("#{hex}"))
            .collect();
        let shared = Arc::new(Shared {
            newest: Mutex::default(),
            changed: Condvar::new(),
            is_over: AtomicBool::new(false),
            clients: AtomicUsize::new(0),
            is_local,
            page: PAGE
                .replace("@BONES@", &format!("{bones:?}"))
                .replace("@COLOURS@", &format!("{colours:?}"))
                .replace("@UNSURE@", &pose_draw::UNSURE_SCORE.to_string()),
        });
        let for_listener = shared.clone();
        let listener = std::thread::Builder::new()
            .name("web".into())
            .spawn(move || listen(&listener, &for_listener))
            .map_err(fatal)?;
        Ok(Self {
            name: format!("web {address}"),
            predict,
            address,
            shared,
            line: Vec::new(),
            host: None,
            listener: Some(listener),
        })
    }

    /// The page says when nobody is there, as `host` knows it.
    pub fn told_by(mut self, host: Arc<dyn Host>) -> Self {
        self.host = Some(host);
        self
    }

    /// Where it listens: the port is told where 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl PoseSink for Web {
    fn name(&self) -> &str {
        &self.name
    }

    fn send(&mut self, poses: &PoseFrame, now_us: i64) -> Result<(), SinkError> {
        self.line.clear();
        let head = Head {
            seq: poses.seq,
            frame: Some(poses.frame),
            captured_at_us: poses.captured_at_us,
            emitted_at_us: now_us,
            source: source_of(self.host.as_deref()),
        };
        Format::Full.write(&mut self.line, &head, self.predict.poses(poses, now_us));
        let mut newest = self.shared.lock();
        std::mem::swap(&mut newest.line, &mut self.line);
        newest.count += 1;
        newest.size_px = (poses.width, poses.height);
        drop(newest);
        self.shared.changed.notify_all();
        Ok(())
    }

    fn finish(&mut self, _within: Duration) -> Result<(), SinkError> {
        self.shared.is_over.store(true, Ordering::Release);
        self.shared.changed.notify_all();
        if let Some(listener) = self.listener.take() {
            // Ends within a tick; connections end by themselves and are not waited for.
            let _ = listener.join();
        }
        Ok(())
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
    }
}

fn listen(listener: &TcpListener, shared: &Arc<Shared>) {
    while !shared.is_over() {
        match listener.accept() {
            Ok((stream, _)) => admit(stream, shared),
            // Also where file descriptors run out: that passes.
            Err(_) => std::thread::sleep(TICK),
        }
    }
}

/// Gives the connection a thread, or a refusal where there are enough.
fn admit(stream: TcpStream, shared: &Arc<Shared>) {
    if stream.set_nonblocking(false).is_err() {
        return;
    }
    if shared.clients.load(Ordering::Acquire) >= MAX_CLIENTS {
        // A request left unread would turn the refusal into a reset.
        let _ = stream.set_read_timeout(Some(TICK)).and_then(|()| (&stream).read(&mut [0; 1024]));
        let _ = respond(&stream, "503 Service Unavailable", "text/plain", "too many viewers\n");
        return;
    }
    shared.clients.fetch_add(1, Ordering::AcqRel);
    let of_client = Client(shared.clone());
    // Where no thread can be had, `of_client` is dropped and gives its place back.
    let _ = std::thread::Builder::new().name("web-client".into()).spawn(move || {
        // A connection that breaks is the normal end of one.
        let _ = serve(&stream, &of_client.0);
    });
}

/// A stream for a while: [`PATIENCE`] in all, not for each byte, which a client could give one by one for ever.
struct Bounded<'a> {
    stream: &'a TcpStream,
    until: Instant,
}

impl<'a> Bounded<'a> {
    fn new(stream: &'a TcpStream) -> Self {
        Self { stream, until: Instant::now() + PATIENCE }
    }

    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for Bounded<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(bytes)
    }
}

impl Write for Bounded<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A place among [`MAX_CLIENTS`].
struct Client(Arc<Shared>);

impl Drop for Client {
    fn drop(&mut self) {
        self.0.clients.fetch_sub(1, Ordering::AcqRel);
    }
}

fn serve(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    let mut head = [0; MAX_HEAD_BYTES];
    let Some(head) = read_head(&mut Bounded::new(stream), &mut head)? else {
        return respond(stream, "431 Request Header Fields Too Large", "text/plain", "request too large\n");
    };
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or("").split(' ');
    let (method, path) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let host = lines
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("host"))
        .map_or("", |(_, value)| value.trim());
    if shared.is_local && !is_local_name(host) {
        return respond(stream, "403 Forbidden", "text/plain", "this preview serves this machine only\n");
    }
    match (method, path) {
        ("GET", "/") => respond(stream, "200 OK", "text/html; charset=utf-8", &shared.page),
        ("GET", "/poses") => stream_poses(stream, shared),
        ("GET", _) => respond(stream, "404 Not Found", "text/plain", "there are / and /poses\n"),
        _ => respond(stream, "405 Method Not Allowed", "text/plain", "GET only\n"),
    }
}

/// The request's head as text; `None` where it is larger than `buffer` or no text.
fn read_head<'a>(stream: &mut impl Read, buffer: &'a mut [u8]) -> io::Result<Option<&'a str>> {
    let mut len = 0;
    while len < buffer.len() {
        let n = stream.read(&mut buffer[len..])?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        len += n;
        if let Some(end) = buffer[..len].windows(4).position(|w| w == b"\r\n\r\n") {
            return Ok(std::str::from_utf8(&buffer[..end]).ok());
        }
    }
    Ok(None)
}

/// Whether a request's `Host` names this machine's own loopback.
fn is_local_name(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    bare.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn respond(stream: &TcpStream, status: &str, kind: &str, body: &str) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nContent-Security-Policy: default-src 'none'; \
         script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'\r\n\r\n",
        body.len()
    );
    let mut stream = Bounded::new(stream);
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

/// The newest poses whenever there are newer ones and the client has taken the last.
fn stream_poses(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    Bounded::new(stream).write_all(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
    )?;
    let (mut count, mut size_px, mut quiet_ticks) = (0, (0, 0), 0);
    let mut event = Vec::new();
    while !shared.is_over() {
        event.clear();
        {
            let newest = shared.lock();
            let wait =
                shared.changed.wait_timeout_while(newest, TICK, |n| n.count == count && !shared.is_over());
            let (newest, _) = wait.unwrap_or_else(PoisonError::into_inner);
            if newest.count != count {
                count = newest.count;
                if newest.size_px != size_px {
                    size_px = newest.size_px;
                    write!(event, "event: size\ndata: [{},{}]\n\n", size_px.0, size_px.1)?;
                }
                event.extend_from_slice(b"data: ");
                event.extend_from_slice(&newest.line);
                event.push(b'\n');
            }
        }
        quiet_ticks = if event.is_empty() { quiet_ticks + 1 } else { 0 };
        if quiet_ticks == KEEP_ALIVE_TICKS {
            event.extend_from_slice(b": still here\n\n");
            quiet_ticks = 0;
        }
        Bounded::new(stream).write_all(&event)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(seq: u64) -> PoseFrame {
        PoseFrame {
            seq,
            frame: seq,
            captured_at_us: 1,
            width: 320,
            height: 240,
            persons: [None; pose::MAX_PERSONS],
        }
    }

    fn connect(web: &Web, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(web.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    fn ask(web: &Web, request: &str) -> String {
        let mut answer = String::new();
        connect(web, request).read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn the_page_is_whole_and_other_requests_are_refused() {
        let web = Web::open("127.0.0.1:0", Predict::Capture).unwrap();
        let page = ask(&web, "GET / HTTP/1.1\r\nHost: localhost:99\r\n\r\n");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
        assert!(page.contains("[[3, 1], [1, 0]"), "the bones are in the page");
        assert!(page.contains(r##"["#f0e442", "#56b4e9""##), "and the colours of identities");
        assert!(
            !page.contains("@BONES@")
                && !page.contains("@COLOURS@")
                && !page.contains("@UNSURE@")
                && !page.contains("http://")
                && !page.contains("https://")
        );
        assert!(ask(&web, "GET /x HTTP/1.1\r\nHost: [::1]\r\n\r\n").starts_with("HTTP/1.1 404"));
        assert!(ask(&web, "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").starts_with("HTTP/1.1 405"));
        for other in ["evil.example:8080", "10.0.0.1", ""] {
            let refusal = ask(&web, &format!("GET /poses HTTP/1.1\r\nHost: {other}\r\n\r\n"));
            assert!(refusal.starts_with("HTTP/1.1 403"), "{other}: {refusal}");
        }
        let long = format!("GET / HTTP/1.1\r\nX: {}", "a".repeat(MAX_HEAD_BYTES));
        let mut stream = connect(&web, &long[..MAX_HEAD_BYTES]);
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        assert_eq!(&status, b"HTTP/1.1 431");
    }

    #[test]
    fn requests_that_come_byte_by_byte_do_not_shut_others_out() {
        let web = Web::open("127.0.0.1:0", Predict::Capture).unwrap();
        let mut slow: Vec<TcpStream> =
            (0..MAX_CLIENTS).map(|_| connect(&web, "GET / HTTP/1.1\r\nX: ")).collect();
        let began = Instant::now();
        while began.elapsed() < PATIENCE + Duration::from_millis(700) {
            for stream in &mut slow {
                // Fails once it is let go.
                let _ = stream.write_all(b"a");
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let page = ask(&web, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
    }

    #[test]
    fn poses_stream_to_a_bounded_number_of_viewers() {
        let mut web = Web::open("127.0.0.1:0", Predict::Capture).unwrap();
        web.send(&frame(5), 9).unwrap();
        let request = "GET /poses HTTP/1.1\r\nHost: localhost\r\n\r\n";
        let mut viewers: Vec<TcpStream> = (0..MAX_CLIENTS).map(|_| connect(&web, request)).collect();
        let expected = "event: size\ndata: [320,240]\n\ndata: {\"seq\":5,\"frame\":5,\"captured_us\":1,\"emitted_us\":9,\"persons\":[]}\n\n";
        for viewer in &mut viewers {
            let mut got = String::new();
            while !got.ends_with(expected) {
                let mut byte = [0];
                viewer.read_exact(&mut byte).unwrap();
                got.push(char::from(byte[0]));
            }
        }
        assert!(ask(&web, request).starts_with("HTTP/1.1 503"));
        // Nobody reads any more, and sending goes on.
        for seq in 6..2_000 {
            web.send(&frame(seq), 9).unwrap();
        }
        web.finish(Duration::from_millis(100)).unwrap();
        drop(viewers);
    }
}
