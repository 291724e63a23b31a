//! PNG files: every frame under its number, or the newest one under one name.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::{Canvas, FrameStamp, Surface};
use crate::files;
use crate::output::SinkError;
use crate::reason::Reason;

/// Pictures no larger than this many pixels a side: a preview, not an archive.
const LONGEST_SIDE: usize = 1280;

/// `png:PATH`.
///
/// A PATH that ends in `.png`, or `.PNG`, is the newest picture: each is written beside it and renamed over it, so a reader never sees
/// half of one. Any other PATH is a folder, made where it is missing, that gets `000000.png`, `000001.png` … by
/// processed frame.
pub struct PngFiles {
    name: String,
    target: Target,
    encoded: Vec<u8>,
}

enum Target {
    Newest { file: PathBuf, beside: PathBuf },
    Each { folder: PathBuf },
}

impl PngFiles {
    /// Makes the folder where it is missing.
    ///
    /// # Errors
    /// [`SinkError::Fatal`] where that cannot be done.
    pub fn open(path: &Path) -> Result<Self, SinkError> {
        let fatal =
            |e: io::Error| SinkError::fatal(format_args!("--display png:{}", path.display()), Reason::of(e));
        let target = if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("png")) {
            // A link stays; what it leads to is replaced.
            let file = files::followed(path);
            // The directory must be there now rather than fail at the first frame.
            let folder = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            fs::metadata(folder).map_err(fatal)?;
            if file.is_dir() {
                return Err(fatal(io::Error::new(
                    io::ErrorKind::IsADirectory,
                    "it is a folder: name a file in it",
                )));
            }
            may_be_written(folder).map_err(fatal)?;
            Target::Newest { beside: file.with_extension("png.new"), file }
        } else {
            fs::create_dir_all(path).map_err(fatal)?;
            may_be_written(path).map_err(fatal)?;
            let there = numbered(path).map_err(fatal)?;
            if there > 0 {
                let folder = path.display();
                log::warn!(
                    "png {folder}: {there} numbered pictures are there already: this run's replace those of their numbers only"
                );
            }
            Target::Each { folder: path.to_owned() }
        };
        Ok(Self { name: format!("png {}", path.display()), target, encoded: Vec::new() })
    }
}

impl Surface for PngFiles {
    fn name(&self) -> &str {
        &self.name
    }

    fn size_px(&mut self, image_px: [usize; 2]) -> Result<[usize; 2], SinkError> {
        let longest = image_px[0].max(image_px[1]);
        let scale = (LONGEST_SIDE as f32 / longest as f32).min(1.0);
        Ok(image_px.map(|v| ((v as f32 * scale) as usize).max(1)))
    }

    fn show(&mut self, canvas: &Canvas, stamp: FrameStamp) -> Result<(), SinkError> {
        self.encoded.clear();
        encode(canvas, &mut self.encoded).map_err(|e| SinkError::fatal(&self.name, Reason::of(e)))?;
        let (to, write) = match &self.target {
            Target::Newest { file, beside } => {
                (file, write_file(beside, &self.encoded).and_then(|()| fs::rename(beside, file)))
            }
            Target::Each { folder } => {
                let file = folder.join(format!("{:06}.png", stamp.seq));
                let written = write_file(&file, &self.encoded);
                return written.map_err(|e| full(&file, e));
            }
        };
        write.map_err(|e| full(to, e))
    }
}

/// Else the first picture would show it, after the networks were loaded.
fn may_be_written(folder: &Path) -> io::Result<()> {
    tempfile::tempfile_in(folder).map(drop)
}

/// How many pictures of a run before are in `folder`.
fn numbered(folder: &Path) -> io::Result<usize> {
    let is_number = |name: &str| name.len() >= 6 && name.bytes().all(|byte| byte.is_ascii_digit());
    let names = fs::read_dir(folder)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    Ok(names.filter(|name| name.strip_suffix(".png").is_some_and(is_number)).count())
}

/// Nothing half-written stays behind.
fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let written = File::create(path).and_then(|mut f| f.write_all(bytes));
    if written.is_err() {
        let _ = fs::remove_file(path);
    }
    written
}

fn full(path: &Path, e: io::Error) -> SinkError {
    let words = "cannot be written; the pictures before it are kept";
    SinkError::fatal(path.display(), Reason::new(words, e))
}

/// One canvas as PNG, compressed for speed: previews are looked at once.
pub(super) fn encode(canvas: &Canvas, to: &mut Vec<u8>) -> Result<(), ::png::EncodingError> {
    let mut encoder = ::png::Encoder::new(BufWriter::new(to), canvas.width() as u32, canvas.height() as u32);
    encoder.set_color(::png::ColorType::Rgb);
    encoder.set_depth(::png::BitDepth::Eight);
    encoder.set_compression(::png::Compression::Fast);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(canvas.rgb())?;
    writer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_link_to_the_newest_picture_stays_one() {
        let folder = tempfile::tempdir().unwrap();
        let [link, file] = ["live.png", "usb/live.png"].map(|name| folder.path().join(name));
        fs::create_dir(folder.path().join("usb")).unwrap();
        std::os::unix::fs::symlink("usb/live.png", &link).unwrap();
        let mut pictures = PngFiles::open(&link).unwrap();
        let mut canvas = Canvas::default();
        canvas.reset(4, 2);
        for _ in 0..2 {
            pictures.show(&canvas, FrameStamp::default()).unwrap();
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            assert!(fs::read(&file).unwrap().starts_with(b"\x89PNG"));
        }
        assert_eq!(fs::read_dir(folder.path().join("usb")).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_is_no_newest_picture() {
        let folder = tempfile::tempdir().unwrap();
        let named = folder.path().join("live.png");
        fs::create_dir(&named).unwrap();
        let refused = PngFiles::open(&named).err().unwrap();
        assert!(refused.to_string().contains("live.png"), "{refused}");
    }

    #[test]
    fn pictures_of_a_run_before_are_counted_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["000000.png", "000029.png", "1000000.png", "cat.png", "12.png", "000001.jpg"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(numbered(folder.path()).unwrap(), 3);
    }
}
