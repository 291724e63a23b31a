//! Where a camera's lines come in: a port of their own, or a key of Zenoh's.

use std::fmt;
use std::net::SocketAddr;

/// What a name of a key begins with where an address could stand.
const ZENOH: &str = "zenoh:";

/// Where one camera's lines come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// Datagrams at this address.
    Udp(SocketAddr),
    /// What is published under this key.
    Zenoh(String),
}

/// The key in `zenoh:KEY`; `None` where `text` does not begin so.
///
/// # Errors
/// What is wrong with the key: one camera has one, so there is no wildcard in it.
pub fn zenoh_key(text: &str) -> Option<Result<&str, String>> {
    let key = text.strip_prefix(ZENOH)?;
    let is_whole = !key.is_empty() && key.split('/').all(|part| !part.is_empty());
    if is_whole && !key.contains(|c: char| c.is_whitespace() || "*$?#".contains(c)) {
        return Some(Ok(key));
    }
    Some(Err(format!("{text:?}: a key is words between slashes without *, $, ? and #, as zenoh:hall/door")))
}

impl Endpoint {
    /// Reads `ADDRESS:PORT` or `zenoh:KEY`.
    ///
    /// # Errors
    /// What it should have been.
    pub fn read(text: &str) -> Result<Self, String> {
        if let Some(key) = zenoh_key(text) {
            return key.map(|key| Endpoint::Zenoh(key.to_owned()));
        }
        text.parse().map(Endpoint::Udp).map_err(|_| {
            format!("{text:?} is no ADDRESS:PORT; 0.0.0.0:9101 hears everybody, zenoh:hall/door is a key of Zenoh's")
        })
    }

    /// What the board whose lines come in here is to run, as the end of a question: "does it run …?"
    pub fn board_command(&self) -> String {
        match self {
            Endpoint::Udp(at) => format!("`posewire run --udp THIS-MACHINE:{} --predict capture`", at.port()),
            Endpoint::Zenoh(key) => {
                format!(
                    "`posewire run --udp 127.0.0.1:9100 --predict capture` and `posewire-hub agent --to zenoh:{key}`, and does it reach this machine by multicast or by --zenoh ENDPOINT"
                )
            }
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Udp(at) => at.fmt(f),
            Endpoint::Zenoh(key) => write!(f, "{ZENOH}{key}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_and_keys_are_read_and_nothing_else_is() {
        for text in ["0.0.0.0:9101", "[::1]:9102", "zenoh:door", "zenoh:hall/door"] {
            assert_eq!(Endpoint::read(text).unwrap().to_string(), text);
        }
        for (text, told) in [
            ("here", "ADDRESS:PORT"),
            ("zenoh:", "words between slashes"),
            ("zenoh:hall/*", "words between slashes"),
            ("zenoh:/hall", "words between slashes"),
            ("zenoh:hall//door", "words between slashes"),
            ("zenoh:the hall", "words between slashes"),
        ] {
            assert!(Endpoint::read(text).unwrap_err().contains(told), "{text}");
        }
        assert!(
            Endpoint::read("zenoh:hall/door").unwrap().board_command().contains("agent --to zenoh:hall/door")
        );
        // Joints of now under the stamp of the light would be as far off as somebody walks meanwhile.
        for text in ["0.0.0.0:9101", "zenoh:hall/door"] {
            assert!(Endpoint::read(text).unwrap().board_command().contains("--predict capture"), "{text}");
        }
    }
}
