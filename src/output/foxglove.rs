//! Poses live to Foxglove: the topics of `--mcap`, to whoever connects by Foxglove's WebSocket protocol, by its makers' own library.
//!
//! Behind the feature `foxglove`: the library brings two hundred crates. A client that is slow loses its oldest messages; the tracker
//! never waits for one. The protocol knows no token: whoever reaches the port sees what is sent.

use std::borrow::Cow;
use std::error::Error;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use foxglove::{
    ChannelBuilder, Context, PartialMetadata, RawChannel, Schema, WebSocketServer, WebSocketServerHandle,
};
use pose::PoseFrame;

use super::mcap::{McapOptions, Moment, Teller, Topic};
use super::{PoseSink, Sending, SinkError};
use crate::reason::Reason;

/// Messages that wait for one client: some frames, so that what is seen is what is.
const BACKLOG: usize = 16;

/// The sink of `--foxglove ADDRESS:PORT`.
pub struct Foxglove {
    name: String,
    teller: Teller,
    /// Channels and server know it weakly: without it nothing is told.
    _context: Arc<Context>,
    server: Option<WebSocketServerHandle>,
    /// In the order of [`Topic::ALL`].
    channels: [Option<Arc<RawChannel>>; Topic::ALL.len()],
}

impl Foxglove {
    /// Listens at `address`; port 0 takes any.
    ///
    /// # Errors
    /// [`SinkError::Fatal`] where that cannot be.
    pub fn bind(address: &str, options: McapOptions) -> Result<Self, SinkError> {
        let what = format!("--foxglove {address}");
        let refused = "name an address of this machine and a port that nobody else has, as 127.0.0.1:8765";
        let fatal = |e: Box<dyn Error + Send + Sync>| SinkError::fatal(&what, Reason::new(refused, e));
        let at = address.to_socket_addrs().map_err(|e| fatal(e.into()))?.next();
        let at = at.ok_or_else(|| fatal("no such address".into()))?;
        // Its own, so that two in one process do not hear each other.
        let context = Context::new();
        let channel = |topic: Topic| {
            let schema = topic.json_schema().to_string().into_bytes();
            ChannelBuilder::new(topic.name())
                .context(&context)
                .message_encoding("json")
                .schema(Schema::new(topic.schema(), "jsonschema", Cow::Owned(schema)))
                .build_raw()
        };
        let mut channels = [const { None }; Topic::ALL.len()];
        for topic in Topic::ALL.into_iter().filter(|topic| topic.is_wanted(&options)) {
            channels[topic as usize] = Some(channel(topic).map_err(|e| fatal(e.into()))?);
        }
        let server = WebSocketServer::new()
            .name(concat!("posewire ", env!("CARGO_PKG_VERSION")))
            .bind(at.ip().to_string(), at.port())
            .message_backlog_size(BACKLOG)
            .context(&context)
            .start_blocking()
            .map_err(|e| fatal(e.into()))?;
        let (ip, port) = (at.ip(), server.port());
        log::info!("foxglove: open connection, Foxglove WebSocket, ws://{}", SocketAddr::new(ip, port));
        if !ip.is_loopback() {
            log::warn!(
                "foxglove: whoever reaches port {port} sees what is sent: the protocol knows no token"
            );
        }
        let name = format!("foxglove {address}");
        Ok(Self { name, teller: Teller::new(options), _context: context, server: Some(server), channels })
    }

    /// The port that it listens at.
    pub fn port(&self) -> u16 {
        self.server.as_ref().map_or(0, WebSocketServerHandle::port)
    }
}

impl PoseSink for Foxglove {
    fn name(&self) -> &str {
        &self.name
    }

    fn send(&mut self, poses: &PoseFrame, now_us: i64) -> Result<Sending, SinkError> {
        // Nobody looks: nothing is made.
        if self.channels.iter().flatten().all(|channel| !channel.has_sinks()) {
            return Ok(Sending::Sent);
        }
        let channels = &self.channels;
        self.teller.tell(poses, now_us, &mut |topic: Topic, at: Moment, message: &[u8]| {
            if let Some(channel) = &channels[topic as usize] {
                channel.log_with_meta(message, PartialMetadata { log_time: Some(at.ns()) });
            }
            Ok(())
        })?;
        Ok(Sending::Sent)
    }

    fn finish(&mut self, _within: Duration) -> Result<(), SinkError> {
        if let Some(server) = self.server.take() {
            // Whoever does not answer the goodbye is not waited for.
            server.stop().detach_all();
        }
        Ok(())
    }
}
