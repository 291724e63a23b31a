//! The packed file: a body's mesh, its shapes, skeleton and skin, and motion. `assets/build.py` writes it, `assets/CARD.md`
//! says where each piece is from.

use std::sync::OnceLock;

use thiserror::Error;

use crate::{
    math::{Vec3, vec3},
    motion::Motion,
};

/// What every build carries.
static EMBEDDED: &[u8] = include_bytes!("../assets/people.bin");

const MAGIC: &[u8; 8] = b"PEOPLE1\0";

/// Numbers that describe a body's shape.
pub const SHAPE: usize = 10;

/// Bones that may move one vertex.
pub const INFLUENCES: usize = 4;

/// A packed file that cannot be used.
#[derive(Debug, Error)]
pub enum AssetError {
    /// It begins otherwise.
    #[error("is not a packed file of people (first bytes differ)")]
    Magic,
    /// Deflate says no, or the sum differs.
    #[error("is damaged: {0}")]
    Damaged(&'static str),
    /// A part that must be in it.
    #[error("lacks the part `{0}`, or the part has the wrong length")]
    Part(&'static str),
}

/// Traits of one sampled body.
#[derive(Debug, Clone, Copy)]
pub struct Traits {
    /// 0 male to 1 female in build.
    pub gender: f32,
    /// Years.
    pub years: u8,
    /// 0 thin to 1 heavy.
    pub weight: f32,
    /// Shares of face shapes.
    pub african: f32,
    /// Shares of face shapes.
    pub asian: f32,
}

/// All that is common to all bodies.
#[derive(Debug)]
pub struct Asset {
    /// Names of the bones, parents before children.
    pub bones: Vec<String>,
    /// Parent of each bone, none for the first.
    pub parents: Vec<Option<usize>>,
    /// The mean body at rest: left, up, forward, metres.
    pub mean: Vec<Vec3>,
    /// How one unit of each shape number moves each vertex.
    pub basis: Vec<Vec<[i8; 3]>>,
    /// Metres of one step of `basis`.
    pub scale: [f32; SHAPE],
    /// Triangles, counter-clockwise from outside.
    pub triangles: Vec<[u16; 3]>,
    /// Bones that move each vertex.
    pub influences: Vec<[(u8, f32); INFLUENCES]>,
    /// First vertex of the eyeballs, which come last.
    pub eyes: usize,
    /// Share of the sky that each vertex sees past the body at rest.
    pub light: Vec<f32>,
    heads: Vec<f32>,
    joints: Vec<f32>,
    anchors: Vec<f32>,
    /// How much each bone carries each of the 17 joints.
    pub ties: Vec<f32>,
    shapes: Vec<[f32; SHAPE]>,
    traits: Vec<Traits>,
    /// Clips for the built-in film.
    pub clips: Motion,
    /// Single poses.
    pub stills: Motion,
}

impl Asset {
    /// What the crate carries, read when first asked for.
    ///
    /// # Panics
    /// Where the crate was built with a damaged file, which its tests would have shown.
    pub fn embedded() -> &'static Self {
        static ASSET: OnceLock<Asset> = OnceLock::new();
        ASSET.get_or_init(|| Self::read(EMBEDDED).expect("the embedded asset is whole"))
    }

    /// Reads a packed file.
    ///
    /// # Errors
    /// [`AssetError`] where it is not one, is damaged or lacks a part.
    pub fn read(bytes: &[u8]) -> Result<Self, AssetError> {
        let parts = Parts::read(bytes)?;
        let (bones, parents) = read_bones(parts.get("bones")?)?;
        let mean = deltas(parts.get("mean")?, 3);
        let mean: Vec<Vec3> = mean
            .chunks_exact(3)
            .map(|p| vec3(p[0] as f32, p[1] as f32, p[2] as f32) * (1.0 / 20_000.0))
            .collect();
        let count = mean.len();
        let basis = parts.of_len("basis", SHAPE * 3 * count)?;
        let basis = (0..SHAPE)
            .map(|k| {
                let axis = |a: usize| &basis[(3 * k + a) * count..][..count];
                (0..count).map(|v| [0, 1, 2].map(|a| axis(a)[v] as i8)).collect()
            })
            .collect();
        let quads = deltas(parts.get("quads")?, 4);
        if count > usize::from(u16::MAX) || quads.iter().any(|&v| v < 0 || v as usize >= count) {
            return Err(AssetError::Part("quads"));
        }
        let triangles = quads
            .chunks_exact(4)
            .flat_map(|q| {
                let q = [0, 1, 2, 3].map(|k| q[k] as u16);
                [[q[0], q[1], q[2]], [q[0], q[2], q[3]]]
            })
            .filter(|t| t[0] != t[1] && t[1] != t[2] && t[2] != t[0])
            .collect();
        let raw = parts.of_len("influences", 2 * INFLUENCES * count)?;
        if raw[..INFLUENCES * count].iter().any(|&b| usize::from(b) >= bones.len()) {
            return Err(AssetError::Part("influences"));
        }
        let influences = (0..count)
            .map(|v| {
                std::array::from_fn(|k| {
                    (raw[k * count + v], f32::from(raw[(INFLUENCES + k) * count + v]) / 255.0)
                })
            })
            .collect();
        let scores = parts.get("scores")?;
        let step = floats(&scores[..4])[0];
        let shapes: Vec<[f32; SHAPE]> = scores[4..]
            .chunks_exact(SHAPE)
            .map(|row| std::array::from_fn(|k| f32::from(row[k] as i8) * step))
            .collect();
        let traits = parts.of_len("traits", 6 * shapes.len())?;
        let (rows, years) = traits.split_at(5 * shapes.len());
        let traits = rows
            .chunks_exact(5)
            .zip(years)
            .map(|(r, &years)| {
                let share = |k: usize| f32::from(r[k]) / 255.0;
                Traits { gender: share(0), years, weight: share(2), african: share(3), asian: share(4) }
            })
            .collect();
        let scale = floats(parts.of_len("scale", 4 * SHAPE)?);
        let n = bones.len();
        Ok(Self {
            parents,
            mean,
            basis,
            scale: std::array::from_fn(|k| scale[k]),
            triangles,
            influences,
            eyes: u32::from_le_bytes(parts.of_len("eyes", 4)?.try_into().expect("four bytes")) as usize,
            light: parts.of_len("light", count)?.iter().map(|&b| f32::from(b) / 255.0).collect(),
            heads: floats(parts.of_len("heads", 12 * (1 + SHAPE) * n)?),
            joints: floats(parts.of_len("joints", 12 * (1 + SHAPE) * pose::JOINTS)?),
            anchors: floats(parts.of_len("anchors", 12 * (1 + SHAPE) * pose::JOINTS * n)?),
            ties: floats(parts.of_len("ties", 4 * pose::JOINTS * n)?),
            shapes,
            traits,
            clips: Motion::read(parts.get("clips")?, 20.0)?,
            stills: Motion::read(parts.get("stills")?, 1.0)?,
            bones,
        })
    }

    /// Bodies that were sampled.
    pub fn bodies(&self) -> usize {
        self.shapes.len()
    }

    /// Shape and traits of a sampled body.
    pub fn shape(&self, body: usize) -> ([f32; SHAPE], Traits) {
        (self.shapes[body], self.traits[body])
    }

    /// The bone of that name.
    ///
    /// # Panics
    /// Where there is none: names are the program's own.
    pub fn bone(&self, name: &str) -> usize {
        self.bones.iter().position(|b| b == name).expect("a bone of the rig")
    }

    /// Where bones begin, at rest.
    pub fn heads(&self, shape: &[f32; SHAPE]) -> Vec<Vec3> {
        follow(&self.heads, shape)
    }

    /// COCO's joints, at rest.
    pub fn joints(&self, shape: &[f32; SHAPE]) -> Vec<Vec3> {
        follow(&self.joints, shape)
    }

    /// Each joint's places as each bone carries them, weighted: `[joint][bone]`.
    pub fn anchors(&self, shape: &[f32; SHAPE]) -> Vec<Vec3> {
        follow(&self.anchors, shape)
    }
}

/// Rows of [1 + SHAPE] times n points: the first plus the others times the shape.
fn follow(table: &[f32], shape: &[f32; SHAPE]) -> Vec<Vec3> {
    let row = table.len() / (1 + SHAPE);
    let mut out = table[..row].to_vec();
    for (k, s) in shape.iter().enumerate() {
        for (o, v) in out.iter_mut().zip(&table[(k + 1) * row..][..row]) {
            *o += s * v;
        }
    }
    out.chunks_exact(3).map(|p| vec3(p[0], p[1], p[2])).collect()
}

fn read_bones(data: &[u8]) -> Result<(Vec<String>, Vec<Option<usize>>), AssetError> {
    let wrong = AssetError::Part("bones");
    let Some((count, rest)) = data.split_at_checked(4) else { return Err(wrong) };
    let count = u32::from_le_bytes(count.try_into().expect("four bytes")) as usize;
    let Some((parents, names)) = rest.split_at_checked(count) else { return Err(wrong) };
    let parents: Vec<Option<usize>> = parents.iter().map(|&p| usize::try_from(p as i8).ok()).collect();
    let names: Vec<String> = String::from_utf8_lossy(names).lines().map(str::to_owned).collect();
    let in_order = parents.iter().enumerate().all(|(k, p)| p.is_none_or(|p| p < k));
    if names.len() == count && in_order { Ok((names, parents)) } else { Err(wrong) }
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// Zigzag differences from row to row of `width` numbers, low bytes before high ones.
pub(crate) fn deltas(bytes: &[u8], width: usize) -> Vec<i32> {
    let count = bytes.len() / 2;
    let mut out = vec![0; count];
    for k in 0..count {
        let z = i32::from(bytes[k]) | i32::from(bytes[count + k]) << 8;
        let difference = (z >> 1) ^ -(z & 1);
        out[k] = difference + if k >= width { out[k - width] } else { 0 };
    }
    out
}

/// The file's named parts.
pub(crate) struct Parts {
    body: Vec<u8>,
    places: Vec<(String, usize, usize)>,
}

impl Parts {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, AssetError> {
        let Some((head, packed)) = bytes.split_at_checked(16) else { return Err(AssetError::Magic) };
        if &head[..8] != MAGIC {
            return Err(AssetError::Magic);
        }
        let word = |k: usize| u32::from_le_bytes(head[k..k + 4].try_into().expect("four bytes"));
        let body = miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(packed, word(8) as usize)
            .map_err(|_| AssetError::Damaged("does not unpack"))?;
        if crc32fast::hash(&body) != word(12) {
            return Err(AssetError::Damaged("its sum differs"));
        }
        let (mut places, mut at) = (Vec::new(), 0);
        while at < body.len() {
            let take = |at: usize, n: usize| body.get(at..at + n).ok_or(AssetError::Damaged("ends early"));
            let name_len = usize::from(take(at, 1)?[0]);
            let name = String::from_utf8_lossy(take(at + 1, name_len)?).into_owned();
            let start = at + 1 + name_len + 4;
            let len = u32::from_le_bytes(take(start - 4, 4)?.try_into().expect("four bytes")) as usize;
            take(start, len)?;
            places.push((name, start, len));
            at = start + len;
        }
        Ok(Self { body, places })
    }

    pub(crate) fn get(&self, name: &'static str) -> Result<&[u8], AssetError> {
        let place = self.places.iter().find(|(n, ..)| n == name);
        place.map(|&(_, at, len)| &self.body[at..at + len]).ok_or(AssetError::Part(name))
    }

    fn of_len(&self, name: &'static str, len: usize) -> Result<&[u8], AssetError> {
        let part = self.get(name)?;
        if part.len() == len { Ok(part) } else { Err(AssetError::Part(name)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_file_is_small_and_whole() {
        assert!(EMBEDDED.len() <= 600_000, "{} bytes", EMBEDDED.len());
        let asset = Asset::embedded();
        assert_eq!(asset.bones.len(), 31);
        assert!(asset.mean.len() > 12_000 && asset.triangles.len() > 24_000 && asset.bodies() == 400);
        assert!(asset.influences.iter().all(|i| (i.iter().map(|w| w.1).sum::<f32>() - 1.0).abs() < 1e-4));
        // Mean joints lie inside the mean body.
        let joints = asset.joints(&[0.0; SHAPE]);
        let height = |p: &Vec3| p.y;
        let top = asset.mean.iter().map(height).fold(f32::MIN, f32::max);
        let bottom = asset.mean.iter().map(height).fold(f32::MAX, f32::min);
        assert!((1.3..1.9).contains(&(top - bottom)));
        assert!(joints.iter().all(|j| j.y > bottom && j.y < top));
    }

    #[test]
    fn damage_is_found() {
        assert!(matches!(Asset::read(b"no such thing, no such thing"), Err(AssetError::Magic)));
        assert!(matches!(Asset::read(&EMBEDDED[..EMBEDDED.len() / 2]), Err(AssetError::Damaged(_))));
        let mut bytes = EMBEDDED.to_vec();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
        assert!(matches!(Asset::read(&bytes), Err(AssetError::Damaged(_))));
    }
}
