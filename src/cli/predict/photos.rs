//! Photos: a line of JSON and a drawn picture of each.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use pose::Pose;
use posewire::capture::replay::folder::{is_picture, open_picture, pictures};
use posewire::config;
use posewire::files::{self, Replacement};
use posewire::output::display::{DisplayStyle, draw_still, encode_still};
use posewire::output::jsonl::{Format, Still};
use posewire::picture::{Photo, is_photo};
use posewire::tracker::Stills;

use crate::cli::{Usage, keep_input};

/// The largest file that is read: 33 megapixels of 16 bits, stored as they are.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// Before the ending of a drawn photo: folders that were drawn into can be read again.
const DRAWN: &str = ".poses";

/// Whether a first argument names a photo or a folder (`holiday/`) rather than a sub-command: by its ending, whether or not it
/// is there, so that the answer to a slip speaks of a file.
pub fn names_pictures(argument: &OsStr) -> bool {
    let path = Path::new(argument);
    let begins_as_photo = || {
        // Opening a pipe would wait for its writer.
        let mut head = Vec::new();
        path.is_file()
            && File::open(path).and_then(|file| file.take(16).read_to_end(&mut head)).is_ok()
            && is_photo(&head)
    };
    let is_folder = path.is_dir() || argument.as_encoded_bytes().ends_with(b"/");
    is_picture(path) || is_folder || begins_as_photo()
}

/// Draws the photos that `named` are or hold into the folder `out`; a single one into the working directory.
pub fn run(
    named: &[PathBuf],
    out: Option<&Path>,
    format: Format,
    style: DisplayStyle,
    models: &config::Models,
) -> anyhow::Result<ExitCode> {
    let photos = listed(named)?;
    let folder = match (out, named) {
        (Some(folder), _) => {
            if files::is_stdout(folder) {
                let what = "drawn photos go into a folder: name one";
                return Err(Usage(format!("--out {}: {what}", folder.display())).into());
            }
            fs::create_dir_all(folder)
                .with_context(|| format!("--out {}: cannot be made", folder.display()))?;
            Some(folder)
        }
        (None, [only]) if !only.is_dir() => Some(Path::new("")),
        (None, _) => {
            log::info!("not drawn: name a folder with --out, and the drawn photos go there");
            None
        }
    };
    let mut stills = Stills::new(models)?;
    if style != DisplayStyle::Skeleton {
        stills = stills.with_depth(models)?;
    }
    let mut names = HashSet::new();
    let (mut line, mut failed) = (Vec::new(), 0);
    for (seq, path) in (0..).zip(&photos) {
        let shown = path.to_string_lossy();
        line.clear();
        if seq == 0 {
            Still::write_first_row(format, &mut line);
        }
        match look(path, &mut stills) {
            Ok((photo, poses)) => {
                let still = Still { seq, file: &shown, size_px: photo.size() };
                // What depths were guessed for the drawing alone are not told.
                let told = poses.iter().map(|pose| Pose { joints_3d_m: None, ..*pose });
                still.write(format, &mut line, told);
                let drawn = folder.map(|folder| folder.join(drawn_name(path, photo.is_jpeg(), &mut names)));
                if let Some(drawn) = &drawn
                    && let Err(error) = draw(&photo, &poses, style, drawn, &photos)
                {
                    failed += 1;
                    log::error!("{error:#}");
                } else {
                    let to =
                        drawn.map_or_else(String::new, |drawn| format!(", drawn in {}", drawn.display()));
                    let (count, s) = (poses.len(), if poses.len() == 1 { "" } else { "s" });
                    log::info!("{shown}: {count} person{s}{to}");
                }
            }
            Err(error) => {
                failed += 1;
                log::error!("{shown}: {error:#}");
                let still = Still { seq, file: &shown, ..Still::default() };
                still.write_unread(format, &mut line, &format!("{error:#}"));
            }
        }
        // A line at once, and whole: the next photo may take a while.
        let mut stdout = io::stdout().lock();
        stdout.write_all(&line).and_then(|()| stdout.flush()).context("standard output")?;
    }
    if failed > 0 {
        anyhow::bail!("{failed} of {} pictures failed", photos.len());
    }
    Ok(ExitCode::SUCCESS)
}

/// The files, in the order in which they are named; those of a folder by the numbers in their names.
fn listed(named: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut photos = Vec::new();
    for path in named {
        if !path.is_dir() {
            photos.push(path.clone());
            continue;
        }
        let mut inside = pictures(path)?;
        inside.retain(|p| !p.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with(DRAWN)));
        if inside.is_empty() {
            let drawn_alone =
                "holds nothing but drawn photos (NAME.poses.jpg): name the folder of the photos";
            return Err(Usage(format!("{}: {drawn_alone}", path.display())).into());
        }
        photos.extend(inside);
    }
    Ok(photos)
}

fn look(path: &Path, stills: &mut Stills) -> anyhow::Result<(Photo, Vec<Pose>)> {
    // Looked at first: to open a named pipe is to wait.
    open_picture(path)?;
    let photo = Photo::read(&files::read_at_most(path, MAX_FILE_BYTES)?)?;
    let poses = stills.poses(&photo.picture())?;
    Ok((photo, poses))
}

/// `a/b.jpg` to `b.poses.jpg`, a kind that is not written to `b.webp.poses.png`; a name that is taken gets a number.
fn drawn_name(path: &Path, as_jpeg: bool, taken: &mut HashSet<String>) -> String {
    let lossy = |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let is_kept = path.extension().is_some_and(|e| {
        let e = e.to_string_lossy().to_lowercase();
        if as_jpeg { e == "jpg" || e == "jpeg" } else { e == "png" }
    });
    let base = if is_kept { lossy(path.file_stem()) } else { lossy(path.file_name()) };
    let ending = if as_jpeg { "jpg" } else { "png" };
    let names = (1..).map(|n| match n {
        1 => format!("{base}{DRAWN}.{ending}"),
        n => format!("{base}-{n}{DRAWN}.{ending}"),
    });
    let mut free = names.filter(|name| taken.insert(name.clone()));
    free.next().unwrap_or_default()
}

fn draw(
    photo: &Photo,
    poses: &[Pose],
    style: DisplayStyle,
    to: &Path,
    read: &[PathBuf],
) -> anyhow::Result<()> {
    for photo in read {
        if files::is_same(photo, to) {
            keep_input(photo, to)?;
        }
    }
    let canvas = draw_still(&photo.picture(), poses.iter().copied(), style);
    let write = || {
        let bytes = encode_still(&canvas, photo.is_jpeg()).map_err(io::Error::other)?;
        let mut file = Replacement::create(to)?;
        file.write_all(&bytes)?;
        // It can be drawn again: nobody waits for the disk at each of thousands.
        file.commit_unsynced()
    };
    write().with_context(|| format!("{}: cannot be written", to.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_photos_have_names_of_their_own() {
        let mut taken = HashSet::new();
        let mut name = |path: &str, as_jpeg| drawn_name(Path::new(path), as_jpeg, &mut taken);
        assert_eq!(name("a/b.JPG", true), "b.poses.jpg");
        assert_eq!(name("c/b.jpeg", true), "b-2.poses.jpg");
        assert_eq!(name("b.png", false), "b.poses.png");
        assert_eq!(name("b.webp", false), "b.webp.poses.png");
        // What it is decides, not what it is called.
        assert_eq!(name("photo.png", true), "photo.png.poses.jpg");
        assert_eq!(name("photo", true), "photo.poses.jpg");
    }
}
