//! What is wrong is said with what to do, and replaces nothing.

use super::*;

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
    // One of two cameras has pictures of another shape: what is missed was in its lines.
    let lens = fs::read_to_string(at.join("demo/camera-2.toml")).unwrap();
    let small = lens.replace("width_px = 640", "width_px = 64").replace("height_px = 480", "height_px = 36");
    let small = small.replace("cx_px = ", "cx_px = 32 #").replace("cy_px = ", "cy_px = 18 #");
    fs::write(at.join("demo/camera-2.toml"), small).unwrap();
    let size = told(at, &["calibrate", cameras, "--replay", "demo/take.jsonl"]);
    assert!(size.contains("walk about") && size.contains("of camera \"camera-2\"'s lines"), "{size}");
    assert!(size.contains("--size 64x36"), "{size}");
    // Of both: a take that tells of nobody is no success.
    fs::copy(at.join("demo/camera-2.toml"), at.join("demo/camera-1.toml")).unwrap();
    let stand = ["camera-1", "camera-2"].map(|name| {
        format!("[[camera]]\nname = '{name}'\nat_m = [0.0, 0.0, 2.0]\nrotation = [1.0, 0, 0, 0]\n")
    });
    fs::write(at.join("stand.toml"), stand.concat()).unwrap();
    let none = told(at, &["run", cameras, "--room", "stand.toml", "--replay", "demo/take.jsonl"]);
    assert!(none.contains("nobody could be told of") && none.contains("of camera \"camera-1\"'s"), "{none}");
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
    for (from, to, what) in [
        ("[0.0, 0.0, 0.0]", "[nan, 0.0, 0.0]", "at_m = [NaN, 0.0, 0.0] is no place"),
        ("[0.0, 0.0, 0.0]", "[0.0, 1e300, 0.0]", "is no place in a building"),
        ("[0.0, 0.0, 0.0]", "[0.0, 0.0, 0.0]\nturn_degrees = inf", "turn_degrees = inf is no turn"),
    ] {
        fs::write(at.join("nowhere.toml"), room("hall").replace(from, to)).unwrap();
        let nowhere = told(at, &["merge", "nowhere.toml"]);
        assert!(nowhere.contains("nowhere.toml: room \"hall\": ") && nowhere.contains(what), "{nowhere}");
    }
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
