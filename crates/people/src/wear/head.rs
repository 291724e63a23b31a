//! Hair and hats.

use super::{Fitting, Hair, Hat, Outfit, hang};
use crate::{
    math::{Vec3, smooth, vec3},
    surface::{Cloth, Surface},
};

impl Fitting<'_> {
    pub(super) fn head(&mut self, outfit: &Outfit) {
        let t = self.template;
        let mean = &self.asset.mean;
        let Hair { style, colour, thick_m, length_m, streaks } = outfit.hair;
        // Hairline: high over the face, down past the temples, low behind.
        let line = |p: Vec3| {
            let z = p.z - 0.05;
            let knots = [
                (-0.15, 0.60),
                (-0.06, 0.605),
                (-0.035, 0.63),
                (-0.008, 0.70),
                (0.02, 0.705),
                (0.055, 0.735),
                (0.075, 0.752),
                (0.11, 0.757),
            ];
            let mut y = knots[0].1;
            for w in knots.windows(2) {
                if z >= w[0].0 {
                    y = w[0].1 + (w[1].1 - w[0].1) * ((z - w[0].0) / (w[1].0 - w[0].0)).min(1.0);
                }
            }
            y
        };
        let recede = outfit.recede;
        let hat_y = match outfit.hat {
            Hat::None => 9.0,
            Hat::Beanie(_) => 0.722,
            Hat::Cap(_) => 0.735,
        };
        let field: Vec<f32> = (0..mean.len())
            .map(|v| {
                let p = mean[v];
                if t.head[v] < 0.5 || v >= self.asset.eyes {
                    return -1.0;
                }
                // Ears stay free.
                let ear = vec3(p.x.abs() - 0.078, p.y - 0.672, p.z - 0.045).length();
                let bald = recede * (smooth(0.0, 0.10, p.z + 0.01) * 0.07 + 0.03 * smooth(0.74, 0.79, p.y));
                let crown = if recede > 0.9 { 0.755 - p.y } else { 9.0 };
                (p.y - line(p) - bald)
                    .min(ear - if style == 0 { 0.026 } else { 0.02 })
                    .min(crown)
                    .min(hat_y + 0.012 - hat_slope(p) - p.y)
            })
            .collect();
        if style < 9 {
            let shape = |v: usize, p: Vec3| {
                let lump =
                    crate::noise::at(mean[v] * 38.0).x * 0.25 + crate::noise::at(mean[v] * 14.0).y * 0.2;
                let up = 0.6 + 0.5 * smooth(0.68, 0.80, mean[v].y);
                p + self.normals[v] * (thick_m * self.scale * up * smooth(0.0, 0.03, field[v]) * (1.0 + lump))
            };
            let layer = self.shell(&self.smooth, &field, 0.002, Surface::Hair(colour, streaks), shape);
            self.layers.push(layer);
            if style >= 2 {
                let long = hang::long_hair(self, style, length_m, thick_m, colour, streaks);
                self.layers.extend(long);
            }
        }
        match outfit.hat {
            Hat::None => {}
            Hat::Beanie(cloth) => self.hat(cloth, 0.722, 0.013 + thick_m.min(0.02), false),
            Hat::Cap(cloth) => self.hat(cloth, 0.735, 0.011 + thick_m.min(0.02), true),
        }
    }

    fn hat(&mut self, cloth: Cloth, line_y: f32, off_m: f32, has_brim: bool) {
        let t = self.template;
        let mean = &self.asset.mean;
        let field: Vec<f32> = (0..mean.len())
            .map(|v| {
                let p = mean[v];
                if t.head[v] < 0.5 || v >= self.asset.eyes { -1.0 } else { p.y - line_y + hat_slope(p) }
            })
            .collect();
        let rounder = t.smoothed(&self.smooth, &t.skull, 6);
        let layer = self.shell(&rounder, &field, off_m, Surface::Cloth(cloth), |_, p| p);
        self.layers.push(layer);
        if has_brim {
            let brim = hang::brim(self, line_y, off_m, cloth);
            self.layers.push(brim);
        }
    }
}

/// How much lower a hat sits behind than over the brow.
fn hat_slope(p: Vec3) -> f32 {
    0.25 * (0.06 - p.z).clamp(0.0, 0.08)
}
