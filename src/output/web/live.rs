//! Connections that stay: a page's WebSocket, and server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::ws::{Message, Utf8Bytes, WebSocket};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use super::Shared;

/// A page that does not say that it has taken a message for so long is let go; it comes back by itself.
const TAKEN_WITHIN: Duration = Duration::from_secs(10);

/// Some proxies close a stream that says nothing for a minute; this is far below.
const QUIET: Duration = Duration::from_secs(10);

/// Says "here I am" on an event stream.
const STILL_HERE: &[u8] = b": still here\n\n";

/// Sends each newest message once the one before was taken, until the page or the program goes.
///
/// The page says `taken` after each binary message, `reset` where identities are to be forgotten, and `bodies` or `no bodies` when it
/// begins or ceases to show them.
pub(super) async fn page(mut socket: WebSocket, shared: Arc<Shared>) {
    let mut poses = shared.poses.subscribe();
    let mut status = shared.status.subscribe();
    let mut is_over = shared.is_over.subscribe();
    // What was the newest before anybody looked may be old.
    poses.mark_unchanged();
    status.mark_unchanged();
    let mut waits_since: Option<Instant> = None;
    let mut bodies = ShownBodies { shared: &shared, are_shown: false };
    loop {
        let patience_ends = waits_since.unwrap_or_else(Instant::now) + TAKEN_WITHIN;
        let outgoing = tokio::select! {
            biased;
            _ = is_over.wait_for(|over| *over) => break,
            said = socket.recv() => match said {
                Some(Ok(Message::Text(word))) if word.as_str() == "taken" => {
                    waits_since = None;
                    continue;
                }
                Some(Ok(Message::Text(word))) if word.as_str() == "bodies" => {
                    bodies.show(true);
                    continue;
                }
                Some(Ok(Message::Text(word))) if word.as_str() == "no bodies" => {
                    bodies.show(false);
                    continue;
                }
                other if obeyed(&other, &shared) => continue,
                _ => break,
            },
            () = sleep_until(patience_ends), if waits_since.is_some() => break,
            Ok(()) = status.changed() => {
                let Ok(text) = Utf8Bytes::try_from(newest(&mut status)) else { continue };
                Message::Text(text)
            }
            Ok(()) = poses.changed(), if waits_since.is_none() => {
                waits_since = Some(Instant::now());
                Message::Binary(newest(&mut poses))
            }
            else => break,
        };
        if socket.send(outgoing).await.is_err() {
            return;
        }
    }
    let _ = timeout(Duration::from_millis(100), socket.send(Message::Close(None))).await;
}

/// Whether one page shows bodies; a page that goes shows none.
struct ShownBodies<'a> {
    shared: &'a Shared,
    are_shown: bool,
}

impl ShownBodies<'_> {
    fn show(&mut self, are_shown: bool) {
        match (self.are_shown, are_shown) {
            (false, true) => _ = self.shared.bodies.fetch_add(1, Ordering::Relaxed),
            (true, false) => _ = self.shared.bodies.fetch_sub(1, Ordering::Relaxed),
            _ => {}
        }
        self.are_shown = are_shown;
    }
}

impl Drop for ShownBodies<'_> {
    fn drop(&mut self) {
        self.show(false);
    }
}

/// Does what any client may ask for. False: it asked for something else, or is gone.
fn obeyed(said: &Option<Result<Message, axum::Error>>, shared: &Shared) -> bool {
    match said {
        Some(Ok(Message::Text(word))) if word.as_str() == "reset" => {
            if let Some(host) = &shared.host {
                host.reset();
            }
            true
        }
        // The library answers pings itself.
        Some(Ok(Message::Ping(_) | Message::Pong(_))) => true,
        _ => false,
    }
}

/// Sends a program each newest line once its connection has taken the one before, until it or the tracker goes.
pub(super) async fn program(mut socket: WebSocket, shared: Arc<Shared>) {
    let mut lines = shared.lines.subscribe();
    let mut is_over = shared.is_over.subscribe();
    lines.mark_unchanged();
    loop {
        let line = tokio::select! {
            biased;
            _ = is_over.wait_for(|over| *over) => break,
            said = socket.recv() => {
                if obeyed(&said, &shared) { continue } else { break }
            }
            Ok(()) = lines.changed() => newest(&mut lines),
            else => break,
        };
        let Ok(text) = Utf8Bytes::try_from(line) else { continue };
        // Ends with an error where nothing is taken for the connection's patience.
        if socket.send(Message::Text(text)).await.is_err() {
            return;
        }
    }
    let _ = timeout(Duration::from_millis(100), socket.send(Message::Close(None))).await;
}

fn newest(slot: &mut watch::Receiver<Bytes>) -> Bytes {
    slot.borrow_and_update().clone()
}

/// The body of an event stream; `place` is held as long as it lasts.
pub(super) fn events<P: Send + 'static>(shared: &Arc<Shared>, place: P) -> Body {
    let mut events = shared.events.subscribe();
    events.mark_unchanged();
    let is_over = shared.is_over.subscribe();
    let stream = futures_util::stream::unfold(
        (events, is_over, place),
        |(mut events, mut is_over, place)| async move {
            let next = tokio::select! {
                biased;
                _ = is_over.wait_for(|over| *over) => return None,
                changed = timeout(QUIET, events.changed()) => match changed {
                    Ok(Ok(())) => newest(&mut events),
                    Ok(Err(_)) => return None,
                    Err(_) => Bytes::from_static(STILL_HERE),
                },
            };
            Some((Ok::<_, Infallible>(next), (events, is_over, place)))
        },
    );
    Body::from_stream(stream)
}
