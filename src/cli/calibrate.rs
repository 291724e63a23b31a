//! `posewire calibrate`: the camera's intrinsics from views of a chessboard.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use posewire::calibrate::{Board, Grey, find_corners, solve};
use posewire::capture::{self, CaptureError, SourceConfig};
use posewire::picture::{Decoder, Frame};
use posewire::progress::Progress;
use serde::Serialize;

/// How long a wait for a frame may keep Ctrl-C waiting.
const TICK: Duration = Duration::from_millis(100);
/// A view counts as another one when its corners lie this far from those of every view before, on average, in parts of
/// the picture's width: more than a hand shakes, less than a tilt by 30 degrees moves them.
const NEW_VIEW: f64 = 0.02;

/// A sharp picture of a flat board has a third of that.
const GOOD_PX: f64 = 1.0;

/// Find a camera's intrinsics (focal length, centre, distortion) from views of a chessboard
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Print a chessboard, glue it to something flat, start this and show the board from all sides: near and far, in the corners
of the picture, tilted by 20 to 45 degrees. It ends with the last view, with Ctrl-C, or with the file. calib/README.md says
what the numbers mean. Poses stay in pixels; whoever reads them turns pixels into directions with these numbers.

Examples:
  posewire calibrate --out calib/cameras/webcam.toml
  posewire calibrate --replay pictures --board 7x5 --out webcam.toml")]
pub struct Args {
    /// The file to write
    #[arg(long, value_name = "FILE.toml")]
    out: PathBuf,
    /// Inner corners of the board, where four squares meet
    #[arg(long, value_name = "CxR", default_value = "9x6", value_parser = board)]
    board: Board,
    /// Stop after so many different views
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(6..=100))]
    views: u16,
    /// Camera: a device, a name from /dev/v4l/by-id, or "auto"
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    camera: String,
    /// A folder of pictures or a video instead of a camera
    #[arg(long, value_name = "PATH", conflicts_with = "camera")]
    replay: Option<PathBuf>,
    /// Wanted size of the camera's pictures: that which will be tracked
    #[arg(long, value_name = "WxH", default_value = "640x480", value_parser = super::record::size)]
    size: (u32, u32),
}

fn board(text: &str) -> Result<Board, String> {
    let parsed = text.split_once('x').and_then(|(c, r)| Some((c.parse().ok()?, r.parse().ok()?)));
    parsed
        .filter(|(c, r)| (3..=30).contains(c) && (3..=30).contains(r))
        .map(|(columns, rows)| Board { columns, rows })
        .ok_or_else(|| format!("'{text}' is no board: give its inner corners, 3x3 to 30x30, as in 9x6"))
}

/// What the file says.
#[derive(Serialize)]
struct CameraFile {
    camera: String,
    width_px: usize,
    height_px: usize,
    fx_px: f64,
    fy_px: f64,
    cx_px: f64,
    cy_px: f64,
    k1: f64,
    k2: f64,
    rms_px: f64,
    views: usize,
    board: String,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let is_over = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, is_over.clone()).context("cannot listen for signals")?;
    }
    let mut out = super::output_file(&args.out, args.replay.as_deref())?;
    let config = match &args.replay {
        Some(path) => SourceConfig::Replay { path: path.clone(), no_drop: true, fps_override: None },
        None => SourceConfig::Camera {
            device: args.camera.clone(),
            width: args.size.0,
            height: args.size.1,
            fps: 30.0,
            format: None,
            wait: false,
        },
    };
    let mut source = capture::open(&config)?;
    let name = source.info().name;
    let (mut decoder, mut grey) = (Decoder::new()?, GreyPicture::default());
    let (mut views, mut size_px): (Vec<Vec<[f64; 2]>>, Option<[usize; 2]>) = (Vec::new(), None);
    let progress = Progress::start(format!("{name}: waiting for the first picture"));
    let mut looked_at = 0_u64;
    while !is_over.load(Ordering::Relaxed) && views.len() < args.views.into() {
        let frame = match source.next_frame(TICK) {
            Ok(Some(frame)) => frame,
            Ok(None) | Err(CaptureError::Lost { .. }) => continue,
            Err(CaptureError::Ended) => break,
            Err(error) => return Err(error.into()),
        };
        let picture = match grey.of(&mut decoder, &frame) {
            Ok(picture) => picture,
            Err(error) => {
                log::warn!("frame {}: {error}; left out", frame.seq);
                continue;
            }
        };
        let this_px = [picture.width, picture.height];
        if *size_px.get_or_insert(this_px) != this_px {
            bail!("{name}: pictures of different sizes are not of one camera's mode: calibrate one size");
        }
        looked_at += 1;
        let corners = find_corners(picture, args.board);
        let seen = if corners.is_some() { "the board is seen: move or tilt it" } else { "no board is seen" };
        progress.at(format_args!("{} of {} views, {looked_at} pictures; {seen}", views.len(), args.views));
        let Some(corners) = corners else { continue };
        let moved = |view: &Vec<[f64; 2]>| {
            let distances = view.iter().zip(&corners).map(|(a, b)| (a[0] - b[0]).hypot(a[1] - b[1]));
            distances.sum::<f64>() / corners.len() as f64 > NEW_VIEW * picture.width as f64
        };
        if views.iter().all(moved) {
            views.push(corners);
            log::info!("view {} of {}: now move or tilt the board", views.len(), args.views);
        }
    }
    drop(progress);
    let Some(size_px) = size_px else { bail!("{name}: no picture came") };
    let fit = solve(args.board, size_px, &views).with_context(|| name.clone())?;
    let camera = fit.intrinsics;
    let file = CameraFile {
        camera: name,
        width_px: size_px[0],
        height_px: size_px[1],
        fx_px: camera.fx,
        fy_px: camera.fy,
        cx_px: camera.cx,
        cy_px: camera.cy,
        k1: camera.k1,
        k2: camera.k2,
        rms_px: fit.rms_px,
        views: views.len(),
        board: format!("{}x{}", args.board.columns, args.board.rows),
    };
    let text =
        format!("# By posewire calibrate; calib/README.md says what it means.\n{}", toml::to_string(&file)?);
    out.write_all(text.as_bytes())
        .and_then(|()| out.commit())
        .with_context(|| format!("{} cannot be written", args.out.display()))?;
    eprintln!(
        "{}: {} views, error {:.2} px, focal length {:.1} x {:.1} px",
        args.out.display(),
        views.len(),
        fit.rms_px,
        camera.fx,
        camera.fy
    );
    eprintln!("{}", next(fit.rms_px));
    Ok(ExitCode::SUCCESS)
}

/// What the error says is to be done.
fn next(rms_px: f64) -> &'static str {
    if rms_px > GOOD_PX {
        "that is much: is the board flat, was it shown at the picture's corners too, and sharp? Try again; calib/README.md says more"
    } else {
        "whoever reads poses turns pixels into directions with it: calib/README.md"
    }
}

/// Buffers from frame to frame.
#[derive(Default)]
struct GreyPicture {
    rgb: Vec<u8>,
    grey: Vec<u8>,
}

impl GreyPicture {
    /// The picture's brightness.
    fn of(&mut self, decoder: &mut Decoder, frame: &Frame) -> anyhow::Result<Grey<'_>> {
        let (width, height) = (frame.width as usize, frame.height as usize);
        let picture = decoder.decode(frame, 1)?;
        posewire::picture::whole_rgb_into(&picture, width, height, &mut self.rgb);
        self.grey.clear();
        // BT.601 in 256ths.
        let luma =
            |p: &[u8]| ((77 * u32::from(p[0]) + 150 * u32::from(p[1]) + 29 * u32::from(p[2])) >> 8) as u8;
        self.grey.extend(self.rgb.chunks_exact(3).map(luma));
        Ok(Grey { bytes: &self.grey, width, height })
    }
}
