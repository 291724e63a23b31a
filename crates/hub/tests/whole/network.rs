//! Hubs and boards that come and go while lines come as time goes by.

use super::*;

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
