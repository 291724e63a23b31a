//! Which program gives the pictures of a camera that is no V4L2 device, and how it is called.
//!
//! | `--camera` | program | pictures |
//! |---|---|---|
//! | `csi`, `csi:1` on a Raspberry Pi | `rpicam-vid`, on older systems `libcamera-vid` | MJPEG |
//! | the same on a Jetson | `gst-launch-1.0` with `nvarguscamerasrc` and `nvjpegenc` | MJPEG |
//! | `rtsp://…`, `http://…`, and what else `ffmpeg` opens by an address | `ffmpeg` | Y4M, not larger than asked for |
//!
//! Newer `rpicam-vid` say between the pictures when the light of each fell ([`TellsLight`]); frames of all others are stamped when
//! they arrive.

use std::path::Path;

/// A camera as programs give it.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// For people: `CSI camera 0`, `rtsp://camera.local/stream` (without name and password).
    pub name: String,
    /// Program and arguments, the first that is installed is taken.
    pub programs: Vec<(String, Vec<String>)>,
    /// What to do where none is.
    pub missing: String,
    /// Asked for, frames a second.
    pub fps: f32,
    /// How the program is asked when the light of each picture fell, where it can say that.
    pub light: Option<TellsLight>,
    /// What is not to be told, though the program may say it: name and password, the query.
    pub secrets: Vec<String>,
}

/// Words that make a program say of each picture when its light fell.
#[derive(Clone, Debug, PartialEq)]
pub struct TellsLight {
    /// A program whose `--help` has this knows them.
    pub known_by: &'static str,
    /// Put before all others.
    pub arguments: Vec<String>,
}

impl Launch {
    /// A program's words without what is secret in them.
    pub fn without_secrets(&self, words: &str) -> String {
        self.secrets.iter().fold(words.to_owned(), |words, secret| words.replace(secret, "***"))
    }
}

/// What ffmpeg opens by an address and makes sense as a camera.
const SCHEMES: [&str; 8] = ["rtsp", "rtsps", "http", "https", "rtmp", "srt", "udp", "tcp"];

/// Present on every Jetson.
const TEGRA_RELEASE: &str = "/etc/nv_tegra_release";

/// Whether this board is one.
pub(super) fn is_jetson() -> bool {
    Path::new(TEGRA_RELEASE).exists()
}

/// The size and rate asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wish {
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// Frames a second.
    pub fps: f32,
}

/// How `device` is read by a program; `None` where it is no such camera.
///
/// # Errors
/// What is wrong with the name, and what can be said instead.
pub fn launch(device: &str, wish: Wish) -> Option<Result<Launch, String>> {
    if let Some(rest) = device.strip_prefix("csi") {
        let index = match rest.strip_prefix(':') {
            None if rest.is_empty() => Ok(0),
            None => return None,
            Some(number) => number.parse::<u8>(),
        };
        return Some(match index {
            Ok(index) => Ok(csi(index, wish, is_jetson())),
            Err(_) => Err(format!(
                "camera '{device}': csi:0 is the first camera on the board's connector, csi:1 the second"
            )),
        });
    }
    let (scheme, _) = device.split_once("://")?;
    if !SCHEMES.contains(&scheme) {
        let (name, schemes) = (apart(device).0, SCHEMES.join("://, "));
        return Some(Err(format!("camera '{name}': an address begins with {schemes}://")));
    }
    Some(Ok(address(device, scheme, wish)))
}

fn csi(index: u8, Wish { width, height, fps }: Wish, is_jetson: bool) -> Launch {
    let words = |text: String| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let (programs, missing, light) = if is_jetson {
        let line = format!(
            "-q nvarguscamerasrc sensor-id={index} ! \
             video/x-raw(memory:NVMM),width={width},height={height},framerate={}/1 ! nvjpegenc ! fdsink fd=1 sync=false",
            fps.round().max(1.0)
        );
        (
            vec![("gst-launch-1.0".into(), words(line))],
            "gst-launch-1.0 is not installed: sudo apt install gstreamer1.0-tools",
            None,
        )
    } else {
        let line = format!(
            "--timeout 0 --nopreview --codec mjpeg --camera {index} --width {width} --height {height} --framerate {fps} \
             --flush --output -"
        );
        let programs =
            ["rpicam-vid", "libcamera-vid"].map(|program| (program.to_owned(), words(line.clone())));
        (
            programs.to_vec(),
            "neither rpicam-vid nor libcamera-vid is installed: sudo apt install rpicam-apps-lite (before Debian 12: libcamera-apps-lite)",
            // In the same pipe, after each picture: no text has the bytes that begin a JPEG.
            Some(TellsLight {
                known_by: "--metadata-format",
                arguments: words("--metadata - --metadata-format txt".into()),
            }),
        )
    };
    Launch {
        name: format!("CSI camera {index}"),
        programs,
        missing: missing.into(),
        fps,
        light,
        secrets: Vec::new(),
    }
}

fn address(address: &str, scheme: &str, Wish { width, height, fps }: Wish) -> Launch {
    let mut arguments: Vec<String> = Vec::new();
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(|&word| word.to_owned()));
    add(&["-v", "error", "-nostdin"]);
    if scheme.starts_with("rtsp") {
        // Lost packets of UDP are grey blocks for seconds.
        add(&["-rtsp_transport", "tcp"]);
    }
    add(&["-fflags", "nobuffer", "-flags", "low_delay", "-analyzeduration", "1000000", "-i", address]);
    // Cameras that send JPEG colours have full range, which not every ffmpeg would say in Y4M's header.
    let smaller = format!(
        "scale=w='min({width},iw)':h='min({height},ih)':force_original_aspect_ratio=decrease:force_divisible_by=2:\
         out_range=tv"
    );
    add(&[
        "-map",
        "0:v:0",
        "-vf",
        &smaller,
        "-vsync",
        "passthrough",
        "-pix_fmt",
        "yuv420p",
        "-f",
        "yuv4mpegpipe",
        "-",
    ]);
    let (name, secrets) = apart(address);
    Launch {
        name,
        programs: vec![("ffmpeg".into(), arguments)],
        missing: "ffmpeg, which reads cameras on the network, is not installed: sudo apt install ffmpeg"
            .into(),
        fps,
        light: None,
        secrets,
    }
}

/// An address without name, password and query, and these; any other name as it is.
pub fn apart(address: &str) -> (String, Vec<String>) {
    let mut secrets = Vec::new();
    let Some((scheme, rest)) = address.split_once("://") else { return (address.into(), secrets) };
    let (rest, query) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (user, host) = host.rsplit_once('@').unwrap_or(("", host));
    secrets.extend([user, query].into_iter().filter(|s| s.len() > 1).map(str::to_owned));
    (format!("{scheme}://{host}{path}"), secrets)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WISH: Wish = Wish { width: 640, height: 480, fps: 30.0 };

    fn asked(device: &str) -> Launch {
        launch(device, WISH).expect("by a program").expect("a right name")
    }

    #[test]
    fn a_pis_camera_is_read_by_the_program_that_its_system_has() {
        let launch = asked("csi:1");
        assert_eq!(launch.name, "CSI camera 1");
        let names: Vec<_> = launch.programs.iter().map(|(program, _)| &**program).collect();
        assert_eq!(names, ["rpicam-vid", "libcamera-vid"]);
        let line = launch.programs[0].1.join(" ");
        assert!(
            line.contains("--camera 1 --width 640 --height 480 --framerate 30 --flush --output -"),
            "{line}"
        );
        assert!(asked("csi").programs[0].1.join(" ").contains("--camera 0"));
    }

    #[test]
    fn a_jetsons_is_read_through_gstreamer() {
        let launch = csi(0, WISH, true);
        let (program, arguments) = &launch.programs[0];
        assert_eq!(program, "gst-launch-1.0");
        let line = arguments.join(" ");
        assert!(line.contains(
            "sensor-id=0 ! video/x-raw(memory:NVMM),width=640,height=480,framerate=30/1 ! nvjpegenc"
        ));
    }

    #[test]
    fn an_address_is_given_to_ffmpeg_and_its_password_to_nobody_else() {
        let launch = asked("rtsp://user:p%40ss@10.0.0.9:554/live?token=secret");
        assert_eq!(launch.name, "rtsp://10.0.0.9:554/live");
        let (program, arguments) = &launch.programs[0];
        assert_eq!(program, "ffmpeg");
        assert!(arguments.windows(2).any(|w| w == ["-rtsp_transport", "tcp"]));
        assert!(
            arguments.windows(2).any(|w| w == ["-i", "rtsp://user:p%40ss@10.0.0.9:554/live?token=secret"])
        );
        assert!(!asked("http://10.0.0.9/video.mjpg").programs[0].1.contains(&"-rtsp_transport".to_owned()));
        let words = "rtsp://user:p%40ss@10.0.0.9:554/live?token=secret: 401 Unauthorized";
        assert_eq!(launch.without_secrets(words), "rtsp://***@10.0.0.9:554/live***: 401 Unauthorized");
        assert_eq!(apart("http://camera"), ("http://camera".into(), vec![]));
    }

    #[test]
    fn other_names_are_not_for_programs_and_wrong_ones_are_told() {
        for device in ["auto", "/dev/video0", "usb-Logitech", "csitek"] {
            assert_eq!(launch(device, WISH), None, "{device}");
        }
        assert!(launch("csi:x", WISH).unwrap().unwrap_err().contains("csi:0"));
        let scheme = launch("ftp://user:secret@host/x", WISH).unwrap().unwrap_err();
        assert!(scheme.contains("'ftp://host/x'") && scheme.contains("rtsp://"), "{scheme}");
    }
}
