//! What is worn below the waist: trousers, skirts, shoes.

use super::{
    Bottom, Fitting, Outfit, Shoes,
    hang::{self, limb, widened},
};
use crate::{
    math::{Vec3, smooth, vec3},
    surface::{Cloth, Surface},
};

impl Fitting<'_> {
    pub(super) fn bottom(&mut self, outfit: &Outfit) {
        let t = self.template;
        match &outfit.bottom {
            Bottom::Trousers { leg, waist_y, knee_m, hem_m, ease_m, cloth } => {
                let field: Vec<f32> = self
                    .asset
                    .mean
                    .iter()
                    .enumerate()
                    .map(|(v, p)| {
                        let mut f =
                            (waist_y - p.y).min(if p.y < 0.0 { (leg - t.along_leg[v]) * 0.38 } else { 9.0 });
                        if t.arm[v] > 0.05 {
                            f = -1.0;
                        }
                        f
                    })
                    .collect();
                let heads = &self.body.heads;
                let (bones, scale) = (t.bones, self.scale);
                let mean = &self.asset.mean;
                let leg_weight = &t.leg;
                let shape = |v: usize, p: Vec3| {
                    if mean[v].y > 0.0 || leg_weight[v] < 0.3 {
                        return p;
                    }
                    let s = usize::from(mean[v].x < 0.0);
                    let (along, axis) =
                        limb(heads[bones.thigh[s]], heads[bones.shin[s]], heads[bones.foot[s]], p);
                    let target = if along < 1.0 {
                        *knee_m
                    } else {
                        knee_m + (hem_m - knee_m) * (along - 1.0).min(1.0)
                    };
                    let out = widened(p, axis, target * scale * smooth(0.1, 0.6, along));
                    // Legs do not grow into each other.
                    let side = if s == 0 { 1.0 } else { -1.0 };
                    if side * out.x < 0.004 && side * p.x >= 0.0 {
                        vec3(side * (side * p.x).min(0.004), out.y, out.z)
                    } else {
                        out
                    }
                };
                let layer = self.shell(&self.smooth, &field, *ease_m, Surface::Cloth(*cloth), shape);
                self.put_on(layer, &field);
            }
            Bottom::Skirt { length, waist_y, flare, cloth } => {
                // Something under it.
                let short: Vec<f32> = (0..t.leg.len())
                    .map(|v| {
                        let p = self.asset.mean[v];
                        if t.arm[v] > 0.05 {
                            -1.0
                        } else {
                            (waist_y - p.y).min(if p.y < 0.0 { (0.3 - t.along_leg[v]) * 0.38 } else { 9.0 })
                        }
                    })
                    .collect();
                let plain = Cloth { pattern: crate::surface::Pattern::Plain, ..*cloth };
                let layer = self.shell(&self.smooth, &short, 0.003, Surface::Cloth(plain), |_, p| p);
                self.put_on(layer, &short);
                let skirt = hang::skirt(self, *length, *waist_y, *flare, *cloth);
                self.layers.push(skirt);
            }
        }
    }

    pub(super) fn shoes(&mut self, outfit: &Outfit) {
        let t = self.template;
        let Shoes { top, colour, sole } = outfit.shoes;
        if top > 3.0 {
            return;
        }
        let field: Vec<f32> = (0..t.leg.len())
            .map(|v| {
                if t.leg[v] > 0.3 && self.asset.mean[v].y < -0.3 {
                    (t.along_leg[v] - top) * 0.38
                } else {
                    -1.0
                }
            })
            .collect();
        let ground = self.body.rest.iter().map(|p| p.y).fold(f32::MAX, f32::min);
        let mean_ground = -0.819;
        let very_smooth = t.smoothed(&self.smooth, &t.feet, 24);
        let shape = |v: usize, p: Vec3| {
            // Toes become one cap; the sole lies below the foot.
            let mean = self.asset.mean[v];
            let toe = smooth(0.08, 0.13, mean.z) * smooth(-0.70, -0.74, mean.y);
            let cap = very_smooth[v] + self.normals[v] * (0.010 * self.scale);
            let mut p = p.mix(cap, toe);
            p.y -= 0.014 * self.scale * smooth(0.035, 0.0, p.y - ground);
            p
        };
        let layer =
            self.shell(&self.smooth, &field, 0.007, Surface::Shoe(colour, sole, mean_ground + 0.018), shape);
        self.put_on(layer, &field);
    }
}
