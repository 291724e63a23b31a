//! `src/latest.rs` as it is, under a scheduler that tries every interleaving and every order in which the processor may show
//! one thread's writes to another: `cargo test --release --manifest-path tests/loom/Cargo.toml`.
//!
//! What stands in for crossbeam: the queue of one place is taken to be atomic (crossbeam's own tests show that it is), and
//! the parker never wakes by time, so that a wake-up that was lost is a deadlock, which loom reports.

#[path = "../../../src/latest.rs"]
#[allow(dead_code)]
pub mod latest;

/// What the slot is built from.
pub mod model {
    pub use loom::sync::Arc;
    pub use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use loom::sync::{Condvar, Mutex};
    use std::time::Instant;

    /// Of one place.
    pub struct ArrayQueue<T>(Mutex<Option<T>>);

    impl<T> ArrayQueue<T> {
        pub fn new(places: usize) -> Self {
            assert_eq!(places, 1);
            Self(Mutex::new(None))
        }

        pub fn force_push(&self, value: T) -> Option<T> {
            self.0.lock().unwrap().replace(value)
        }

        pub fn pop(&self) -> Option<T> {
            self.0.lock().unwrap().take()
        }
    }

    #[derive(Clone)]
    pub struct Unparker(Arc<(Mutex<bool>, Condvar)>);

    impl Unparker {
        pub fn unpark(&self) {
            *self.0.0.lock().unwrap() = true;
            self.0.1.notify_one();
        }
    }

    pub struct Parker(Unparker);

    impl Parker {
        pub fn new() -> Self {
            Self(Unparker(Arc::new((Mutex::new(false), Condvar::new()))))
        }

        pub fn unparker(&self) -> &Unparker {
            &self.0
        }

        pub fn park_deadline(&self, _: Instant) {
            let (token, changed) = &*self.0.0;
            let mut token = token.lock().unwrap();
            while !*token {
                token = changed.wait(token).unwrap();
            }
            *token = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::latest::{Received, Sent, newest_wins};

    fn never() -> Instant {
        Instant::now() + Duration::from_secs(3600)
    }

    #[test]
    fn no_wake_up_is_lost_and_every_value_is_taken_or_counted() {
        loom::model(|| {
            let (sender, receiver) = newest_wins();
            let giver = loom::thread::spawn(move || {
                let displaced = [1, 2].map(|v| sender.send(v, Duration::ZERO));
                assert!(displaced.iter().all(|s| matches!(s, Sent::Delivered | Sent::Displaced)));
                sender.displaced()
            });
            let (mut last, mut taken) = (0, 0);
            while let Received::Value(v) = receiver.recv_deadline(never()) {
                assert!(v > last, "{v} after {last}");
                (last, taken) = (v, taken + 1);
            }
            assert_eq!(last, 2, "the newest value always arrives");
            assert_eq!(taken + giver.join().unwrap(), 2);
        });
    }

    #[test]
    fn a_receiver_that_waits_is_told_of_the_end() {
        loom::model(|| {
            let (sender, receiver) = newest_wins::<u8>();
            let giver = loom::thread::spawn(move || drop(sender));
            assert_eq!(receiver.recv_deadline(never()), Received::Closed);
            giver.join().unwrap();
        });
    }

    #[test]
    fn a_sender_never_waits_for_a_receiver_that_goes() {
        loom::model(|| {
            let (sender, receiver) = newest_wins();
            let taker = loom::thread::spawn(move || drop(receiver));
            assert!(matches!(sender.send(1, Duration::ZERO), Sent::Delivered | Sent::Closed));
            taker.join().unwrap();
            assert_eq!(sender.send(2, Duration::ZERO), Sent::Closed);
        });
    }
}
