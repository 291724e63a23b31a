//! One-way links between two threads, named by what happens when the receiver is late.
//!
//! * [`newest_wins`]: the sender never waits; a value that was not taken is replaced, and counted. Between the stages of
//!   a live pipeline: an old frame is worth nothing once there is a newer one.
//! * [`rendezvous`]: the sender waits until the value is taken; nothing is lost. For files, where every frame counts.
//!
//! Either holds at most one value: there is no queue to grow and none to go stale. Dropping one end closes the link; a
//! value already in the slot can still be taken.
//!
//! Tested as it is, and by [loom](https://docs.rs/loom) in every interleaving:
//! `RUSTFLAGS="--cfg loom" cargo test -p latest --lib --target-dir target/loom`.

#![forbid(unsafe_code)]

#[cfg(all(test, loom))]
mod interleavings;
mod sync;
#[cfg(all(test, not(loom)))]
mod tests;

use std::time::{Duration, Instant};

use crossbeam_channel as channel;

use self::sync::{Arc, ArrayQueue, AtomicBool, AtomicU64, Ordering, Parker, Unparker};

/// What [`Receiver::recv_deadline`] came back with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received<T> {
    /// The newest value.
    Value(T),
    /// The deadline passed first.
    Timeout,
    /// The sender is gone and the slot empty: nothing will ever come.
    Closed,
}

/// What became of a value given to [`Sender::send`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent<T> {
    /// It is in the slot, or taken.
    Delivered,
    /// It is in the slot, in the place of a value that nobody took.
    Displaced,
    /// A rendezvous was not kept in time: here is the value, to be tried again.
    Timeout(T),
    /// The receiver is gone.
    Closed,
}

/// A slot whose sender never waits: the newest value wins.
pub fn newest_wins<T>() -> (Sender<T>, Receiver<T>) {
    let parker = Parker::new();
    let slot = Arc::new(Slot {
        value: ArrayQueue::new(1),
        displaced: AtomicU64::new(0),
        sender_gone: AtomicBool::new(false),
        receiver_gone: AtomicBool::new(false),
        wake: parker.unparker().clone(),
    });
    (Sender(SenderKind::Newest(slot.clone())), Receiver(ReceiverKind::Newest(slot, parker)))
}

/// A slot whose sender waits until its value is taken.
pub fn rendezvous<T>() -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = channel::bounded(0);
    (Sender(SenderKind::Lossless(sender)), Receiver(ReceiverKind::Lossless(receiver)))
}

/// The shared part of a newest-wins link.
struct Slot<T> {
    value: ArrayQueue<T>,
    displaced: AtomicU64,
    sender_gone: AtomicBool,
    receiver_gone: AtomicBool,
    wake: Unparker,
}

/// The end that gives.
pub struct Sender<T>(SenderKind<T>);

enum SenderKind<T> {
    Newest(Arc<Slot<T>>),
    Lossless(channel::Sender<T>),
}

impl<T> Sender<T> {
    /// Hands `value` over. Only a rendezvous waits, and for at most `within`.
    pub fn send(&self, value: T, within: Duration) -> Sent<T> {
        match &self.0 {
            SenderKind::Newest(slot) => {
                if slot.receiver_gone.load(Ordering::Acquire) {
                    return Sent::Closed;
                }
                let old = slot.value.force_push(value);
                slot.wake.unpark();
                if old.is_none() {
                    return Sent::Delivered;
                }
                slot.displaced.fetch_add(1, Ordering::Relaxed);
                Sent::Displaced
            }
            SenderKind::Lossless(sender) => match sender.send_timeout(value, within) {
                Ok(()) => Sent::Delivered,
                Err(channel::SendTimeoutError::Timeout(value)) => Sent::Timeout(value),
                Err(channel::SendTimeoutError::Disconnected(_)) => Sent::Closed,
            },
        }
    }

    /// Values replaced before anybody took them.
    pub fn displaced(&self) -> u64 {
        match &self.0 {
            SenderKind::Newest(slot) => slot.displaced.load(Ordering::Relaxed),
            SenderKind::Lossless(_) => 0,
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if let SenderKind::Newest(slot) = &self.0 {
            slot.sender_gone.store(true, Ordering::Release);
            slot.wake.unpark();
        }
    }
}

/// The end that takes; one thread owns it.
pub struct Receiver<T>(ReceiverKind<T>);

enum ReceiverKind<T> {
    Newest(Arc<Slot<T>>, Parker),
    Lossless(channel::Receiver<T>),
}

/// Longer than anything runs, and short enough for every clock.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

impl<T> Receiver<T> {
    /// The newest value, waiting for one until `deadline`.
    pub fn recv_deadline(&self, deadline: Instant) -> Received<T> {
        match &self.0 {
            ReceiverKind::Newest(slot, parker) => loop {
                // The flag is read first: a value sent before the sender went is then seen by the pop.
                let sender_gone = slot.sender_gone.load(Ordering::Acquire);
                if let Some(value) = slot.value.pop() {
                    return Received::Value(value);
                }
                if sender_gone {
                    return Received::Closed;
                }
                if Instant::now() >= deadline {
                    return Received::Timeout;
                }
                parker.park_deadline(deadline);
            },
            ReceiverKind::Lossless(receiver) => match receiver.recv_deadline(deadline) {
                Ok(value) => Received::Value(value),
                Err(channel::RecvTimeoutError::Timeout) => Received::Timeout,
                Err(channel::RecvTimeoutError::Disconnected) => Received::Closed,
            },
        }
    }

    /// [`Self::recv_deadline`], counted from now.
    pub fn recv_timeout(&self, within: Duration) -> Received<T> {
        // Longer than the clock goes is a century at least.
        let now = Instant::now();
        self.recv_deadline(now.checked_add(within).unwrap_or_else(|| now + FOREVER))
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if let ReceiverKind::Newest(slot, _) = &self.0 {
            slot.receiver_gone.store(true, Ordering::Release);
        }
    }
}
