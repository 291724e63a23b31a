//! Another program's answers to labelled films, judged as this one's are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pose::{Forecast, HORIZONS_US, JOINTS, JointState, MAX_PERSONS, PoseFrame, TrackedPerson};
use serde::Deserialize;

use super::{Film, FilmsError, Moment, Outcome, judge};

/// What a program answered to every frame of some films.
pub struct Answers {
    path: PathBuf,
    /// By the film's name, a frame each.
    films: BTreeMap<String, Vec<Vec<Person>>>,
}

/// A frame's answer: a line of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    film: String,
    persons: Vec<Person>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Person {
    /// The same in every frame of a film.
    id: u32,
    /// x, y in pixels of the picture, and the score; not answered where that is 0.
    joints: [[f32; 3]; JOINTS],
}

impl Answers {
    /// A line a frame, `{"film": NAME, "persons": [{"id": 1, "joints": [[x, y, score], …]}]}`, those of a film in order.
    ///
    /// # Errors
    /// [`FilmsError`] where the file cannot be read or a line is something else.
    pub fn read(path: &Path) -> Result<Self, FilmsError> {
        let text = files::read_text_at_most(path, files::MAX_LABEL_BYTES)
            .map_err(|source| FilmsError::Read { path: path.into(), source })?;
        let mut films: BTreeMap<String, Vec<Vec<Person>>> = BTreeMap::new();
        for (text, line) in text.lines().zip(1..).filter(|(text, _)| !text.trim().is_empty()) {
            let fail = |what: String| FilmsError::Answers { path: path.into(), line, what };
            let said: Line = serde_json::from_str(text).map_err(|e| fail(e.to_string()))?;
            if said.persons.len() > MAX_PERSONS {
                return Err(fail(format!("{} persons; {MAX_PERSONS} can be told of", said.persons.len())));
            }
            films.entry(said.film).or_default().push(said.persons);
        }
        Ok(Self { path: path.into(), films })
    }

    /// Judges what was answered to this film.
    ///
    /// # Errors
    /// [`FilmsError`]: frames that cannot be had, or not as many answers as frames.
    pub fn judge(&self, film: &mut dyn Film) -> Result<Outcome, FilmsError> {
        let answers = self.films.get(film.name()).map_or(&[][..], Vec::as_slice);
        let mut moments = Vec::new();
        while let Some((frame, truth)) = film.next()? {
            let mut persons = [None; MAX_PERSONS];
            for (told, person) in persons.iter_mut().zip(answers.get(moments.len()).into_iter().flatten()) {
                *told = Some(person.tracked(frame.captured_at_us));
            }
            let seq = moments.len() as u64;
            let answer = PoseFrame {
                seq,
                frame: seq,
                captured_at_us: frame.captured_at_us,
                width: frame.width,
                height: frame.height,
                persons,
                floor: None,
            };
            moments.push(Moment { truth, answer, seen: Vec::new() });
        }
        self.check(film.name(), moments.len())?;
        Ok(judge(film, &moments))
    }

    /// Says where a film of so many frames has not as many answers.
    ///
    /// # Errors
    /// [`FilmsError::Unanswered`].
    pub fn check(&self, film: &str, frames: usize) -> Result<(), FilmsError> {
        let answers = self.films.get(film).map_or(0, Vec::len);
        if answers == frames {
            return Ok(());
        }
        Err(FilmsError::Unanswered { path: self.path.clone(), film: film.to_owned(), answers, frames })
    }
}

impl Person {
    /// Only what is told of the moment of capture: nothing is known of a program's forecasts and intervals.
    fn tracked(&self, captured_at_us: i64) -> TrackedPerson {
        let score = self.joints.map(|[_, _, score]| score);
        let state = score.map(|s| if s > 0.0 { JointState::Measured } else { JointState::Absent });
        let places = self.joints.map(|[x, y, _]| [x, y]);
        let forecast = Forecast {
            captured_at_us,
            places_px: [places; HORIZONS_US.len()],
            score,
            state,
            ..Forecast::default()
        };
        let mean = score.iter().sum::<f32>() / JOINTS as f32;
        TrackedPerson { track_id: self.id, score: mean, forecast, seen: None, place: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::films::tests::{Still, places};

    fn line(film: &str, shift: f64) -> String {
        let joints: Vec<_> = places(100.0 + shift, 100.0).into_iter().map(|[x, y]| [x, y, 0.9]).collect();
        format!("{}\n", serde_json::json!({"film": film, "persons": [{"id": 3, "joints": joints}]}))
    }

    fn read(text: &str) -> Result<Answers, FilmsError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answers.jsonl");
        std::fs::write(&path, text).unwrap();
        Answers::read(&path)
    }

    #[test]
    fn what_another_program_said_is_judged_as_our_own_answers_are() {
        let other = "{\"film\": \"other\", \"persons\": []}\n";
        let nobody = "{\"film\": \"still\", \"persons\": []}\n";
        let answers = read(&[&line("still", 0.0), other, &line("still", 8.0), nobody].concat()).unwrap();
        let outcome = answers.judge(&mut Still(3)).unwrap();
        // The extent is 80 px: one answer is right, one a tenth off, one is missing.
        assert_eq!(outcome.score.pck_05.get(), Some(1.0 / 3.0));
        assert_eq!(outcome.score.missed_persons.get(), Some(1.0 / 3.0));
        assert!((outcome.score.error.get().unwrap() - (0.0 + 0.1 + 0.5) / 3.0).abs() < 1e-6);
    }

    #[test]
    fn answers_that_are_none_are_refused_with_their_line() {
        for (text, says) in [
            ("{}\n", "line 1: missing field `film`"),
            (&format!("{}{{\"film\": 1}}\n", line("still", 0.0))[..], "line 2"),
        ] {
            let said = read(text).err().unwrap().to_string();
            assert!(said.contains(says) && said.contains("a line a frame"), "{said}");
        }
        let said = read(&line("still", 0.0)).unwrap().judge(&mut Still(2)).err().unwrap().to_string();
        assert!(said.contains("1 answers to the 2 frames of 'still'"), "{said}");
    }
}
