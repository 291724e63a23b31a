//! What is written, to files or to standard output. Nothing that is read is overwritten, and an output that ended leaves the others alone.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, ensure};

/// In the place of a path: standard output.
const STANDARD: &str = "-";

/// Refuses an output that would overwrite what is read, under whatever name.
pub fn keep<'a>(inputs: impl IntoIterator<Item = &'a Path>, output: &Path) -> Result<()> {
    for input in inputs {
        ensure!(
            output == Path::new(STANDARD) || !is_same(input, output),
            "{} would overwrite {}, which is read: name another output",
            output.display(),
            input.display()
        );
    }
    Ok(())
}

/// Whether both paths lead to one file, or would.
pub fn is_same(a: &Path, b: &Path) -> bool {
    matches!((real(a), real(b)), (Ok(a), Ok(b)) if a == b) || is_linked(a, b)
}

/// A file that is not there yet has a folder.
fn real(path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path).or_else(|_| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")))?;
        Ok(folder.join(path.file_name().unwrap_or_default()))
    })
}

/// Two names of one file.
fn is_linked(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let identity = |path: &Path| fs::metadata(path).map(|m| (m.dev(), m.ino()));
        matches!((identity(a), identity(b)), (Ok(a), Ok(b)) if a == b)
    }
    #[cfg(not(unix))]
    {
        let _ = (a, b);
        false
    }
}

/// Text that goes to a file or to standard output, as long as somebody takes it.
pub struct Text {
    /// Of the command line.
    option: &'static str,
    path: PathBuf,
    to: Box<dyn Write>,
    /// Why it ended; it takes nothing any more.
    ended: Option<io::Error>,
}

impl Text {
    /// To a file, or to standard output for `-`; `option` named it.
    pub fn create(option: &'static str, path: &Path) -> Result<Self> {
        let to: Box<dyn Write> = if path == Path::new(STANDARD) {
            Box::new(io::stdout())
        } else {
            let file = File::create(path)
                .with_context(|| format!("{option} {}: it cannot be written", path.display()))?;
            Box::new(BufWriter::new(file))
        };
        Ok(Self::to(option, path, to))
    }

    /// To whatever takes it.
    pub fn to(option: &'static str, path: &Path, to: Box<dyn Write>) -> Self {
        Self { option, path: path.to_owned(), to, ended: None }
    }

    /// Writes, unless it has ended.
    pub fn write(&mut self, text: &[u8]) {
        if self.ended.is_none() {
            self.ended = self.to.write_all(text).err();
        }
    }

    /// What was written is where it goes.
    pub fn flush(&mut self) {
        if self.ended.is_none() {
            self.ended = self.to.flush().err();
        }
    }

    /// Why it takes nothing any more; `None` as long as it does.
    pub fn ended(&mut self) -> Option<Ended> {
        let error = self.ended.take()?;
        let (option, path) = (self.option, self.path.display());
        Some(match error.kind() {
            ErrorKind::BrokenPipe => Ended::Left(format!("{option} {path}: its reader is gone")),
            _ => {
                let said = format!("{option} {path} cannot be written any more: is the disk full?");
                Ended::Failed(Error::new(error).context(said))
            }
        })
    }
}

/// Why a text takes nothing any more.
pub enum Ended {
    /// The reader of a pipe has had enough: no fault.
    Left(String),
    /// The text is not whole.
    Failed(Error),
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Left(why) => f.write_str(why),
            Ended::Failed(error) => write!(f, "{error:#}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_known_under_every_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("take.jsonl"), "a take").unwrap();
        fs::hard_link(at("take.jsonl"), at("linked.jsonl")).unwrap();
        fs::create_dir(at("more")).unwrap();
        for output in ["take.jsonl", "more/../take.jsonl", "linked.jsonl"] {
            let told = keep([&*at("take.jsonl")], &at(output)).unwrap_err().to_string();
            assert!(told.contains("take.jsonl") && told.contains("name another"), "{told}");
        }
        keep([&*at("take.jsonl")], &at("people.jsonl")).unwrap();
        keep([Path::new("-")], Path::new("-")).unwrap();
        assert!(is_same(&at("new.jsonl"), &at("more/../new.jsonl")), "neither is there yet");
    }
}
