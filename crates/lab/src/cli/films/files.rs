//! Where figures, tracks and boxes go: opened before anything is measured, so that a wrong path costs no hours.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use posewire::files::Replacement;
use posewire_lab::films::Outcome;
use serde::Serialize;

use super::Args;

/// The files that were asked for.
pub struct Files {
    /// What stood there stays until there are figures.
    json: Option<Replacement>,
    tracks: Option<BufWriter<File>>,
    boxes: Option<BufWriter<File>>,
}

impl Files {
    /// Opens them; what is read must have been read before: lines of tracks and boxes take the place of what stood there at once.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn open(args: &Args) -> anyhow::Result<Self> {
        let cannot = |option: &str, path: &Path| {
            format!("{option} {}: cannot be written: name another file", path.display())
        };
        let json =
            args.json.as_ref().map(|path| Replacement::create(path).with_context(|| cannot("--json", path)));
        let lines = |option: &str, path: &Option<PathBuf>| {
            let file = path.as_ref().map(|path| File::create(path).with_context(|| cannot(option, path)));
            anyhow::Ok(file.transpose()?.map(BufWriter::new))
        };
        Ok(Self {
            json: json.transpose()?,
            tracks: lines("--tracks", &args.tracks)?,
            boxes: lines("--boxes", &args.boxes)?,
        })
    }

    /// Writes what one film gave.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn film(&mut self, outcome: &Outcome) -> anyhow::Result<()> {
        lines(&mut self.tracks, outcome.tracks()).context("cannot write the tracks")?;
        lines(&mut self.boxes, outcome.boxes()).context("cannot write the boxes")
    }

    /// Writes the figures, where they are to be kept.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn figures(self, figures: &str) -> anyhow::Result<()> {
        let Some(mut file) = self.json else { return Ok(()) };
        file.write_all(figures.as_bytes()).and_then(|()| file.commit()).context("cannot write the figures")
    }
}

/// A line of JSON each. A run that is stopped leaves whole films.
fn lines(file: &mut Option<BufWriter<File>>, records: &[impl Serialize]) -> std::io::Result<()> {
    let Some(file) = file else { return Ok(()) };
    for record in records {
        writeln!(file, "{}", serde_json::to_string(record)?)?;
    }
    file.flush()
}
