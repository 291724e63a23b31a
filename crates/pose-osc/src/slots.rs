//! Numbers under which persons are addressed: a patch wants person 1 to stay person 1.

/// Who has which of `N` numbers. A person keeps theirs as long as they are there; who comes takes the lowest free one.
#[derive(Clone, Copy, Debug)]
pub struct Slots<const N: usize> {
    /// Identities by number; 0 where nobody is.
    pub ids: [u32; N],
}

impl<const N: usize> Default for Slots<N> {
    fn default() -> Self {
        Self { ids: [0; N] }
    }
}

impl<const N: usize> Slots<N> {
    /// Takes in the identities that are there.
    pub fn update(&mut self, there: impl Iterator<Item = u32> + Clone) {
        for id in &mut self.ids {
            if !there.clone().any(|other| other == *id) {
                *id = 0;
            }
        }
        for id in there {
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

    /// As another program gave them.
    pub fn take_over(&mut self, ids: &[u32]) {
        for (slot, id) in self.ids.iter_mut().zip(ids) {
            *slot = *id;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_keeps_their_number_and_another_programs_are_taken_over() {
        let mut slots = Slots::<3>::default();
        let mut with = |there: &[u32]| {
            slots.update(there.iter().copied());
            (slots.ids, [5, 6, 9].map(|id| slots.number(id)))
        };
        assert_eq!(with(&[5, 6]), ([5, 6, 0], [Some(1), Some(2), None]));
        assert_eq!(with(&[6]), ([0, 6, 0], [None, Some(2), None]));
        assert_eq!(with(&[6, 9, 4, 7]), ([9, 6, 4], [None, Some(2), Some(1)]), "there are three numbers");
        let mut other = Slots::<3>::default();
        other.take_over(&slots.ids[..2]);
        assert_eq!(other.ids, [9, 6, 0]);
    }
}
