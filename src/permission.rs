//! What keeps a program from a device node, and what to do: the node's own permissions, or a list of devices that no user is above.

use std::io;
use std::path::Path;

/// Why a device node may not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    /// By the node's owner, group and mode: a member of its group may.
    Permissions,
    /// By a control group's list of devices, as a service's unit and a container have one: no group helps ([`forbidden`]).
    DeviceList,
}

impl Denial {
    /// What the error of opening a node says; `None`: it was not denied.
    pub fn of(error: &io::Error) -> Option<Self> {
        let is_denied = error.kind() == io::ErrorKind::PermissionDenied;
        // Files are denied with EACCES.
        is_denied.then(|| match error.raw_os_error() {
            Some(libc::EPERM) => Self::DeviceList,
            _ => Self::Permissions,
        })
    }
}

/// What to do about [`Denial::DeviceList`] at `path`.
pub fn forbidden(path: &Path) -> String {
    format!(
        "forbidden by the service's unit or the container that this runs in; a unit allows it with DeviceAllow={} rw \
         (sudo systemctl edit posewire)",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_group_cures_and_what_none_does_are_told_apart() {
        let of = |code| Denial::of(&io::Error::from_raw_os_error(code));
        assert_eq!(
            [libc::EACCES, libc::EPERM, libc::EBUSY].map(of),
            [Some(Denial::Permissions), Some(Denial::DeviceList), None]
        );
        let told = forbidden(Path::new("/dev/fb0"));
        assert!(told.contains("DeviceAllow=/dev/fb0 rw (sudo"), "{told}");
    }
}
