//! Numbers under which persons are addressed: a patch wants person 1 to stay person 1.

use pose::{MAX_PERSONS, PoseFrame};

/// Who has which number. A person keeps theirs as long as they are there; who comes takes the lowest free one.
#[derive(Debug, Default)]
pub(super) struct Slots {
    /// Identities; 0 where nobody is.
    pub ids: [u32; MAX_PERSONS],
}

impl Slots {
    /// Takes in who is there.
    pub fn update(&mut self, frame: &PoseFrame) {
        let there = || frame.persons.iter().flatten().map(|person| person.track_id);
        for id in &mut self.ids {
            if !there().any(|other| other == *id) {
                *id = 0;
            }
        }
        for id in there() {
            if !self.ids.contains(&id)
                && let Some(free) = self.ids.iter_mut().find(|id| **id == 0)
            {
                *free = id;
            }
        }
    }

    /// The number of the identity `id`, from 1.
    pub fn number(&self, id: u32) -> Option<usize> {
        self.ids.iter().position(|other| *other == id).map(|place| place + 1)
    }
}
