//! The host that a link names: where the server listens on every address, which cannot be opened itself, that under which other
//! machines reach this one.

use std::net::{IpAddr, SocketAddr, UdpSocket};

/// Of no machine (RFC 5737, RFC 3849): the way to them is the way out.
const ELSEWHERE_V4: [u8; 4] = [192, 0, 2, 1];
const ELSEWHERE_V6: [u16; 8] = [0x2001, 0xdb8, 0, 0, 0, 0, 0, 1];

/// Host and port of a link to a server that listens on `address`: for every address, the one with which this machine speaks to
/// others; where no way leads out, the machine's name; without one, `address` itself.
pub(super) fn link_host(address: SocketAddr) -> String {
    if !address.ip().is_unspecified() {
        return address.to_string();
    }
    let v4 = || outgoing(([0; 4], 0).into(), (ELSEWHERE_V4, 9).into());
    let v6 = || outgoing(([0u16; 8], 0).into(), (ELSEWHERE_V6, 9).into());
    // Who listens on every address of IPv6 hears IPv4 too.
    let own = if address.is_ipv6() { v6().or_else(v4) } else { v4() };
    choose(address, own, &names::of_this_machine())
}

fn choose(address: SocketAddr, own: Option<IpAddr>, name: &str) -> String {
    let port = address.port();
    match own {
        Some(own) => SocketAddr::new(own, port).to_string(),
        None if name.is_empty() => address.to_string(),
        None => format!("{name}:{port}"),
    }
}

/// The address that packets from here to `elsewhere` would bear. Connecting a datagram socket chooses it and sends nothing.
fn outgoing(any: SocketAddr, elsewhere: SocketAddr) -> Option<IpAddr> {
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(elsewhere).ok()?;
    let own = socket.local_addr().ok()?.ip();
    (!own.is_unspecified() && !own.is_loopback()).then_some(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_this_machine_from_others() {
        let (every, every_v6) = (([0; 4], 8080).into(), ([0u16; 8], 8080).into());
        assert_eq!(link_host(([192, 0, 2, 7], 8080).into()), "192.0.2.7:8080");
        let own = Some([192, 168, 1, 5].into());
        assert_eq!(choose(every, own, "pi"), "192.168.1.5:8080");
        assert_eq!(choose(every_v6, Some("fd00::5".parse().unwrap()), "pi"), "[fd00::5]:8080");
        assert_eq!(choose(every, None, "pi"), "pi:8080");
        assert_eq!(choose(every, None, ""), "0.0.0.0:8080");
        for address in [every, every_v6] {
            let host = link_host(address);
            assert!(host.ends_with(":8080") && !host.contains("127.0.0.1"), "{host}");
            let is_known = !names::of_this_machine().is_empty();
            assert!(!is_known || host != address.to_string(), "{host}: nobody can open that");
        }
    }
}
