//! The weights file (`.pwt`): little-endian, everything named.
//!
//! | bytes | content |
//! |---|---|
//! | 4 | `PWT1` |
//! | 6 x 4 | `u32`: width, layers, heads, feed-forward width, memory (observations; of a state space, states a channel), number of tensors; what a network has not is 1 |
//! | a tensor | `u8` length of its name, the name (ASCII), `u8` rank, rank x `u32` sizes, the values as `f32` row-major |
//! | 4 | CRC-32 (ISO-HDLC) of all bytes before |
//!
//! Beside the network's own tensors: `lead_frames` `[1]`, `sigma_scale` `[2]` for measured and predicted joints, and for each kind of
//! detector that both were fitted for anew `error_model.NAME` `[3]`: its lead and its two scales. `shows_through.NAME` `[1]`, where there is
//! one, says how much of what such a detector goes on seeing beside the answer the answer is moved by, 0 to 1. `inertia_near` `[1]`, in parts of
//! the scale: as far off as this what the answer before foretold counts for half; 0.05 where there is none. `score_curve` `[2]` and
//! `score_curve.NAME` lead from what the network says of a joint's error to its score: a slope, and the error, in parts of the scale, at which
//! it is 1/2.

use crate::TemporalError;

const MAGIC: &[u8; 4] = b"PWT1";
const CRC32: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);

/// Sizes of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hyper {
    /// Numbers of a hidden vector.
    pub width: usize,
    /// Blocks one upon another.
    pub layers: usize,
    /// Of attention, each of `width / heads`.
    pub heads: usize,
    /// Numbers between the two products of a feed-forward part.
    pub feed_forward: usize,
    /// Observations looked back on; of a state space, states a channel.
    pub memory: usize,
}

impl Hyper {
    /// Largest size of anything: keeps a damaged file from asking for gigabytes.
    const LIMIT: usize = 4096;

    pub fn head_width(&self) -> usize {
        self.width / self.heads
    }

    fn check(&self) -> Result<(), TemporalError> {
        let sizes = [self.width, self.layers, self.heads, self.feed_forward, self.memory];
        if sizes.iter().any(|&s| s == 0 || s > Self::LIMIT) || !self.width.is_multiple_of(self.heads) {
            return Err(TemporalError::Weights { what: format!("sizes that make no network: {self:?}") });
        }
        Ok(())
    }
}

/// An open weights file.
pub struct Weights<'a> {
    pub hyper: Hyper,
    tensors: Vec<(&'a str, Vec<usize>, &'a [u8])>,
}

impl<'a> Weights<'a> {
    /// Checks the file and lists its tensors.
    pub fn open(bytes: &'a [u8]) -> Result<Self, TemporalError> {
        let wrong = |what: &str| TemporalError::Weights { what: what.to_owned() };
        let body = bytes.len().checked_sub(4).ok_or_else(|| wrong("a file of fewer than 4 bytes"))?;
        let (body, crc) = bytes.split_at(body);
        if !body.starts_with(MAGIC) {
            return Err(wrong("not a PWT1 file"));
        }
        if CRC32.checksum(body).to_le_bytes() != crc {
            return Err(wrong("damaged: the CRC does not match"));
        }
        let mut reader = Reader(&body[MAGIC.len()..]);
        let mut sizes = [0; 6];
        for size in &mut sizes {
            *size = reader.u32()? as usize;
        }
        let [width, layers, heads, feed_forward, memory, count] = sizes;
        let hyper = Hyper { width, layers, heads, feed_forward, memory };
        hyper.check()?;
        let mut tensors = Vec::new();
        for _ in 0..count {
            let name_len = reader.u8()? as usize;
            let name =
                std::str::from_utf8(reader.bytes(name_len)?).map_err(|_| wrong("a name is not text"))?;
            let rank = reader.u8()? as usize;
            let shape = (0..rank).map(|_| reader.u32().map(|v| v as usize)).collect::<Result<Vec<_>, _>>()?;
            let len = shape.iter().try_fold(4usize, |n, &s| n.checked_mul(s));
            let values = reader.bytes(len.ok_or_else(|| wrong("a tensor larger than memory"))?)?;
            // All of them, so that what a later version reads is sound too.
            if !floats(values).all(f32::is_finite) {
                return Err(wrong(&format!("'{name}' holds a value that is not finite")));
            }
            tensors.push((name, shape, values));
        }
        Ok(Self { hyper, tensors })
    }

    /// Names of the tensors that begin with `prefix`, without it.
    pub fn names_after(&self, prefix: &str) -> impl Iterator<Item = &'a str> {
        self.tensors.iter().filter_map(move |(name, ..)| name.strip_prefix(prefix))
    }

    /// How many numbers a tensor of one dimension holds, where there is one of that name.
    pub fn len(&self, name: &str) -> Option<usize> {
        self.tensors.iter().find(|(n, ..)| *n == name).map(|(_, shape, _)| shape.iter().product())
    }

    /// The values of one tensor, which must have this shape.
    pub fn take(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, TemporalError> {
        let (_, found, values) = self
            .tensors
            .iter()
            .find(|(n, ..)| *n == name)
            .ok_or_else(|| TemporalError::Weights { what: format!("tensor '{name}' is missing") })?;
        if found != shape {
            return Err(TemporalError::Weights {
                what: format!("'{name}' is {found:?}, expected {shape:?}"),
            });
        }
        Ok(floats(values).collect())
    }
}

fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.as_chunks::<4>().0.iter().map(|&b| f32::from_le_bytes(b))
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, n: usize) -> Result<&'a [u8], TemporalError> {
        let (head, tail) = self
            .0
            .split_at_checked(n)
            .ok_or_else(|| TemporalError::Weights { what: "ends in the middle of a tensor".to_owned() })?;
        self.0 = tail;
        Ok(head)
    }

    fn u8(&mut self) -> Result<u8, TemporalError> {
        Ok(self.bytes(1)?[0])
    }

    fn u32(&mut self) -> Result<u32, TemporalError> {
        let b = self.bytes(4)?;
        Ok(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    /// Writes a file as `models/train/posetrain/temporal/export.py` does.
    pub fn write(hyper: &Hyper, tensors: &[(String, Vec<usize>, Vec<f32>)]) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        let sizes = [hyper.width, hyper.layers, hyper.heads, hyper.feed_forward, hyper.memory, tensors.len()];
        for s in sizes {
            out.extend((s as u32).to_le_bytes());
        }
        for (name, shape, values) in tensors {
            out.push(name.len() as u8);
            out.extend(name.as_bytes());
            out.push(shape.len() as u8);
            shape.iter().for_each(|&s| out.extend((s as u32).to_le_bytes()));
            values.iter().for_each(|v| out.extend(v.to_le_bytes()));
        }
        let crc = CRC32.checksum(&out);
        out.extend(crc.to_le_bytes());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TINY: Hyper = Hyper { width: 4, layers: 1, heads: 2, feed_forward: 8, memory: 3 };

    fn file() -> Vec<u8> {
        testing::write(&TINY, &[("a.weight".to_owned(), vec![2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.5])])
    }

    #[test]
    fn what_is_written_is_read_and_shapes_are_checked() {
        let bytes = file();
        let w = Weights::open(&bytes).unwrap();
        assert_eq!(w.hyper, TINY);
        assert_eq!(w.take("a.weight", &[2, 3]).unwrap()[5], 6.5);
        assert!(w.take("a.weight", &[3, 2]).unwrap_err().to_string().contains("expected [3, 2]"));
        assert!(w.take("b", &[1]).unwrap_err().to_string().contains("'b' is missing"));
    }

    #[test]
    fn any_damage_is_refused() {
        let good = file();
        for i in 0..good.len() {
            let mut bad = good.clone();
            bad[i] ^= 0x10;
            assert!(Weights::open(&bad).is_err(), "byte {i}");
            assert!(Weights::open(&good[..i]).is_err(), "cut at {i}");
        }
    }

    #[test]
    fn a_value_that_is_not_finite_is_refused() {
        for bad in [f32::NAN, f32::INFINITY] {
            let bytes = testing::write(&TINY, &[("a".to_owned(), vec![2], vec![1.0, bad])]);
            let error = Weights::open(&bytes).err().unwrap().to_string();
            assert!(error.contains("'a' holds a value that is not finite"), "{error}");
        }
    }
}
