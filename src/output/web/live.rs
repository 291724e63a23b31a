//! Connections that stay: a page's WebSocket, and server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::ws::Message;
use page_server::{ClientSlot, Session};
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
pub(super) async fn page(mut session: Session, shared: Arc<Shared>) {
    let mut poses = shared.poses.subscribe();
    let mut status = shared.status.subscribe();
    // What was the newest before anybody looked may be old.
    poses.mark_unchanged();
    status.mark_unchanged();
    let mut waits_since: Option<Instant> = None;
    let mut bodies = ShownBodies { shared: &shared, are_shown: false };
    loop {
        let patience_ends = waits_since.unwrap_or_else(Instant::now) + TAKEN_WITHIN;
        let outgoing = tokio::select! {
            biased;
            said = session.receive() => {
                match said.as_deref() {
                    Some("taken") => waits_since = None,
                    Some("bodies") => bodies.show(true),
                    Some("no bodies") => bodies.show(false),
                    Some(word) if obey(word, &shared) => {}
                    _ => break,
                }
                continue;
            }
            () = sleep_until(patience_ends), if waits_since.is_some() => break,
            Ok(()) = status.changed() => Message::Text(status.borrow_and_update().clone()),
            Ok(()) = poses.changed(), if waits_since.is_none() => {
                waits_since = Some(Instant::now());
                Message::Binary(poses.borrow_and_update().clone())
            }
            else => break,
        };
        if session.send(outgoing).await.is_err() {
            return;
        }
    }
    session.close().await;
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

/// Does what any client may ask for; false where there is no such word.
fn obey(word: &str, shared: &Shared) -> bool {
    let is_reset = word == "reset";
    if let Some(host) = shared.host.as_ref().filter(|_| is_reset) {
        host.reset();
    }
    is_reset
}

/// Sends a program each newest line once its connection has taken the one before, until it or the tracker goes.
pub(super) async fn program(session: Session, shared: Arc<Shared>) {
    session.send_newest(shared.lines.subscribe(), |word| obey(word, &shared)).await;
}

/// The body of an event stream; `slot` is held as long as it lasts.
pub(super) fn events(shared: &Arc<Shared>, slot: ClientSlot) -> Body {
    let mut events = shared.events.subscribe();
    events.mark_unchanged();
    let stream = futures_util::stream::unfold((events, slot), |(mut events, mut slot)| async move {
        let next = tokio::select! {
            biased;
            () = slot.server_closing() => return None,
            changed = timeout(QUIET, events.changed()) => match changed {
                Ok(Ok(())) => events.borrow_and_update().clone(),
                Ok(Err(_)) => return None,
                Err(_) => Bytes::from_static(STILL_HERE),
            },
        };
        Some((Ok::<_, Infallible>(next), (events, slot)))
    });
    Body::from_stream(stream)
}
