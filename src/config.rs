//! What can be configured: every option stands once, in the table below, with its key in the file, its type, its default,
//! what is said of it, and the flag of `posewire run` that overrides the file.
//!
//! The file is TOML; every key is optional, unknown ones are refused with the line and the nearest valid name.
//! `posewire.example.toml` is made from the table ([`example`]), and a test holds it to that.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::files;
use crate::infer::Engine;
use crate::output::Predict;
use crate::output::display::DisplayStyle;
use crate::output::jsonl::Format;
use crate::output::mqtt::Broker;
use crate::output::osc::OscFormat;
use crate::temporal::Smoother;

mod words;

pub use crate::names::did_you_mean;
pub use words::{
    Address, Calibration, CameraFormat, CameraHeight, DisplayKind, ExistingLines, FieldOfView, Frames,
    MaxPersons, MinJoints, MinScore, Percent, PersonHeight, Rate, Rotation, Size,
};

/// The word for a model that is part of the binary.
pub const BUILTIN: &str = "builtin";

/// The smoother that runs unless another is asked for.
pub const SMOOTHER: Smoother = Smoother::Xl;

/// The word for a finder that is left out.
pub const NONE: &str = "none";

/// One line of the table: `/// what it is`, `key: Type = default`; then, for a flag with a value, `=> its_name(what clap is
/// told)`, or for a switch that turns the default round, `, its_name(what clap is told)`.
macro_rules! options {
    ($(
        #[doc = $about:literal]
        $section:ident: $Section:ident {
            $(
                #[doc = $help:literal]
                $key:ident: $type:ident = $default:expr
                    $(=> $flag:ident($($arg:tt)*))? $(, $switch:ident($($said:tt)*))?;
            )*
        }
    )*) => {
        /// Everything that can be configured. Texts that are empty mean "not used".
        #[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Config {
            $(#[doc = $about] pub $section: $Section,)*
        }

        $(
            #[doc = $about]
            #[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
            #[serde(default, deny_unknown_fields)]
            pub struct $Section {
                $(#[doc = $help] pub $key: $type,)*
            }

            impl Default for $Section {
                fn default() -> Self {
                    Self { $($key: $default,)* }
                }
            }
        )*

        /// What the command line says instead of the file.
        #[derive(Clone, Debug, Default)]
        #[cfg_attr(feature = "cli", derive(clap::Args))]
        pub struct Flags {
            $($($(
                #[doc = $help]
                #[cfg_attr(feature = "cli", arg(long, value_parser = parser!($type), $($arg)*))]
                pub $flag: Option<$type>,
            )?)*)*
            $($($(
                #[doc = $help]
                #[cfg_attr(feature = "cli", arg(long, $($said)*))]
                pub $switch: bool,
            )?)*)*
        }

        impl Flags {
            /// Overrides `config` where something is said.
            pub fn apply(self, config: &mut Config) {
                // Another source takes the place of all that the file names.
                if self.camera.is_some() || self.replay.is_some() || self.synthetic {
                    let Source { camera, replay, synthetic, .. } = &mut config.source;
                    (*camera, *replay, *synthetic) = Default::default();
                }
                $($($(
                    if let Some(value) = self.$flag {
                        config.$section.$key = value;
                    }
                )?)*)*
                $($($(
                    if self.$switch {
                        config.$section.$key = !$default;
                    }
                )?)*)*
            }
        }

        /// Each section's name, what it is about, and its keys with theirs.
        const TABLE: &[(&str, &str, &[(&str, &str)])] = &[
            $((stringify!($section), $about, &[$((stringify!($key), $help),)*]),)*
        ];
    };
}

/// How a flag's value is read. Nothing given is an error, not the default.
#[cfg(feature = "cli")]
macro_rules! parser {
    (PathBuf) => {
        clap::value_parser!(PathBuf)
    };
    ($type:ident) => {
        words::given::<$type>
    };
}

options! {
    /// Where frames come from: the first of replay, camera and synthetic that is set; if none is, the first camera, else the built-in clip (a service waits)
    source: Source {
        /// Camera: a device, a name from /dev/v4l/by-id, csi or csi:1 (on the board's connector), rtsp://... or http://..., or "auto": the first that gives pictures
        camera: String = String::new()
            => camera(value_name = "DEVICE", num_args = 0..=1, default_missing_value = "auto", group = "source");
        /// A folder of pictures, a video (AVI, Y4M, MJPEG; others through ffmpeg), a recording, or "-": MJPEG or Y4M from a pipe
        replay: PathBuf = PathBuf::new() => replay(value_name = "PATH", group = "source");
        /// The built-in clip
        synthetic: bool = false, synthetic(group = "source");
        /// Pixels asked of the camera
        width: u32 = 640; // what every UVC camera has at 30 fps over USB 2, and more than the networks need of a person
        /// Pixels asked of the camera
        height: u32 = 480;
        /// Frames per second asked of the camera
        fps: u32 = 30 => fps(value_name = "N");
        /// Asked of the camera: auto, mjpeg, yuyv, nv12, grey or rgb24
        format: CameraFormat = CameraFormat::default();
        /// Degrees by which pictures are turned clockwise: 0, 90, 180 or 270, for a camera that hangs upside down or on its side
        rotate: Rotation = Rotation::default() => rotate(value_name = "DEGREES", allow_negative_numbers = true);
        /// Pictures as a mirror shows them; left and right joints keep their names
        mirror: bool = false, mirror();
        /// Wait for a camera that is missing or busy at the start, as a service for the serial port too; false ends with an error
        wait: bool = true, no_wait(
            help = "End with an error where the camera (of a service, the serial port too) is missing or busy, instead of waiting"
        );
        /// Stop after so many processed frames, or "all"
        frames: Frames = Frames::All => frames(value_name = "N");
        /// Process every frame of a file, in order, as fast as it goes; the same file gives the same output
        no_drop: bool = false, no_drop();
    }
    /// Networks: "builtin", a name that `posewire models` lists, or a manifest (*.toml beside its *.onnx)
    models: Models {
        /// Keypoint network: a name that `posewire models` lists, or a manifest
        keypoints: String = BUILTIN.into() => model(value_name = "MODEL");
        /// Person finder; "none": one person who fills the picture needs no finding
        finder: String = BUILTIN.into();
        /// Weights of the learned smoother: "builtin", or the manifest of some (*.toml beside its *.pwt)
        temporal: String = BUILTIN.into() => temporal(value_name = "FILE");
        /// What runs the networks: auto (int8 where the processor has kernels for it), int8, int8:KERNEL, f32 or tract
        engine: Engine = Engine::Auto => engine(value_name = "ENGINE");
    }
    /// Who is followed
    persons: Persons {
        /// Persons followed at once, 1 to 8; each who is there costs one run of the keypoint network a frame
        max: MaxPersons = MaxPersons::default() => max_persons(value_name = "N");
        /// From which score on somebody is a person, 0 to 1: higher against ghosts, lower where people are missed; "auto": what suits the network
        min_score: MinScore = MinScore::default() => min_score(value_name = "SCORE");
        /// Of how many joints a person has to consist to be told of, 4 to 17
        min_joints: MinJoints = MinJoints::default() => min_joints(value_name = "N");
    }
    /// How poses are filtered
    temporal: Temporal {
        /// Temporal model: xl (learned), one-euro, exponential, kalman or none; gru and s4d (learned) need --temporal
        smoother: Smoother = SMOOTHER => smoother(value_name = "NAME");
    }
    /// When poses are sent, and for which moment
    output: Output {
        /// "camera": once for every frame; or poses per second whatever the camera does: forecasts fill in
        rate: Rate = Rate::Camera => rate(value_name = "HZ");
        /// The moment that poses speak of: now (of sending), capture, or milliseconds after capture
        predict: Predict = Predict::Now => predict(value_name = "WHEN");
    }
    /// Where persons stand, in metres before the camera: needs its lens
    metres: Metres {
        /// The lens: a file of `posewire calibrate`, "auto": that of the camera's USB id, or "none"
        calibration: Calibration = Calibration::default() => calibration(value_name = "FILE");
        /// Degrees that the camera sees across, where nobody has calibrated it: rough, as data sheets are; "none"
        fov: FieldOfView = FieldOfView::default() => fov(value_name = "DEGREES");
        /// How tall persons are, sole to crown, metres; "unknown": as adults are, which costs certainty
        person_height: PersonHeight = PersonHeight::default() => person_height(value_name = "METRES");
        /// Find the floor from where feet stand: how high the camera is above it, how it is tilted, where on it everybody is and how tall
        floor: bool = false, floor();
        /// How high the camera is above the floor, metres, where somebody has measured it: distances then need nobody's height; "unknown"
        camera_height: CameraHeight = CameraHeight::default() => camera_height(value_name = "METRES");
    }
    /// Poses on a serial wire
    serial: Serial {
        /// Send poses over this serial port (/dev/serial/by-id/..., /dev/ttyUSB0), which may come and go; ",rtscts" behind it: flow control
        port: String = String::new() => serial(value_name = "PORT[@BAUD][,rtscts]");
        /// Bits per second, at both ends; two persons at 30 Hz fit into 115200, 921600 takes four at 100 Hz
        baud: u32 = pose_wire::DEFAULT_BAUD;
        /// Also send hip-centred metres, where the smoother gives them
        with_3d: bool = false;
        /// Also send where persons stand before the camera, where its lens is known
        with_place: bool = false;
        /// Also send what happens: who comes and goes, zones, raised hands, falls
        with_events: bool = false;
    }
    /// Poses as JSON lines
    jsonl: Jsonl {
        /// Write JSON lines to a file, or "-" for the standard output
        path: PathBuf = PathBuf::new() => jsonl(value_name = "PATH");
        /// A line is a frame: full or named (joints by name); a person: coco (results), flat (a number a key); csv: a table
        format: Format = Format::Full => jsonl_format(value_name = "FORMAT");
        /// What files hold at the start: append to lines and keep whole films, replace them, or auto: append as a service, else replace
        existing: ExistingLines = ExistingLines::Auto;
        /// MB after which the file becomes PATH.1 and a new one is begun; 0 lets it grow, by some 4 GB a day
        rotate_mb: u32 = 0;
    }
    /// What happens, as JSON lines: who comes and goes, who is in which zone, raised hands, crossed arms, falls
    events: Events {
        /// Write a line for every event to a file, or "-" for the standard output; files are kept as those of --jsonl
        path: PathBuf = PathBuf::new() => events(value_name = "PATH");
        /// Polygons in the picture: a TOML file with a name and corners for each
        zones: PathBuf = PathBuf::new() => zones(value_name = "FILE");
    }
    /// Poses drawn
    display: Display {
        /// Draw: window, fb, terminal, png:FOLDER or png:FILE.png; fb:/dev/fb1 for another screen
        kind: DisplayKind = DisplayKind::default() => display(value_name = "KIND");
        /// The camera's pictures under the skeletons; false draws these alone, on black
        pictures: bool = true, no_pictures(
            help = "Draw the skeletons alone, without the camera's pictures"
        );
        /// How persons are drawn, on the page of --web too: skeleton, planar (shaded limbs) or volumetric (a body in 3D)
        style: DisplayStyle = DisplayStyle::Skeleton => display_style(value_name = "STYLE");
        /// Percent of the pictures' brightness to take away, so that the skeletons stand out more
        dim: Percent = Percent::default() => dim(value_name = "PERCENT");
    }
    /// A film of what a display shows
    video: Video {
        /// Write the pictures with their poses to a video (.mp4, .mov, .mkv, .avi), by ffmpeg
        path: PathBuf = PathBuf::new() => video(value_name = "FILE");
        /// Frames a second of the video: "camera": as the source; of a slow board less
        rate: Rate = Rate::Camera => video_rate(value_name = "HZ");
    }
    /// Poses in a browser; from other machines only by the link that the log tells
    web: Web {
        /// Show poses in a browser at this address: 127.0.0.1:8080
        address: Address = Address::default() => web(value_name = "ADDR");
        /// The camera's pictures under them: whoever may see the page then sees what the camera sees
        pictures: bool = false, web_pixels();
    }
    /// Poses as OSC over UDP: for Max, TouchDesigner, VRChat, avatars
    osc: Osc {
        /// Send OSC to this address: 192.168.1.20:9000
        address: Address = Address::default() => osc(value_name = "HOST:PORT");
        /// What is sent: posewire (own addresses), vrchat (its trackers, in metres), or vmc (bones as rotations)
        format: OscFormat = OscFormat::Posewire => osc_format(value_name = "FORMAT");
        /// Own addresses also say hip-centred metres, where the smoother gives them
        with_3d: bool = false;
    }
    /// Poses as JSON over UDP, a datagram a frame
    udp: Udp {
        /// Send JSON lines to this address: 192.168.1.20:9100
        address: Address = Address::default() => udp(value_name = "HOST:PORT");
        /// As of JSON lines: full, named, coco or flat
        format: Format = Format::Full => udp_format(value_name = "FORMAT");
    }
    /// Who is there and what happens, for a home: over MQTT, with Home Assistant's discovery
    mqtt: Mqtt {
        /// Tell a broker who is there, in which zone, what happens and how the tracker is: mqtt://192.168.1.10, mqtt://USER:PASSWORD@HOST:1883
        broker: Broker = Broker::default() => mqtt(value_name = "URL");
        /// This tracker's part of every topic, posewire/NAME/...; the machine's name unless given
        name: String = String::new() => mqtt_name(value_name = "NAME");
        /// Tell Home Assistant of the topics
        discovery: bool = true;
    }
    /// Poses as MCAP, which Foxglove opens
    mcap: Mcap {
        /// Write poses, skeletons over the picture and in metres to an MCAP file
        path: PathBuf = PathBuf::new() => mcap(value_name = "FILE");
        /// The camera's pictures too
        pictures: bool = false, mcap_pixels();
    }
    /// Poses live to Foxglove; needs a binary built with --features foxglove
    foxglove: Foxglove {
        /// Foxglove connects to this address: 127.0.0.1:8765
        address: Address = Address::default() => foxglove(value_name = "ADDR");
        /// The camera's pictures too: whoever may connect then sees what the camera sees
        pictures: bool = false, foxglove_pixels();
    }
    /// Faults on purpose, for tests
    faults: Faults {
        /// Faults for testing: camera.drop=0.1,infer.slow=0.02,serial.stall=0.01
        inject: String = String::new() => inject(value_name = "FAULTS");
        /// Seed of the faults and of the built-in clip
        seed: u64 = 0 => seed(value_name = "N");
    }
    /// The process itself
    service: Service {
        /// Seconds from one line of health in the log to the next; 0 for none
        health_every_s: u32 = 10; // often enough to see a trend, seldom enough not to fill the journal: 9,000 lines a day
    }
}

/// The text of `posewire.example.toml`: every key with its default.
pub fn example() -> String {
    // A configuration is a table of tables.
    let defaults = toml::Table::try_from(Config::default()).unwrap_or_default();
    let mut text = String::from(
        "# Posewire's configuration: every key with its default. Copy what you change into posewire.toml and run\n\
         #   posewire run --config posewire.toml\n\
         # The command line overrides the file. Texts that are empty mean \"not used\".\n",
    );
    for (section, about, keys) in TABLE {
        text += &format!("\n[{section}] # {}\n", about.trim());
        for (key, help) in *keys {
            let setting = format!("{key} = {}", defaults[*section][*key]);
            text += &format!("{setting:<21} # {}\n", help.trim());
        }
    }
    text
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{path}: cannot be read")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file says something wrong.
    #[error("{path}:{line}:{column}: {message}")]
    Wrong {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// What is wrong, and the nearest valid name.
        message: String,
    },
}

impl Config {
    /// Reads a configuration file.
    ///
    /// # Errors
    /// [`ConfigError`] naming the file, and for a mistake in it the line and the column.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = files::read_text_at_most(path, files::MAX_TEXT_BYTES)
            .map_err(|source| ConfigError::Unreadable { path: path.into(), source })?;
        Self::parse(&text, path)
    }

    /// Reads a configuration from `text`; `path` is for the messages.
    ///
    /// # Errors
    /// [`ConfigError::Wrong`].
    pub fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start).min(text.len());
            let before = text.get(..at).unwrap_or_default();
            let line_start = before.rfind('\n').map_or(0, |i| i + 1);
            ConfigError::Wrong {
                path: path.into(),
                line: before.matches('\n').count() + 1,
                column: before[line_start..].chars().count() + 1,
                message: with_nearest_name(error.message()),
            }
        })
    }
}

/// serde says ``unknown field `x`, expected one of `a`, `b` ``: adds which of them is meant.
fn with_nearest_name(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    match (message.starts_with("unknown"), quoted.next()) {
        (true, Some(unknown)) => format!("{message}{}", did_you_mean(unknown, quoted)),
        _ => message.to_owned(),
    }
}

#[cfg(test)]
mod tests;
