//! Pictures: what every stage may see of one.
//!
//! A [`Frame`] is what a source gave: shared bytes in the camera's own [`PixelFormat`]. A [`Decoder`] makes it a
//! [`Picture`], which can be sampled; [`crop_resize_into`] writes any part of that, through any [`Affine`] map, into
//! [`PixelsMut`]: a network's input, a display, a row of bytes; an [`Inpainter`] replaces what a [`Mask`] marks there. A [`Photo`] is a
//! whole picture file, upright.
//!
//! Coordinates: (0, 0) is the top-left corner of the top-left pixel, so pixel centres lie at +0.5, everywhere.

mod affine;
mod crop;
mod decode;
mod encode;
mod frame;
mod inpaint;
mod jpeg;
mod marks;
mod mask;
mod photo;
mod pool;
mod resize;
mod scans;
mod texel;
mod turn;

pub use affine::Affine;
pub use crop::{PixelsMut, colour_at, crop_resize_into, whole_rgb_into};
pub use decode::{DecodeError, Decoder, MAX_PIXELS, Part, Picture, packed_stride, raw_len};
pub use decode::{JpegHeader, check_size, jpeg_header};
pub use encode::{EncodeError, JpegEncoder};
pub use frame::{Frame, PixelFormat};
pub use inpaint::Inpainter;
pub use jpeg::JpegError;
pub use mask::Mask;
pub use photo::{MAX_PHOTO_PIXELS, Photo, PhotoError, exif_turn, is_photo};
pub use pool::BufferPool;
pub use texel::rgb_from_yuv_bytes;
pub use turn::{Turn, Turner};
