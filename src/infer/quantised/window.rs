//! Windows of convolutions, poolings and resizes from a node's attributes.

use int8::{Pads, Shape, Window};
use tract_onnx::pb;

use super::onnx::Attributes;
use super::value::{Refusal, unknown};

fn pair(node: &pb::NodeProto, name: &str, default: [usize; 2]) -> Result<[usize; 2], Refusal> {
    match Attributes(node).sizes(name).map_err(Refusal::Broken)?.as_deref() {
        None | Some([]) => Ok(default),
        Some(&[a, b]) => Ok([a, b]),
        Some(other) => unknown(format!("attribute {name} = {other:?} is not two-dimensional")),
    }
}

fn explicit_pads(node: &pb::NodeProto) -> Result<Pads, Refusal> {
    match Attributes(node).sizes("pads").map_err(Refusal::Broken)?.as_deref() {
        None | Some([]) => Ok(Pads::default()),
        Some(&[top, left, bottom, right]) => Ok(Pads { top, left, bottom, right }),
        Some(other) => unknown(format!("attribute pads = {other:?} is not two-dimensional")),
    }
}

fn with_pads(node: &pb::NodeProto, mut window: Window, input: Shape) -> Result<Window, Refusal> {
    if window.stride.contains(&0) || window.kernel.contains(&0) {
        return Err(Refusal::Broken(format!("{window:?} has a zero")));
    }
    let lower = match Attributes(node).text("auto_pad", "NOTSET").as_str() {
        "NOTSET" | "" => {
            window.pads = explicit_pads(node)?;
            return Ok(window);
        }
        "VALID" => return Ok(window),
        "SAME_UPPER" => false,
        "SAME_LOWER" => true,
        other => return unknown(format!("auto_pad {other}")),
    };
    let along = |size: usize, axis: usize| {
        let out = size.div_ceil(window.stride[axis]);
        let reach = window.dilation[axis].saturating_mul(window.kernel[axis] - 1).saturating_add(1);
        let all = ((out - 1) * window.stride[axis]).saturating_add(reach).saturating_sub(size);
        if lower { (all.div_ceil(2), all / 2) } else { (all / 2, all.div_ceil(2)) }
    };
    let ((top, bottom), (left, right)) = (along(input.h, 0), along(input.w, 1));
    window.pads = Pads { top, left, bottom, right };
    Ok(window)
}

fn plain(node: &pb::NodeProto, kernel: [usize; 2]) -> Result<Window, Refusal> {
    Ok(Window {
        kernel: pair(node, "kernel_shape", kernel)?,
        stride: pair(node, "strides", [1, 1])?,
        dilation: pair(node, "dilations", [1, 1])?,
        pads: Pads::default(),
    })
}

/// The window of a convolution whose weights have `kernel` taps.
pub(super) fn of_conv(node: &pb::NodeProto, kernel: [usize; 2], input: Shape) -> Result<Window, Refusal> {
    let window = plain(node, kernel)?;
    if window.kernel != kernel {
        return Err(Refusal::Broken(format!("kernel_shape {:?}, weights of {kernel:?}", window.kernel)));
    }
    with_pads(node, window, input)
}

/// The window of a transposed convolution, and its extra rows and columns.
pub(super) fn of_conv_transpose(
    node: &pb::NodeProto,
    kernel: [usize; 2],
) -> Result<(Window, [usize; 2]), Refusal> {
    let attributes = Attributes(node);
    let mut window = plain(node, kernel)?;
    if window.kernel != kernel {
        return Err(Refusal::Broken(format!("kernel_shape {:?}, weights of {kernel:?}", window.kernel)));
    }
    if attributes.text("auto_pad", "NOTSET") != "NOTSET"
        || attributes.sizes("output_shape").is_ok_and(|s| s.is_some())
    {
        return unknown("auto_pad and output_shape of transposed convolutions");
    }
    window.pads = explicit_pads(node)?;
    Ok((window, pair(node, "output_padding", [0, 0])?))
}

/// The window of a pooling.
pub(super) fn of_pool(node: &pb::NodeProto, input: Shape) -> Result<Window, Refusal> {
    let window = with_pads(node, plain(node, [0, 0])?, input)?;
    let attributes = Attributes(node);
    let Pads { top, left, bottom, right } = window.pads;
    let divides = |size: usize, pads: usize, axis: usize| {
        (size + pads).checked_sub(window.kernel[axis]).is_some_and(|free| free % window.stride[axis] == 0)
    };
    let rounds =
        !(divides(input.h, top.saturating_add(bottom), 0) && divides(input.w, left.saturating_add(right), 1));
    if attributes.int("ceil_mode", 0) != 0 && rounds {
        return unknown("ceil_mode");
    }
    Ok(window)
}

/// A factor that is a whole number from 1 to 64; more is not a network's.
pub(super) fn whole_factor(factor: f32) -> Option<usize> {
    (factor.fract() == 0.0 && (1.0..=64.0).contains(&factor)).then_some(factor as usize)
}

/// Refuses resizes that are not "pixel (y, x) is pixel (y / factor, x / factor)".
pub(super) fn check_nearest(node: &pb::NodeProto) -> Result<(), Refusal> {
    let attributes = Attributes(node);
    let mode = attributes.text("mode", "nearest");
    let transform = attributes.text("coordinate_transformation_mode", "half_pixel");
    let nearest = attributes.text("nearest_mode", "round_prefer_floor");
    let repeats = node.op_type == "Upsample"
        || (transform == "asymmetric" && nearest == "floor")
        // Half-pixel places of whole factors are never ties, so either rounding finds the same pixel.
        || (matches!(transform.as_str(), "half_pixel" | "pytorch_half_pixel") && nearest.starts_with("round_prefer"));
    if mode == "nearest" && repeats {
        return Ok(());
    }
    unknown(format!("mode {mode}, {transform}, {nearest}: only nearest pixels repeated are done"))
}
