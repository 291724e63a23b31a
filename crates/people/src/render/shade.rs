//! The light that one sample of a person sends to the camera.

use crate::{
    camera::Camera,
    light::{Light, Shadow},
    math::{Vec3, smooth},
    person::{Figure, Person},
    surface::{Cloth, Pattern, Surface},
};

#[allow(clippy::too_many_arguments, reason = "one sample's circumstances")]
pub(super) fn shade(
    turned: bool,
    light: &Light,
    shadows: &[Shadow],
    camera: &Camera,
    person: &Person,
    figure: &Figure,
    k: usize,
    t: [usize; 3],
    s: [f32; 3],
) -> Vec3 {
    let layer = &person.layers[k];
    let blend = |v: &[Vec3]| v[t[0]] * s[0] + v[t[1]] * s[1] + v[t[2]] * s[2];
    let point = blend(&figure.points[k]);
    let mut normal = blend(&figure.normals[k]).unit();
    let view = (camera.eye - point).unit();
    if turned {
        normal = -normal;
    }
    let open = (layer.light[t[0]] * s[0] + layer.light[t[1]] * s[1] + layer.light[t[2]] * s[2])
        * if turned { 0.45 } else { 1.0 };
    let cut = if layer.cut.is_empty() {
        1.0
    } else {
        layer.cut[t[0]] * s[0] + layer.cut[t[1]] * s[1] + layer.cut[t[2]] * s[2]
    };
    let paint = blend(&layer.paint);
    let mut look = layer.surface.look(paint, cut);
    if let Surface::Cloth(Cloth { pattern: Pattern::Photo(k), .. }) = &layer.surface
        && let Some(swatch) = person.swatches.get(usize::from(*k))
    {
        look.albedo = look.albedo.times(swatch.at(paint));
    }
    normal = (normal + look.bump).unit();
    let facing = normal.dot(light.towards);
    let mut key = if facing > -look.wrap { (facing + look.wrap) / (1.0 + look.wrap) } else { 0.0 };
    if key > 0.0 {
        let probe = point + normal * 0.012;
        for shadow in shadows {
            let [a, b] = shadow.bounds;
            let inside = probe.x > a.x
                && probe.x < b.x
                && probe.y > a.y
                && probe.y < b.y
                && probe.z > a.z
                && probe.z < b.z;
            if inside {
                key *= shadow.reaches(probe, 0.022, light.softness * 0.6);
            }
        }
    }
    // Near the ground less of the sky arrives.
    let ground = 0.7 + 0.3 * smooth(0.0, 0.7, point.y);
    let open = open * ground;
    let mut colour = look.albedo.times(light.key * key + light.fill(normal) * (open * (0.4 + 0.6 * open)));
    if look.gloss > 0.0 {
        let half = (view + light.towards).unit();
        let shine = normal.dot(half).max(0.0);
        let shine2 = shine * shine;
        let shine8 = shine2 * shine2 * shine2 * shine2;
        let lobe = if look.tight { shine8 * shine8 * shine8 } else { shine8 };
        let rim = 1.0 - normal.dot(view).max(0.0);
        colour +=
            light.key * (look.gloss * lobe * key) + light.sky * (look.gloss * 0.25 * rim * rim * rim * open);
    }
    colour
}
