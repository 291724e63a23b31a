//! Files: what is played, how it is configured, and labels.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use posewire::capture::clip::Clip;
use posewire::capture::replay::{avi::Avi, mjpeg::Mjpeg, y4m::Y4m};
use posewire::coco::GroundTruth;
use posewire::config::Config;
use posewire::picture::{Decoder, Frame, MAX_PIXELS, Part, PixelFormat, Turn, Turner, jpeg_header, raw_len};
use posewire::pipeline::faults::Faults;

use super::{Target, text};

pub const AVI: Target = Target {
    name: "avi",
    max_len: 8192,
    words: &[
        b"RIFF", b"AVI ", b"LIST", b"hdrl", b"strl", b"strh", b"strf", b"vids", b"MJPG", b"movi", b"00dc",
        b"idx1", b"pwts",
    ],
    run: |data| {
        if let Ok(Some(clip)) = Avi::new(Cursor::new(data), "avi".into()) {
            play(clip);
        }
    },
};

pub const MJPEG: Target = Target {
    name: "mjpeg",
    max_len: 8192,
    words: &[
        &[0xff, 0xd8, 0xff],
        &[0xff, 0xd9],
        &[0xff, 0xc0, 0, 17, 8],
        &[0xff, 0xda],
        &[0xff, 0xdd, 0, 4],
        &[0xff, 0xff],
    ],
    run: |data| play(Mjpeg::new(data, "mjpeg".into())),
};

pub const Y4M: Target = Target {
    name: "y4m",
    max_len: 4096,
    words: &[
        b"YUV4MPEG2 ",
        b"FRAME\n",
        b" W",
        b" H",
        b" F",
        b"30:1",
        b" C420",
        b"C422",
        b"C444",
        b"Cmono",
        b" Ip",
        b" A1:1",
        b" X",
    ],
    run: |data| {
        if let Ok(clip) = Y4m::new(data, "y4m".into()) {
            play(clip);
        }
    },
};

pub const CONFIG: Target = Target {
    name: "config",
    max_len: 2048,
    words: &[
        b"[source]\n",
        b"[serial]\n",
        b"[output]\n",
        b"[service]\n",
        b"rate = ",
        b"predict = ",
        b"frames = ",
        b"max = ",
        b"camera = ",
        b"\"camera\"",
        b"\"now\"",
        b"\"all\"",
        b"nan",
        b"inf",
        b"-0.0",
        b"1e400",
        b"'''",
        b"\"\"\"",
        b"1979-05-27",
        b"{a=1}",
        b"[[a]]",
    ],
    run: |data| {
        let text = &*text(data);
        match Config::parse(text, Path::new("c.toml")) {
            Err(error) => assert!(error.to_string().starts_with("c.toml:"), "{error}"),
            Ok(config) => assert!((1..=8).contains(&config.persons.max.get())),
        }
    },
};

pub const FAULTS: Target = Target {
    name: "faults",
    max_len: 256,
    words: &[
        b"camera.drop=",
        b"infer.slow=",
        b"serial.stall=",
        b"seed=",
        b"0.5",
        b",",
        b"NaN",
        b"inf",
        b"-1",
    ],
    run: |data| {
        let text = &*text(data);
        if let Ok(faults) = Faults::parse(text, 1) {
            for p in [
                faults.infer_slow,
                faults.infer_bad,
                faults.serial_stall,
                faults.serial_fail,
                faults.camera.drop,
            ] {
                assert!((0.0..=1.0).contains(&p), "{text}: {p}");
            }
        }
    },
};

pub const LABELS: Target = Target {
    name: "labels",
    max_len: 2048,
    words: &[
        b"\"images\"",
        b"\"annotations\"",
        b"\"keypoints\"",
        b"\"bbox\"",
        b"null",
        b"1e999",
        b"-1",
        b"[",
        b"]",
        b"{",
        b"}",
    ],
    run: |data| {
        let text = &*text(data);
        let Ok(truth) = GroundTruth::parse(text, None) else { return };
        for person in &truth.annotations {
            (0..17).for_each(|j| assert!(person.joint(j).is_none_or(|(x, _)| !x.is_nan())));
            let _ = (
                person.labelled(),
                person.area(),
                person.joints_box(),
                person.box_px(),
                person.joints_box_px(),
            );
        }
    },
};

const JPEG_MARKS: &[&[u8]] = &[
    &[0xff, 0xd8, 0xff],
    &[0xff, 0xd9],
    &[0xff, 0xc0],
    &[0xff, 0xc2],
    &[0xff, 0xc4],
    &[0xff, 0xdb],
    &[0xff, 0xda],
    &[0xff, 0xdd],
];

/// A frame that says nothing of its size: the JPEG does.
fn mjpeg(jpeg: &[u8]) -> Frame {
    Frame {
        bytes: Arc::new(jpeg.to_vec()),
        format: PixelFormat::Mjpeg,
        width: 0,
        height: 0,
        stride: 0,
        seq: 0,
        captured_at_us: 0,
    }
}

pub const TURN: Target = Target {
    name: "turn",
    max_len: 8192,
    words: JPEG_MARKS,
    run: |data| {
        let Some((&how, jpeg)) = data.split_first() else { return };
        let turn = Turn { quarters: how & 3, mirror: how & 4 != 0 };
        if let Ok(turned) = Turner::new(turn).turn(&mjpeg(jpeg)) {
            let of = jpeg_header(jpeg).expect("what was turned has a header");
            let shown = turn.shown_px([of.width as u32, of.height as u32], [turned.width, turned.height]);
            assert!(shown.is_some(), "{turn:?} of {of:?}: {} x {}", turned.width, turned.height);
        }
    },
};

pub const JPEG: Target = Target {
    name: "jpeg",
    max_len: 8192,
    words: JPEG_MARKS,
    run: |data| {
        let Some((&how, jpeg)) = data.split_first() else { return };
        // The low bits are the reduction, the others a part of the picture: none, or one that ends anywhere.
        let (reduction, place) = (u32::from(how & 15), usize::from(how >> 4) * 8);
        let part = (place > 0).then(|| Part { columns: place / 2..place * 2, rows: place..place + 24 });
        let frame = mjpeg(jpeg);
        let Ok(mut decoder) = Decoder::new() else { return };
        if let Ok(picture) = decoder.decode_part(&frame, reduction, part.as_ref()) {
            assert!(picture.image_size[0] * picture.image_size[1] <= MAX_PIXELS);
            assert!(picture.bytes.len() >= picture.stride * picture.height);
        }
    },
};

/// Plays to the end; every frame must be what it says.
fn play(mut clip: impl Clip) {
    let mut before = None;
    for _ in 0..1000 {
        let Ok(frame) = clip.next() else {
            let _ = (clip.info(), clip.damaged());
            return;
        };
        assert!(frame.width as usize * frame.height as usize <= MAX_PIXELS);
        assert!(frame.bytes.len() >= raw_len(frame.format, frame.stride as usize, frame.height as usize));
        assert!(before.is_none_or(|b| frame.seq != b), "a number twice");
        before = Some(frame.seq);
    }
}
