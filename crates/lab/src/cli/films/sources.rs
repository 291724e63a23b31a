//! What is measured on: films drawn here, a folder of labelled ones, and what other programs answered to these.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use people::motion::Motion;
use posewire_lab::films::{self, Answers, Film, FilmsError, Labelled, Outcomes, Rendered, Take};

use super::{Args, CROSS, RENDERED};

/// Persons, seconds and seeds of the films that show people who cross: in one alone a single person who is long hidden decides.
const CROSSING: (usize, f32, RangeInclusive<u64>) = (3, 12.0, 1..=8);

/// Films of one set, one after another; nothing of a film is drawn or read before it is its turn.
pub type Films<'a> = Box<dyn Iterator<Item = Result<Box<dyn Film>, FilmsError>> + 'a>;

/// Everything that is read, whole and checked.
pub struct Sources {
    motion: Option<Arc<Motion>>,
    /// The set's name and the files of labels.
    labelled: Option<(String, Vec<PathBuf>)>,
    answers: Vec<(String, Answers)>,
}

impl Sources {
    /// Reads what can be wrong: motion, labels and other programs' answers, one to every frame.
    ///
    /// # Errors
    /// What cannot be read, or is not what it should be.
    pub fn read(args: &Args) -> anyhow::Result<Self> {
        let motion = args.motion.as_ref().map(|path| {
            let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
            let motion = Motion::read_file(&bytes).with_context(|| path.display().to_string())?;
            anyhow::Ok(Arc::new(motion))
        });
        let answers = args.answers.iter().map(|(name, path)| Ok((name.clone(), Answers::read(path)?)));
        let answers: Vec<(String, Answers)> = answers.collect::<anyhow::Result<_>>()?;
        let mut labelled = None;
        if let (Some(name), Some(folder)) = (args.labelled_set()?, &args.films) {
            let labels = films::labelled(folder)?;
            // One that is broken would end it after all films before it.
            for path in &labels {
                let film = Labelled::open(path)?;
                answers.iter().try_for_each(|(_, answers)| answers.check(film.name(), film.frames()))?;
            }
            labelled = Some((name, labels));
        }
        Ok(Self { motion: motion.transpose()?, labelled, answers })
    }

    /// Every set with its films; labelled ones last.
    pub fn sets<'a>(&'a self, args: &'a Args) -> Vec<(&'a str, Films<'a>)> {
        let mut sets: Vec<(&str, Films)> = Vec::new();
        if args.rendered > 0 {
            sets.push((RENDERED, Box::new(self.rendered(args))));
        }
        if args.goals {
            sets.push((CROSS, Box::new(crossing())));
        }
        if let Some((name, labels)) = &self.labelled {
            sets.push((name, Box::new(labels.iter().map(|path| boxed(Labelled::open(path))))));
        }
        sets
    }

    fn rendered<'a>(
        &'a self,
        args: &'a Args,
    ) -> impl Iterator<Item = Result<Box<dyn Film>, FilmsError>> + 'a {
        (args.seed..args.seed + args.rendered).map(|seed| {
            let Args { persons, fps, size, dropped, compressed, .. } = args;
            let take = Take::drawn(seed, persons, args.film_seconds(), fps, size, dropped, *compressed);
            boxed(Rendered::of(take, self.motion.as_ref()))
        })
    }

    /// What other programs answered to the labelled films, with the name of the films' set.
    pub fn answered<'a>(&'a self) -> impl Iterator<Item = Result<(&'a str, &'a str, Outcomes), FilmsError>> {
        let each = |(set, labels): &'a (String, Vec<PathBuf>)| {
            self.answers.iter().map(move |(program, answers)| {
                let outcomes = labels.iter().map(|path| answers.judge(&mut Labelled::open(path)?));
                Ok((set.as_str(), program.as_str(), Outcomes::of(outcomes.collect::<Result<_, _>>()?)))
            })
        };
        self.labelled.iter().flat_map(each)
    }
}

fn crossing() -> impl Iterator<Item = Result<Box<dyn Film>, FilmsError>> {
    let (persons, seconds, seeds) = CROSSING;
    seeds.map(move |seed| boxed(Rendered::new(Take { persons, ..Take::new(seed, (30.0 * seconds) as u64) })))
}

fn boxed(film: Result<impl Film + 'static, FilmsError>) -> Result<Box<dyn Film>, FilmsError> {
    film.map(|film| Box::new(film) as Box<dyn Film>)
}
