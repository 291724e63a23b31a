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
fn whoever_waits_for_ever_gets_what_is_there() {
    let (sender, receiver) = newest_wins();
    sender.send(7, SOON);
    assert_eq!(receiver.recv_timeout(Duration::MAX), Received::Value(7));
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
        let taker = std::thread::spawn(move || (receiver.recv_timeout(LONG), receiver.recv_timeout(LONG)));
        std::thread::sleep(SOON);
        sender.send(1, LONG);
        std::thread::sleep(SOON);
        drop(sender);
        assert_eq!(taker.join().unwrap(), (Received::Value(1), Received::Closed));
    }
}

/// Whoever is not woken looks once more when time is up, and finds what came long ago.
#[test]
fn a_receiver_is_woken_and_does_not_wait_for_its_deadline() {
    let has_begun = Instant::now();
    let (sender, receiver) = newest_wins();
    let (heard, hears) = std::sync::mpsc::channel();
    let taker = std::thread::spawn(move || {
        let first = receiver.recv_timeout(LONG);
        heard.send(()).unwrap();
        (first, receiver.recv_timeout(LONG))
    });
    std::thread::sleep(10 * SOON);
    sender.send(1, LONG);
    hears.recv().unwrap();
    std::thread::sleep(10 * SOON);
    drop(sender);
    assert_eq!(taker.join().unwrap(), (Received::Value(1), Received::Closed));
    assert!(has_begun.elapsed() < LONG / 2, "{:?}", has_begun.elapsed());
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
