//! Values that speak of whom is told of.

use std::fmt;
use std::str::FromStr;

use super::AUTO;

/// How many persons are followed at once: from 1 to [`pose::MAX_PERSONS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxPersons(usize);

impl MaxPersons {
    /// So many; `None` where nobody could follow them.
    pub fn new(persons: usize) -> Option<Self> {
        (1..=pose::MAX_PERSONS).contains(&persons).then_some(Self(persons))
    }

    /// The number.
    pub fn get(self) -> usize {
        self.0
    }
}

impl Default for MaxPersons {
    /// A living room.
    fn default() -> Self {
        Self(4)
    }
}

impl FromStr for MaxPersons {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        let persons = word.parse().map_err(|_| format!("'{word}' is not a number of persons"))?;
        Self::new(persons)
            .ok_or_else(|| format!("{persons} persons cannot be followed: from 1 to {}", pose::MAX_PERSONS))
    }
}

impl fmt::Display for MaxPersons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// From which score on somebody is a person, 0..=1; `None`: what suits the network.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MinScore(pub Option<f32>);

impl FromStr for MinScore {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        if word == AUTO {
            return Ok(Self(None));
        }
        let score = word.parse().ok().filter(|score| (0.0..=1.0).contains(score));
        score.map(|score| Self(Some(score))).ok_or_else(|| format!("'{word}' is no score: 0 to 1, or {AUTO}"))
    }
}

impl fmt::Display for MinScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(score) => score.fmt(f),
            None => f.write_str(AUTO),
        }
    }
}

/// Of how many joints a person has to consist to be told of: from 4 to 17.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinJoints(usize);

impl MinJoints {
    /// Fewer joints are of no use to anybody.
    pub const MIN: usize = 4;

    /// The number.
    pub fn get(self) -> usize {
        self.0
    }
}

impl Default for MinJoints {
    fn default() -> Self {
        Self(Self::MIN)
    }
}

impl FromStr for MinJoints {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        let joints = word.parse().ok().filter(|joints| (Self::MIN..=pose::JOINTS).contains(joints));
        joints.map(Self).ok_or_else(|| {
            format!(
                "'{word}' is no number of joints that make a person: from {} to {}",
                Self::MIN,
                pose::JOINTS
            )
        })
    }
}

impl fmt::Display for MinJoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
