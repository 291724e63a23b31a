//! What loom drives in the place of crossbeam: the queue of one place is taken to be atomic (crossbeam's own tests show that
//! it is), and the parker never wakes by time, so that a wake-up that was lost is a deadlock, which loom reports.

use std::time::Instant;

pub use loom::sync::Arc;
pub use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use loom::sync::{Condvar, Mutex};

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
