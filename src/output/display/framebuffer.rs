//! The Linux framebuffer: a screen on a board without a desktop.
//!
//! What it looks like is read from `/sys/class/graphics/fb0` or the folder of another; pixels go there by `pwrite`, one call a row, so that no
//! memory is shared with the driver and nothing here is unsafe. 16 bits a pixel are taken for RGB565, 32 for XRGB8888,
//! which is what every driver of a Pi, a Jetson and a PC gives.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::{Canvas, FrameStamp, Surface};
use crate::output::SinkError;
use crate::permission::{Denial, forbidden};
use crate::reason::Reason;

/// What `--display fb` is without a device.
pub(super) const FIRST: &str = "/dev/fb0";

/// `--display fb`.
pub struct Framebuffer {
    name: String,
    file: File,
    width: usize,
    height: usize,
    stride: u64,
    pixel: PixelBits,
    row: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PixelBits {
    Rgb565,
    Xrgb8888,
}

impl Framebuffer {
    /// Opens `device`, as `/dev/fb0`.
    ///
    /// # Errors
    /// [`SinkError::Fatal`] where there is none, it may not be written, or its pixels are of another kind.
    pub fn open(device: &Path) -> Result<Self, SinkError> {
        let node = crate::files::followed(device);
        let name = node.file_name().unwrap_or_default();
        Self::at(device, &Path::new("/sys/class/graphics").join(name))
    }

    /// The framebuffer `device`, described by the folder `sys`.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn at(device: &Path, sys: &Path) -> Result<Self, SinkError> {
        let shown = device.display();
        let fatal = |why: Reason| SinkError::fatal(format_args!("--display fb: {shown}"), why);
        let file = File::options().write(true).open(device).map_err(|e| fatal(refused(device, e)))?;
        let attribute = |name: &str| {
            let path = sys.join(name);
            fs::read_to_string(&path).map_err(|e| fatal(Reason::of(e).within(path.display())))
        };
        let number = |text: &str| text.trim().parse::<usize>().ok();
        let has_pixels = |&(width, height): &(usize, usize)| width > 0 && height > 0;
        // The virtual size may hold a second page below the visible one; the mode, where it is told, knows better.
        let visible = attribute("modes").ok().and_then(|m| mode_size(&m)).filter(has_pixels);
        let virtual_size = attribute("virtual_size")?;
        let whole = virtual_size.split_once(',').and_then(|(w, h)| Some((number(w)?, number(h)?)));
        let (width, height) = visible.or(whole).filter(has_pixels).ok_or_else(|| {
            fatal(format!("size '{}' is none: is a screen attached?", virtual_size.trim()).into())
        })?;
        let bits = attribute("bits_per_pixel")?;
        let pixel = match bits.trim() {
            "16" => PixelBits::Rgb565,
            "32" => PixelBits::Xrgb8888,
            other => {
                return Err(fatal(
                    format!("{other} bits a pixel; 16 and 32 are supported (fbset -depth 32)").into(),
                ));
            }
        };
        let pixel_bytes = if pixel == PixelBits::Rgb565 { 2 } else { 4 };
        let stride = attribute("stride").ok().and_then(|s| number(&s)).filter(|&s| s >= width * pixel_bytes);
        Ok(Self {
            name: format!("framebuffer {shown}"),
            file,
            width,
            height,
            stride: stride.unwrap_or(width * pixel_bytes) as u64,
            pixel,
            row: Vec::with_capacity(width * pixel_bytes),
        })
    }
}

impl Surface for Framebuffer {
    fn name(&self) -> &str {
        &self.name
    }

    fn size_px(&mut self, _image_px: [usize; 2]) -> Result<[usize; 2], SinkError> {
        Ok([self.width, self.height])
    }

    fn show(&mut self, canvas: &Canvas, _stamp: FrameStamp) -> Result<(), SinkError> {
        for (y, rgb) in canvas.rgb().chunks_exact(3 * canvas.width()).take(self.height).enumerate() {
            self.row.clear();
            for c in rgb.chunks_exact(3) {
                match self.pixel {
                    PixelBits::Xrgb8888 => self.row.extend_from_slice(&[c[2], c[1], c[0], 0xff]),
                    PixelBits::Rgb565 => {
                        let [r, g, b] = [c[0] >> 3, c[1] >> 2, c[2] >> 3].map(u16::from);
                        self.row.extend_from_slice(&(r << 11 | g << 5 | b).to_le_bytes());
                    }
                }
            }
            write_all_at(&mut self.file, &self.row, y as u64 * self.stride)
                .map_err(|e| SinkError::retry(&self.name, Reason::of(e)))?;
        }
        Ok(())
    }
}

/// Why `device` cannot be opened, and what to do.
fn refused(device: &Path, error: io::Error) -> Reason {
    match Denial::of(&error) {
        Some(Denial::Permissions) => {
            "no permission; add yourself to its group (sudo usermod -aG video $USER) and log in again".into()
        }
        Some(Denial::DeviceList) => forbidden(device).into(),
        None if error.kind() == io::ErrorKind::NotFound => {
            "there is no framebuffer; is a screen attached, and is this a Linux console?".into()
        }
        None => Reason::of(error),
    }
}

/// One call to the system; where there is no framebuffer either, two.
fn write_all_at(file: &mut File, bytes: &[u8], at: u64) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::write_all_at(file, bytes, at);
    #[cfg(not(unix))]
    {
        use std::io::{Seek, SeekFrom, Write};
        file.seek(SeekFrom::Start(at)).and_then(|_| file.write_all(bytes))
    }
}

/// `U:1920x1080p-60` to 1920 × 1080.
fn mode_size(modes: &str) -> Option<(usize, usize)> {
    let (_, mode) = modes.lines().next()?.split_once(':')?;
    let (width, rest) = mode.split_once('x')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((width.parse().ok()?, rest[..digits].parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keeps_from_a_framebuffer_is_said_with_its_cure() {
        for (code, says) in [
            (libc::ENOENT, "there is no framebuffer"),
            (libc::EACCES, "usermod -aG video"),
            (libc::EPERM, "DeviceAllow=/dev/fb1 rw"),
            (libc::EIO, "os error"),
        ] {
            let told = refused(Path::new("/dev/fb1"), io::Error::from_raw_os_error(code)).to_string();
            assert!(told.contains(says), "{told}");
        }
    }

    #[test]
    fn the_visible_part_of_a_mode_is_understood() {
        assert_eq!(mode_size("U:1920x1080p-60\nU:800x600p-75\n"), Some((1920, 1080)));
        assert_eq!(mode_size("D:480x320"), Some((480, 320)));
        assert_eq!(mode_size(""), None);
    }
}
