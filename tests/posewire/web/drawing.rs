//! What the page draws with is what every display draws with.

use super::*;

/// The value of a constant of the page's script.
fn constant(script: &str, name: &str) -> serde_json::Value {
    let begin = format!("const {name} = ");
    let at = script.find(&begin).unwrap_or_else(|| panic!("{name} is not in the page")) + begin.len();
    serde_json::from_str(script[at..].split(";\n").next().unwrap()).unwrap()
}

#[test]
fn the_page_draws_with_the_colours_and_sizes_of_every_display() {
    let script = get(&web(), "/page.js", "Host: localhost\r\n");
    let colours: Vec<String> = (0..pose_draw::PALETTE as u32)
        .map(pose_draw::colour_of)
        .map(|[r, g, b]| format!("#{r:02x}{g:02x}{b:02x}"))
        .collect();
    assert_eq!(constant(&script, "COLOURS"), serde_json::json!(colours));
    let m = pose_draw::Metrics::for_panel(embedded_graphics::prelude::Size::new(640, 480));
    let sizes = serde_json::json!({"stroke": m.stroke, "joint": m.joint, "dash": m.dash});
    assert_eq!(constant(&script, "SIZES"), sizes);
    assert_eq!(constant(&script, "UNSURE_SCORE").as_f64().unwrap() as f32, pose::UNSURE_SCORE);
    let drawing = include_str!("../../../src/output/web/page/draw.js");
    let own = drawing.matches("\"#").count();
    assert_eq!(own, drawing.matches("\"#000\"").count(), "a person's colour is nowhere but in the crate");
}

#[test]
fn the_page_takes_a_joint_for_what_every_display_takes_it() {
    use pose::JointState::{Absent, Measured, Predicted};
    let drawing = include_str!("../../../src/output/web/page/draw.js");
    let function = drawing.split("function lookOf(").nth(1).unwrap().split("\n}").next().unwrap();
    let mut script = format!("const UNSURE_SCORE = {}; function lookOf({function}\n}}", pose::UNSURE_SCORE);
    let mut expected = String::new();
    for state in [Absent, Measured, Predicted] {
        for score in [0.0, 0.3, 0.333, 0.334, 0.5, 1.0] {
            let joint = pose::PoseJoint { x_px: 1.0, y_px: 1.0, score, sigma_px: 1.0, state };
            let look = pose_draw::Look::of(&joint).map_or(0, |look| look as u8 + 1);
            expected += &format!("{look}\n");
            script += &format!("console.log(lookOf([1, 1, {score}, 1, \"{}\"]));", state.name());
        }
    }
    let Ok(out) = std::process::Command::new("node").args(["-e", &script]).output() else {
        eprintln!("SKIPPED: the page's own script: no `node` on this machine (sudo apt install nodejs)");
        return;
    };
    assert_eq!(String::from_utf8_lossy(&out.stdout), expected, "{}", String::from_utf8_lossy(&out.stderr));
}
