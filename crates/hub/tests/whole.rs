//! The program as people use it: a simulated take, calibrated and replayed; then the same lines over the network, one board by an agent.

use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

const HUB: &str = env!("CARGO_BIN_EXE_posewire-hub");

fn hub(folder: &Path, words: &[&str]) -> Output {
    Command::new(HUB).args(words).current_dir(folder).output().unwrap()
}

fn done(folder: &Path, words: &[&str]) -> String {
    let out = hub(folder, words);
    assert!(out.status.success(), "{words:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

fn told(folder: &Path, words: &[&str]) -> String {
    let out = hub(folder, words);
    assert_eq!(out.status.code(), Some(1), "{words:?}");
    String::from_utf8(out.stderr).unwrap()
}

/// Ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(folder: &Path, words: &[&str]) -> Running {
    let child = Command::new(HUB).args(words).current_dir(folder).stdin(Stdio::null()).spawn();
    Running(child.unwrap())
}

fn free_ports<const N: usize>() -> [u16; N] {
    let sockets: [UdpSocket; N] = std::array::from_fn(|_| UdpSocket::bind("127.0.0.1:0").unwrap());
    sockets.map(|s| s.local_addr().unwrap().port())
}

#[test]
fn a_take_becomes_people_in_metres_and_so_does_the_network() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    done(at, &["simulate", "--out", "demo", "--cameras", "3", "--seconds", "30"]);
    let replay = ["--replay", "demo/take.jsonl"];
    let calibrate = ["calibrate", "demo/cameras.toml", "--stature", "1.72", "--out", "room.toml"];
    let table = done(at, &[&calibrate[..], &replay[..]].concat());
    assert_eq!(table.lines().count(), 4, "{table}");
    let text = done(at, &[&["run", "demo/cameras.toml", "--room", "room.toml"][..], &replay[..]].concat());
    let moments: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let (mut with, mut head) = (0, Vec::new());
    for moment in &moments {
        let persons = moment["persons"].as_array().unwrap();
        with += usize::from(persons.len() == 1);
        head.extend(persons.first().and_then(|p| p["joints"][0][2].as_f64()));
        assert_eq!(moment["moved"], serde_json::json!([]));
        assert!(moment["sent_us"].as_i64().unwrap() >= moment["at_us"].as_i64().unwrap());
    }
    assert!(with * 10 > moments.len() * 9, "{with} of {}", moments.len());
    head.sort_by(f64::total_cmp);
    // A nose of somebody 1.72 m high who walks.
    assert!((1.4..1.7).contains(&head[head.len() / 2]), "{}", head[head.len() / 2]);

    let [a, b, c, board, out] = free_ports();
    let mut cameras = fs::read_to_string(at.join("demo/cameras.toml")).unwrap();
    for (from, to) in [("9101", a), ("9102", b), ("9103", c)] {
        cameras = cameras.replace(from, &to.to_string());
    }
    fs::write(at.join("demo/cameras.toml"), cameras).unwrap();
    let ear = UdpSocket::bind(("127.0.0.1", out)).unwrap();
    ear.set_nonblocking(true).unwrap();
    let to = format!("127.0.0.1:{out}");
    let _hub = start(at, &["run", "demo/cameras.toml", "--room", "room.toml", "--udp", &to]);
    let _agent =
        start(at, &["agent", "--listen", &format!("127.0.0.1:{board}"), "--to", &format!("127.0.0.1:{a}")]);
    let mouth = UdpSocket::bind("127.0.0.1:0").unwrap();
    let began = Instant::now();
    let mut heard = None;
    let mut bytes = vec![0; 65_536];
    'take: for line in fs::read_to_string(at.join("demo/take.jsonl")).unwrap().lines() {
        let taken: Value = serde_json::from_str(line).unwrap();
        let due = Duration::from_micros(taken["arrived_us"].as_u64().unwrap());
        std::thread::sleep(due.saturating_sub(began.elapsed()));
        let port = match taken["camera"].as_str().unwrap() {
            "camera-1" => board,
            "camera-2" => b,
            _ => c,
        };
        // A port that nobody listens at yet refuses.
        let _ = mouth.send_to(taken["line"].to_string().as_bytes(), ("127.0.0.1", port));
        while let Ok(n) = ear.recv(&mut bytes) {
            let moment: Value = serde_json::from_slice(&bytes[..n]).unwrap();
            // All three cameras, so through the agent, too. Its clock is this machine's, the take's is not: its exchanges are not
            // to be believed over what lines say.
            if moment["persons"][0]["cameras"].as_u64() == Some(3) {
                heard = Some(moment);
                break 'take;
            }
        }
    }
    assert!(heard.is_some(), "nobody came out of the network");
}

#[test]
fn what_happens_is_told_as_lines_and_to_a_broker() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    done(at, &["simulate", "--out", "demo", "--cameras", "3", "--seconds", "20"]);
    let take = ["--replay", "demo/take.jsonl"];
    done(at, &[&["calibrate", "demo/cameras.toml", "--out", "room.toml"][..], &take[..]].concat());
    let zone = "[[zone]]\nname = 'all'\npolygon = [[-30, -30], [30, -30], [30, 30], [-30, 30]]\n";
    fs::write(at.join("zones.toml"), zone).unwrap();
    let run = ["run", "demo/cameras.toml", "--zones", "zones.toml"];
    let text = done(at, &[&run[..], &["--events", "-"][..], &take[..]].concat());
    let events: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let first: Vec<&str> = events.iter().take(3).filter_map(|e| e["event"].as_str()).collect();
    assert_eq!(first, ["appear", "enter", "count"]);
    assert_eq!((events[1]["zone"].as_str(), events[2]["persons"].as_u64()), (Some("all"), Some(1)));
    let out = hub(at, &[&run[..], &take[..]].concat());
    assert!(!out.status.success() && String::from_utf8_lossy(&out.stderr).contains("--events"));

    // What is kept stays where something else is wrong.
    fs::write(at.join("kept.jsonl"), "kept").unwrap();
    fs::write(at.join("bad.toml"), "[[zone]]\nname = 'all'\n").unwrap();
    let bad = ["run", "demo/cameras.toml", "--zones", "bad.toml", "--events", "kept.jsonl"];
    assert!(told(at, &[&bad[..], &take[..]].concat()).contains("bad.toml"));
    fs::write(at.join("broken.jsonl"), "{\n").unwrap();
    for option in ["--events", "--jsonl"] {
        let broken = ["run", "demo/cameras.toml", option, "kept.jsonl", "--replay", "broken.jsonl"];
        assert!(told(at, &broken).contains("broken.jsonl, line 1"));
        assert_eq!(fs::read_to_string(at.join("kept.jsonl")).unwrap(), "kept", "{option}");
    }

    // An output that ends leaves the others alone: a full disk, which is a fault, and a reader that has had enough.
    let both = [&run[..], &["--events", "kept.jsonl"][..], &take[..]].concat();
    if Path::new("/dev/full").exists() {
        let said = told(at, &[&both[..], &["--jsonl", "/dev/full"]].concat());
        assert!(said.contains("--jsonl /dev/full") && said.contains("go on"), "{said}");
        assert_eq!(fs::read_to_string(at.join("kept.jsonl")).unwrap(), text);
    }
    // What is there of a disk that was full ends with a whole line.
    let mut child = Command::new("sh");
    child.args(["-c", "trap '' XFSZ; ulimit -f 600; exec \"$@\"", "sh", HUB]).args(&run[..2]).args(take);
    let out = child.args(["--jsonl", "cut.jsonl"]).current_dir(at).output().unwrap();
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(out.status.code() == Some(1) && said.contains("is the disk full"), "{said}");
    let cut = fs::read_to_string(at.join("cut.jsonl")).unwrap();
    assert!(cut.is_empty() || cut.ends_with("}\n"), "{}", &cut[cut.len() - 80..]);
    fs::remove_file(at.join("kept.jsonl")).unwrap();
    let mut child = Command::new(HUB);
    child.args(&both).args(["--jsonl", "-"]).current_dir(at).stdout(Stdio::piped());
    let mut child = child.spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
    assert_eq!(fs::read_to_string(at.join("kept.jsonl")).unwrap(), text);

    let [mosquitto, ear] = ["/usr/sbin/mosquitto", "/usr/bin/mosquitto_sub"];
    if !Path::new(mosquitto).exists() || !Path::new(ear).exists() {
        eprintln!(
            "SKIPPED: the hub's MQTT: no mosquitto on this machine (sudo apt install mosquitto mosquitto-clients)"
        );
        return;
    }
    let [port] = free_ports();
    let port = port.to_string();
    let quiet =
        |command: &mut Command| Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let _broker = quiet(Command::new(mosquitto).args(["-p", &port]));
    let url = format!("mqtt://127.0.0.1:{port}");
    let _hub = start(at, &[&run[..], &["--mqtt", &url, "--mqtt-name", "hall"][..]].concat());
    // What the broker keeps, whenever one asks: the hub looks for it until it is there.
    let topics =
        ["-t", "posewire/hall/health", "-t", "homeassistant/binary_sensor/posewire_hall/camera_2/config"];
    let mut heard = String::new();
    for _ in 0..40 {
        let words = [&["-p", &*port, "-W", "3", "-C", "2", "-v"][..], &topics[..]].concat();
        let out = Command::new(ear).args(words).output().unwrap();
        heard = String::from_utf8(out.stdout).unwrap();
        if heard.lines().count() >= 2 {
            break;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(heard.contains("\"name\":\"camera-3\"") && heard.contains("Camera camera-3"), "{heard}");
}

#[test]
fn what_is_wrong_is_said_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    done(at, &["simulate", "--out", "demo", "--cameras", "2", "--seconds", "4"]);
    let cameras = "demo/cameras.toml";
    let short = told(at, &["calibrate", cameras, "--replay", "demo/take.jsonl"]);
    assert!(short.contains("walk about") && short.contains("\"camera-1\""), "{short}");
    let no_room = told(at, &["run", cameras, "--replay", "demo/take.jsonl"]);
    assert!(no_room.contains("posewire-hub calibrate"), "{no_room}");
    let no_cameras = told(at, &["run", "none.toml"]);
    assert!(no_cameras.contains("posewire-hub --help"), "{no_cameras}");
    let high = told(at, &["calibrate", cameras, "--stature", "178"]);
    assert!(high.contains("nobody is 178 m high"), "{high}");
    let nowhere = ["calibrate", cameras, "--replay", "demo/take.jsonl", "--out", "none/room.toml"];
    let nowhere = told(at, &nowhere);
    assert!(nowhere.contains("none/room.toml cannot be written"), "before the walk: {nowhere}");
    fs::write(at.join("empty.jsonl"), "").unwrap();
    let empty = told(at, &["calibrate", cameras, "--replay", "empty.jsonl"]);
    assert!(empty.contains("empty.jsonl: there is no line in it"), "{empty}");
    // What is read stays.
    let take = fs::read_to_string(at.join("demo/take.jsonl")).unwrap();
    let replay = ["--replay", "demo/take.jsonl"];
    for (words, more) in [
        (["run", cameras, "--jsonl", "demo/../demo/take.jsonl"], &replay[..]),
        (["run", cameras, "--events", "demo/take.jsonl"], &replay[..]),
        (["calibrate", cameras, "--out", "demo/take.jsonl"], &replay[..]),
        (["calibrate", cameras, "--out", "demo/camera-2.toml"], &replay[..]),
        (["record", cameras, "--out", cameras], &[]),
        (["record", cameras, "--out", "demo/camera-1.toml"], &[]),
    ] {
        let said = told(at, &[&words[..], more].concat());
        assert!(said.contains("would overwrite") && said.contains("name another output"), "{said}");
    }
    assert_eq!(fs::read_to_string(at.join("demo/take.jsonl")).unwrap(), take);
    let one = told(at, &["run", cameras, "--jsonl", "new.jsonl", "--events", "./new.jsonl"]);
    assert!(one.contains("a file each"), "{one}");
    // One of two cameras runs at another size: what is missed was in its lines.
    let lens = fs::read_to_string(at.join("demo/camera-2.toml")).unwrap();
    let small = lens.replace("width_px = 640", "width_px = 64").replace("height_px = 480", "height_px = 48");
    let small = small.replace("cx_px = ", "cx_px = 32 #").replace("cy_px = ", "cy_px = 24 #");
    fs::write(at.join("demo/camera-2.toml"), small).unwrap();
    let size = told(at, &["calibrate", cameras, "--replay", "demo/take.jsonl"]);
    assert!(size.contains("walk about") && size.contains("of camera \"camera-2\"'s lines"), "{size}");
    assert!(size.contains("--size 64x48"), "{size}");
    // Boards are off: the take of before stays.
    let (mut text, [a, b]) = (fs::read_to_string(at.join(cameras)).unwrap(), free_ports());
    for (from, to) in [("9101", a), ("9102", b)] {
        text = text.replace(from, &to.to_string());
    }
    fs::write(at.join(cameras), text).unwrap();
    let off = told(at, &["record", cameras, "--out", "demo/take.jsonl", "--seconds", "0.3"]);
    assert!(off.contains("nothing came") && off.contains("posewire run --udp"), "{off}");
    assert_eq!(fs::read_to_string(at.join("demo/take.jsonl")).unwrap(), take);
    let room =
        |name: &str| format!("[[room]]\nname = '{name}'\nlisten = '127.0.0.1:{a}'\nat_m = [0.0, 0.0, 0.0]\n");
    fs::write(at.join("building.toml"), room("hall") + &room("stage")).unwrap();
    let port = told(at, &["merge", "building.toml"]);
    assert!(port.contains("\"hall\" and \"stage\" need a name and a port of their own each"), "{port}");
}

#[test]
fn a_simulation_replaces_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let simulate = ["simulate", "--out", "demo", "--cameras", "1", "--seconds", "1"];
    fs::create_dir(at.join("demo")).unwrap();
    for name in ["cameras.toml", "take.jsonl", "truth.jsonl", "camera-1.toml"] {
        fs::write(at.join("demo").join(name), "kept").unwrap();
        let said = told(at, &simulate);
        assert!(said.contains(&format!("demo/{name} is there already")) && said.contains("--out"), "{said}");
        let names: Vec<_> = fs::read_dir(at.join("demo")).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(
            (names.as_slice(), fs::read_to_string(at.join("demo").join(name)).unwrap().as_str()),
            (&[name.into()][..], "kept")
        );
        fs::remove_file(at.join("demo").join(name)).unwrap();
    }
    // What it does not write may be there.
    fs::write(at.join("demo/room.toml"), "kept").unwrap();
    done(at, &simulate);
}

#[test]
fn an_option_that_would_do_nothing_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for words in [
        "run cameras.toml --rate 0",
        "run cameras.toml --rate nan",
        "merge building.toml --rate 0.01",
        "merge building.toml --rate inf",
        "record cameras.toml --out new.jsonl --seconds nan",
        "calibrate cameras.toml --seconds nan",
        "calibrate cameras.toml --replay take.jsonl --seconds 5",
        "calibrate cameras.toml --replay take.jsonl --zenoh tcp/127.0.0.1:1",
        "run cameras.toml --replay take.jsonl --standby",
        "run cameras.toml --replay take.jsonl --twin-listen 127.0.0.1:1",
        "run cameras.toml --replay take.jsonl --zenoh-listen tcp/127.0.0.1:1",
        "run cameras.toml --twin-listen 127.0.0.1:1",
    ] {
        let out = hub(folder.path(), &words.split(' ').collect::<Vec<_>>());
        let said = String::from_utf8(out.stderr).unwrap();
        let option = words.split(' ').rfind(|word| word.starts_with("--")).unwrap();
        assert!(out.status.code() == Some(2) && said.contains(option), "{words}: {said}");
    }
}

#[test]
fn a_take_for_which_the_disk_has_no_room_is_named() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    done(at, &["simulate", "--out", "demo", "--cameras", "1", "--seconds", "1"]);
    let [port] = free_ports();
    let cameras = fs::read_to_string(at.join("demo/cameras.toml")).unwrap();
    fs::write(at.join("demo/cameras.toml"), cameras.replace("9101", &port.to_string())).unwrap();
    let mut record = Command::new(HUB);
    record.args(["record", "demo/cameras.toml", "--out", "/dev/full", "--seconds", "2"]).current_dir(at);
    let mut record = record.stderr(Stdio::piped()).spawn().unwrap();
    let mouth = UdpSocket::bind("127.0.0.1:0").unwrap();
    while record.try_wait().unwrap().is_none() {
        // A port that nobody listens at yet, or any more, refuses.
        let _ = mouth.send_to(b"{\"captured_us\":1,\"emitted_us\":1,\"persons\":[]}", ("127.0.0.1", port));
        std::thread::sleep(Duration::from_millis(20));
    }
    let out = record.wait_with_output().unwrap();
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(!out.status.success() && said.contains("/dev/full cannot be written"), "{said}");
}

#[test]
fn an_agent_that_is_told_to_stop_has_not_failed() {
    let folder = tempfile::tempdir().unwrap();
    // A signal falls into what the agent waits for, or between.
    for _ in 0..5 {
        let [board, hub] = free_ports().map(|port| format!("127.0.0.1:{port}"));
        let mut agent = Command::new(HUB);
        agent.args(["agent", "--listen", &board, "--to", &hub]).current_dir(&folder);
        let mut agent = agent.stderr(Stdio::piped()).spawn().unwrap();
        let mut said = [0; 8];
        // Its first word comes when it can be stopped.
        std::io::Read::read_exact(agent.stderr.as_mut().unwrap(), &mut said).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        assert!(Command::new("kill").arg(agent.id().to_string()).status().unwrap().success());
        let out = agent.wait_with_output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    }
}

#[test]
fn a_reader_of_a_building_that_pauses_does_not_hold_up_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let [port] = free_ports();
    let room = format!("[[room]]\nname = 'hall'\nlisten = '127.0.0.1:{port}'\nat_m = [0.0, 0.0, 0.0]\n");
    fs::write(at.join("building.toml"), room).unwrap();
    let mut merge = Command::new(HUB);
    merge.args(["merge", "building.toml", "--rate", "1000"]).current_dir(at).stdin(Stdio::null());
    // Nobody reads either: a pipe takes some thousand lines, and then none.
    let mut merge = merge.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = std::io::BufReader::new(merge.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("is not read") {
        line.clear();
        assert!(std::io::BufRead::read_line(&mut said, &mut line).unwrap() > 0);
    }
    assert!(Command::new("kill").arg(merge.id().to_string()).status().unwrap().success());
    assert!(merge.wait().unwrap().success());
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut said, &mut rest).unwrap();
    assert!(rest.contains("its last lines are lost"), "{rest}");
}

/// The take's lines to every one of `hubs` (ports by camera), as time goes by; until `until_s`.
fn feed(at: &Path, take: &str, hubs: &[[u16; 3]], from_s: f64, until_s: f64) {
    let mouth = UdpSocket::bind("127.0.0.1:0").unwrap();
    let began = Instant::now();
    for line in fs::read_to_string(at.join(take)).unwrap().lines() {
        let taken: Value = serde_json::from_str(line).unwrap();
        let at_s = taken["arrived_us"].as_f64().unwrap() / 1e6;
        if at_s < from_s {
            continue;
        }
        if at_s > until_s {
            return;
        }
        std::thread::sleep(Duration::from_secs_f64(at_s - from_s).saturating_sub(began.elapsed()));
        let camera: usize = taken["camera"].as_str().unwrap()[7..].parse().unwrap();
        for ports in hubs {
            // A hub that is gone refuses.
            let _ = mouth.send_to(taken["line"].to_string().as_bytes(), ("127.0.0.1", ports[camera - 1]));
        }
    }
}

#[test]
fn a_hub_that_dies_is_replaced_and_people_keep_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    done(at, &["simulate", "--out", "alone", "--cameras", "3", "--seconds", "24"]);
    let room = ["calibrate", "alone/cameras.toml", "--stature", "1.72", "--out", "room.toml"];
    done(at, &[&room[..], &["--replay", "alone/take.jsonl"]].concat());
    done(at, &["simulate", "--out", "two", "--cameras", "3", "--persons", "2", "--seconds", "10"]);
    let ear = UdpSocket::bind("127.0.0.1:0").unwrap();
    let [a, b, c, d, e, f, one, two] = free_ports();
    let hubs = [[a, b, c], [d, e, f]];
    for (name, ports) in ["one", "two"].iter().zip(hubs) {
        let mut cameras = fs::read_to_string(at.join("two/cameras.toml")).unwrap();
        for (from, to) in ["9101", "9102", "9103"].iter().zip(ports) {
            cameras = cameras.replace(from, &to.to_string());
        }
        fs::write(at.join(format!("two/{name}.toml")), cameras).unwrap();
    }
    ear.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let out = ear.local_addr().unwrap().to_string();
    let twin = |name: &str, own: u16, other: u16, more: &[&str]| {
        let (listen, to) = (format!("127.0.0.1:{own}"), format!("127.0.0.1:{other}"));
        let cameras = format!("two/{name}.toml");
        let words =
            ["run", &cameras, "--room", "room.toml", "--udp", &out, "--twin", &to, "--twin-listen", &listen];
        start(at, &[&words[..], more].concat())
    };
    let mut first = Some(twin("one", one, two, &[]));
    let mut second = None;
    let mut heard: Vec<(f64, u16, Vec<u64>)> = Vec::new();
    let began = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| feed(at, "two/take.jsonl", &hubs, 0.0, 9.0));
        let mut bytes = vec![0; 65_536];
        while began.elapsed() < Duration::from_millis(8_300) {
            // The second comes later, and would call people otherwise by itself.
            if second.is_none() && began.elapsed() > Duration::from_millis(1_500) {
                second = Some(twin("two", two, one, &["--standby", "--events", "events.jsonl"]));
            }
            if began.elapsed() > Duration::from_millis(5_000) {
                first = None;
            }
            // Nobody tells for a moment when the first is gone.
            let Ok((n, from)) = ear.recv_from(&mut bytes) else { continue };
            let moment: Value = serde_json::from_slice(&bytes[..n]).unwrap();
            let ids =
                moment["persons"].as_array().unwrap().iter().map(|p| p["id"].as_u64().unwrap()).collect();
            heard.push((began.elapsed().as_secs_f64(), from.port(), ids));
        }
    });
    assert!(first.is_none());
    let first_port = heard[0].1;
    let change = heard.iter().position(|h| h.1 != first_port).expect("the second took over");
    assert!(heard[change..].iter().all(|h| h.1 != first_port), "one tells at a time");
    let (last, next) = (&heard[change - 1], &heard[change]);
    println!("silent for {:.0} ms", 1e3 * (next.0 - last.0));
    assert!(last.0 > 4.9, "the second keeps quiet until the first is gone: {}", last.0);
    // Half a second by its own rules, whose time is an argument; more where nobody gives it a processor.
    assert!(next.0 - last.0 < 2.5, "nobody told for {} s", next.0 - last.0);
    let names = |h: &(f64, u16, Vec<u64>)| h.2.iter().copied().collect::<std::collections::BTreeSet<u64>>();
    assert!(names(last).len() == 2 && names(last) == names(next), "{last:?} {next:?}");
    // Whom the first told of does not come once more.
    let mut here = names(last);
    for line in fs::read_to_string(at.join("events.jsonl")).unwrap().lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let id = event["id"].as_u64().unwrap_or_default();
        match event["event"].as_str() {
            Some("appear") => assert!(here.insert(id), "{line}"),
            Some("leave") => assert!(here.remove(&id), "{line}"),
            _ => {}
        }
    }
}

/// A hub without Zenoh says which build has it; one with it hears boards through it, and does so again after it was away.
#[test]
fn boards_are_heard_through_zenoh() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    done(at, &["simulate", "--out", "demo", "--cameras", "3", "--seconds", "24"]);
    let room = ["calibrate", "demo/cameras.toml", "--stature", "1.72", "--out", "room.toml"];
    done(at, &[&room[..], &["--replay", "demo/take.jsonl"]].concat());
    let mut cameras = fs::read_to_string(at.join("demo/cameras.toml")).unwrap();
    for k in 1..=3 {
        cameras = cameras.replace(&format!("127.0.0.1:910{k}"), &format!("zenoh:hall/{k}"));
    }
    fs::write(at.join("demo/keys.toml"), cameras).unwrap();
    if !cfg!(feature = "zenoh") {
        let said = told(at, &["run", "demo/keys.toml", "--room", "room.toml"]);
        assert!(said.contains("camera-1") && said.contains("--features zenoh"), "{said}");
        return;
    }
    let ear = UdpSocket::bind("127.0.0.1:0").unwrap();
    ear.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let out = ear.local_addr().unwrap().to_string();
    // Datagrams' free port is most likely free for a stream, too.
    let [meet, a, b, c] = free_ports();
    let meet = format!("tcp/127.0.0.1:{meet}");
    let run = ["run", "demo/keys.toml", "--room", "room.toml", "--udp", &out, "--zenoh-listen", &meet];
    // Boards are there first, and look for a hub until it comes.
    let words = ["agent", "--zenoh", &meet, "--zenoh-listen", "tcp/127.0.0.1:0"];
    let agent = |(k, port): (usize, u16)| {
        let (listen, to) = (format!("127.0.0.1:{port}"), format!("zenoh:hall/{}", k + 1));
        start(at, &[&words[..], &["--listen", &listen, "--to", &to]].concat())
    };
    let _agents = [a, b, c].into_iter().enumerate().map(agent).collect::<Vec<Running>>();
    let mut hub = Some(start(at, &run));
    let mut heard = Vec::new();
    let began = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| feed(at, "demo/take.jsonl", &[[a, b, c]], 0.0, 14.0));
        let mut bytes = vec![0; 65_536];
        while began.elapsed() < Duration::from_secs(15) {
            let gone_s = began.elapsed().as_secs_f64();
            if hub.is_some() && (6.0..8.0).contains(&gone_s) {
                hub = None;
            }
            if hub.is_none() && gone_s > 8.0 {
                hub = Some(start(at, &run));
            }
            let Ok(n) = ear.recv(&mut bytes) else { continue };
            let moment: Value = serde_json::from_slice(&bytes[..n]).unwrap();
            // All three cameras: from all three agents.
            if moment["persons"][0]["cameras"].as_u64() == Some(3) {
                heard.push(gone_s);
                if gone_s > 8.0 {
                    break;
                }
            }
        }
    });
    let (before, after): (Vec<f64>, Vec<f64>) = heard.iter().partition(|s| **s < 7.0);
    println!("told {} times; after the hub's return from {:?} s on", before.len(), after.first());
    assert!(before.len() > 30 && !after.is_empty(), "{} moments, then {}", before.len(), after.len());
}
