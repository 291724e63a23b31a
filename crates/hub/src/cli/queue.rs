//! What waits for the hub. Where more comes than it hears, the oldest of its kind goes: what a camera saw a while ago is worth less than what it
//! sees now. No camera takes another's turn.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::sources::Incoming;

/// From the threads that listen to the one that hears.
pub struct Queue {
    most: usize,
    waiting: Mutex<Waiting>,
    come: Condvar,
    lost: AtomicU64,
}

#[derive(Default)]
struct Waiting {
    /// Whose turn it is, as things came.
    turns: VecDeque<Kind>,
    by_kind: HashMap<Kind, VecDeque<Incoming>>,
}

impl Queue {
    /// So many lines of each camera wait at most.
    pub fn new(most: usize) -> Self {
        let (waiting, come, lost) = Default::default();
        Self { most, waiting, come, lost }
    }

    /// Takes in what came.
    pub fn push(&self, incoming: Incoming) {
        let (kind, is_line) = (kind(&incoming), matches!(incoming, Incoming::Line(_)));
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let alike = waiting.by_kind.entry(kind).or_default();
        alike.push_back(incoming);
        if alike.len() > self.most {
            // Its turn is the next one's.
            alike.pop_front();
            self.lost.fetch_add(u64::from(is_line), Ordering::Relaxed);
        } else {
            waiting.turns.push_back(kind);
        }
        drop(waiting);
        self.come.notify_one();
    }

    /// The next that waits, or that comes within `wait`.
    pub fn next(&self, wait: Duration) -> Option<Incoming> {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.come.wait_timeout_while(waiting, wait, |waiting| waiting.turns.is_empty());
        let mut waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
        let kind = waiting.turns.pop_front()?;
        waiting.by_kind.get_mut(&kind)?.pop_front()
    }

    /// How many lines went unheard.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

/// Line, clocks or heartbeat, and of which camera.
type Kind = (u8, usize);

/// Two of a kind replace each other: the newer one is worth more.
fn kind(incoming: &Incoming) -> Kind {
    match incoming {
        Incoming::Line(packet) => (0, packet.camera),
        Incoming::Clocks(camera, _) => (1, *camera),
        Incoming::Heartbeat(_) => (2, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use posewire_hub::failover::Heartbeat;
    use posewire_hub::hub::Packet;

    #[test]
    fn of_each_camera_the_newest_lines_stay_and_what_is_lost_is_counted() {
        let queue = Queue::new(3);
        let line = |camera, arrived_us| Incoming::Line(Packet { camera, arrived_us, text: String::new() });
        queue.push(line(1, 0));
        queue.push(Incoming::Heartbeat(Heartbeat::default()));
        (1..=100).for_each(|k| queue.push(line(0, k)));
        let mut left = Vec::new();
        while let Some(heard) = queue.next(Duration::ZERO) {
            left.push(match heard {
                Incoming::Line(packet) => (packet.camera, packet.arrived_us),
                _ => (9, 9),
            });
        }
        assert_eq!(left, [(1, 0), (9, 9), (0, 98), (0, 99), (0, 100)]);
        assert_eq!(queue.lost(), 97);
        // Two are heard in turn, whichever says more.
        let mut heard = [0; 2];
        for k in 0..40 {
            (0..4).for_each(|_| queue.push(line(0, k)));
            queue.push(line(1, k));
            if let Some(Incoming::Line(packet)) = queue.next(Duration::ZERO) {
                heard[packet.camera] += 1;
            }
        }
        assert!(heard.iter().all(|n| *n >= 15), "{heard:?}");
    }
}
