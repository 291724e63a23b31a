//! Why something failed: what the stages' errors carry beside their kind.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Words, the error that led to them, or an error alone, whose words are good enough.
///
/// `{}` says what stands here, `{:#}` also what led to it: whoever prints an error's [`source`](Error::source) too, as [`Chain`] and `anyhow` do, prints
/// each once.
#[derive(Clone)]
pub struct Reason(Inner);

#[derive(Clone)]
enum Inner {
    Words { words: String, cause: Option<Cause> },
    Error(Cause),
}

/// Shared: a source that stays away gives the same reason at every look.
type Cause = Arc<dyn Error + Send + Sync>;

impl Reason {
    /// What was tried, or what is wrong, and the error that led to it.
    pub fn new(words: impl Into<String>, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(Inner::Words { words: words.into(), cause: Some(cause.into().into()) })
    }

    /// An error that says what is wrong and where.
    pub fn of(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(Inner::Error(error.into().into()))
    }

    /// The error itself, for who goes by its kind.
    pub fn error(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            Inner::Words { cause, .. } => cause.as_ref().map(|cause| &**cause as _),
            Inner::Error(error) => Some(&**error),
        }
    }

    /// The same with where it happened in front.
    #[must_use]
    pub fn within(self, place: impl fmt::Display) -> Self {
        Self(match self.0 {
            Inner::Words { words, cause } => Inner::Words { words: format!("{place}: {words}"), cause },
            Inner::Error(error) => Inner::Words { words: place.to_string(), cause: Some(error) },
        })
    }
}

impl From<String> for Reason {
    fn from(words: String) -> Self {
        Self(Inner::Words { words, cause: None })
    }
}

impl From<&str> for Reason {
    fn from(words: &str) -> Self {
        words.to_owned().into()
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Inner::Words { words, .. } => f.write_str(words)?,
            Inner::Error(error) => write!(f, "{error}")?,
        }
        match self.source() {
            Some(source) if f.alternate() => write!(f, ": {}", Chain(source)),
            _ => Ok(()),
        }
    }
}

/// As a test prints it.
impl fmt::Debug for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", format!("{self:#}"))
    }
}

impl Error for Reason {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            Inner::Words { .. } => self.error(),
            Inner::Error(error) => error.source(),
        }
    }
}

/// An error and what led to it, in one line for a log.
pub struct Chain<'a>(pub &'a (dyn Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = self.0.source();
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn full() -> io::Error {
        io::ErrorKind::StorageFull.into()
    }

    #[test]
    fn what_led_to_it_is_said_once_and_stays_typed() {
        let reason = Reason::new("cannot be created", full()).within("--mcap a.mcap");
        let said = "--mcap a.mcap: cannot be created: no storage space";
        assert_eq!(reason.to_string(), "--mcap a.mcap: cannot be created");
        assert_eq!([format!("{reason:#}"), Chain(&reason).to_string()], [said, said]);
        for error in [reason.source(), reason.error(), Reason::of(full()).error()] {
            let kind = error.and_then(|error| error.downcast_ref()).map(io::Error::kind);
            assert_eq!(kind, Some(io::ErrorKind::StorageFull));
        }
    }

    #[test]
    fn an_error_alone_is_its_own_words() {
        let reason = Reason::of(full());
        assert_eq!((reason.to_string(), reason.source().is_none()), ("no storage space".to_owned(), true));
        let placed = reason.within("out.mp4");
        assert_eq!(format!("{placed:#}"), "out.mp4: no storage space");
        assert!(placed.source().is_some_and(|cause| cause.is::<io::Error>()));
        assert_eq!(format!("{:#}", Reason::from("no such address").within("udp")), "udp: no such address");
    }
}
