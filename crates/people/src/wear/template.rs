//! Where on limbs, trunk and head each vertex of the mean body lies.

use super::hang::limb;
use crate::{
    asset::{Asset, INFLUENCES, SHAPE},
    body::Bones,
    math::Vec3,
};

/// What is known of every vertex of the mean body: where on limbs, trunk and head it lies.
#[derive(Debug)]
pub struct Template {
    /// The rig's bones by name.
    pub bones: Bones,
    /// Share of the arms' bones.
    pub arm: Vec<f32>,
    /// Share of the legs' bones.
    pub leg: Vec<f32>,
    /// Share of head and upper neck.
    pub head: Vec<f32>,
    /// 0 shoulder, 1 elbow, 2 wrist.
    pub along_arm: Vec<f32>,
    /// 0 hip, 1 knee, 2 ankle.
    pub along_leg: Vec<f32>,
    neighbours: Vec<[u16; 8]>,
    /// Vertices of feet, of the head, and all but the hands.
    pub(super) feet: Vec<u16>,
    pub(super) skull: Vec<u16>,
    pub(super) clothed: Vec<u16>,
    /// Triangles of skin and of eyes.
    pub(super) skin: Vec<[u16; 3]>,
    pub(super) eyes: Vec<[u16; 3]>,
}

impl Template {
    /// Looks at the mean body.
    pub fn new(asset: &Asset) -> Self {
        let bones = Bones::of(asset);
        let heads = asset.heads(&[0.0; SHAPE]);
        let share = |of: &[usize]| -> Vec<f32> {
            let sum = |ties: &[(u8, f32); INFLUENCES]| {
                ties.iter().filter(|t| of.contains(&usize::from(t.0))).map(|t| t.1).sum()
            };
            asset.influences.iter().map(sum).collect()
        };
        let pairs = |list: &[[usize; 2]]| list.concat();
        let arm = share(&pairs(&[
            bones.arm,
            bones.forearm,
            bones.hand,
            bones.thumb,
            bones.fingers[0],
            bones.fingers[1],
        ]));
        let leg = share(&pairs(&[bones.thigh, bones.shin, bones.foot, bones.toe]));
        let head = share(&[bones.neck[1], bones.neck[2]]);
        let along = |a: [usize; 2], b: [usize; 2], c: [usize; 2]| -> Vec<f32> {
            let one = |p: &Vec3| {
                let s = usize::from(p.x < 0.0);
                limb(heads[a[s]], heads[b[s]], heads[c[s]], *p).0
            };
            asset.mean.iter().map(one).collect()
        };
        let along_arm = along(bones.arm, bones.forearm, bones.hand);
        let along_leg = along(bones.thigh, bones.shin, bones.foot);
        let mut neighbours: Vec<Vec<u16>> = vec![Vec::new(); asset.mean.len()];
        for t in &asset.triangles {
            for k in 0..3 {
                let (a, b) = (usize::from(t[k]), t[(k + 1) % 3]);
                if !neighbours[a].contains(&b) {
                    neighbours[a].push(b);
                }
                let (a, b) = (usize::from(b), t[k]);
                if !neighbours[a].contains(&b) {
                    neighbours[a].push(b);
                }
            }
        }
        let neighbours = neighbours
            .iter()
            .enumerate()
            .map(|(v, n)| std::array::from_fn(|k| if n.is_empty() { v as u16 } else { n[k % n.len()] }))
            .collect();
        let these =
            |is: &dyn Fn(usize) -> bool| (0..asset.mean.len()).filter(|&v| is(v)).map(|v| v as u16).collect();
        let feet = these(&|v| along_leg[v] > 1.85 && leg[v] > 0.3);
        let skull = these(&|v| head[v] > 0.4 && asset.mean[v].y > 0.66);
        let clothed = these(&|v| along_arm[v] < 2.05 || arm[v] < 0.5);
        let (eyes, skin) = asset.triangles.iter().partition(|t| usize::from(t[0]) >= asset.eyes);
        Self { bones, arm, leg, head, along_arm, along_leg, neighbours, feet, skull, clothed, skin, eyes }
    }

    /// What belongs to the embedded asset.
    pub fn embedded() -> &'static Self {
        static TEMPLATE: std::sync::OnceLock<Template> = std::sync::OnceLock::new();
        TEMPLATE.get_or_init(|| Self::new(Asset::embedded()))
    }

    /// Points of the vertices `some`, moved towards their neighbours' mean.
    pub(super) fn smoothed(&self, points: &[Vec3], some: &[u16], times: usize) -> Vec<Vec3> {
        let mut now = points.to_vec();
        let mut next = now.clone();
        for _ in 0..times {
            for &v in some {
                let v = usize::from(v);
                let sum = self.neighbours[v].iter().fold(Vec3::ZERO, |s, &k| s + now[usize::from(k)]);
                next[v] = now[v] * 0.4 + sum * (0.6 / 8.0);
            }
            std::mem::swap(&mut now, &mut next);
        }
        now
    }
}
