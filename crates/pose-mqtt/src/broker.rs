//! The address of a broker: `mqtt://[USER[:PASSWORD]@]HOST[:PORT]`, user and password percent-encoded where need be.

use std::fmt;
use std::str::FromStr;

use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};

/// Where MQTT without encryption is listened for.
const PORT: u16 = 1883;

/// Where a broker is and who one is to it; empty for none. What is shown of it hides the password.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Broker {
    /// As it was given; empty for none.
    text: String,
    /// A name or an address; of version 6 without brackets.
    pub host: String,
    /// Of TCP.
    pub port: u16,
    /// User and password, where they were given.
    pub login: Option<(String, String)>,
}

impl Broker {
    /// Itself, where one is given.
    pub fn get(&self) -> Option<&Self> {
        Some(self).filter(|broker| !broker.text.is_empty())
    }
}

impl FromStr for Broker {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        if text.starts_with("mqtts://") {
            return Err("encryption is not built in: mqtts:// cannot be used; have a broker on this machine bridge to the other".into());
        }
        let wrong = || {
            // Without what was given: there may be a password in it.
            "this is no address of a broker: give mqtt://[USER:PASSWORD@]HOST[:PORT], as in mqtt://192.168.1.10".to_owned()
        };
        let wrong_code = || {
            "the user or the password of this broker is no text in UTF-8 once its codes are read: write %25 for each % that begins none, as in 100%25ab".to_owned()
        };
        let rest = text.strip_prefix("mqtt://").ok_or_else(wrong)?;
        // A password may have an @ in it, a host not.
        let (login, at) = rest.rsplit_once('@').map_or((None, rest), |(login, at)| (Some(login), at));
        let at = at.strip_suffix('/').unwrap_or(at);
        let (host, port) = match at.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, port)) => (host, Some(port.strip_prefix(':').ok_or_else(wrong)?)),
            None => at.split_once(':').map_or((at, None), |(host, port)| (host, Some(port))),
        };
        let port = port.map_or(Ok(PORT), |port| port.parse().map_err(|_| wrong()))?;
        if host.is_empty() || port == 0 || host.contains('/') {
            return Err(wrong());
        }
        // As in every URL: %40 is an @. A % that begins no such code stays what it is.
        let decoded =
            |text| percent_decode_str(text).decode_utf8().map(String::from).map_err(|_| wrong_code());
        let login = match login {
            Some(login) => {
                let (user, password) = login.split_once(':').unwrap_or((login, ""));
                Some((decoded(user)?, decoded(password)?))
            }
            None => None,
        };
        Ok(Self { text: text.into(), host: host.into(), port, login })
    }
}

impl TryFrom<String> for Broker {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// As it is shown: without the password.
impl From<Broker> for String {
    fn from(broker: Broker) -> Self {
        broker.to_string()
    }
}

impl fmt::Display for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.text.is_empty() {
            return Ok(());
        }
        // As it was given: decoded it may have a : or an end of line in it.
        let login = self.text.strip_prefix("mqtt://").and_then(|rest| rest.rsplit_once('@'));
        let user = login.and_then(|(login, _)| login.split(':').next());
        let user = user.map(|user| format!("{user}@")).unwrap_or_default();
        match self.host.contains(':') {
            true => write!(f, "mqtt://{user}[{}]:{}", self.host, self.port),
            false => write!(f, "mqtt://{user}{}:{}", self.host, self.port),
        }
    }
}

impl fmt::Debug for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Broker({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_apart_and_its_password_never_shown() {
        let login = |user: &str, password: &str| Some((user.to_owned(), password.to_owned()));
        for (text, host, port, known, shown) in [
            ("mqtt://broker", "broker", 1883, None, "mqtt://broker:1883"),
            ("mqtt://10.0.0.2:2883/", "10.0.0.2", 2883, None, "mqtt://10.0.0.2:2883"),
            ("mqtt://[::1]", "::1", 1883, None, "mqtt://[::1]:1883"),
            ("mqtt://[::1]:99", "::1", 99, None, "mqtt://[::1]:99"),
            ("mqtt://me@broker", "broker", 1883, login("me", ""), "mqtt://me@broker:1883"),
            ("mqtt://me:p@:s@broker:1", "broker", 1, login("me", "p@:s"), "mqtt://me@broker:1"),
            ("mqtt://me:p%40ss%2fw%3A1@b", "b", 1883, login("me", "p@ss/w:1"), "mqtt://me@b:1883"),
            ("mqtt://a%3Ab:100%25@b", "b", 1883, login("a:b", "100%"), "mqtt://a%3Ab@b:1883"),
            ("mqtt://me:100%@b", "b", 1883, login("me", "100%"), "mqtt://me@b:1883"),
            ("mqtt://me:%zz%4+1@b", "b", 1883, login("me", "%zz%4+1"), "mqtt://me@b:1883"),
        ] {
            let broker: Broker = text.parse().unwrap();
            assert_eq!((&*broker.host, broker.port, &broker.login), (host, port, &known), "{text}");
            assert_eq!(
                (broker.to_string(), format!("{broker:?}")),
                (shown.into(), format!("Broker({shown})"))
            );
        }
        for text in
            ["broker", "mqtt://", "mqtt://a:secret@:1883", "mqtt://a:0", "mqtt://a:x", "mqtt://a:secret@b/c"]
        {
            let told = text.parse::<Broker>().unwrap_err();
            assert!(told.contains("mqtt://") && !told.contains("secret"), "{text}: {told}");
        }
        let told = "mqtt://me:secret%ff@b".parse::<Broker>().unwrap_err();
        assert!(told.contains("%25") && !told.contains("secret"), "{told}");
        assert!("mqtts://b".parse::<Broker>().unwrap_err().contains("encryption"));
        assert_eq!(Broker::default().get(), None);
    }
}
