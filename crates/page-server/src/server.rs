//! Listens, accepts connections, and ends.

use std::fmt::Display;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

use crate::MAX_CLIENTS;
use crate::guard::Guard;
use crate::middleware::guarded;
use crate::state::ServerState;
use crate::timeout_stream::{IO_TIMEOUT, TimeoutStream};

/// Connections beside the [`MAX_CLIENTS`] that stay open: a page asks for its parts by several at once.
const MAX_SHORT: usize = 24;

/// Browsers send about 1 KiB.
const MAX_HEAD_BYTES: usize = 8 * 1024;

/// How long the end waits for open sessions to send their close frames: somebody waits for the program to end.
const SHUTDOWN_GRACE: Duration = Duration::from_millis(200);

/// After so long without traffic the kernel probes whether the client is still there, again and again.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_PROBES: u32 = 3;

/// Why a page cannot be served. The system's reason stands in the message, and is no source beside it.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Nothing can listen there.
    #[error(
        "--web {address}: {reason}; give an address of this machine and a free port, as in 127.0.0.1:8080"
    )]
    Listen {
        /// As it was given.
        address: String,
        /// What the system said.
        reason: io::Error,
    },
    /// The system refuses a thread or its randomness.
    #[error("--web {address}: the page cannot be served: {reason}")]
    Start {
        /// As it was given.
        address: String,
        /// What the system said.
        reason: io::Error,
    },
}

/// A page that is served, by a thread of its own, until this is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    link: String,
    is_closing: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Answers by `paths` on `address` (`127.0.0.1:8080`, `localhost:8080`, `[::]:8080`) from now on; `not_found` is the answer to a
    /// request for another path.
    ///
    /// # Errors
    /// [`ServeError`].
    pub fn open(
        address: impl ToSocketAddrs + Display,
        paths: Router,
        not_found: &'static str,
    ) -> Result<Self, ServeError> {
        let listener = listen_on(&address)
            .map_err(|reason| ServeError::Listen { address: address.to_string(), reason })?;
        Self::on(listener, paths, not_found)
            .map_err(|reason| ServeError::Start { address: address.to_string(), reason })
    }

    fn on(listener: TcpListener, paths: Router, not_found: &'static str) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let guard = Guard::of(address)?;
        let link = guard.link();
        let is_closing = watch::Sender::new(false);
        let slots = Arc::new(Semaphore::new(MAX_CLIENTS));
        let state = ServerState { guard: Arc::new(guard), slots, is_closing: is_closing.subscribe() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let listener = {
            let _within = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let paths = guarded(paths, state.clone(), not_found);
        let serve = move || run(&runtime, listener, state, &paths);
        let thread = std::thread::Builder::new().name("web".into()).spawn(serve)?;
        Ok(Self { address, link, is_closing, thread: Some(thread) })
    }

    /// Where it listens: the port is told where 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What a browser is given to come in: the address, and the token where one is asked for.
    pub fn link(&self) -> &str {
        &self.link
    }

    /// What is to be said where others than this machine's own may come in, to see `what`.
    pub fn warning(&self, what: &str) -> Option<String> {
        (!self.address.ip().is_loopback()).then(|| {
            format!(
                "whoever has the link sees {what}, over an unencrypted line; 127.0.0.1 keeps that on this machine"
            )
        })
    }

    /// Ends it: open sessions are closed, and none is waited for long.
    pub fn end(&mut self) {
        self.is_closing.send_replace(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

fn listen_on(address: &impl ToSocketAddrs) -> io::Result<TcpListener> {
    let addresses: Vec<SocketAddr> = address.to_socket_addrs()?.collect();
    let listener = TcpListener::bind(&addresses[..])?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Serves until it is over; connections that are left are dropped with the runtime.
fn run(runtime: &Runtime, listener: tokio::net::TcpListener, state: ServerState, paths: &Router) {
    runtime.block_on(async {
        listen(listener, state.is_closing.clone(), paths).await;
        // All slots are free once every session has ended.
        let _ = timeout(SHUTDOWN_GRACE, state.slots.acquire_many(MAX_CLIENTS as u32)).await;
    });
}

async fn listen(listener: tokio::net::TcpListener, mut is_closing: watch::Receiver<bool>, paths: &Router) {
    let connections = Arc::new(Semaphore::new(MAX_CLIENTS + MAX_SHORT));
    loop {
        let accepted = tokio::select! {
            _ = is_closing.wait_for(|is_closing| *is_closing) => return,
            accepted = listener.accept() => accepted,
        };
        match (accepted, connections.clone().try_acquire_owned()) {
            (Ok((stream, _)), Ok(connection)) => {
                tokio::spawn(serve(stream, paths.clone(), connection));
            }
            // Enough are there: closed at once, so that what waits in line costs nothing.
            (Ok(_), Err(_)) => {}
            // File descriptors may have run out: that passes.
            (Err(_), _) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// One request a connection, its head within [`IO_TIMEOUT`].
async fn serve(stream: TcpStream, paths: Router, counted: OwnedSemaphorePermit) {
    // Poses are small and late ones worth nothing.
    let _ = stream.set_nodelay(true);
    // Without it a client that has vanished keeps its slot for as long as nothing is sent to it.
    let _ = set_keepalive(SockRef::from(&stream));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IO_TIMEOUT)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(TimeoutStream::new(stream)), TowerToHyperService::new(paths))
        .with_upgrades();
    // A connection that breaks is the normal end of one.
    let _ = connection.await;
    drop(counted);
}

/// Ends a connection whose other end vanished, as out of the Wi-Fi.
fn set_keepalive(socket: SockRef<'_>) -> io::Result<()> {
    let keepalive = TcpKeepalive::new()
        .with_time(KEEPALIVE_IDLE)
        .with_interval(KEEPALIVE_INTERVAL)
        .with_retries(KEEPALIVE_PROBES);
    socket.set_tcp_keepalive(&keepalive)?;
    // The kernel does not probe while sent data is not acknowledged.
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(KEEPALIVE_IDLE + KEEPALIVE_PROBES * KEEPALIVE_INTERVAL))?;
    Ok(())
}
