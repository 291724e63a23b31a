//! What stands in the way of a serial port, and what to do.

use std::io;
use std::path::{Path, PathBuf};

use pose_wire::DEFAULT_BAUD;

use super::ports::{BAUD_RANGE, PortInfo, group_of, list_ports, port_at};
use crate::permission::{Denial, forbidden};

/// Why a serial port cannot be used. Where the system's reason is not one of those known here, it is the source.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// What follows the @ is no rate, or one that no adapter or no pose has.
    #[error(
        "'{given}' is no baud rate: give {} to {} after the @, as in {name}@{DEFAULT_BAUD}",
        BAUD_RANGE.start(),
        BAUD_RANGE.end()
    )]
    NoRate {
        /// What stands there.
        given: String,
        /// The port's name before it.
        name: String,
    },
    /// There is no name in what was given.
    #[error("'{given}' names no port: give PORT[@BAUD][,rtscts], as in /dev/ttyUSB0@{DEFAULT_BAUD}")]
    NoName {
        /// All of it.
        given: String,
    },
    /// Nothing has that name.
    #[error("{path}: there is no such port; {}{}", listed(.there_are), of_rates(.path))]
    Missing {
        /// The port.
        path: PathBuf,
        /// Those that are plugged in.
        there_are: Vec<PathBuf>,
    },
    /// It is a device or a file of another kind.
    #[error("{path}: is not a serial port; {}", listed(.there_are))]
    NotSerial {
        /// What was taken for one.
        path: PathBuf,
        /// Those that are plugged in.
        there_are: Vec<PathBuf>,
    },
    /// This user may not open it.
    #[error(
        "{path}: no permission; add yourself to its group (sudo usermod -aG {group} $USER) and log in again"
    )]
    Denied {
        /// The port.
        path: PathBuf,
        /// Who may.
        group: String,
    },
    /// No user may open it in here.
    #[error("{path}: {}", forbidden(.path))]
    Forbidden {
        /// The port.
        path: PathBuf,
    },
    /// This user may not open it, and no group would help.
    #[error("{path}: no permission: {why}")]
    Console {
        /// The port.
        path: PathBuf,
        /// What it is, and what to do.
        why: String,
    },
    /// Somebody else has it.
    #[error(
        "{path}: another program uses it, perhaps a second posewire or a serial monitor (sudo fuser -v {path} names it); end that \
         one first"
    )]
    InUse {
        /// The port.
        path: PathBuf,
    },
    /// What is plugged in there now is not what was.
    #[error(
        "{path}: holds another device ({is}) than before ({was}), which is waited for; to use this one, start again"
    )]
    Another {
        /// The port.
        path: PathBuf,
        /// Its vendor and product.
        is: String,
        /// Those of the one that was lost.
        was: String,
    },
    /// The system refuses it otherwise.
    #[error("{path}: cannot be opened at {baud} baud")]
    Open {
        /// The port.
        path: PathBuf,
        /// The rate.
        baud: u32,
        /// What the system said.
        source: io::Error,
    },
    /// The hardware does not make the rate.
    #[error(
        "{path}: cannot run at {asked} baud, the nearest it does is {nearest}; use a rate that both ends have, such as 115200"
    )]
    OtherRate {
        /// The port.
        path: PathBuf,
        /// The rate that is wanted.
        asked: u32,
        /// What it would run at.
        nearest: u32,
    },
    /// Reads and writes cannot be bounded in time.
    #[error("{path}: its timeouts cannot be set")]
    Timeouts {
        /// The port.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It was open and has gone.
    #[error("{path}: lost")]
    Lost {
        /// The port.
        path: PathBuf,
        /// How that was seen.
        source: io::Error,
    },
}

impl PortError {
    /// Of a port that could not be opened.
    pub(super) fn of_opening(path: PathBuf, baud: u32, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound => Self::Missing { path, there_are: names() },
            _ if Denial::of(&source) == Some(Denial::DeviceList) => Self::Forbidden { path },
            io::ErrorKind::PermissionDenied => Self::denied(port_at(&path), path),
            _ if source.raw_os_error() == Some(libc::ENOTTY) => Self::NotSerial { path, there_are: names() },
            _ if source.raw_os_error() == Some(libc::EBUSY) => Self::InUse { path },
            _ => Self::Open { path, baud, source },
        }
    }

    fn denied(port: Option<PortInfo>, path: PathBuf) -> Self {
        match port {
            Some(port) if port.is_console => Self::Console { path, why: port.hint().unwrap_or_default() },
            _ => Self::Denied { group: group_of(&path, Path::new("/etc/group")), path },
        }
    }
}

fn names() -> Vec<PathBuf> {
    list_ports().iter().map(|port| port.name().to_owned()).collect()
}

/// What somebody may not know whose port was looked for by a name with an @ in it.
fn of_rates(path: &Path) -> String {
    match path.to_string_lossy().contains('@') {
        true => format!("; a rate is digits, as in @{DEFAULT_BAUD}, and after it at most ,rtscts"),
        false => String::new(),
    }
}

fn listed(there_are: &[PathBuf]) -> String {
    let names: Vec<String> = there_are.iter().map(|name| name.display().to_string()).collect();
    if names.is_empty() {
        "no serial port is plugged in".to_owned()
    } else {
        format!("there are: {}", names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reason::Chain;

    #[test]
    fn what_the_system_says_becomes_what_to_do_and_what_is_not_known_is_told_once() {
        let told = |code| {
            let refused =
                PortError::of_opening("/dev/ttyS9".into(), 9_600, io::Error::from_raw_os_error(code));
            Chain(&refused).to_string()
        };
        for (code, begins) in [
            (libc::ENOENT, "/dev/ttyS9: there is no such port; "),
            (libc::EACCES, "/dev/ttyS9: no permission; add yourself to its group"),
            (libc::EPERM, "/dev/ttyS9: forbidden by the service's unit or the container"),
            (libc::ENOTTY, "/dev/ttyS9: is not a serial port; "),
            (libc::EBUSY, "/dev/ttyS9: another program uses it"),
            (libc::EIO, "/dev/ttyS9: cannot be opened at 9600 baud: "),
        ] {
            let told = told(code);
            assert!(told.starts_with(begins), "{told}");
            assert_eq!(told.matches("os error").count(), usize::from(code == libc::EIO), "{told}");
        }
        let console = PortInfo {
            path: "/dev/ttyAMA10".into(),
            by_id: None,
            driver: None,
            product: None,
            latency_timer_ms: None,
            is_console: true,
            is_debug_connector: false,
        };
        let denied = |port| PortError::denied(port, "/dev/serial0".into()).to_string();
        assert!(denied(Some(PortInfo { is_console: false, ..console.clone() })).contains("usermod"));
        let console = denied(Some(console));
        assert!(console.contains("login console") && !console.contains("usermod"), "{console}");
        let fast = PortError::Missing { path: "/dev/ttyUSB0@fast".into(), there_are: Vec::new() }.to_string();
        assert!(fast.ends_with("a rate is digits, as in @115200, and after it at most ,rtscts"), "{fast}");
        let ports = |names: &[&str]| listed(&names.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(ports(&[]), "no serial port is plugged in");
        assert_eq!(ports(&["/dev/ttyUSB0", "/dev/ttyS0"]), "there are: /dev/ttyUSB0, /dev/ttyS0");
    }
}
