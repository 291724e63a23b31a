//! The web preview: a page that shows poses, and the camera's pictures where that was asked for, to people far from the board.
//!
//! Nothing listens unless `--web ADDR` asks for it. The page needs nothing from elsewhere. Its poses come over a WebSocket, one
//! binary message a frame (`message.rs`), the next one only after the page has taken the last (`live.rs`); `/poses` gives the JSON
//! lines of [`super::jsonl`] as server-sent events, for `curl`, and the WebSocket `/lines` each as a text message, for programs.
//! With nobody watching nothing is made and nothing allocated.
//! [`Viewer`] serves a recording the same way, by the same server (`recording.rs`), and [`CalibrationPage`] a calibration.
//!
//! [`page_server`] serves all of them, on one thread with a runtime of its own, bounds connections and checks who sends a request.

mod body;
mod calibration;
mod live;
mod message;
mod parts;
mod recording;
mod server;
mod status;
mod told;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::ws::Utf8Bytes;
use log::{info, warn};
use page_server::Server;
use pose::PoseFrame;
use tokio::sync::watch;

pub use self::calibration::{Calibrating, CalibrationPage};
use self::message::Messages;
pub use self::recording::{Reel, ReelError, Viewer};
use self::told::Told;
use super::display::{DisplayStyle, PictureTap};
use super::events::Zones;
use super::{Host, PoseSink, Predict, Sending, SinkError};
use crate::reason::Reason;
pub use page_server::{MAX_CLIENTS, ServeError};

/// How often the page is told how the tracker is, microseconds.
const STATUS_EVERY_US: i64 = 1_000_000;

/// What the sink gives and every connection takes: the newest of it, as often as each can.
struct Shared {
    /// Binary messages of the WebSocket.
    poses: watch::Sender<Bytes>,
    /// The same poses as JSON lines, for the WebSocket of programs.
    lines: watch::Sender<Utf8Bytes>,
    /// And as server-sent events.
    events: watch::Sender<Bytes>,
    /// Text messages of the WebSocket.
    status: watch::Sender<Utf8Bytes>,
    /// How many pages show bodies.
    bodies: AtomicUsize,
    host: Option<Arc<dyn Host>>,
}

/// The sink of `--web`.
pub struct Web {
    name: String,
    server: Server,
    messages: Messages,
    told: Told,
    shared: Arc<Shared>,
    /// When the page was last told how the tracker is.
    told_at_us: i64,
}

/// What the page is made of.
#[derive(Clone, Default)]
pub struct WebOptions {
    /// The moment that poses speak of.
    pub predict: Predict,
    /// Who knows how the tracker is: the page then says it.
    pub host: Option<Arc<dyn Host>>,
    /// Messages carry these pictures: whoever may see the page sees the camera's view.
    pub pictures: Option<PictureTap>,
    /// Drawn, and told of.
    pub zones: Zones,
    /// How persons are drawn until somebody switches.
    pub style: DisplayStyle,
}

impl Web {
    /// Listens on `address` (`127.0.0.1:8080`, `localhost:8080`, `[::]:8080`) and answers from now on.
    ///
    /// # Errors
    /// [`SinkError::Fatal`] where that is no address or cannot be listened on.
    pub fn open(address: &str, options: WebOptions) -> Result<Self, SinkError> {
        let WebOptions { predict, host, pictures, zones, style } = options;
        let shared = Arc::new(Shared {
            poses: watch::Sender::default(),
            lines: watch::Sender::default(),
            events: watch::Sender::default(),
            status: watch::Sender::default(),
            bodies: AtomicUsize::new(0),
            host: host.clone(),
        });
        let paths = server::paths(&shared, pictures.is_some(), style);
        let server = Server::open(address, paths, server::THERE_ARE)
            .map_err(|error| SinkError::Fatal(Reason::of(error)))?;
        info!("web preview: {}", server.link());
        let what = if pictures.is_some() { "the poses and the camera's pictures" } else { "the poses" };
        if let Some(warning) = server.warning(what) {
            warn!("web preview: {warning}");
        }
        Ok(Self {
            name: format!("web {}", server.address()),
            server,
            messages: Messages::new(predict, host, pictures),
            told: Told::new(zones),
            shared,
            told_at_us: i64::MIN,
        })
    }

    /// Where it listens: the port is told where 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// What a browser is given to come in: address, and the token where one is asked for.
    pub fn link(&self) -> &str {
        self.server.link()
    }

    fn tell_status(&mut self, now_us: i64) {
        if now_us.saturating_sub(self.told_at_us) < STATUS_EVERY_US
            || self.shared.status.receiver_count() == 0
        {
            return;
        }
        self.told_at_us = now_us;
        if let Some(host) = &self.shared.host {
            self.shared.status.send_replace(status::text(host.as_ref(), &self.told).into());
        }
    }
}

impl PoseSink for Web {
    fn name(&self) -> &str {
        &self.name
    }

    fn send(&mut self, poses: &PoseFrame, now_us: i64) -> Result<Sending, SinkError> {
        let (pages, readers) = (self.shared.poses.receiver_count(), self.shared.events.receiver_count());
        let programs = self.shared.lines.receiver_count();
        if pages > 0 {
            let with_bodies = self.shared.bodies.load(Ordering::Relaxed) > 0;
            self.shared.poses.send_replace(self.messages.binary(poses, now_us, with_bodies));
        }
        if programs > 0 {
            self.shared.lines.send_replace(self.messages.text(poses, now_us));
        }
        if readers > 0 {
            self.shared.events.send_replace(self.messages.event(poses, now_us));
        }
        self.tell_status(now_us);
        Ok(Sending::Sent)
    }

    fn watch(&mut self, poses: &PoseFrame) {
        self.told.update(poses);
    }

    fn idle(&mut self, now_us: i64) -> Result<(), SinkError> {
        // A camera that is lost must be seen to be lost.
        self.tell_status(now_us);
        Ok(())
    }

    fn finish(&mut self, _within: Duration) -> Result<(), SinkError> {
        self.server.end();
        Ok(())
    }
}
