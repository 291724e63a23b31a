//! What is worn above the waist: tops, jackets, gloves, scarves, packs.

use super::{
    Fitting, Outfit, Top,
    hang::{self, Hang, limb, widened},
};
use crate::{
    math::{Vec3, smooth, vec3},
    person::Layer,
    surface::Surface,
};

impl Fitting<'_> {
    pub(super) fn top(&mut self, outfit: &Outfit) {
        let field = self.top_field(&outfit.top);
        self.drop_hidden(&field);
        let layer = self.sleeved(&field, &outfit.top);
        self.put_on(layer, &field);
    }

    pub(super) fn jacket(&mut self, outfit: &Outfit) {
        let Some(jacket) = &outfit.jacket else { return };
        let mut field = self.top_field(&Top { vee_m: 0.0, ..*jacket });
        for (f, p) in field.iter_mut().zip(&self.asset.mean) {
            if p.z > 0.0 {
                // Open at the front, wider towards the hem.
                *f = f.min(p.x.abs() - jacket.vee_m - 0.04 * (0.5 - p.y).max(0.0));
            }
        }
        let layer = self.sleeved(&field, jacket);
        self.put_on(layer, &field);
    }

    /// Gloves, scarf, what is carried on the back.
    pub(super) fn small_things(&mut self, outfit: &Outfit) {
        let (t, mean) = (self.template, &self.asset.mean);
        if let Some(cloth) = outfit.gloves {
            let of = |v: usize| if t.arm[v] > 0.5 { (t.along_arm[v] - 1.9) * 0.24 } else { -1.0 };
            let field: Vec<f32> = (0..mean.len()).map(of).collect();
            let layer = self.shell(&self.body.rest, &field, 0.003, Surface::Cloth(cloth), |_, p| p);
            self.put_on(layer, &field);
        }
        if let Some(cloth) = outfit.scarf {
            let of = |v: usize| {
                let p = mean[v];
                let off = vec3(p.x, 0.0, p.z - 0.01).length();
                if t.arm[v] > 0.3 { -1.0 } else { (0.615 - p.y).min(p.y - 0.53).min(0.11 - off) }
            };
            let field: Vec<f32> = (0..mean.len()).map(of).collect();
            // Two rolls.
            let shape = |v: usize, p: Vec3| {
                let out = vec3(p.x, 0.0, p.z - 0.01).unit();
                p + out * (0.012 * self.scale * crate::math::sin((mean[v].y - 0.53) * 74.0).abs())
            };
            let layer = self.shell(&self.smooth, &field, 0.03, Surface::Cloth(cloth), shape);
            self.layers.push(layer);
        }
        if let Some((cloth, half)) = outfit.pack {
            let pack = hang::pack(self, half, cloth);
            self.layers.push(pack);
        }
    }

    /// Height of the neck's base, the waist, and the crotch on the mean body.
    fn top_field(&self, top: &Top) -> Vec<f32> {
        let t = self.template;
        let neck = vec3(0.0, 0.575, 0.02);
        self.asset
            .mean
            .iter()
            .enumerate()
            .map(|(v, p)| {
                let mut field = if t.arm[v] > 0.02 || p.x.abs() > 0.15 && p.y > 0.2 {
                    (top.sleeve - t.along_arm[v]) * 0.24
                } else {
                    9.0
                };
                if t.arm[v] < 0.5 {
                    field = field.min(p.y - top.hem_y);
                }
                let d = *p - neck;
                let hole = vec3(d.x * 0.92, d.y * 0.9, d.z).length() - top.neck_m;
                field = field.min(hole).min(0.60 + top.collar_m - p.y);
                if p.z > 0.02 && top.vee_m > 0.0 {
                    field = field.min((neck.y - top.vee_m + 1.7 * p.x.abs() - p.y) * 0.5);
                }
                if t.head[v] > 0.6 && top.collar_m < 0.02 || p.z > 0.095 && p.y > 0.565 {
                    field = field.min(-0.02);
                }
                if top.sleeve < 0.1 {
                    // Straps: the shoulder's end stays bare.
                    field = field
                        .min(0.125 - p.x.abs() + 0.3 * (0.42 - p.y).max(0.0))
                        .min((0.3 - t.arm[v]) * 0.2);
                }
                field
            })
            .collect()
    }

    fn sleeved(&self, field: &[f32], top: &Top) -> Layer {
        let hang = self.hang(field, top);
        let (t, heads) = (self.template, &self.body.heads);
        let b = t.bones;
        let shape = |v: usize, p: Vec3| {
            if t.arm[v] > 0.3 {
                let s = usize::from(self.asset.mean[v].x < 0.0);
                let (along, axis) = limb(heads[b.arm[s]], heads[b.forearm[s]], heads[b.hand[s]], p);
                let wide = top.sleeve_m * self.scale * smooth(0.15, 0.5, along) * smooth(0.3, 0.8, t.arm[v]);
                return widened(p, axis, wide);
            }
            hang.apply(p, top.loose * (1.0 - smooth(0.0, 0.4, t.arm[v])))
        };
        self.shell(&self.smooth, field, top.ease_m, Surface::Cloth(top.cloth), shape)
    }

    fn hang(&self, field: &[f32], top: &Top) -> Hang {
        let t = self.template;
        let inside = |v: usize| field[v] > -0.03 && t.arm[v] < 0.25;
        let points = (0..field.len())
            .filter(|&v| inside(v))
            .map(|v| self.smooth[v] + self.normals[v] * (top.ease_m * self.scale));
        let armpit = self.body.heads[t.bones.arm[0]].y - 0.07 * self.scale;
        let from = self.body.heads[t.bones.hips].y - 0.3 * self.scale;
        Hang::new(points, from, armpit, top.slope)
    }
}
