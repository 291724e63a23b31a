//! MQTT against mosquitto, heard by mosquitto's own client: what is kept, what is told, and a broker that dies, sleeps and returns.

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::sleep;
use std::time::{Duration, Instant};

use pose::{Forecast, HORIZONS_US, JOINTS, JointState, MAX_PERSONS, PoseFrame, TrackedPerson};
use posewire::output::PoseSink;
use posewire::output::events::{At, Zone, Zones};
use posewire::output::mqtt::{Mqtt, MqttOptions};
use serde_json::Value;

/// Longer than anything here takes on a busy machine.
const SOON: Duration = Duration::from_secs(60);

/// A program of mosquitto's, which Debian keeps where not everybody looks.
fn program(name: &str) -> Option<String> {
    let places = [format!("/usr/sbin/{name}"), format!("/usr/bin/{name}"), format!("/usr/local/bin/{name}")];
    places.into_iter().find(|place| Path::new(place).exists())
}

/// Whether broker and client are here; says so loudly where they are not.
fn present(needed_for: &str) -> bool {
    let there = program("mosquitto").is_some() && program("mosquitto_sub").is_some();
    if !there {
        eprintln!(
            "SKIPPED: {needed_for}: no mosquitto on this machine (sudo apt install mosquitto mosquitto-clients)"
        );
    }
    there
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A process that does not outlive the test.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A broker that keeps nothing on disk, so that it forgets all when it ends.
fn broker(port: u16) -> Ends {
    let child = Command::new(program("mosquitto").unwrap())
        .args(["-p", &port.to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let ends = Ends(child);
    let began = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(began.elapsed() < SOON, "mosquitto does not listen");
        sleep(Duration::from_millis(20));
    }
    ends
}

/// What mosquitto's own client hears: whether the broker had kept it, topic, payload.
struct Ear {
    heard: Receiver<(bool, String, String)>,
    _client: Ends,
}

impl Ear {
    fn at(port: u16) -> Self {
        let mut child = Command::new(program("mosquitto_sub").unwrap())
            .args(["-p", &port.to_string(), "-t", "#", "-F", "%r %t %p"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (tell, heard) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let mut parts = line.splitn(3, ' ');
                let mut part = || parts.next().unwrap_or_default().to_owned();
                if tell.send((part() == "1", part(), part())).is_err() {
                    return;
                }
            }
        });
        Self { heard, _client: Ends(child) }
    }

    /// The payload of the next message on `topic` for which `is_it`; `meanwhile` is done while waiting.
    fn next(&self, topic: &str, is_it: impl Fn(&str) -> bool, mut meanwhile: impl FnMut()) -> (bool, String) {
        let began = Instant::now();
        loop {
            match self.heard.recv_timeout(Duration::from_millis(20)) {
                Ok((kept, on, said)) if on == topic && is_it(&said) => return (kept, said),
                _ => meanwhile(),
            }
            assert!(began.elapsed() < SOON, "nothing of that kind on {topic}");
        }
    }
}

/// Somebody whose every joint is in the left half of the picture, or nobody.
fn frame(at_us: i64, is_there: bool) -> PoseFrame {
    let forecast = Forecast {
        captured_at_us: at_us,
        places_px: [[[10.0; 2]; JOINTS]; HORIZONS_US.len()],
        score: [0.9; JOINTS],
        state: [JointState::Measured; JOINTS],
        ..Forecast::default()
    };
    let mut persons = [None; MAX_PERSONS];
    persons[0] =
        is_there.then_some(TrackedPerson { track_id: 4, score: 0.9, forecast, seen: None, place: None });
    PoseFrame { seq: 0, frame: 0, captured_at_us: at_us, width: 100, height: 100, persons, floor: None }
}

/// A sink that is given a frame every 50 ms of its own time, and how long the slowest took.
struct Room {
    sink: Mqtt,
    at_us: i64,
    slowest: Duration,
}

fn open(port: u16, discovery: bool, zones: usize) -> Mqtt {
    let polygon = vec![[0.0, 0.0], [0.5, 0.0], [0.5, 1.0], [0.0, 1.0]];
    let zone = Zone { name: "bed".into(), at: At::Hips, polygon };
    let options = MqttOptions {
        broker: format!("mqtt://127.0.0.1:{port}").parse().unwrap(),
        name: "hall".into(),
        discovery,
        zones: Zones { zones: vec![zone; zones] },
        host: None,
    };
    Mqtt::open(options).unwrap()
}

impl Room {
    fn of(port: u16) -> Self {
        Self { sink: open(port, true, 1), at_us: 0, slowest: Duration::ZERO }
    }

    fn live(&mut self, is_there: bool) {
        self.at_us += 50_000;
        let began = Instant::now();
        self.sink.send(&frame(self.at_us, is_there), self.at_us).unwrap();
        self.slowest = self.slowest.max(began.elapsed());
    }
}

fn persons(n: u64) -> impl Fn(&str) -> bool {
    move |said| serde_json::from_str::<Value>(said).unwrap()["persons"] == n
}

#[test]
fn a_broker_hears_who_is_there_and_again_after_it_has_died() {
    if !present("MQTT through a broker that is restarted") {
        return;
    }
    let port = free_port();
    // The tracker is there before the broker.
    let mut room = Room::of(port);
    room.live(false);
    assert!(room.sink.is_away());
    let first = broker(port);
    let ear = Ear::at(port);
    ear.next("posewire/hall/availability", |said| said == "online", || room.live(false));
    let (_, state) = ear.next("posewire/hall/state", persons(1), || room.live(true));
    let state: Value = serde_json::from_str(&state).unwrap();
    assert_eq!(state["presence"], true);
    let (_, state) = ear.next("posewire/hall/state", persons(0), || room.live(false));
    assert_eq!(serde_json::from_str::<Value>(&state).unwrap()["zones"][0]["persons"], 0);
    ear.next("posewire/hall/event", |said| said.contains("\"enter\""), || room.live(true));
    let in_bed = |said: &str| serde_json::from_str::<Value>(said).unwrap()["zones"][0]["persons"] == 1;
    ear.next("posewire/hall/state", in_bed, || room.live(true));
    // Whoever comes later is told what the broker keeps, and no event of before.
    let late = Ear::at(port);
    let mut kept = Vec::new();
    while let Ok((is_kept, topic, said)) = late.heard.recv_timeout(Duration::from_secs(2)) {
        assert!(is_kept, "{topic}: {said}");
        kept.push(topic);
    }
    for topic in [
        "posewire/hall/availability",
        "posewire/hall/state",
        "homeassistant/binary_sensor/posewire_hall/presence/config",
        "homeassistant/binary_sensor/posewire_hall/zone_0/config",
        "homeassistant/sensor/posewire_hall/persons/config",
        "homeassistant/event/posewire_hall/event/config",
    ] {
        assert!(kept.iter().any(|k| k == topic), "{topic} is not kept: {kept:?}");
    }
    drop((ear, late, first));

    // Dead: frames go on, and the sink knows.
    let began = Instant::now();
    while !room.sink.is_away() {
        room.live(true);
        sleep(Duration::from_millis(5));
        assert!(began.elapsed() < SOON);
    }
    for i in 0..2_000 {
        room.live(i < 1_000);
    }
    // Returning, and knowing nothing: all is told again, as it is now.
    let second = broker(port);
    let ear = Ear::at(port);
    let config = "homeassistant/binary_sensor/posewire_hall/presence/config";
    let (_, said) = ear.next(config, |_| true, || room.live(false));
    assert_eq!(serde_json::from_str::<Value>(&said).unwrap()["device_class"], "occupancy");
    let (_, state) = ear.next("posewire/hall/state", |_| true, || room.live(false));
    assert!(persons(0)(&state), "the newest, not what was when it died: {state}");
    ear.next("posewire/hall/availability", |said| said == "online", || room.live(false));
    ear.next("posewire/hall/state", persons(1), || room.live(true));

    // Asleep: people come and go a thousand times, and it wakes to how it is now.
    let signal = |name: &str| {
        assert!(Command::new("kill").args([name, &second.0.id().to_string()]).status().unwrap().success());
    };
    signal("-STOP");
    for i in 0..20_000 {
        room.live(i / 10 % 2 == 0);
    }
    for _ in 0..10 {
        room.live(false);
    }
    signal("-CONT");
    let mut states = Vec::new();
    let began = Instant::now();
    while states.is_empty() || began.elapsed() < Duration::from_secs(4) {
        if let Ok((_, topic, said)) = ear.heard.recv_timeout(Duration::from_millis(100)) {
            states.extend((topic == "posewire/hall/state").then_some(said));
        }
        assert!(began.elapsed() < SOON, "it does not wake");
    }
    assert!(states.last().is_some_and(|said| persons(0)(said)), "not the newest: {states:?}");
    assert!(states.len() < 100, "{} states for {} changes", states.len(), 2_000);
    assert!(room.slowest < Duration::from_secs(1), "a frame took {:?}", room.slowest);

    // The end is said.
    let began = Instant::now();
    room.sink.finish(Duration::from_secs(5)).unwrap();
    assert!(began.elapsed() < Duration::from_secs(5));
    ear.next("posewire/hall/availability", |said| said == "offline", || ());
    drop(second);
}

#[test]
fn entities_that_are_no_longer_there_are_forgotten() {
    if !present("zones that go from Home Assistant") {
        return;
    }
    let port = free_port();
    let _broker = broker(port);
    let kept_after = |discovery, zones| {
        let mut sink = open(port, discovery, zones);
        // Said when all configurations are.
        Ear::at(port).next("posewire/hall/availability", |said| said == "online", || ());
        sink.finish(Duration::from_secs(5)).unwrap();
        let late = Ear::at(port);
        std::iter::from_fn(|| late.heard.recv_timeout(Duration::from_secs(2)).ok())
            .filter(|(_, topic, _)| topic.starts_with("homeassistant/"))
            .count()
    };
    let presence_persons_event_camera_rate_temperature = 6;
    let wanted = [2, 1].map(|zones| presence_persons_event_camera_rate_temperature + zones);
    assert_eq!([kept_after(true, 2), kept_after(true, 1)], wanted);
    assert_eq!(kept_after(false, 1), 0);
}

#[test]
fn a_tracker_that_is_killed_leaves_its_last_will() {
    if !present("MQTT's last will") {
        return;
    }
    let port = free_port();
    let _broker = broker(port);
    let ear = Ear::at(port);
    let tracker = Command::new(env!("CARGO_BIN_EXE_posewire"))
        .args(["run", "--synthetic", "--mqtt", &format!("mqtt://127.0.0.1:{port}"), "--mqtt-name", "attic"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let tracker = Ends(tracker);
    ear.next("posewire/attic/availability", |said| said == "online", || ());
    let (_, health) = ear.next("posewire/attic/health", |_| true, || ());
    assert_eq!(serde_json::from_str::<Value>(&health).unwrap()["source"], "built-in clip");
    ear.next("posewire/attic/state", persons(1), || ());
    // Without a word.
    drop(tracker);
    ear.next("posewire/attic/availability", |said| said == "offline", || ());
}

#[test]
fn a_broker_that_never_answers_holds_nothing_up() {
    // Nobody there, one that says nothing, and one that says what is no MQTT.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let rude = TcpListener::bind("127.0.0.1:0").unwrap();
    let rude_port = rude.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in rude.incoming().flatten() {
            let _ = std::io::Write::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    for port in [free_port(), silent.local_addr().unwrap().port(), rude_port] {
        let mut room = Room::of(port);
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(1) {
            room.live(true);
            room.sink.idle(room.at_us).unwrap();
            sleep(Duration::from_millis(1));
        }
        assert!(room.sink.is_away());
        let ending = Instant::now();
        room.sink.finish(Duration::from_millis(500)).unwrap();
        assert!(ending.elapsed() < Duration::from_secs(2), "{:?}", ending.elapsed());
        assert!(room.slowest < Duration::from_secs(1), "a frame took {:?}", room.slowest);
    }
}
