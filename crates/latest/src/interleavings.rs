//! The newest-wins slot under a scheduler that tries every interleaving and every order in which the processor may show one
//! thread's writes to another.

use std::time::{Duration, Instant};

use super::{Received, Sent, newest_wins};

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
