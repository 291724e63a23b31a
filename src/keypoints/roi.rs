//! From a person's box to the crop that the network sees, and from a whole picture to a finder's input.

use pose::BoxPx;

use super::KeypointError;
use crate::infer::{Letterbox, RoiSpec};
use crate::picture::Affine;

/// Farther out nothing is ever seen, and `f32` pixels lose their fractions.
const MAX_PLACE_PX: f32 = 1e6;

/// The map from net pixels to pixels of the source image: the box, widened to the net's aspect about its own centre,
/// enlarged by `roi.pad`.
///
/// The box may reach or lie outside the picture. One side may be 0; the net's aspect makes up for it.
///
/// # Errors
/// [`KeypointError::Box`] where both sides are 0 or a value is not a number a picture can have.
pub(super) fn image_from_net(
    box_px: &BoxPx,
    roi: &RoiSpec,
    net_size: [usize; 2],
) -> Result<Affine, KeypointError> {
    check_box(box_px)?;
    let [net_w, net_h] = net_size.map(|v| v as f32);
    // Net pixels are square in the image: one scale for both axes, set by the side that fills the net first.
    let scale = roi.pad * (box_px.w / net_w).max(box_px.h / net_h);
    let (cx, cy) = box_px.centre();
    Ok(Affine::scale_then_shift(scale, scale, cx - 0.5 * scale * net_w, cy - 0.5 * scale * net_h))
}

/// Whether a network can look at a box.
///
/// # Errors
/// [`KeypointError::Box`] where both sides are 0 or a value is not a number a picture can have.
pub fn check_box(box_px: &BoxPx) -> Result<(), KeypointError> {
    let BoxPx { x, y, w, h } = *box_px;
    let refuse = |reason| Err(KeypointError::Box { x, y, w, h, reason });
    if [x, y, w, h].iter().any(|v| !v.is_finite() || v.abs() > MAX_PLACE_PX) {
        return refuse("its values must be finite and within a million pixels");
    }
    if w < 0.0 || h < 0.0 {
        return refuse("its sides must not be negative");
    }
    if w == 0.0 && h == 0.0 {
        return refuse("it has no extent: at least one side must be above 0");
    }
    Ok(())
}

/// The map from net pixels to pixels of the source image that shows the whole picture.
pub(super) fn image_from_net_whole(
    image_size: [usize; 2],
    letterbox: Letterbox,
    net_size: [usize; 2],
) -> Affine {
    let [w, h] = image_size.map(|v| v as f32);
    let [net_w, net_h] = net_size.map(|v| v as f32);
    let scale = (w / net_w).max(h / net_h);
    match letterbox {
        Letterbox::None => Affine::scale_then_shift(w / net_w, h / net_h, 0.0, 0.0),
        Letterbox::TopLeft => Affine::scale_then_shift(scale, scale, 0.0, 0.0),
        Letterbox::Centred => {
            Affine::scale_then_shift(scale, scale, 0.5 * (w - scale * net_w), 0.5 * (h - scale * net_h))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ROI: RoiSpec = RoiSpec { pad: 1.25, fill: 0 };

    #[test]
    fn a_tall_box_is_widened_to_a_square_net_and_enlarged() {
        let m = image_from_net(&BoxPx { x: 10.0, y: 20.0, w: 40.0, h: 80.0 }, &ROI, [100, 100]).unwrap();
        assert_eq!(m.apply(0.0, 0.0), (30.0 - 50.0, 60.0 - 50.0));
        assert_eq!(m.apply(100.0, 100.0), (80.0, 110.0));
    }

    #[test]
    fn a_whole_picture_is_letterboxed_or_stretched() {
        let m = image_from_net_whole([640, 320], Letterbox::Centred, [64, 64]);
        assert_eq!((m.apply(0.0, 16.0), m.apply(64.0, 48.0)), ((0.0, 0.0), (640.0, 320.0)));
        let m = image_from_net_whole([640, 320], Letterbox::TopLeft, [64, 64]);
        assert_eq!((m.apply(0.0, 0.0), m.apply(64.0, 32.0)), ((0.0, 0.0), (640.0, 320.0)));
        let m = image_from_net_whole([640, 320], Letterbox::None, [64, 64]);
        assert_eq!(m.apply(64.0, 64.0), (640.0, 320.0));
    }

    #[test]
    fn boxes_without_extent_or_sense_are_refused() {
        for b in [
            BoxPx { x: 5.0, y: 5.0, w: 0.0, h: 0.0 },
            BoxPx { x: f32::NAN, y: 5.0, w: 4.0, h: 4.0 },
            BoxPx { x: 0.0, y: 5.0, w: f32::INFINITY, h: 4.0 },
            BoxPx { x: 0.0, y: 5.0, w: 4.0, h: -4.0 },
        ] {
            let error = image_from_net(&b, &ROI, [64, 64]).unwrap_err().to_string();
            assert!(error.starts_with("box ("), "{error}");
        }
        image_from_net(&BoxPx { x: 5.0, y: 5.0, w: 0.0, h: 9.0 }, &ROI, [64, 64]).unwrap();
    }

    proptest! {
        #[test]
        fn the_box_lies_inside_its_crop_by_the_pad(
            x in -500f32..500.0, y in -500f32..500.0, w in 1f32..500.0, h in 1f32..500.0,
            net_w in 16usize..300, net_h in 16usize..300,
        ) {
            let b = BoxPx { x, y, w, h };
            let net_from_image = image_from_net(&b, &ROI, [net_w, net_h]).unwrap().inverse().unwrap();
            let (x0, y0) = net_from_image.apply(x, y);
            let (x1, y1) = net_from_image.apply(x + w, y + h);
            let filled = ((x1 - x0) / net_w as f32).max((y1 - y0) / net_h as f32);
            prop_assert!((filled - 0.8).abs() < 1e-3, "{filled}");
            prop_assert!((x0 + x1 - net_w as f32).abs() < 0.1 && (y0 + y1 - net_h as f32).abs() < 0.1);
        }
    }
}
