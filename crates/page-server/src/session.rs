//! WebSockets: a client that stays connected, gets the newest line and may send commands.

use std::future::Future;
use std::time::Duration;

use axum::extract::ws::{Message, Utf8Bytes, WebSocket};
use axum::extract::{FromRequestParts, WebSocketUpgrade};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::state::ClientSlot;

/// What a page sends is a word.
const MAX_MESSAGE_BYTES: usize = 1024;

/// For the close frame to be taken.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(100);

/// A request for a WebSocket, with a slot for it.
pub struct SessionRequest {
    upgrade: WebSocketUpgrade,
    slot: ClientSlot,
}

impl<S: Send + Sync> FromRequestParts<S> for SessionRequest {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let upgrade =
            WebSocketUpgrade::from_request_parts(parts, state).await.map_err(IntoResponse::into_response)?;
        let slot = ClientSlot::from_request_parts(parts, state).await.map_err(IntoResponse::into_response)?;
        Ok(Self { upgrade, slot })
    }
}

impl SessionRequest {
    /// Accepts it; `serve` then runs the session.
    pub fn accept<F>(self, serve: impl FnOnce(Session) -> F + Send + 'static) -> Response
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let Self { upgrade, slot } = self;
        upgrade
            .max_message_size(MAX_MESSAGE_BYTES)
            .max_frame_size(MAX_MESSAGE_BYTES)
            .write_buffer_size(0)
            .on_upgrade(|socket| serve(Session { socket, slot }))
    }
}

/// The client has gone, or takes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disconnected;

/// A WebSocket with one client.
pub struct Session {
    socket: WebSocket,
    slot: ClientSlot,
}

impl Session {
    /// The next text that the client sends; `None` at the end of the session: the client has gone or sends no text, or the server
    /// closes. Safe to cancel and call again.
    pub async fn receive(&mut self) -> Option<Utf8Bytes> {
        loop {
            let received = tokio::select! {
                biased;
                () = self.slot.server_closing() => return None,
                received = self.socket.recv() => received,
            };
            match received {
                Some(Ok(Message::Text(text))) => return Some(text),
                // The library answers pings itself.
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                _ => return None,
            }
        }
    }

    /// Sends a message.
    ///
    /// # Errors
    /// [`Disconnected`], also where nothing is taken within the connection's timeout.
    pub async fn send(&mut self, message: Message) -> Result<(), Disconnected> {
        self.socket.send(message).await.map_err(|_| Disconnected)
    }

    /// Ends the session.
    pub async fn close(mut self) {
        let _ = timeout(CLOSE_TIMEOUT, self.socket.send(Message::Close(None))).await;
    }

    /// Sends each newest line once the one before was taken, to the end of the session; `obey` does what the client asks for, false
    /// where there is no such command.
    pub async fn send_newest(mut self, mut lines: watch::Receiver<Utf8Bytes>, obey: impl Fn(&str) -> bool) {
        // What was the newest before the client came may be old.
        lines.mark_unchanged();
        loop {
            let line = tokio::select! {
                biased;
                received = self.receive() => match received {
                    Some(command) if obey(&command) => continue,
                    _ => break,
                },
                Ok(()) = lines.changed() => lines.borrow_and_update().clone(),
                else => break,
            };
            if self.send(Message::Text(line)).await.is_err() {
                return;
            }
        }
        self.close().await;
    }
}
