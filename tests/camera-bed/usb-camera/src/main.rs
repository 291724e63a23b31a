//! A USB camera without hardware: the kernel's own `uvcvideo` drives it through a simulated bus.
//!
//!     usb-camera WIDTHxHEIGHT FPS [mjpeg=FILE] [yuyv=FILE] [control=FILE] [name=NAME] [once=1]
//!
//! Shows its clip as if it went on in front of it, also while the plug is pulled: killing the program is an unplug, starting
//! it again a replug. With `once` each frame is sent once and none is left out, however late the host is; then it stalls. What
//! the control file says is done from the next frame on: `stall` (no frames), `error` (frames with the error bit), `truncate`
//! (half of each frame), `half` (half the rate, as in the dark); anything else is normal.

mod descriptors;
mod gadget;

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use descriptors::{Camera, Kind, interval};
use gadget::{Gadget, Setup};

/// What the host has asked for, shared with the thread that sends.
#[derive(Default)]
struct Stream {
    endpoint: OnceLock<u16>,
    /// Counts the host's commits: a new one starts the stream anew.
    commits: AtomicU64,
    format: AtomicU64,
    interval_100ns: AtomicU64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let usage = "usb-camera WIDTHxHEIGHT FPS [mjpeg=FILE] [yuyv=FILE] [control=FILE] [name=NAME] [once=1]";
    let (size, fps) = (args.first().ok_or(usage)?, args.get(1).ok_or(usage)?.parse::<u32>()?);
    let (width, height) = size.split_once('x').ok_or(usage)?;
    let option = |name: &str| args.iter().find_map(|a| a.strip_prefix(name)?.strip_prefix('='));
    let mut camera = Camera {
        kinds: vec![],
        width: width.parse()?,
        height: height.parse()?,
        rates: vec![fps, fps / 2],
        name: option("name").unwrap_or("Posewire test camera").to_string(),
    };
    let mut clips = vec![];
    if let Some(path) = option("mjpeg") {
        camera.kinds.push(Kind::Mjpeg);
        clips.push(pictures(&std::fs::read(path)?));
    }
    if let Some(path) = option("yuyv") {
        camera.kinds.push(Kind::Yuyv);
        clips.push(
            std::fs::read(path)?.chunks_exact(camera.frame_bytes() as usize).map(<[u8]>::to_vec).collect(),
        );
    }
    if clips.iter().any(Vec::is_empty) || clips.is_empty() {
        return Err("no frames to play".into());
    }
    let gadget = Arc::new(Gadget::plug_in("dummy_udc.0")?);
    let stream = Arc::new(Stream::default());
    let scene =
        Scene { clips, fps, control: option("control").map(str::to_string), once: option("once").is_some() };
    std::thread::spawn({
        let (gadget, stream) = (Arc::clone(&gadget), Arc::clone(&stream));
        move || send(&gadget, &stream, &scene)
    });
    serve(&gadget, &camera, &stream)
}

/// Splits an MJPEG stream where one picture ends and the next begins.
fn pictures(stream: &[u8]) -> Vec<Vec<u8>> {
    let mut cuts: Vec<usize> = (0..stream.len().saturating_sub(3))
        .filter(|&i| stream[i..i + 4] == [0xff, 0xd9, 0xff, 0xd8])
        .map(|i| i + 2)
        .collect();
    cuts.insert(0, 0);
    cuts.push(stream.len());
    cuts.windows(2).filter(|c| c[1] > c[0]).map(|c| stream[c[0]..c[1]].to_vec()).collect()
}

/// What is in front of the camera, and what is done to it.
struct Scene {
    /// Frames by format.
    clips: Vec<Vec<Vec<u8>>>,
    fps: u32,
    control: Option<String>,
    once: bool,
}

impl Scene {
    fn order(&self) -> String {
        let text = self.control.as_ref().and_then(|c| std::fs::read_to_string(c).ok());
        text.unwrap_or_default().trim().to_string()
    }

    /// The frame to be sent as number `n`; nothing after the last of `once`.
    fn frame(&self, format: usize, n: u32) -> Option<&[u8]> {
        let clip = &self.clips[format];
        if self.once {
            return clip.get(n as usize).map(Vec::as_slice);
        }
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the clock exists and the place to write to is ours.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
        let seconds = now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9;
        Some(&clip[(seconds * f64::from(self.fps)).round() as usize % clip.len()])
    }
}

/// Sends frames at the host's rate; a frame that the host takes late makes the next ones be missed, as in a camera.
fn send(gadget: &Gadget, stream: &Stream, scene: &Scene) {
    const END_OF_FRAME: u8 = 0x02;
    const ERROR: u8 = 0x40;
    const END_OF_HEADER: u8 = 0x80;
    let mut frame_id = 0;
    let mut payload = Vec::new();
    loop {
        let commit = stream.commits.load(SeqCst);
        let (Some(&endpoint), 1..) = (stream.endpoint.get(), commit) else {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        };
        let format = stream.format.load(SeqCst) as usize - 1;
        let period = Duration::from_nanos(100 * stream.interval_100ns.load(SeqCst));
        let start = Instant::now();
        let mut n = 0u32;
        while stream.commits.load(SeqCst) == commit {
            let now = start.elapsed();
            if now < period * n {
                std::thread::sleep(period * n - now);
            } else if !scene.once {
                n = (now.as_nanos() / period.as_nanos().max(1)) as u32;
            }
            let order = scene.order();
            let frame = scene.frame(format, n).filter(|_| order != "stall");
            n += if order == "half" { 2 } else { 1 };
            let Some(frame) = frame else { continue };
            let frame = if order == "truncate" { &frame[..frame.len() / 2] } else { frame };
            let error = if order == "error" { ERROR } else { 0 };
            payload.clear();
            payload.extend([2, END_OF_HEADER | END_OF_FRAME | error | frame_id]);
            payload.extend_from_slice(frame);
            match gadget.send(endpoint, &mut payload) {
                Ok(_) => frame_id ^= 1,
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }
}

/// Answers the host on endpoint 0.
fn serve(gadget: &Gadget, camera: &Camera, stream: &Stream) -> Result<(), Box<dyn std::error::Error>> {
    const STANDARD: u8 = 0x00;
    const CLASS: u8 = 0x20;
    const STREAMING_INTERFACE: u16 = 1;
    let mut probe = negotiated(camera, &[0; 34]);
    loop {
        let Setup { request_type, request, value, index, length } = gadget.next_setup()?;
        let served = match (request_type & 0x60, request) {
            (STANDARD, 0x06) => match value >> 8 {
                1 => gadget.reply(descriptors::device(), length),
                2 => gadget.reply(camera.configuration(), length),
                3 => gadget.reply(camera.string(value as u8), length),
                _ => gadget.stall(),
            },
            (STANDARD, 0x09) => {
                let endpoint = gadget.configure(descriptors::ENDPOINT)?;
                stream.endpoint.get_or_init(|| endpoint);
                gadget.accept(0).map(drop)
            }
            (STANDARD, 0x0b) => gadget.accept(0).map(drop),
            (STANDARD, 0x00) => gadget.reply(vec![0, 0], length),
            (CLASS, 0x01) if index & 0xff == STREAMING_INTERFACE => gadget.accept(length).map(|bytes| {
                let mut asked = probe;
                let n = bytes.len().min(asked.len());
                asked[..n].copy_from_slice(&bytes[..n]);
                probe = negotiated(camera, &asked);
                if value >> 8 == 2 {
                    stream.format.store(probe[2].into(), SeqCst);
                    stream.interval_100ns.store(dword(&probe, 4).into(), SeqCst);
                    stream.commits.fetch_add(1, SeqCst);
                }
            }),
            (CLASS, 0x81..=0x84 | 0x87) if index & 0xff == STREAMING_INTERFACE => {
                // Current, least, most and default differ in the rate alone.
                let mut answer = probe;
                let rate = match request {
                    0x83 => camera.rates.last(),
                    0x82 | 0x87 => camera.rates.first(),
                    _ => None,
                };
                if let Some(fps) = rate {
                    answer[4..8].copy_from_slice(&interval(*fps).to_le_bytes());
                }
                gadget.reply(answer.to_vec(), length)
            }
            (CLASS, 0x85) => gadget.reply(vec![34, 0], length),
            (CLASS, 0x86) => gadget.reply(vec![0x03], length),
            _ => gadget.stall(),
        };
        if let Err(e) = served {
            eprintln!("usb-camera: request {request:#x}, value {value:#x}: {e}");
        }
    }
}

/// The probe and commit control (UVC 1.1, 4.3.1.1) nearest to what was asked.
fn negotiated(camera: &Camera, asked: &[u8; 34]) -> [u8; 34] {
    let mut probe = *asked;
    probe[2] = asked[2].clamp(1, camera.kinds.len() as u8);
    probe[3] = 1;
    let wanted = match dword(asked, 4) {
        0 => interval(camera.rates[0]),
        some => some,
    };
    let nearest =
        camera.rates.iter().map(|r| interval(*r)).min_by_key(|i| i.abs_diff(wanted)).unwrap_or(wanted);
    probe[4..8].copy_from_slice(&nearest.to_le_bytes());
    probe[18..22].copy_from_slice(&camera.frame_bytes().to_le_bytes());
    // A whole frame is one payload.
    probe[22..26].copy_from_slice(&(camera.frame_bytes() + 2).to_le_bytes());
    probe[26..30].copy_from_slice(&48_000_000u32.to_le_bytes());
    probe[30] = 3;
    probe
}

fn dword(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
