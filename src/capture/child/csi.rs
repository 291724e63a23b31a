//! Cameras on a board's own connector, as the system's programs list them: they are no V4L2 devices that could be read.

use std::fs::DirEntry;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use super::programs::is_jetson;
use crate::child_process::Group;

/// A Pi answers within a second; one whose camera stack hangs would never.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long what a program has said may take to be read once it has ended, on a busy board.
const READ_WITHIN: Duration = Duration::from_secs(1);

/// The programs that list them, the newer first.
const LISTERS: [&str; 2] = ["rpicam-vid", "libcamera-vid"];

/// Where a Jetson's kernel names its video nodes.
const NODE_NAMES: &str = "/sys/class/video4linux";

/// Names of the sensors, in the order of `csi:N`; `None` where the board has no program of a Raspberry Pi and is no Jetson.
pub fn list_cameras() -> Option<Vec<String>> {
    if is_jetson() {
        return Some(of_jetson(Path::new(NODE_NAMES)));
    }
    LISTERS.iter().find_map(|program| answer(program, "--list-cameras")).map(|text| cameras(&text))
}

/// Sensors by the names of their nodes, `vi-output, imx219 7-0010`: no program lists them, but the kernel does.
fn of_jetson(names: &Path) -> Vec<String> {
    let number = |entry: &DirEntry| entry.file_name().to_str()?.strip_prefix("video")?.parse::<u32>().ok();
    let mut nodes: Vec<_> = std::fs::read_dir(names)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((number(&entry)?, std::fs::read_to_string(entry.path().join("name")).ok()?)))
        .collect();
    nodes.sort();
    let sensor = |name: &str| name.trim().strip_prefix("vi-output, ").map(str::to_owned);
    nodes.iter().filter_map(|(_, name)| sensor(name)).collect()
}

/// What `PROGRAM QUESTION` says; `None` where it is not installed.
pub(super) fn answer(program: &str, question: &str) -> Option<String> {
    let mut command = Command::new(program);
    command.arg(question).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut group = Group::start(&mut command).ok()?;
    let output = group.first().stdout.take()?;
    let (say, said) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        // Longer than any list.
        let _ = output.take(1 << 16).read_to_end(&mut text);
        // Nobody may wait for it any more.
        let _ = say.send(String::from_utf8_lossy(&text).into_owned());
    });
    if group.gone_within(PATIENCE).is_none() {
        log::warn!("{program} {question} does not answer");
        return Some(String::new());
    }
    // Whatever it has left behind may hold the pipe.
    drop(group);
    Some(said.recv_timeout(READ_WITHIN).unwrap_or_default())
}

/// Lines such as `0 : imx219 [3280x2464 10-bit RGGB] (/base/soc/i2c0mux/i2c@1/imx219@10)`.
fn cameras(text: &str) -> Vec<String> {
    text.lines()
        .filter_map(|line| {
            let (number, rest) = line.split_once(" : ")?;
            number.trim().parse::<u8>().ok()?;
            Some(rest.split(" (").next()?.trim().to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sensors_are_read_from_what_a_pi_says() {
        let text = "Available cameras\n-----------------\n\
                    0 : imx708_wide [4608x2592 10-bit RGGB] (/base/axi/pcie@120000/rp1/i2c@88000/imx708@1a)\n    \
                    Modes: 'SRGGB10_CSI2P' : 1536x864 [120.13 fps - (768, 432)/3072x1728 crop]\n                             \
                    2304x1296 [56.03 fps - (0, 0)/4608x2592 crop]\n\n\
                    1 : ov5647 [2592x1944 10-bit GBRG] (/base/axi/pcie@120000/rp1/i2c@80000/ov5647@36)\n";
        assert_eq!(cameras(text), ["imx708_wide [4608x2592 10-bit RGGB]", "ov5647 [2592x1944 10-bit GBRG]"]);
        assert!(cameras("No cameras available!\n").is_empty());
        assert!(answer("/nonexistent/rpicam-vid", "--list-cameras").is_none());
    }

    #[test]
    fn a_jetsons_sensors_are_those_whose_nodes_say_so() {
        let folder = tempfile::tempdir().unwrap();
        for (node, name) in [
            ("video10", "vi-output, ov5693 2-0036\n"),
            ("video2", "vi-output, imx219 7-0010\n"),
            ("video0", "HD Webcam\n"),
            ("v4l-subdev0", "vi-output, none\n"),
        ] {
            std::fs::create_dir(folder.path().join(node)).unwrap();
            std::fs::write(folder.path().join(node).join("name"), name).unwrap();
        }
        assert_eq!(of_jetson(folder.path()), ["imx219 7-0010", "ov5693 2-0036"]);
        assert!(of_jetson(Path::new("/nonexistent")).is_empty());
    }
}
