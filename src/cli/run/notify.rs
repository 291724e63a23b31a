//! Tells systemd how the tracker is (`Type=notify`, `WatchdogSec=`).

use std::ffi::OsStr;

use posewire::pipeline::supervisor::{NoNotify, Notify};

/// Where the service manager listens.
fn socket() -> Option<std::ffi::OsString> {
    std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty())
}

/// Whether a service manager started this process. What else it sets in the environment every terminal of a desktop has too.
pub fn is_service() -> bool {
    socket().is_some()
}

/// The service manager that started this process, if one did.
pub fn service_manager() -> Box<dyn Notify> {
    #[cfg(target_os = "linux")]
    if let Some(name) = socket() {
        match systemd::Systemd::at(OsStr::new(&name)) {
            Ok(manager) => return Box::new(manager),
            Err(error) => log::warn!("NOTIFY_SOCKET: {error}; the service manager is not told how it goes"),
        }
    }
    Box::new(NoNotify)
}

#[cfg(target_os = "linux")]
mod systemd {
    use std::ffi::OsStr;
    use std::io;
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};

    use posewire::pipeline::supervisor::Notify;
    use posewire::pipeline::Health;

    pub struct Systemd {
        socket: UnixDatagram,
        manager: SocketAddr,
    }

    impl Systemd {
        /// The manager that listens at `name`: a path, or `@` and a name without one.
        pub fn at(name: &OsStr) -> io::Result<Self> {
            let manager = match name.as_bytes() {
                [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
                path => SocketAddr::from_pathname(OsStr::from_bytes(path))?,
            };
            let socket = UnixDatagram::unbound()?;
            // A manager that does not read must not hold the supervisor, which is to hear signals.
            socket.set_nonblocking(true)?;
            Ok(Self { socket, manager })
        }

        fn tell(&self, state: &str) {
            // The manager may be restarting; the watchdog is its business, and the next call is a second away.
            if let Err(error) = self.socket.send_to_addr(state.as_bytes(), &self.manager) {
                log::debug!("systemd cannot be told: {error}");
            }
        }
    }

    impl Notify for Systemd {
        fn ready(&mut self) {
            self.tell("READY=1");
        }

        fn alive(&mut self, health: &Health) {
            self.tell(&format!("WATCHDOG=1\nSTATUS={health}"));
        }

        fn stopping(&mut self) {
            self.tell("STOPPING=1");
        }
    }
}
