//! The parts of the pages, all of them inside the binary.

use embedded_graphics::prelude::Size;
use pose_draw::Metrics;

use super::super::display::DisplayStyle;

/// The preview.
pub(super) const LIVE_HTML: &str = include_str!("page/index.html");
/// The viewer of recordings.
pub(super) const VIEW_HTML: &str = include_str!("page/view.html");
/// The page of `posewire calibrate`.
pub(super) const CALIBRATION_HTML: &str = include_str!("page/calibration.html");
/// The looks of all.
pub(super) const STYLE: &str = include_str!("page/page.css");

/// The preview's script; `shows_pictures`: messages carry them; `style`: how persons are drawn at first.
pub(super) fn live_script(shows_pictures: bool, style: DisplayStyle) -> String {
    constants()
        + &format!("const SHOWS_PICTURES = {shows_pictures};\nconst STYLE = \"{style}\";\n")
        + include_str!("page/common.js")
        + include_str!("page/draw.js")
        + include_str!("page/planar.js")
        + include_str!("page/volumetric.js")
        + include_str!("page/charts.js")
        + include_str!("page/zones.js")
        + include_str!("page/page.js")
}

/// The viewer's script; `is_served`: there is a recording beside the page, else it opens files alone.
pub(super) fn view_script(is_served: bool) -> String {
    constants()
        + &format!("const IS_SERVED = {is_served};\n")
        + include_str!("page/common.js")
        + include_str!("page/draw.js")
        + include_str!("page/planar.js")
        + include_str!("page/volumetric.js")
        + include_str!("page/avi.js")
        + include_str!("page/tracks.js")
        + include_str!("page/gif.js")
        + include_str!("page/plot.js")
        + include_str!("page/view.js")
}

/// The script of `posewire calibrate`'s page.
pub(super) fn calibration_script() -> String {
    constants() + include_str!("page/common.js") + include_str!("page/calibration.js")
}

/// What every output has in common.
fn constants() -> String {
    let bones = pose::BONES.map(|(a, b)| [a as usize, b as usize]);
    let joints = pose::Joint::ALL.map(pose::Joint::name);
    let colours: Vec<String> = (0..pose_draw::PALETTE as u32)
        .map(|id| pose_draw::colour_of(id).map(|c| format!("{c:02x}")).concat())
        .map(|hex| format!("#{hex}"))
        .collect();
    // Ends, beyond them, radii, bulge, caps, how far behind: numbers, as pose-draw has them.
    let parts = pose_draw::SHAPES.map(|s| {
        let [[a, b], [from, to], [r, q], [c, d]] = [s.ends.map(|end| end as f32), s.beyond, s.radii, s.caps];
        [a, b, from, to, r, q, s.bulge, c, d, s.behind_m]
    });
    // On a picture of 640×480, as which the page takes every picture's width.
    let Metrics { stroke, joint, dash, .. } = Metrics::for_panel(Size::new(640, 480));
    format!(
        "\"use strict\";\nconst BONES = {bones:?};\nconst JOINTS = {joints:?};\nconst COLOURS = {colours:?};\nconst PARTS = {parts:?};\n\
         const STYLES = [\"skeleton\", \"planar\", \"volumetric\"];\n\
         const SIZES = {{\"stroke\": {stroke}, \"joint\": {joint}, \"dash\": {dash}}};\n\
         const UNSURE_SCORE = {};\n",
        pose::UNSURE_SCORE
    )
}
