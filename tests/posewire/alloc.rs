//! After warm-up, a frame costs no allocation of Posewire's own. This binary's allocator counts by thread.

use std::iter::repeat_with;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use posewire::capture::{SourceConfig, open};
use posewire::clock::Monotonic;
use posewire::config::Config;
use posewire::metres::{FloorFinder, Stature};
use posewire::output::Existing;
use posewire::output::jsonl::{Format, JsonLines};
use posewire::output::{PoseSink, Predict};
use posewire::pipeline::{Options, PoseTracker, Session, Timed};
use posewire::telemetry::{Count, Telemetry, alloc};
use posewire::track::{Identities, IdentityRules};
use posewire::tracker::Tracker;

use super::fakes::{Camera, Event, Log, OnePerson, start};
use super::frames::pose_frame;
use super::track::walker;

const WARM_UP: u64 = 60;
const MEASURED: u64 = 120;

#[test]
fn this_binary_counts_allocations() {
    let before = alloc::of_this_thread();
    drop(std::hint::black_box(vec![0_u8; 100]));
    {
        let _engine = alloc::engine_scope();
        drop(std::hint::black_box(vec![0_u8; 100]));
    }
    let made = alloc::of_this_thread() - before;
    assert_eq!((made.own, made.engine), (1, 1));
    assert!(alloc::is_counting());
}

#[test]
fn the_threads_and_slots_allocate_nothing_a_frame() {
    let log = Log::default();
    log.seen.lock().unwrap().reserve(10_000);
    let tracker = OnePerson::new(Duration::ZERO);
    let camera = Camera::new(repeat_with(|| Event::Frame), Duration::from_millis(2), true);
    let mut pipeline = start(camera, tracker, vec![Box::new(log)], Options::default());
    let session = pipeline.shared().session.clone();
    let telemetry = &session.telemetry;
    let wait_for = |frames| {
        while telemetry.count(Count::Processed) < frames {
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    wait_for(WARM_UP);
    telemetry.reset_times();
    wait_for(WARM_UP + MEASURED);
    assert_eq!(telemetry.allocations().unwrap().own, 0);
    pipeline.stop();
    assert!(pipeline.wait(Duration::from_secs(10)));
}

/// The real tracker on rendered JPEGs: decode, crop, network, joints, identities, filter.
#[test]
fn from_jpeg_to_poses_nothing_is_allocated_but_by_the_engine() {
    let mut tracker = Timed::new(Tracker::new(&Config::default()).unwrap(), Arc::new(Monotonic), None);
    let telemetry = Telemetry::default();
    let clip = SourceConfig::Synthetic {
        persons: 1,
        width: 320,
        height: 240,
        fps: 30.0,
        seed: 3,
        frames: Some(WARM_UP + MEASURED),
        no_drop: true,
    };
    let mut source = open(&clip).unwrap();
    let (mut own, mut persons) = (0, 0);
    for seq in 0..WARM_UP + MEASURED {
        let frame = source.next_frame(Duration::from_secs(5)).unwrap().unwrap();
        let before = alloc::of_this_thread();
        let poses = tracker.track(&frame, &telemetry).unwrap();
        if seq >= WARM_UP {
            own += (alloc::of_this_thread() - before).own;
            persons += poses.persons.iter().flatten().count();
        }
    }
    assert!(persons > 0, "nobody was tracked: the test shows nothing");
    assert_eq!(own, 0, "allocations of our own in {MEASURED} frames");
}

/// Two known persons and one pose that could be either's: the frames in which the assignment needs a solver.
#[test]
fn persons_who_cross_cost_no_allocation() {
    let mut tracker = Identities::new(IdentityRules::default());
    let nobody_predicted = [None; pose::MAX_PERSONS];
    let (mut own, mut hidden) = (0, 0);
    for i in 0..240 {
        let apart_px = 60.0 * (i as f32 / 20.0).cos();
        let all = [-0.5, 0.5].map(|side| walker(320.0 + side * apart_px, 200.0, 200.0, 0.3));
        let seen = if apart_px.abs() < 20.0 { &all[..1] } else { &all[..] };
        let before = alloc::of_this_thread();
        let assignments = tracker.update(i * 33_333, seen, &nobody_predicted);
        hidden += u32::from(assignments.len() > seen.len());
        own += (alloc::of_this_thread() - before).own;
    }
    assert!(hidden > 20, "the persons do not contest a pose in {hidden} frames");
    assert_eq!(own, 0);
}

/// Two who stand and walk before a camera that finds its floor, which is fitted anew every tenth point.
#[test]
fn the_floor_is_found_without_an_allocation() {
    // Shoulders, hips, knees and ankles of somebody upright, metres from the hips.
    let mut joints_m = [[0.0; 3]; pose::JOINTS];
    for (left, [x, y]) in [(5, [0.2, -0.5]), (11, [0.1, 0.0]), (13, [0.1, 0.4]), (15, [0.1, 0.8])] {
        joints_m[left] = [x, y, 0.0];
        joints_m[left + 1] = [-x, y, 0.0];
    }
    let mut finder = FloorFinder::new(Stature::ADULT, None);
    let mut own = 0;
    for i in 0..600 {
        let before = alloc::of_this_thread();
        for (slot, x) in [(0, -0.5), (1, 0.8)] {
            let at_m = [x, 0.4, 4.0 + 2.0 * (0.1 * i as f32 + x).sin()];
            finder.take(slot, slot as u32 + 1, i * 100_000, at_m, &joints_m);
        }
        if i >= WARM_UP as i64 {
            own += (alloc::of_this_thread() - before).own;
        }
    }
    assert!(finder.floor().is_some() && finder.scale(1).is_some(), "no floor: the test shows nothing");
    assert_eq!(own, 0);
}

#[test]
fn json_lines_allocate_nothing_a_frame() {
    let poses = pose_frame(0, 4, 1_000);
    for format in Format::ALL {
        let mut lines =
            JsonLines::open(Path::new("/dev/null"), Existing::Replace, format, Predict::Now).unwrap();
        lines.send(&poses, 2_000).unwrap();
        let before = alloc::of_this_thread();
        for _ in 0..MEASURED {
            lines.send(&poses, 2_000).unwrap();
        }
        assert_eq!((alloc::of_this_thread() - before).own, 0, "{format}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_serial_wire_allocates_nothing_a_frame() {
    use posewire::output::serial::{PortSpec, Serial, SerialOptions};

    let pty = super::pty::Pty::open();
    let options = SerialOptions {
        port: PortSpec { path: pty.path.clone(), baud: 921_600, rtscts: false },
        predict: Predict::Now,
        rate_hz: None,
        nominal_fps: 30.0,
        max_persons: 2,
        with_3d: false,
        with_place: false,
        events: None,
    };
    let mut serial = Serial::open(options, Arc::new(Session::default())).unwrap();
    let mut own = 0;
    for i in 0..(WARM_UP + MEASURED) as i64 {
        let poses = pose_frame(i as u64, 2, i * 33_333);
        let before = alloc::of_this_thread();
        serial.send(&poses, i * 33_333 + 20_000).unwrap();
        if i >= WARM_UP as i64 {
            own += (alloc::of_this_thread() - before).own;
        }
        // Read, so that the terminal never fills up.
        pty.read_now();
    }
    assert_eq!(own, 0);
}

#[test]
fn datagrams_and_osc_allocate_nothing_a_frame() {
    use posewire::output::osc::{Osc, OscFormat, OscOptions};
    use posewire::output::udp::UdpLines;

    let osc = |format| {
        let options = OscOptions { format, with_3d: true, ..OscOptions::default() };
        Box::new(Osc::to("127.0.0.1:9", options)) as Box<dyn PoseSink>
    };
    let lines = UdpLines::to("127.0.0.1:9", Format::Full, Predict::Now).unwrap();
    // With somebody to be an avatar.
    let mut all = (0..).map(|seq| pose_frame(seq, pose::MAX_PERSONS, 1_000));
    let is_lifted =
        |frame: &pose::PoseFrame| frame.persons[0].is_some_and(|p| p.forecast.joints_3d_m.is_some());
    let poses = all.find(is_lifted).expect("every second frame is");
    for mut sink in [osc(OscFormat::Posewire), osc(OscFormat::VrChat), osc(OscFormat::Vmc), Box::new(lines)] {
        sink.send(&poses, 2_000).unwrap();
        let before = alloc::of_this_thread();
        for _ in 0..MEASURED {
            sink.send(&poses, 2_000).unwrap();
        }
        assert_eq!((alloc::of_this_thread() - before).own, 0, "{}", sink.name());
    }
}
