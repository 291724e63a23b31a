//! WebSockets: somebody who stays, is told what is new, and may say a word.

use std::future::Future;
use std::time::Duration;

use axum::extract::ws::{Message, Utf8Bytes, WebSocket};
use axum::extract::{FromRequestParts, WebSocketUpgrade};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::inside::Place;

/// What a page says is a word.
const MAX_SAID_BYTES: usize = 1024;

/// To take the word that it is over.
const CLOSES_WITHIN: Duration = Duration::from_millis(100);

/// A request for a WebSocket, with a place for it.
pub struct Visit {
    upgrade: WebSocketUpgrade,
    place: Place,
}

impl<S: Send + Sync> FromRequestParts<S> for Visit {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let upgrade =
            WebSocketUpgrade::from_request_parts(parts, state).await.map_err(IntoResponse::into_response)?;
        let place = Place::from_request_parts(parts, state).await.map_err(IntoResponse::into_response)?;
        Ok(Self { upgrade, place })
    }
}

impl Visit {
    /// Lets the visitor in, to whom `attend` then speaks.
    pub fn meet<F>(self, attend: impl FnOnce(Visitor) -> F + Send + 'static) -> Response
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let Self { upgrade, place } = self;
        upgrade
            .max_message_size(MAX_SAID_BYTES)
            .max_frame_size(MAX_SAID_BYTES)
            .write_buffer_size(0)
            .on_upgrade(|socket| attend(Visitor { socket, place }))
    }
}

/// The visitor has gone, or takes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

/// Somebody at the other end of a WebSocket.
pub struct Visitor {
    socket: WebSocket,
    place: Place,
}

impl Visitor {
    /// The next word that is said; `None` where the talk ends: the visitor has gone or says no words, or the server ends. May be
    /// given up and called again.
    pub async fn hear(&mut self) -> Option<Utf8Bytes> {
        loop {
            let said = tokio::select! {
                biased;
                () = self.place.over() => return None,
                said = self.socket.recv() => said,
            };
            match said {
                Some(Ok(Message::Text(word))) => return Some(word),
                // The library answers pings itself.
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                _ => return None,
            }
        }
    }

    /// Sends a message.
    ///
    /// # Errors
    /// [`Gone`], also where nothing is taken for the connection's patience.
    pub async fn say(&mut self, message: Message) -> Result<(), Gone> {
        self.socket.send(message).await.map_err(|_| Gone)
    }

    /// Ends the talk.
    pub async fn leave(mut self) {
        let _ = timeout(CLOSES_WITHIN, self.socket.send(Message::Close(None))).await;
    }

    /// Sends each newest line once the one before was taken, to the end of the talk; `obey` does what the visitor says, false where
    /// there is no such word.
    pub async fn tell(mut self, mut lines: watch::Receiver<Utf8Bytes>, obey: impl Fn(&str) -> bool) {
        // What was the newest before anybody looked may be old.
        lines.mark_unchanged();
        loop {
            let line = tokio::select! {
                biased;
                said = self.hear() => match said {
                    Some(word) if obey(&word) => continue,
                    _ => break,
                },
                Ok(()) = lines.changed() => lines.borrow_and_update().clone(),
                else => break,
            };
            if self.say(Message::Text(line)).await.is_err() {
                return;
            }
        }
        self.leave().await;
    }
}
