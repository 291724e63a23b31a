//! `posewire calibrate`: the camera's intrinsics from views of a chessboard.

mod gather;
mod page;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use posewire::calibrate::{Board, CameraFile, Coverage, Paper, Shelf, UsbId, date, sheet, solve};
use posewire::capture::{self, CaptureError, FrameSource, SourceConfig};
use posewire::config::Size;
use posewire::files::Replacement;
use posewire::progress::say;

use super::{Usage, signals};
use gather::{Camera, Gathered, Wanted, first_picture, gather};
use page::Page;

/// From Ctrl-C to the end where no picture comes; to look for the board in one takes a small board a second.
const PATIENCE: Duration = Duration::from_secs(3);
/// Of 640 pixels across, and in proportion to them. A sharp picture of a flat board has a third of that.
const GOOD_PX: f64 = 0.5;
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
    #[arg(long, value_name = "WxH", default_value = "640x480")]
    size: Size,
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
    let is_over = Arc::default();
    let hangs = "ended without the source of the pictures, which hangs; nothing is written".to_owned();
    let held = signals::listen_while(&is_over, PATIENCE, hangs).context("cannot listen for signals")?;
    // Before the camera: what cannot be written would be known only after all the views.
    let named = args.out.as_deref().map(|path| opened(path, &args)).transpose()?;
    let mut source = open(&args)?;
    let mut page = args.web.as_deref().map(Page::open).transpose()?;
    // Which camera it is shows with its picture: one that gives none may have made way for another.
    let first = first_picture(&mut *source, &is_over)?;
    let camera = Camera::of(&*source);
    let usb: Option<UsbId> = camera.usb_id.as_ref().and_then(|id| id.parse().ok());
    let (path, out) = match named {
        Some(named) => named,
        None => opened(&own_path(&*source, usb.as_ref())?, &args)?,
    };
    let wanted = Wanted { board: args.board, views: args.views.into() };
    let gathered = gather(&mut *source, &camera, first, &wanted, page.as_mut(), &is_over)?;
    // However long it takes to solve it.
    drop(held);
    let is_found = usb.is_some() && args.out.is_none();
    let file = solved(camera.name, usb, args.board, &gathered).and_then(|file| {
        file.check(&path)?;
        Ok(file)
    });
    if let (Some(page), Err(error)) = (&page, &file) {
        page.finish(&format!("{error:#}"));
    }
    let file = file?;
    write(&file, out, &path)?;
    tell(&file, gathered.coverage, &path, page.as_ref());
    match is_found {
        true => say(format_args!("posewire run finds it by the camera's USB id")),
        false => say(format_args!("used by: posewire run --calibration {}", path.display())),
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens what the pictures come from, which are not turned upright: the lens is that of the sensor.
fn open(args: &Args) -> Result<Box<dyn FrameSource>, CaptureError> {
    match &args.replay {
        Some(path) => capture::replay::open_stored(path),
        None => capture::open(&SourceConfig::Camera {
            device: args.camera.clone(),
            width: args.size.width,
            height: args.size.height,
            fps: 30.0,
            format: None,
            wait: false,
        }),
    }
}

/// The camera's file, by all the views.
fn solved(
    camera: String,
    usb: Option<UsbId>,
    board: Board,
    gathered: &Gathered,
) -> anyhow::Result<CameraFile> {
    let fit = solve(gathered.size_px, &gathered.views).with_context(|| camera.clone())?;
    let lens = fit.intrinsics;
    Ok(CameraFile {
        camera,
        usb: usb.map(|usb| usb.to_string()),
        date: SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map(date).unwrap_or_default(),
        width_px: gathered.size_px[0] as u32,
        height_px: gathered.size_px[1] as u32,
        fx_px: lens.fx,
        fy_px: lens.fy,
        cx_px: lens.cx,
        cy_px: lens.cy,
        k1: lens.k1,
        k2: lens.k2,
        rms_px: fit.rms_px,
        f_sigma_px: fit.f_sigma_px,
        coverage: gathered.coverage.share(),
        views: gathered.views.len() as u32,
        board: format!("{}x{}", board.columns, board.rows),
    })
}

/// Writes the file where it belongs.
fn write(file: &CameraFile, mut out: Replacement, path: &Path) -> anyhow::Result<()> {
    let text =
        format!("# By posewire calibrate; calib/README.md says what it means.\n{}", toml::to_string(file)?);
    out.write_all(text.as_bytes())
        .and_then(|()| out.commit())
        .with_context(|| format!("{} cannot be written", path.display()))
}

/// Says how good it is, and what to do where it is not.
fn tell(file: &CameraFile, coverage: Coverage, path: &Path, page: Option<&Page>) {
    say(format_args!(
        "{}: {} views, {:.0} % of the picture, error {:.2} px, focal length {:.1} x {:.1} ± {:.1} px",
        path.display(),
        file.views,
        100.0 * file.coverage,
        file.rms_px,
        file.fx_px,
        file.fy_px,
        file.f_sigma_px
    ));
    let next = next(file, coverage);
    if let Some(page) = page {
        let good = || {
            format!(
                "error {:.2} px, focal length {:.1} ± {:.1} px: it is good",
                file.rms_px, file.fx_px, file.f_sigma_px
            )
        };
        page.finish(&next.clone().unwrap_or_else(good));
    }
    if let Some(next) = next {
        say(format_args!("{next}"));
    }
}

/// Writes the board to print.
fn print(path: &Path, args: &Args) -> anyhow::Result<ExitCode> {
    super::check_ending(path, "pdf")?;
    let (pdf, square_mm) = sheet(args.board, args.paper).map_err(Usage)?;
    let mut out = super::output_file(path, None)?;
    out.write_all(&pdf)
        .and_then(|()| out.commit())
        .with_context(|| format!("{} cannot be written", path.display()))?;
    say(format_args!(
        "{}: {}x{} corners, squares of {square_mm} mm; print it at 100 % and glue it to something flat",
        path.display(),
        args.board.columns,
        args.board.rows
    ));
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
    // Corners of small pictures are found no better by the pixel.
    let good_px = GOOD_PX * (f64::from(file.width_px) / 640.0).max(1.0);
    if file.rms_px > good_px {
        return Some(
            "that error is much: is the board flat, and was it sharp? Try again; calib/README.md says more"
                .into(),
        );
    }
    if file.coverage >= GOOD_SHARE {
        return None;
    }
    let shown = match coverage.missing() {
        Some(part) => format!("at the {part} too"),
        None => "all over the picture".into(),
    };
    Some(format!("the lens was not measured everywhere: try again, with the board {shown}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calibration_is_good_by_its_error_and_where_the_board_has_been() {
        let file = |width_px: u32, rms_px: f64, coverage: f64| CameraFile {
            camera: "webcam".into(),
            usb: None,
            date: String::new(),
            width_px,
            height_px: width_px * 3 / 4,
            fx_px: 620.0,
            fy_px: 620.0,
            cx_px: 320.0,
            cy_px: 240.0,
            k1: 0.0,
            k2: 0.0,
            rms_px,
            f_sigma_px: 0.4,
            coverage,
            views: 20,
            board: "9x6".into(),
        };
        // In two of the four cells of every ninth: no part is missing.
        let mut thin = Coverage::new([6, 6]);
        thin.add((0..36).filter(|i| i % 2 == 0).map(|i| [f64::from(i % 6), f64::from(i / 6)]));
        assert_eq!((thin.missing(), thin.share()), (None, 0.5));
        let nothing = Coverage::new([6, 6]);
        for (file, coverage, says) in [
            (file(640, 0.3, 0.9), thin, None),
            (file(640, 0.7, 0.9), thin, Some("that error is much")),
            (file(1280, 0.7, 0.9), thin, None),
            (file(1280, 1.1, 0.9), thin, Some("that error is much")),
            (file(320, 0.45, 0.9), thin, None),
            (file(640, 0.3, 0.55), thin, Some("with the board all over the picture")),
            (file(640, 0.3, 0.55), nothing, Some("with the board at the top left corner too")),
        ] {
            let next = next(&file, coverage);
            let is_said = next.as_deref().map(|next| says.is_some_and(|says| next.contains(says)));
            assert_eq!(is_said, says.map(|_| true), "{file:?}: {next:?}");
        }
    }
}
