//! libjpeg-turbo's decoder as far as frames need it: at reduced scale, and only the part of a picture that is looked at.
//!
//! The safe crate round the library cannot leave parts out. A person on 400 of 480 rows costs 0.8 of the whole picture's
//! time, one on half of them 0.5 (`cargo run --release --example pixels`): worth the few calls below.

use std::ffi::{CStr, c_int};
use std::ptr::NonNull;

use turbojpeg::raw;

/// What is wrong with a JPEG, or with the library that reads it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JpegError {
    /// The library cannot be set up.
    #[error("no memory for a JPEG decoder")]
    Memory,
    /// There is no start of a frame before the pixels.
    #[error("no frame header")]
    NoHeader,
    /// The header states no size.
    #[error("no size")]
    NoSize,
    /// Two headers that state two sizes.
    #[error("two sizes in one JPEG")]
    TwoSizes,
    /// What the library says of it.
    #[error("{0}")]
    Refused(String),
}

/// A decoder. After an error it must be dropped: the library keeps a damaged picture's tables and would refuse every
/// later picture for them.
#[derive(Debug)]
pub(super) struct Jpeg(NonNull<std::ffi::c_void>);

// SAFETY: the handle is plain memory of the library, used by one thread at a time because every call takes `&mut`.
unsafe impl Send for Jpeg {}

/// Columns and rows, in pixels of the reduced picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Window {
    pub x: usize,
    pub y: usize,
    pub w: usize,
    pub h: usize,
}

/// Blocks that are decoded together are 8 to 32 pixels wide and 8 to 32 high, whatever the subsampling.
const ALIGN: usize = 32;

impl Window {
    /// The smallest window round `columns` and `rows` (pixels of the image) that the library can decode at
    /// 1/`reduction`; `w` and `h` are the reduced picture's sizes.
    pub fn around(part: &super::Part, reduction: usize, w: usize, h: usize) -> Self {
        let align = ALIGN / reduction;
        let axis = |from: usize, to: usize, size: usize| {
            let from = (from / reduction / align * align).min((size - 1) / align * align);
            let to = to.div_ceil(reduction).min(size).next_multiple_of(align).clamp(from + 1, size);
            (from, to - from)
        };
        let (x, w) = axis(part.columns.start, part.columns.end, w);
        let (y, h) = axis(part.rows.start, part.rows.end, h);
        Self { x, y, w, h }
    }
}

impl Jpeg {
    /// `scan_limit`: a progressive JPEG of more scans is an error.
    pub fn new(scan_limit: u32) -> Result<Self, JpegError> {
        // SAFETY: no argument is a pointer; null is checked.
        let handle = unsafe { raw::tj3Init(raw::TJINIT_TJINIT_DECOMPRESS as c_int) };
        let mut jpeg = Self(NonNull::new(handle).ok_or(JpegError::Memory)?);
        jpeg.set(raw::TJPARAM_TJPARAM_SCANLIMIT, scan_limit as c_int)?;
        // Replicated chroma instead of smoothed: a network on a resized crop cannot tell the difference. It also makes
        // a part's pixels those of the whole picture.
        jpeg.set(raw::TJPARAM_TJPARAM_FASTUPSAMPLE, 1)?;
        Ok(jpeg)
    }

    /// A decoder of photos: chroma is smoothed, because people look at them, and a progressive one, whose coefficients are
    /// all kept, may take `max_memory_mb` beside its pixels.
    pub fn of_photos(scan_limit: u32, max_memory_mb: u32) -> Result<Self, JpegError> {
        let mut jpeg = Self::new(scan_limit)?;
        jpeg.set(raw::TJPARAM_TJPARAM_FASTUPSAMPLE, 0)?;
        jpeg.set(raw::TJPARAM_TJPARAM_MAXMEMORY, max_memory_mb as c_int)?;
        Ok(jpeg)
    }

    /// Reads the header of the picture in `bytes`.
    pub fn picture<'a>(&'a mut self, bytes: &'a [u8]) -> Result<JpegPicture<'a>, JpegError> {
        // SAFETY: the handle is live; the library reads `bytes.len()` bytes.
        let result = unsafe { raw::tj3DecompressHeader(self.0.as_ptr(), bytes.as_ptr(), bytes.len() as _) };
        self.check(result)?;
        let size = [raw::TJPARAM_TJPARAM_JPEGWIDTH, raw::TJPARAM_TJPARAM_JPEGHEIGHT].map(|param| {
            // SAFETY: the handle is live.
            unsafe { raw::tj3Get(self.0.as_ptr(), param as c_int) }
        });
        match size.map(usize::try_from) {
            [Ok(width), Ok(height)] => Ok(JpegPicture { jpeg: self, bytes, size: [width, height] }),
            _ => Err(JpegError::NoSize),
        }
    }

    /// An empty window stands for the whole picture.
    fn crop(&mut self, window: Window) -> Result<(), JpegError> {
        let Window { x, y, w, h } = window;
        let region = raw::tjregion { x: x as c_int, y: y as c_int, w: w as c_int, h: h as c_int };
        // SAFETY: the handle is live.
        let result = unsafe { raw::tj3SetCroppingRegion(self.0.as_ptr(), region) };
        self.check(result)
    }

    fn set(&mut self, param: raw::TJPARAM, value: c_int) -> Result<(), JpegError> {
        // SAFETY: the handle is live.
        let result = unsafe { raw::tj3Set(self.0.as_ptr(), param as c_int, value) };
        self.check(result)
    }

    fn check(&mut self, result: c_int) -> Result<(), JpegError> {
        if result == 0 {
            return Ok(());
        }
        // SAFETY: the handle is live; the library gives a text that ends in 0 and lasts until the next call.
        let text = unsafe { CStr::from_ptr(raw::tj3GetErrorStr(self.0.as_ptr())) };
        Err(JpegError::Refused(text.to_string_lossy().into_owned()))
    }
}

/// A picture whose header has been read.
#[derive(Debug)]
pub(super) struct JpegPicture<'a> {
    jpeg: &'a mut Jpeg,
    bytes: &'a [u8],
    /// Width and height, pixels.
    pub size: [usize; 2],
}

impl JpegPicture<'_> {
    /// Width and height at 1/`reduction`, pixels.
    pub fn size_at(&self, reduction: usize) -> [usize; 2] {
        self.size.map(|n| n.div_ceil(reduction))
    }

    /// Decodes as packed RGB rows at 1/`reduction` (1, 2, 4 or 8) of the size: the pixels inside `window`, all without
    /// one. The others keep what they were.
    ///
    /// # Panics
    /// Where `rgb` is not as long as [`size_at`](Self::size_at) asks for, or the window reaches beyond the picture.
    pub fn decode_into(
        self,
        reduction: usize,
        window: Option<Window>,
        rgb: &mut [u8],
    ) -> Result<(), JpegError> {
        let [w, h] = self.size_at(reduction);
        let stride = 3 * w;
        assert_eq!(rgb.len(), stride * h, "bytes of a picture of {w}x{h}");
        // The last picture's window would be held against this one's scale.
        self.jpeg.crop(Window::default())?;
        let scale = raw::tjscalingfactor { num: 1, denom: reduction as c_int };
        // SAFETY: the handle is live.
        let result = unsafe { raw::tj3SetScalingFactor(self.jpeg.0.as_ptr(), scale) };
        self.jpeg.check(result)?;
        // Some pictures can only be decoded whole: unusual subsampling, lossless.
        let window = window.filter(|w| self.jpeg.crop(*w).is_ok()).unwrap_or(Window { x: 0, y: 0, w, h });
        assert!(window.x + window.w <= w && window.y + window.h <= h, "{window:?} of {w}x{h}");
        let first = window.y * stride + 3 * window.x;
        // SAFETY: the library writes `window.h` rows of 3·`window.w` bytes, `stride` apart, from `first` on: inside `rgb`
        // by the assertions, whose size is what the library reads again from the same bytes.
        let result = unsafe {
            raw::tj3Decompress8(
                self.jpeg.0.as_ptr(),
                self.bytes.as_ptr(),
                self.bytes.len() as _,
                rgb.as_mut_ptr().add(first),
                stride as c_int,
                raw::TJPF_TJPF_RGB,
            )
        };
        self.jpeg.check(result)
    }
}

impl Drop for Jpeg {
    fn drop(&mut self) {
        // SAFETY: the handle is live, and nobody uses it afterwards.
        unsafe { raw::tj3Destroy(self.0.as_ptr()) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use turbojpeg::{Image, PixelFormat, Subsamp};

    use super::*;
    use crate::Part;

    #[test]
    fn a_part_that_reaches_beyond_the_picture_is_all_of_it() {
        let all = Part { columns: 0..usize::MAX, rows: 0..usize::MAX };
        assert_eq!(Window::around(&all, 2, 75, 50), Window { x: 0, y: 0, w: 75, h: 50 });
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn a_part_has_the_pixels_of_the_whole_picture(
            width in 1usize..150, height in 1usize..110, seed: u64,
            x in 0usize..160, y in 0usize..120, w in 0usize..160, h in 0usize..120,
            reduction in prop::sample::select(vec![1usize, 2, 4, 8]),
            subsamp in prop::sample::select(vec![
                Subsamp::None, Subsamp::Sub2x1, Subsamp::Sub2x2, Subsamp::Sub1x2, Subsamp::Sub4x1, Subsamp::Gray]),
        ) {
            let mut random = fastrand::Rng::with_seed(seed);
            let pixels: Vec<u8> = (0..3 * width * height).map(|_| random.u8(..)).collect();
            let image = Image { pixels: &pixels[..], width, height, pitch: 3 * width, format: PixelFormat::RGB };
            let bytes = turbojpeg::compress(image, 90, subsamp).expect("encodes");
            let mut jpeg = Jpeg::new(10).expect("sets up");
            let mut decode = |window, out: &mut [u8]| {
                jpeg.picture(&bytes).and_then(|p| p.decode_into(reduction, window, out)).expect("decodes")
            };
            let size = [width, height].map(|n| n.div_ceil(reduction));
            let mut whole = vec![0; 3 * size[0] * size[1]];
            decode(None, &mut whole);
            let window = Window::around(&Part { columns: x..x + w, rows: y..y + h }, reduction, size[0], size[1]);
            // Whatever the part, what it asks of the picture is inside.
            let inside = |from: usize, len: usize, first: usize, count: usize, size: usize| {
                let mut asked = (from..from + len).map(|i| i / reduction);
                asked.all(|i| i >= size || (first..first + count).contains(&i))
            };
            prop_assert!(inside(x, w, window.x, window.w, size[0]) && inside(y, h, window.y, window.h, size[1]));
            let mut part = vec![99; whole.len()];
            decode(Some(window), &mut part);
            for row in window.y..window.y + window.h {
                let run = 3 * (row * size[0] + window.x)..3 * (row * size[0] + window.x + window.w);
                prop_assert_eq!(&part[run.clone()], &whole[run]);
            }
            // And the next picture is whole again.
            decode(None, &mut part);
            prop_assert_eq!(part, whole);
        }
    }
}
