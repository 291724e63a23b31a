//! What a service manager hears: readiness, and life as long as there is progress.

use std::iter::repeat_with;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{sleep, spawn};
use std::time::Duration;

use posewire::pipeline::Health;
use posewire::pipeline::Options;
use posewire::pipeline::supervisor::{Notify, supervise};

use super::fakes::{Camera, Event, Log, OnePerson, start};

#[derive(Default)]
struct Ears {
    ready: bool,
    alive: usize,
    fps: Vec<f32>,
    stopping: bool,
}

impl Notify for Ears {
    fn ready(&mut self) {
        self.ready = true;
    }

    fn alive(&mut self, health: &Health) {
        self.alive += 1;
        self.fps.push(health.fps);
    }

    fn stopping(&mut self) {
        self.stopping = true;
    }
}

/// Runs for three and a half seconds.
fn heard(event: fn() -> Event, network_takes: Duration) -> Ears {
    let camera = Camera::new(repeat_with(event), Duration::from_millis(10), true);
    let tracker = OnePerson::new(network_takes);
    let pipeline = start(camera, tracker, vec![Box::new(Log::default())], Options::default());
    let stop = Arc::new(AtomicBool::new(false));
    let later = stop.clone();
    spawn(move || {
        sleep(Duration::from_millis(3_500));
        later.store(true, Ordering::Release);
    });
    let mut ears = Ears::default();
    supervise(pipeline, &stop, None, &mut ears);
    ears
}

#[test]
fn frames_are_progress() {
    let ears = heard(|| Event::Frame, Duration::ZERO);
    assert!(ears.ready && ears.stopping);
    assert!((2..=4).contains(&ears.alive), "{}", ears.alive);
    // A hundred a second, less what a busy machine displaces; not what has come since the start.
    assert!(ears.fps.iter().all(|fps| (1.0..130.0).contains(fps)), "{:?}", ears.fps);
}

/// Somebody pulled the plug: starting the process again would only lose the identities.
#[test]
fn looking_for_a_lost_camera_is_progress() {
    let ears = heard(|| Event::Unplug, Duration::ZERO);
    assert!(ears.ready);
    assert!((2..=4).contains(&ears.alive), "{}", ears.alive);
}

#[test]
fn a_network_that_hangs_is_none() {
    let ears = heard(|| Event::Frame, Duration::from_secs(30));
    assert!(ears.ready, "it had started well");
    assert_eq!(ears.alive, 0);
}
