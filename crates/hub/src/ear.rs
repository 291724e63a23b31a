//! Where a camera's lines come in: a port of their own, or a key of Zenoh's.

use std::fmt;
use std::net::SocketAddr;

/// What a name of a key begins with where an address could stand.
const ZENOH: &str = "zenoh:";

/// Where one camera's lines come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ear {
    /// Datagrams at this address.
    Port(SocketAddr),
    /// What is published under this key.
    Key(String),
}

/// The key in `zenoh:KEY`; `None` where `text` does not begin so.
///
/// # Errors
/// What is wrong with the key: one camera has one, so there is no wildcard in it.
pub fn key(text: &str) -> Option<Result<&str, String>> {
    let key = text.strip_prefix(ZENOH)?;
    let is_whole = !key.is_empty() && key.split('/').all(|part| !part.is_empty());
    if is_whole && !key.contains(|c: char| c.is_whitespace() || "*$?#".contains(c)) {
        return Some(Ok(key));
    }
    Some(Err(format!("{text:?}: a key is words between slashes without *, $, ? and #, as zenoh:hall/door")))
}

impl Ear {
    /// Reads `ADDRESS:PORT` or `zenoh:KEY`.
    ///
    /// # Errors
    /// What it should have been.
    pub fn read(text: &str) -> Result<Self, String> {
        if let Some(key) = key(text) {
            return key.map(|key| Ear::Key(key.to_owned()));
        }
        text.parse().map(Ear::Port).map_err(|_| {
            format!("{text:?} is no ADDRESS:PORT; 0.0.0.0:9101 hears everybody, zenoh:hall/door is a key of Zenoh's")
        })
    }

    /// What a board has to run to be heard here.
    pub fn wants(&self) -> String {
        match self {
            Ear::Port(at) => format!("`posewire run --udp THIS-MACHINE:{} --predict capture`", at.port()),
            Ear::Key(key) => {
                format!(
                    "`posewire run --udp 127.0.0.1:9100 --predict capture` and `posewire-hub agent --to zenoh:{key}`, and does it reach this machine by multicast or by --zenoh ENDPOINT"
                )
            }
        }
    }
}

impl fmt::Display for Ear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ear::Port(at) => at.fmt(f),
            Ear::Key(key) => write!(f, "{ZENOH}{key}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_and_keys_are_read_and_nothing_else_is() {
        for text in ["0.0.0.0:9101", "[::1]:9102", "zenoh:door", "zenoh:hall/door"] {
            assert_eq!(Ear::read(text).unwrap().to_string(), text);
        }
        for (text, told) in [
            ("here", "ADDRESS:PORT"),
            ("zenoh:", "words between slashes"),
            ("zenoh:hall/*", "words between slashes"),
            ("zenoh:/hall", "words between slashes"),
            ("zenoh:hall//door", "words between slashes"),
            ("zenoh:the hall", "words between slashes"),
        ] {
            assert!(Ear::read(text).unwrap_err().contains(told), "{text}");
        }
        assert!(Ear::read("zenoh:hall/door").unwrap().wants().contains("agent --to zenoh:hall/door"));
        // Joints of now under the stamp of the light would be as far off as somebody walks meanwhile.
        for text in ["0.0.0.0:9101", "zenoh:hall/door"] {
            assert!(Ear::read(text).unwrap().wants().contains("--predict capture"), "{text}");
        }
    }
}
