//! What a display says beside the picture.

use std::sync::Arc;

use pose::{MAX_PERSONS, PoseFrame};

use crate::output::{Source, Vitals};

/// A person in the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Stable identity, from 1.
    pub track_id: u32,
    /// The person's own score, 0..=1.
    pub score: f32,
}

/// How the tracker is and whom it sees, as plain values. Cloning one allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// How the tracker is, where that is known.
    pub vitals: Option<Vitals>,
    /// Who is in the picture; `None` from the first free place on.
    pub persons: [Option<Seen>; MAX_PERSONS],
    /// The size of the source's pictures, pixels; 0 before the first.
    pub image_px: [usize; 2],
    /// What the user calls the source: a file, a device.
    pub label: Arc<str>,
}

impl Status {
    /// Takes over who is in `poses`.
    pub fn see(&mut self, poses: &PoseFrame) {
        self.image_px = [poses.width as usize, poses.height as usize];
        self.see_persons(
            poses.persons.iter().flatten().map(|p| Seen { track_id: p.track_id, score: p.score }),
        );
    }

    /// Takes over these persons, and no others.
    pub fn see_persons(&mut self, mut persons: impl Iterator<Item = Seen>) {
        self.persons = std::array::from_fn(|_| persons.next());
    }

    /// Where pictures come from, in a few words.
    pub fn source(&self) -> &str {
        let source = self.vitals.map_or(Source::Replay, |v| v.source);
        let is_named = matches!(source, Source::Camera | Source::Replay) && !self.label.is_empty();
        if is_named { &self.label } else { source.name() }
    }

    /// Whether the camera is gone, or not there yet.
    pub fn is_lost(&self) -> bool {
        self.vitals.is_some_and(|v| v.source == Source::Lost)
    }

    /// Engine and kernels: `int8 avx2`.
    pub fn engine(&self) -> &str {
        self.vitals.as_ref().map_or("", Vitals::engine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_called_by_its_name_while_it_is_the_one_that_is_seen() {
        let shown = |label: &str, source| {
            let vitals = Some(Vitals { source, ..Vitals::default() });
            Status { label: label.into(), vitals, ..Status::default() }.source().to_owned()
        };
        assert_eq!(shown("/dev/video0", Source::Camera), "/dev/video0");
        assert_eq!(shown("", Source::Camera), "camera");
        assert_eq!(shown("/dev/video0", Source::Lost), "camera lost");
        assert_eq!(shown("/dev/video0", Source::BuiltIn), "built-in clip");
    }
}
