//! Stills: a picture with its poses, drawn once.

use pose::Pose;
use turbojpeg::{Compressor, Image, Subsamp};

use super::style::Painter;
use super::{Canvas, DisplayStyle, draw_over, png};
use crate::picture::{Affine, Picture, PixelsMut, crop_resize_into};

/// What is lost at it, nobody sees; a drawn photo is as large as the camera's.
const JPEG_QUALITY: i32 = 92;

/// `picture`, pixel by pixel, with `poses` (pixels of its source image) on it.
pub fn draw_still(picture: &Picture<'_>, poses: impl Iterator<Item = Pose>, style: DisplayStyle) -> Canvas {
    let mut canvas = Canvas::default();
    let (width, height) = (picture.width, picture.height);
    canvas.reset(width, height);
    let [sx, sy] = picture.image_from_picture;
    let mut pixels =
        PixelsMut { bytes: canvas.rgb_mut(), width, height, row_bytes: 3 * width, pixel_bytes: 3 };
    crop_resize_into(picture, &Affine::scale_then_shift(sx, sy, 0.0, 0.0), &mut pixels, [0; 3]);
    draw_over(&mut canvas, &mut Painter::new(style), picture.image_size, poses, false);
    canvas
}

/// The file of a drawn still: JPEG, or PNG, which loses nothing.
///
/// # Errors
/// What the encoder says: there is no memory, or the picture is larger than the format knows.
pub fn encode_still(canvas: &Canvas, as_jpeg: bool) -> Result<Vec<u8>, String> {
    let (width, height) = (canvas.width(), canvas.height());
    if !as_jpeg {
        let mut bytes = Vec::new();
        png::encode(canvas, &mut bytes).map_err(|e| e.to_string())?;
        return Ok(bytes);
    }
    let encode = || {
        let mut compressor = Compressor::new()?;
        compressor.set_quality(JPEG_QUALITY)?;
        // Thin coloured lines bleed where chroma is halved.
        compressor.set_subsamp(Subsamp::None)?;
        let format = turbojpeg::PixelFormat::RGB;
        compressor.compress_to_vec(Image { pixels: canvas.rgb(), width, pitch: 3 * width, height, format })
    };
    encode().map_err(|e: turbojpeg::Error| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::PixelFormat;

    #[test]
    fn a_picture_that_was_reduced_unevenly_stays_as_it_is() {
        let (width, height) = (8, 6);
        let bytes: Vec<u8> =
            (0..3 * width * height).map(|i| (5 * (i / 3 % width) + 9 * (i / 3 / width)) as u8).collect();
        let picture = Picture {
            bytes: &bytes,
            format: PixelFormat::Rgb24,
            width,
            height,
            stride: 3 * width,
            image_size: [16, 18],
            image_from_picture: [2.0, 3.0],
        };
        assert_eq!(draw_still(&picture, std::iter::empty(), DisplayStyle::Skeleton).rgb(), bytes);
    }

    #[test]
    fn each_kind_of_file_is_what_it_is_called() {
        let mut canvas = Canvas::default();
        canvas.reset(8, 4);
        assert!(encode_still(&canvas, true).unwrap().starts_with(&[0xff, 0xd8]));
        assert!(encode_still(&canvas, false).unwrap().starts_with(b"\x89PNG"));
    }

    #[test]
    fn a_still_keeps_its_pixels_and_gets_its_poses_in_both_kinds_of_file() {
        let grey = vec![120; 3 * 80 * 60];
        let picture = Picture {
            bytes: &grey,
            format: PixelFormat::Rgb24,
            width: 80,
            height: 60,
            stride: 3 * 80,
            // As a JPEG read at half of its size.
            image_size: [160, 120],
            image_from_picture: [2.0; 2],
        };
        assert_eq!(draw_still(&picture, std::iter::empty(), DisplayStyle::Skeleton).rgb(), grey);
        let mut pose = Pose { track_id: 1, score: 1.0, ..Pose::default() };
        for joint in &mut pose.joints {
            *joint = pose::PoseJoint {
                x_px: 100.0,
                y_px: 80.0,
                score: 1.0,
                sigma_px: 1.0,
                state: pose::JointState::Measured,
            };
        }
        let canvas = draw_still(&picture, std::iter::once(pose), DisplayStyle::Skeleton);
        assert_ne!(canvas.at(50, 40), [120; 3]);
        assert_eq!(canvas.at(10, 10), [120; 3]);
        for (as_jpeg, tolerance) in [(false, 0), (true, 12)] {
            let bytes = encode_still(&canvas, as_jpeg).unwrap();
            let read = image::load_from_memory(&bytes).unwrap().to_rgb8();
            assert_eq!(read.dimensions(), (80, 60));
            assert!(read.get_pixel(10, 10).0.iter().all(|c| c.abs_diff(120) <= tolerance));
        }
    }
}
