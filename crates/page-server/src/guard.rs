//! Who may see the page.
//!
//! On the loopback everybody on this machine may: requests for other host names are refused, since a page elsewhere could have a
//! browser send them (DNS rebinding). On another address only those who have the link with its token, new with every start. A
//! WebSocket is also asked where it comes from: browsers let any page open one.

use std::io;
use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, Uri, header};

use crate::link_host::link_host;

/// Bytes of a token: nobody guesses sixteen.
const TOKEN_BYTES: usize = 16;

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It asks for another host than this machine.
    Host,
    /// A page from elsewhere sends it.
    Origin,
    /// It has no token, or a wrong one.
    Token,
}

impl Refusal {
    /// The body of the answer.
    pub fn message(self) -> &'static str {
        match self {
            Self::Host => "this page serves this machine only\n",
            Self::Origin => "this page answers to itself only\n",
            Self::Token => "open the whole link that the program has printed, with its token\n",
        }
    }
}

/// What every request is asked for.
#[derive(Debug)]
pub(crate) struct Guard {
    /// Hexadecimal; `None` on the loopback.
    token: Option<String>,
    address: SocketAddr,
    /// The name of the cookie that keeps the token out of addresses once the page is open. Browsers hold cookies by host, whatever the
    /// port: two pages of one board would overwrite each other's.
    cookie: String,
}

impl Guard {
    /// For a server that listens on `address`.
    ///
    /// # Errors
    /// The system has no randomness to give.
    pub fn of(address: SocketAddr) -> io::Result<Self> {
        let cookie = format!("posewire-{}", address.port());
        if address.ip().is_loopback() {
            return Ok(Self { token: None, address, cookie });
        }
        let mut random = [0; TOKEN_BYTES];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        Ok(Self { token: Some(random.map(|byte| format!("{byte:02x}")).concat()), address, cookie })
    }

    /// What a browser opens, on another machine too where that is let in.
    pub fn link(&self) -> String {
        match &self.token {
            None => format!("http://{}/", self.address),
            Some(token) => format!("http://{}/?token={token}", link_host(self.address)),
        }
    }

    /// The header that a page is given with: its later requests then carry the token by themselves.
    pub fn cookie(&self) -> Option<String> {
        let token = self.token.as_ref()?;
        Some(format!("{}={token}; HttpOnly; SameSite=Strict; Path=/", self.cookie))
    }

    /// Whether a request may be answered.
    ///
    /// # Errors
    /// [`Refusal`]: what is wrong with it.
    pub fn admit(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let host = text(header::HOST).unwrap_or_default();
        // A browser names the page's own scheme and host; what is no browser names nothing.
        if text(header::ORIGIN)
            .is_some_and(|origin| origin.split_once("://").is_none_or(|(_, from)| from != host))
        {
            return Err(Refusal::Origin);
        }
        let Some(token) = &self.token else {
            return if is_local_name(host) { Ok(()) } else { Err(Refusal::Host) };
        };
        let in_query = uri
            .query()
            .into_iter()
            .flat_map(|query| query.split('&'))
            .filter_map(|pair| pair.strip_prefix("token="));
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let in_cookies = cookies.flat_map(|all| all.split(';')).filter_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == self.cookie).then_some(value)
        });
        // Each is compared, so that neither place nor number tells anything by its time.
        let is_known = in_query.chain(in_cookies).fold(false, |known, given| known | is_equal(given, token));
        if is_known { Ok(()) } else { Err(Refusal::Token) }
    }
}

/// Compares in a time that depends on the lengths alone.
fn is_equal(given: &str, token: &str) -> bool {
    let differences = given.bytes().zip(token.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    given.len() == token.len() && std::hint::black_box(differences) == 0
}

/// Whether a request's `Host` names this machine's own loopback.
fn is_local_name(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    bare.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(header::HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    #[test]
    fn the_loopback_serves_its_own_names_and_pages_alone() {
        let guard = Guard::of(([127, 0, 0, 1], 8080).into()).unwrap();
        let ask = |pairs: &[(header::HeaderName, &str)]| guard.admit(&Uri::from_static("/"), &headers(pairs));
        for host in ["localhost", "LOCALHOST:8080", "127.0.0.1:80", "127.3.2.1", "[::1]:9"] {
            assert_eq!(ask(&[(header::HOST, host)]), Ok(()), "{host}");
        }
        for host in
            ["evil.example:8080", "10.0.0.1", "", "127.0.0.1.evil.example", "localhost.evil.example:80"]
        {
            assert_eq!(ask(&[(header::HOST, host)]), Err(Refusal::Host), "{host}");
        }
        assert_eq!(ask(&[]), Err(Refusal::Host));
        let from = |origin| ask(&[(header::HOST, "localhost:8080"), (header::ORIGIN, origin)]);
        assert_eq!(from("http://localhost:8080"), Ok(()));
        for origin in
            ["http://evil.example", "http://localhost:9090", "null", "http://localhost:8080.evil.example"]
        {
            assert_eq!(from(origin), Err(Refusal::Origin), "{origin}");
        }
    }

    #[test]
    fn other_addresses_ask_for_the_token_in_the_link_or_the_cookie() {
        let address = ([192, 0, 2, 7], 8080).into();
        let guard = Guard::of(address).unwrap();
        let link = guard.link();
        let token = link.strip_prefix("http://192.0.2.7:8080/?token=").unwrap();
        assert_eq!(token.len(), 2 * TOKEN_BYTES);
        assert_ne!(guard.token, Guard::of(address).unwrap().token);

        let host = (header::HOST, "192.0.2.7:8080");
        let ask = |uri: &str, cookie: &str| {
            guard.admit(&uri.parse().unwrap(), &headers(&[host.clone(), (header::COOKIE, cookie)]))
        };
        assert_eq!(ask(&format!("/?token={token}"), ""), Ok(()));
        assert_eq!(ask(&format!("/poses?a=b&token={token}"), ""), Ok(()));
        let cookie = guard.cookie().unwrap();
        assert_eq!(ask("/", &format!("other=1; {}", cookie.split(';').next().unwrap())), Ok(()));
        let (short, long) = (&token[1..], format!("{token}0"));
        for wrong in ["", short, &long, &"0".repeat(32), &token.to_uppercase().replace(char::is_numeric, "x")]
        {
            assert_eq!(ask(&format!("/?token={wrong}"), ""), Err(Refusal::Token), "{wrong}");
            assert_eq!(ask("/", &format!("posewire-8080={wrong}")), Err(Refusal::Token), "{wrong}");
        }
        assert_eq!(ask("/", &format!("other={token}")), Err(Refusal::Token));
    }

    #[test]
    fn two_pages_of_one_board_are_open_in_one_browser() {
        let guards = [8080, 8081].map(|port| Guard::of(([192, 0, 2, 7], port).into()).unwrap());
        // As a browser keeps them: by name alone, the last of a name.
        let mut kept = std::collections::BTreeMap::new();
        for guard in &guards {
            let cookie = guard.cookie().unwrap();
            let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
            kept.insert(name.to_owned(), value.to_owned());
        }
        let sent: Vec<String> = kept.iter().map(|(name, value)| format!("{name}={value}")).collect();
        for guard in &guards {
            let headers = headers(&[(header::COOKIE, &sent.join("; "))]);
            assert_eq!(guard.admit(&Uri::from_static("/page.js"), &headers), Ok(()), "{}", guard.address);
        }
    }
}
