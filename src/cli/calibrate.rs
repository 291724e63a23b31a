//! `posewire calibrate`: the camera's intrinsics from views of a chessboard.

use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use anyhow::{Context, bail};
use posewire::calibrate::{
    Board, CameraFile, Coverage, Grey, Paper, Shelf, UsbId, View, date, find_corners, sheet, solve,
};
use posewire::capture::{self, CaptureError, FrameSource, SourceConfig};
use posewire::files::Replacement;
use posewire::output::web::{Calibrating, CalibrationPage};
use posewire::picture::{Decoder, Frame, JpegEncoder};
use posewire::progress::Progress;

use super::Usage;

/// How long a wait for a frame may keep Ctrl-C waiting.
const TICK: Duration = Duration::from_millis(100);
/// A view counts as another one when the board has moved this far from every view before, in parts of the picture's
/// width: more than a hand shakes, less than a tilt by 30 degrees moves them.
const NEW_VIEW: f64 = 0.02;

/// Of the page's pictures that the camera does not give as JPEG.
const PAGE_QUALITY: i32 = 75;

/// A sharp picture of a flat board has a third of that.
const GOOD_PX: f64 = 1.0;
/// Less of the picture says little of the distortion at its edges.
const GOOD_SHARE: f64 = 0.6;

/// Find a camera's intrinsics (focal length, centre, distortion) from views of a chessboard
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Print a chessboard (--print), glue it to something flat, start this and show the board from all sides: near and far, in the
corners of the picture, tilted by 20 to 45 degrees. It ends with the last view, with Ctrl-C, or with the file, which
`posewire run` finds by the camera's USB id; poses are then in metres too. docs/metres.md says how.

Examples:
  posewire calibrate --print board.pdf
  posewire calibrate
  posewire calibrate --web 127.0.0.1:8080
  posewire calibrate --replay pictures --board 7x5 --out webcam.toml")]
pub struct Args {
    /// The file to write; a USB camera's is found by its id, below ~/.config/posewire/cameras, if none is named
    #[arg(long, value_name = "FILE.toml")]
    out: Option<PathBuf>,
    /// Write the board as a page to print, and nothing else
    #[arg(long, value_name = "FILE.pdf", conflicts_with_all = ["out", "views", "camera", "replay", "size", "web"])]
    print: Option<PathBuf>,
    /// What it is printed on: a4, a3 or letter
    #[arg(long, value_name = "PAPER", default_value = "a4", requires = "print")]
    paper: Paper,
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
    /// Show what the camera sees, where the board has been and what to do next on a page at this address, as in 127.0.0.1:8080
    #[arg(long, value_name = "ADDR")]
    web: Option<String>,
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

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    if let Some(path) = &args.print {
        return print(path, &args);
    }
    let is_over = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, is_over.clone()).context("cannot listen for signals")?;
    }
    // Before the camera: what cannot be written would be known only after all the views.
    let named = args.out.as_deref().map(|path| opened(path, &args)).transpose()?;
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
    let usb: Option<UsbId> = source.usb_id().and_then(|id| id.parse().ok());
    let (path, mut out) = match named {
        Some(named) => named,
        None => opened(&own_path(&*source, usb.as_ref())?, &args)?,
    };
    let page = args.web.as_deref().map(open_page).transpose()?;
    let (mut decoder, mut grey) = (Decoder::new()?, GreyPicture::default());
    let (mut views, mut size_px): (Vec<View>, Option<[usize; 2]>) = (Vec::new(), None);
    let mut coverage = Coverage::new([1, 1]);
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
        if size_px.is_none() {
            coverage = Coverage::new(this_px);
        }
        if *size_px.get_or_insert(this_px) != this_px {
            bail!("{name}: pictures of different sizes are not of one camera's mode: calibrate one size");
        }
        looked_at += 1;
        let view = find_corners(picture, args.board);
        let seen = match &view {
            Some(view) if view.is_whole => "the board is seen: move or tilt it",
            Some(_) => "a part of the board is seen, which will do: move or tilt it",
            None => "no board is seen",
        };
        let (count, percent) = (views.len(), 100.0 * coverage.share());
        progress.at(format_args!(
            "{count} of {} views, {percent:.0} % of the picture, {looked_at} pictures; {seen}",
            args.views
        ));
        let next = next_view(&coverage);
        if let Some((page, jpeg)) = &page
            && page.is_watched()
        {
            let corners = view.iter().flat_map(|view| view.corners.iter().map(|corner| corner.seen_px));
            let state = Calibrating {
                size: [frame.width, frame.height],
                corners: corners.collect(),
                views: views.len(),
                wanted: args.views.into(),
                cells: coverage.cells().map(|row| row.to_vec()).to_vec(),
                told: if view.is_some() { next.clone() } else { format!("{seen}; {next}") },
                ..Calibrating::default()
            };
            page.show(jpeg.borrow_mut().jpeg_of(&frame)?.to_vec(), state);
        }
        let Some(view) = view else { continue };
        let is_new = |other: &View| view.moved_px(other) > NEW_VIEW * picture.width as f64;
        if views.iter().all(is_new) {
            coverage.add(view.corners.iter().map(|corner| corner.seen_px));
            views.push(view);
            let (count, percent) = (views.len(), 100.0 * coverage.share());
            let next = next_view(&coverage);
            log::info!("view {count} of {}, {percent:.0} % of the picture: {next}", args.views);
        }
    }
    drop(progress);
    let Some(size_px) = size_px else { bail!("{name}: no picture came") };
    let fit = solve(size_px, &views).with_context(|| name.clone());
    if let (Some((page, _)), Err(error)) = (&page, &fit) {
        page.finish(&format!("{error:#}"));
    }
    let fit = fit?;
    let camera = fit.intrinsics;
    let is_found = usb.is_some() && args.out.is_none();
    let file = CameraFile {
        camera: name,
        usb: usb.map(|usb| usb.to_string()),
        date: SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map(date).unwrap_or_default(),
        width_px: size_px[0] as u32,
        height_px: size_px[1] as u32,
        fx_px: camera.fx,
        fy_px: camera.fy,
        cx_px: camera.cx,
        cy_px: camera.cy,
        k1: camera.k1,
        k2: camera.k2,
        rms_px: fit.rms_px,
        coverage: coverage.share(),
        views: views.len() as u32,
        board: format!("{}x{}", args.board.columns, args.board.rows),
    };
    let text =
        format!("# By posewire calibrate; calib/README.md says what it means.\n{}", toml::to_string(&file)?);
    out.write_all(text.as_bytes())
        .and_then(|()| out.commit())
        .with_context(|| format!("{} cannot be written", path.display()))?;
    eprintln!(
        "{}: {} views, {:.0} % of the picture, error {:.2} px, focal length {:.1} x {:.1} px",
        path.display(),
        views.len(),
        100.0 * file.coverage,
        fit.rms_px,
        camera.fx,
        camera.fy
    );
    let next = next(&file, coverage);
    if let Some((page, _)) = &page {
        let good = || format!("error {:.2} px, focal length {:.0} px: it is good", fit.rms_px, camera.fx);
        page.finish(&next.clone().unwrap_or_else(good));
    }
    if let Some(next) = next {
        eprintln!("{next}");
    }
    match is_found {
        true => eprintln!("posewire run finds it by the camera's USB id"),
        false => eprintln!("used by: posewire run --calibration {}", path.display()),
    }
    Ok(ExitCode::SUCCESS)
}

/// The page of `--web`, and what makes its pictures.
fn open_page(address: &str) -> anyhow::Result<(CalibrationPage, RefCell<JpegEncoder>)> {
    let page = CalibrationPage::open(address)?;
    eprintln!("open {} in a browser", page.link());
    if !page.address().ip().is_loopback() {
        log::warn!("whoever has this link sees the camera's pictures, over an unencrypted line; 127.0.0.1 keeps them on this machine");
    }
    Ok((page, RefCell::new(JpegEncoder::new(PAGE_QUALITY)?)))
}

/// What to show next.
fn next_view(coverage: &Coverage) -> String {
    match coverage.missing() {
        Some(part) => format!("show the board at the {part}"),
        None => "tilt it to another side, or go farther away".into(),
    }
}

/// Writes the board to print.
fn print(path: &Path, args: &Args) -> anyhow::Result<ExitCode> {
    let (pdf, square_mm) = sheet(args.board, args.paper).map_err(Usage)?;
    let mut out = super::output_file(path, None)?;
    out.write_all(&pdf)
        .and_then(|()| out.commit())
        .with_context(|| format!("{} cannot be written", path.display()))?;
    eprintln!(
        "{}: {}x{} corners, squares of {square_mm} mm; print it at 100 % and glue it to something flat",
        path.display(),
        args.board.columns,
        args.board.rows
    );
    Ok(ExitCode::SUCCESS)
}

/// The file to write, open.
fn opened(path: &Path, args: &Args) -> anyhow::Result<(PathBuf, Replacement)> {
    Ok((path.to_owned(), super::output_file(path, args.replay.as_deref())?))
}

/// Where the file of this camera is kept, for this size of its pictures.
fn own_path(source: &dyn FrameSource, usb: Option<&UsbId>) -> anyhow::Result<PathBuf> {
    let shelf = Shelf::of_user(|name| std::env::var_os(name));
    let info = source.info();
    let (Some(usb), Some(folder)) = (usb, shelf.first()) else {
        let said = format!(
            "{}: no USB id that its calibration would be found by: name a file with --out FILE.toml",
            info.name
        );
        return Err(Usage(said).into());
    };
    std::fs::create_dir_all(folder).with_context(|| {
        format!("{}: cannot be created; name a file with --out FILE.toml", folder.display())
    })?;
    Ok(folder.join(format!("{}-{}x{}.toml", usb.as_file_name(), info.width, info.height)))
}

/// What is to be done about a calibration that is not good; `None` where it is.
fn next(file: &CameraFile, coverage: Coverage) -> Option<String> {
    if file.rms_px > GOOD_PX {
        return Some(
            "that error is much: is the board flat, and was it sharp? Try again; calib/README.md says more"
                .into(),
        );
    }
    let part = coverage.missing().filter(|_| file.coverage < GOOD_SHARE)?;
    Some(format!("the lens was not measured everywhere: try again, with the board at the {part} too"))
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
