//! What came out: rows of every set of films, and the goals of its settings.

use posewire::Tracker;
use posewire::progress::Progress;
use posewire_lab::films::{self, Goal, Outcomes, Row};
use serde_json::json;

use super::files::Files;
use super::sources::Films;
use crate::cli::shown::show;

/// A set of films.
struct Set {
    name: String,
    rows: Vec<Row>,
    /// What the first setting gave, for the others to be compared with.
    first: Outcomes,
}

/// All figures.
pub struct Measured {
    sets: Vec<Set>,
    /// By set and setting; `None` where they are not asked for.
    goals: Option<Vec<(String, String, Vec<Goal>)>>,
}

impl Measured {
    /// Nothing yet; whether goals are asked for.
    pub fn new(with_goals: bool) -> Self {
        Self { sets: Vec::new(), goals: with_goals.then(Vec::new) }
    }

    /// Takes in what a setting, or another program, gave on a set.
    pub fn add(&mut self, set: &str, setting: &str, outcomes: Outcomes) {
        let Some(known) = self.sets.iter_mut().find(|known| known.name == set) else {
            let rows = vec![Row::of(setting, &outcomes, None)];
            return self.sets.push(Set { name: set.to_owned(), rows, first: outcomes });
        };
        let first = (known.rows[0].setting.as_str(), &known.first);
        let row = Row::of(setting, &outcomes, Some(first));
        known.rows.push(row);
        if let Some(goals) = &mut self.goals {
            goals.push((set.to_owned(), setting.to_owned(), films::goals(&outcomes, &known.first)));
        }
    }

    /// Whether there is nothing to print yet.
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Prints the tables.
    ///
    /// # Errors
    /// As [`show`].
    pub fn print(&self) -> anyhow::Result<()> {
        self.sets.iter().try_for_each(|set| show(films::table(&set.name, &set.rows)))?;
        let mut goals = self.goals.iter().flatten();
        goals.try_for_each(|(set, setting, goals)| show(films::goals_table(set, setting, goals)))
    }

    /// All figures as they are kept, JSON.
    ///
    /// # Errors
    /// Figures that are none in JSON.
    pub fn figures(&self) -> serde_json::Result<String> {
        let sets: Vec<_> = self.sets.iter().map(|set| (&set.name, &set.rows)).collect();
        match &self.goals {
            Some(goals) => serde_json::to_string_pretty(&json!({"sets": sets, "goals": goals})),
            None => serde_json::to_string_pretty(&sets),
        }
    }
}

/// Runs every film of a set through the tracker.
///
/// # Errors
/// A film that cannot be had, a tracker that cannot go on, or a file that cannot be written.
pub fn measure(
    setting: &str,
    films: Films,
    tracker: &mut Tracker,
    files: &mut Files,
    progress: &Progress,
) -> anyhow::Result<Outcomes> {
    let mut outcomes = Vec::new();
    for film in films {
        let mut film = film?;
        progress.at(format_args!("{setting}: {} films, now {}", outcomes.len(), film.name()));
        let outcome = films::run(&mut *film, tracker)?;
        files.film(&outcome)?;
        outcomes.push(outcome);
    }
    Ok(Outcomes::of(outcomes))
}
