//! The program as people use it: a simulated take, calibrated and replayed; then the same lines over the network.

#[cfg(target_os = "linux")] // what a process listens for, and signals as they are by themselves
mod end;
mod network;
mod take;
mod wrong;

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
