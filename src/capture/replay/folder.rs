//! A folder of pictures, in the order of the numbers in their names.

use std::cmp::Ordering;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::{DEFAULT_FPS, MAX_JPEG_BYTES, due_us, short_name};
use crate::capture::clip::Clip;
use crate::capture::{CaptureError, SourceInfo, Stored};
use crate::picture::{BufferPool, Frame, JpegHeader, PixelFormat, Turn, Turner};
use crate::picture::{check_size, exif_turn, jpeg_header, packed_stride};
use crate::reason::Reason;

/// What is taken for a picture, by the name's end.
const EXTENSIONS: [&str; 6] = ["jpg", "jpeg", "png", "bmp", "webp", "gif"];

/// What is a picture too, but of a kind that is not read.
const UNREAD: [&str; 15] = [
    "tif", "tiff", "jp2", "j2k", "heic", "heif", "avif", "jxl", "dng", "cr2", "cr3", "nef", "arw", "raf",
    "orf",
];

/// What is open already, whatever it is: whoever writes into it has begun.
const OPEN: [&str; 3] = ["/dev/stdin", "/dev/fd", "/proc/self/fd"];

/// Whether a folder's file counts as a picture, by its name.
pub fn is_picture(path: &Path) -> bool {
    ends_as(path, &EXTENSIONS)
}

fn ends_as(path: &Path, endings: &[&str]) -> bool {
    path.extension().is_some_and(|e| endings.contains(&&*e.to_string_lossy().to_lowercase()))
}

/// Opens a picture. A named pipe would wait for somebody who writes into it, and there may never be one.
///
/// # Errors
/// What the system says; or it is no file.
pub fn open_picture(path: &Path) -> io::Result<File> {
    if !std::fs::metadata(path)?.is_file() && !OPEN.iter().any(|open| path.starts_with(open)) {
        let said = "no file but a folder, a pipe or a device: name a picture's file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, said));
    }
    File::open(path)
}

/// The pictures of a folder, without sub-folders, in the order of the numbers in their names.
///
/// # Errors
/// [`CaptureError::Unusable`] where the folder cannot be read or holds no picture.
pub fn pictures(folder: &Path) -> Result<Vec<PathBuf>, CaptureError> {
    let fail = |why: Reason| CaptureError::unusable(folder.display(), why);
    let (mut files, mut unread) = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir(folder).map_err(|e| fail(Reason::of(e)))? {
        let file = entry.map_err(|e| fail(Reason::of(e)))?.path();
        if is_picture(&file) {
            files.push(file);
        } else if ends_as(&file, &UNREAD) {
            unread.push(file);
        }
    }
    if let Some(first) = unread.iter().min() {
        let more = if unread.len() > 1 { format!(" and {} more", unread.len() - 1) } else { String::new() };
        log::warn!(
            "{}{more}: a kind of picture that is not read, and passed over: make a JPEG or a PNG of it",
            first.display()
        );
    }
    if files.is_empty() {
        let kinds = EXTENSIONS.join(", .");
        return Err(fail(format!("no pictures in this folder (looked for .{kinds})").into()));
    }
    files.sort_by(|a, b| by_number(&a.to_string_lossy(), &b.to_string_lossy()));
    Ok(files)
}

/// Pictures of a folder; sizes may change from one to the next. JPEGs are handed on as they are; others are decoded to
/// RGB24 (16 bits and grey too). Coordinates are those of the stored picture, unless it is made [`upright`](Self::upright).
pub struct Folder {
    name: String,
    files: Vec<PathBuf>,
    next: usize,
    size: (u32, u32),
    damaged: u64,
    first_damage: Option<Reason>,
    file_bytes: Vec<u8>,
    pool: BufferPool,
    is_upright: bool,
    /// Of the picture that came last, where it was turned.
    stored: Option<Stored>,
}

impl Folder {
    /// All pictures of a folder, without sub-folders.
    ///
    /// # Errors
    /// [`CaptureError::Unusable`] where the folder cannot be read or holds no picture.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        Ok(Self::of(short_name(path), pictures(path)?))
    }

    /// A single picture.
    pub fn of_one(path: &Path) -> Self {
        Self::of(short_name(path), vec![path.to_path_buf()])
    }

    /// The picture in a file, as it is stored.
    ///
    /// # Errors
    /// [`CaptureError::Unusable`] with its path.
    pub fn stored_picture(path: &Path) -> Result<Frame, CaptureError> {
        let read = Self::of_one(path).read_stored(0);
        read.map_err(|why| CaptureError::unusable(path.display(), why))
    }

    /// Turns each picture as its EXIF says that the camera was held.
    pub fn upright(self) -> Self {
        Self { is_upright: true, ..self }
    }

    fn of(name: String, files: Vec<PathBuf>) -> Self {
        Self {
            name,
            files,
            next: 0,
            size: (0, 0),
            damaged: 0,
            first_damage: None,
            file_bytes: Vec::new(),
            pool: BufferPool::new(),
            is_upright: false,
            stored: None,
        }
    }

    fn read(&mut self, at: usize) -> Result<Frame, Reason> {
        let frame = self.read_stored(at)?;
        let turn = if self.is_upright { exif_turn(&self.file_bytes) } else { Turn::default() };
        self.stored = (!turn.is_none()).then_some(Stored { size_px: [frame.width, frame.height], turn });
        match turn.is_none() {
            true => Ok(frame),
            false => Turner::new(turn).turn(&frame).map_err(Reason::of),
        }
    }

    fn read_stored(&mut self, at: usize) -> Result<Frame, Reason> {
        use std::io::Read;
        let file = open_picture(&self.files[at]).map_err(Reason::of)?;
        self.file_bytes.clear();
        file.take(MAX_JPEG_BYTES as u64 + 1).read_to_end(&mut self.file_bytes).map_err(Reason::of)?;
        match self.file_bytes.len() {
            0 => return Err("empty file".into()),
            n if n > MAX_JPEG_BYTES => return Err(format!("larger than {} MiB", MAX_JPEG_BYTES >> 20).into()),
            _ => {}
        }
        let (seq, captured_at_us) = (at as u64, due_us(at as u64, f64::from(DEFAULT_FPS)));
        let frame = |bytes, format, width: usize, height: usize| {
            let stride = packed_stride(format, width) as u32;
            Frame { bytes, format, width: width as u32, height: height as u32, stride, seq, captured_at_us }
        };
        if self.file_bytes.starts_with(&[0xff, 0xd8]) {
            let JpegHeader { width, height, components } =
                jpeg_header(&self.file_bytes).map_err(Reason::of)?;
            // CMYK is left to the other decoder.
            if components != 4 {
                return Ok(frame(self.pool.copy(&self.file_bytes), PixelFormat::Mjpeg, width, height));
            }
        }
        let mut reader = image::ImageReader::new(std::io::Cursor::new(&self.file_bytes))
            .with_guessed_format()
            .map_err(Reason::of)?;
        let (width, height) = {
            let probe = image::ImageReader::new(std::io::Cursor::new(&self.file_bytes))
                .with_guessed_format()
                .map_err(Reason::of)?;
            probe.into_dimensions().map_err(Reason::of)?
        };
        check_size(width as usize, height as usize).map_err(Reason::of)?;
        // The largest picture accepted, as 16-bit RGBA.
        let mut limits = image::Limits::default();
        limits.max_alloc = Some(8 * crate::picture::MAX_PIXELS as u64);
        reader.limits(limits);
        let rgb = reader.decode().map_err(Reason::of)?.into_rgb8();
        Ok(frame(self.pool.copy(rgb.as_raw()), PixelFormat::Rgb24, width as usize, height as usize))
    }
}

impl Clip for Folder {
    fn info(&self) -> SourceInfo {
        let (width, height) = self.size;
        SourceInfo { name: self.name.clone(), width, height, fps: DEFAULT_FPS, live: false }
    }

    fn poll(&mut self) -> Result<Option<Frame>, CaptureError> {
        if self.next < self.files.len() {
            let at = self.next;
            self.next += 1;
            return Ok(match self.read(at) {
                Ok(frame) => {
                    self.size = (frame.width, frame.height);
                    Some(frame)
                }
                Err(why) => {
                    self.damaged += 1;
                    let damage = why.within(self.files[at].display());
                    log::warn!("{damage:#}; left out");
                    self.first_damage.get_or_insert(damage);
                    None
                }
            });
        }
        match self.first_damage.take() {
            Some(first) if self.damaged as usize == self.files.len() => {
                let none = format!("none of the {} pictures can be read; the first", self.files.len());
                Err(CaptureError::Unusable(Reason::new(none, first)))
            }
            _ => Err(CaptureError::Ended),
        }
    }

    fn damaged(&self) -> u64 {
        self.damaged
    }

    fn stored(&self) -> Option<Stored> {
        self.stored
    }
}

/// `frame2` before `frame10`; otherwise as bytes.
fn by_number(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let digits = |s: &str| s.len() - s.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (na, nb) = (digits(a), digits(b));
        let ordering = if na > 0 && nb > 0 {
            let (x, y) = (a[..na].trim_start_matches('0'), b[..nb].trim_start_matches('0'));
            (a, b) = (&a[na..], &b[nb..]);
            x.len().cmp(&y.len()).then_with(|| x.cmp(y))
        } else {
            match (a.chars().next(), b.chars().next()) {
                (Some(x), Some(y)) => {
                    (a, b) = (&a[x.len_utf8()..], &b[y.len_utf8()..]);
                    x.cmp(&y)
                }
                (x, y) => return x.cmp(&y),
            }
        };
        if ordering.is_ne() {
            return ordering;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, at("1.jpg"), mode).unwrap();
        std::fs::write(at("file.bin"), b"GIF89a").unwrap();
        std::os::unix::fs::symlink(at("file.bin"), at("2.jpg")).unwrap();
        std::fs::write(at("3.tiff"), b"II*").unwrap();
        let files = pictures(folder.path()).unwrap();
        assert_eq!(files, [at("1.jpg"), at("2.jpg")]);
        let refused = open_picture(&files[0]).unwrap_err().to_string();
        assert!(refused.contains("a pipe or a device"), "{refused}");
        assert!(open_picture(&files[1]).is_ok(), "a link leads to a file");
        assert!(Folder::open(folder.path()).unwrap().poll().unwrap().is_none(), "left out");
    }

    #[test]
    fn names_are_ordered_by_their_numbers() {
        let mut names = ["f10.png", "f9.png", "f009b.png", "a1.jpg", "f1.png", "f01.jpg"];
        names.sort_by(|a, b| by_number(a, b));
        assert_eq!(names, ["a1.jpg", "f01.jpg", "f1.png", "f9.png", "f009b.png", "f10.png"]);
    }
}
