//! Poses live to Foxglove, as its own protocol has them: topics, schemas, messages, and who is not waited for.

use std::net::TcpStream;
use std::thread::sleep;
use std::time::{Duration, Instant};

use pose::{MAX_PERSONS, PoseFrame};
use posewire::output::PoseSink;
use posewire::output::foxglove::Foxglove;
use posewire::output::mcap::McapOptions;
use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

/// Longer than anything here takes on a busy machine.
const SOON: Duration = Duration::from_secs(20);

fn nobody(seq: u64) -> PoseFrame {
    let persons = [None; MAX_PERSONS];
    PoseFrame { seq, frame: seq, captured_at_us: 1, width: 320, height: 240, persons, floor: None }
}

fn connect(server: &Foxglove) -> WebSocket<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    let mut request = format!("ws://127.0.0.1:{}/", server.port()).into_client_request().unwrap();
    request.headers_mut().insert("Sec-WebSocket-Protocol", "foxglove.sdk.v1".parse().unwrap());
    tungstenite::client(request, stream).unwrap().0
}

/// The next message in words with this `op`.
fn said(socket: &mut WebSocket<TcpStream>, op: &str) -> Value {
    loop {
        if let Message::Text(text) = socket.read().unwrap() {
            let said: Value = serde_json::from_str(&text).unwrap();
            if said["op"] == op {
                return said;
            }
        }
    }
}

#[test]
fn who_subscribes_hears_what_schemas_describe_and_who_is_silent_holds_nobody_up() {
    let mut server = Foxglove::bind("127.0.0.1:0", McapOptions::default()).unwrap();
    // Takes nothing, ever.
    let _silent = connect(&server);
    let mut socket = connect(&server);
    said(&mut socket, "serverInfo");
    let mut topics: Vec<(String, String, u64)> = Vec::new();
    while topics.len() < 3 {
        for channel in said(&mut socket, "advertise")["channels"].as_array().unwrap() {
            assert_eq!(channel["encoding"], "json");
            let schema: Value = serde_json::from_str(channel["schema"].as_str().unwrap()).unwrap();
            assert_eq!(schema["type"], "object");
            let word = |key: &str| channel[key].as_str().unwrap().to_owned();
            topics.push((word("topic"), word("schemaName"), channel["id"].as_u64().unwrap()));
        }
    }
    topics.sort();
    let names: Vec<_> = topics.iter().map(|(topic, schema, _)| (topic.as_str(), schema.as_str())).collect();
    let poses = ("/poses", "posewire.Poses");
    assert_eq!(
        names,
        [("/annotations", "foxglove.ImageAnnotations"), poses, ("/scene", "foxglove.SceneUpdate")],
        "no pictures were asked for"
    );
    let id = topics.iter().find(|(topic, ..)| topic == "/poses").unwrap().2;
    let subscribe = json!({ "op": "subscribe", "subscriptions": [{ "id": 7, "channelId": id }] });
    socket.send(Message::text(subscribe.to_string())).unwrap();
    let began = Instant::now();
    let mut seq = 0;
    socket.get_ref().set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let heard = loop {
        assert!(began.elapsed() < SOON, "nothing was heard");
        seq += 1;
        server.send(&nobody(seq), 9).unwrap();
        match socket.read() {
            Ok(Message::Binary(bytes)) => break bytes,
            Ok(_) => {}
            Err(_) => sleep(Duration::from_millis(20)),
        }
    };
    // Message data: 1, the subscription, nanoseconds of the day, what the topic says.
    assert_eq!((heard[0], &heard[1..5]), (1, &7u32.to_le_bytes()[..]));
    assert!(u64::from_le_bytes(heard[5..13].try_into().unwrap()) > 1_600_000_000_000_000_000);
    let line: Value = serde_json::from_slice(&heard[13..]).unwrap();
    assert!(line["seq"].as_u64().unwrap() >= 1 && line["persons"] == json!([]), "{line}");
    let began = Instant::now();
    for i in 0..2_000 {
        server.send(&nobody(seq + i), 9).unwrap();
    }
    server.finish(SOON).unwrap();
    assert!(began.elapsed() < SOON);
}

#[test]
fn an_address_that_cannot_be_is_told_with_what_to_do() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for address in [address.as_str(), "nowhere"] {
        let error = Foxglove::bind(address, McapOptions::default()).err().unwrap().to_string();
        assert!(
            error.contains("--foxglove") && error.contains(address) && error.contains("name an"),
            "{error}"
        );
    }
}
