//! A take becomes people and events; then the same lines over the network, one board by an agent.

use super::*;

#[test]
fn a_take_becomes_people_in_metres_and_so_does_the_network() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    done(at, &["simulate", "--out", "demo", "--cameras", "3", "--seconds", "30"]);
    let replay = ["--replay", "demo/take.jsonl"];
    let calibrate = ["calibrate", "demo/cameras.toml", "--stature", "1.72", "--out", "room.toml"];
    let table = done(at, &[&calibrate[..], &replay[..]].concat());
    assert_eq!(table.lines().count(), 4, "{table}");
    // The same take once more in the file's end is no walk of its own: the room is the same.
    let take = fs::read_to_string(at.join("demo/take.jsonl")).unwrap();
    fs::write(at.join("twice.jsonl"), take.repeat(2)).unwrap();
    let twice = hub(at, &[&calibrate[..4], &["--out", "again.toml", "--replay", "twice.jsonl"]].concat());
    let said = String::from_utf8_lossy(&twice.stderr);
    assert!(said.contains("twice.jsonl: ") && said.contains("are more than a second older"), "{said}");
    assert!(said.contains(&format!("the first is line {}", take.lines().count() + 1)), "{said}");
    let [one, again] = ["room.toml", "again.toml"].map(|room| fs::read_to_string(at.join(room)).unwrap());
    assert_eq!(one, again);
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
fn what_was_told_before_a_broken_line_of_a_take_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    done(at, &["simulate", "--out", "demo", "--cameras", "2", "--seconds", "5"]);
    let stands = |k: u8| {
        format!("[[camera]]\nname = 'camera-{k}'\nat_m = [0.0, 0.0, 2.0]\nrotation = [1.0, 0, 0, 0]\n")
    };
    fs::write(at.join("room.toml"), stands(1) + &stands(2)).unwrap();
    let take = fs::read_to_string(at.join("demo/take.jsonl")).unwrap();
    fs::write(at.join("broken.jsonl"), format!("{take}{{\n{take}")).unwrap();
    let run = ["run", "demo/cameras.toml", "--jsonl", "people.jsonl", "--replay"];
    let people = || fs::read_to_string(at.join("people.jsonl")).unwrap();
    done(at, &[&run[..], &["demo/take.jsonl"]].concat());
    let whole = people();
    let said = told(at, &[&run[..], &["broken.jsonl"]].concat());
    assert!(said.contains(&format!("line {}", take.lines().count() + 1)), "{said}");
    // All but the moment that was due at the end.
    assert!(whole.starts_with(&people()) && people().lines().count() + 1 >= whole.lines().count());
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
