//! One-way links between two threads, named by what happens when the receiver is late.
//!
//! * [`newest_wins`]: the sender never waits; a value that was not taken is replaced, and counted. Between the stages of
//!   a live pipeline: an old frame is worth nothing once there is a newer one.
//! * [`rendezvous`]: the sender waits until the value is taken; nothing is lost. For files, where every frame counts.
//!
//! Either holds at most one value: there is no queue to grow and none to go stale. Dropping one end closes the link; a
//! value already in the slot can still be taken.

#[cfg(not(loom))]
use std::sync::Arc;
#[cfg(not(loom))]
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

// `tests/loom` compiles this file with primitives that try every interleaving.
#[cfg(loom)]
use crate::model::{Arc, ArrayQueue, AtomicBool, AtomicU64, Ordering, Parker, Unparker};
use crossbeam_channel as channel;
#[cfg(not(loom))]
use crossbeam_queue::ArrayQueue;
#[cfg(not(loom))]
use crossbeam_utils::sync::{Parker, Unparker};

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
        self.recv_deadline(Instant::now() + within)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if let ReceiverKind::Newest(slot, _) = &self.0 {
            slot.receiver_gone.store(true, Ordering::Release);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(5);
    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn the_newest_value_wins_and_the_others_are_counted() {
        let (sender, receiver) = newest_wins();
        assert_eq!(sender.send(1, SOON), Sent::Delivered);
        assert_eq!(sender.send(2, SOON), Sent::Displaced);
        assert_eq!(sender.send(3, SOON), Sent::Displaced);
        assert_eq!(receiver.recv_timeout(SOON), Received::Value(3));
        assert_eq!(receiver.recv_timeout(SOON), Received::Timeout);
        assert_eq!(sender.displaced(), 2);
    }

    #[test]
    fn a_value_sent_before_the_sender_went_is_still_taken() {
        for (sender, receiver) in [newest_wins(), newest_wins()] {
            sender.send(7, SOON);
            drop(sender);
            assert_eq!(receiver.recv_timeout(SOON), Received::Value(7));
            assert_eq!(receiver.recv_timeout(LONG), Received::Closed);
        }
    }

    #[test]
    fn a_sender_learns_that_nobody_listens() {
        for (sender, receiver) in [newest_wins(), rendezvous()] {
            drop(receiver);
            assert_eq!(sender.send(1, SOON), Sent::Closed);
        }
    }

    #[test]
    fn an_unkept_rendezvous_gives_the_value_back() {
        let (sender, _receiver) = rendezvous();
        assert_eq!(sender.send(4, SOON), Sent::Timeout(4));
    }

    #[test]
    fn a_waiting_receiver_wakes_for_a_value_and_for_the_end() {
        for (sender, receiver) in [newest_wins(), rendezvous()] {
            let taker =
                std::thread::spawn(move || (receiver.recv_timeout(LONG), receiver.recv_timeout(LONG)));
            std::thread::sleep(SOON);
            sender.send(1, LONG);
            std::thread::sleep(SOON);
            drop(sender);
            assert_eq!(taker.join().unwrap(), (Received::Value(1), Received::Closed));
        }
    }

    /// Under a racing sender nothing is torn, repeated or reordered, the last value always arrives, and every value is
    /// either taken or counted.
    #[test]
    fn values_arrive_in_order_and_none_is_unaccounted_for() {
        const N: u64 = 50_000;
        for pause_every in [100, 3_000, N + 1] {
            let (sender, receiver) = newest_wins();
            let giver = std::thread::spawn(move || {
                for i in 1..=N {
                    sender.send([i, !i], SOON);
                    if i % pause_every == 0 {
                        std::thread::yield_now();
                    }
                }
                sender.displaced()
            });
            let (mut last, mut taken) = (0, 0);
            while let Received::Value([i, check]) = receiver.recv_timeout(LONG) {
                assert_eq!(check, !i, "torn");
                assert!(i > last, "{i} after {last}");
                (last, taken) = (i, taken + 1);
            }
            assert_eq!(last, N);
            assert_eq!(taken + giver.join().unwrap(), N);
        }
    }

    #[test]
    fn a_rendezvous_loses_nothing() {
        let (sender, receiver) = rendezvous();
        let giver = std::thread::spawn(move || (0..1_000).all(|i| sender.send(i, LONG) == Sent::Delivered));
        for i in 0..1_000 {
            assert_eq!(receiver.recv_timeout(LONG), Received::Value(i));
        }
        assert!(giver.join().unwrap());
        assert_eq!(receiver.recv_timeout(LONG), Received::Closed);
    }
}
