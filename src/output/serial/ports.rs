//! Serial ports: how they are named, which there are, and what stands in the way of using them.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use pose_wire::DEFAULT_BAUD;

use super::PortError;
use crate::usb::{self, word};

/// Of the usual rates the first carries one person's HELLO, STATUS and a pose a second, and the one below it does not; above the last
/// no adapter goes.
pub(super) const BAUD_RANGE: std::ops::RangeInclusive<u32> = 4_800..=12_000_000;

/// Where udev keeps names that stay with a device, and with the port that it is plugged into.
pub(super) const BY_ID: &str = "dev/serial/by-id";
pub(super) const BY_PORT: &str = "dev/serial/by-path";

/// What stands behind a port whose line has wires for flow control.
const FLOW: &str = ",rtscts";

/// `PORT[@BAUD][,rtscts]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSpec {
    /// As given: `/dev/ttyUSB0`, `/dev/serial/by-id/…`.
    pub path: PathBuf,
    /// Bits a second.
    pub baud: u32,
    /// Whether the other end may stop this one by RTS/CTS.
    pub rtscts: bool,
}

impl PortSpec {
    /// `PORT[@BAUD][,rtscts]`, at `baud` where the text says no rate. A name may itself hold an @: what follows the last one is a rate where
    /// it is digits, or nothing.
    ///
    /// # Errors
    /// [`PortError::NoRate`], [`PortError::NoName`].
    pub fn named(text: &str, baud: u32) -> Result<Self, PortError> {
        let (text, rtscts) = text.strip_suffix(FLOW).map_or((text, false), |rest| (rest, true));
        let own = text.rsplit_once('@').filter(|(_, rate)| rate.bytes().all(|b| b.is_ascii_digit()));
        let (name, rate) = own.map_or((text, None), |(name, rate)| (name, Some(rate)));
        if name.is_empty() {
            return Err(PortError::NoName { given: text.to_owned() });
        }
        let asked = rate.map_or(Some(baud), |rate| rate.parse().ok());
        let Some(baud) = asked.filter(|baud| BAUD_RANGE.contains(baud)) else {
            let given = rate.map_or_else(|| baud.to_string(), Into::into);
            return Err(PortError::NoRate { given, name: name.to_owned() });
        };
        Ok(Self { path: name.into(), baud, rtscts })
    }
}

impl FromStr for PortSpec {
    type Err = PortError;

    fn from_str(text: &str) -> Result<Self, PortError> {
        Self::named(text, DEFAULT_BAUD)
    }
}

/// A serial port of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortInfo {
    /// The kernel's name, which changes with the order of plugging in: `/dev/ttyUSB0`.
    pub path: PathBuf,
    /// The name that stays with the device, where udev gives one.
    pub by_id: Option<PathBuf>,
    /// The kernel driver: `ftdi_sio`, `cdc_acm`, `pl011`.
    pub driver: Option<String>,
    /// What the device calls itself.
    pub product: Option<String>,
    /// How long an FTDI adapter may sit on received bytes, milliseconds.
    pub latency_timer_ms: Option<u32>,
    /// Whether the system itself uses it: for its messages, or for who logs in.
    pub is_console: bool,
    /// Whether it is a Raspberry Pi 5's connector for debugging, and not pins 8 and 10, where every other Pi has `/dev/serial0`.
    pub is_debug_connector: bool,
}

impl PortInfo {
    /// The name to use: by-id where there is one.
    pub fn name(&self) -> &Path {
        self.by_id.as_deref().unwrap_or(&self.path)
    }

    /// The group whose members may use it.
    pub fn group(&self) -> String {
        group_of(&self.path, Path::new("/etc/group"))
    }

    /// What to know before it is used: that it is another one than was meant, whose it is, or what makes it slow; and the cure.
    pub fn hint(&self) -> Option<String> {
        if self.is_debug_connector {
            let hint = "this is the Raspberry Pi 5's 3-pin debug connector; pins 8 and 10 are /dev/ttyAMA0";
            return Some(hint.to_owned());
        }
        if self.is_console {
            let hint = "the system's login console is on it; use another port, or take the console off it (on a Raspberry Pi \
                        sudo raspi-config: Interface Options, Serial Port) and reboot";
            return Some(hint.to_owned());
        }
        let ms = self.latency_timer_ms.filter(|&ms| ms > 1)?;
        Some(format!(
            "its adapter holds back received bytes for up to {ms} ms; install packaging/99-posewire.rules (a package has done so) \
             and plug it in anew, or: echo 1 | sudo tee /sys/class/tty/{}/device/latency_timer",
            self.path.file_name().unwrap_or_default().to_string_lossy()
        ))
    }
}

/// Every serial port of this machine that has hardware behind it, by name. Linux; empty elsewhere.
pub fn list_ports() -> Vec<PortInfo> {
    ports_below(Path::new("/"))
}

/// As [`list_ports`], with `/sys` and `/dev` looked for below `root`.
fn ports_below(root: &Path) -> Vec<PortInfo> {
    let by_id = links(&root.join(BY_ID));
    let consoles = word(&root.join("sys/class/tty/console/active")).unwrap_or_default();
    let is_a_pi =
        word(&root.join("sys/firmware/devicetree/base/model")).is_some_and(|m| m.starts_with("Raspberry Pi"));
    let mut ports: Vec<PortInfo> = fs::read_dir(root.join("sys/class/tty"))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let sys = entry.path();
            let device = sys.join("device");
            // Consoles and pseudo-terminals have no device; an empty 8250 slot has type 0.
            if !device.exists() || word(&sys.join("type")).as_deref() == Some("0") {
                return None;
            }
            let path = root.join("dev").join(entry.file_name());
            let driver = fs::canonicalize(device.join("driver"))
                .ok()
                .and_then(|d| Some(d.file_name()?.to_string_lossy().into_owned()));
            let product = usb::device_of(&sys).and_then(|device| word(&device.join("product")));
            Some(PortInfo {
                by_id: by_id.iter().find(|(_, to)| *to == path).map(|(link, _)| link.clone()),
                latency_timer_ms: word(&device.join("latency_timer")).and_then(|w| w.parse().ok()),
                is_console: consoles.split(' ').any(|name| entry.file_name() == name) || is_for_logins(&path),
                // Of all Pis the fifth alone has so many.
                is_debug_connector: is_a_pi && entry.file_name() == "ttyAMA10",
                path,
                driver,
                product,
            })
        })
        .collect();
    ports.sort_by(|a, b| a.path.cmp(&b.path));
    ports
}

/// The port that `path` names, be it by a link.
pub(super) fn port_at(path: &Path) -> Option<PortInfo> {
    port_among(list_ports(), path)
}

fn port_among(ports: Vec<PortInfo>, path: &Path) -> Option<PortInfo> {
    let device = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    ports.into_iter().find(|port| port.path == device)
}

/// Whether it was prepared for somebody to log in at: what agetty leaves, its group may write to and not read.
#[cfg(unix)]
fn is_for_logins(node: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(node).is_ok_and(|node| node.permissions().mode() & 0o060 == 0o020)
}

#[cfg(not(unix))]
fn is_for_logins(_: &Path) -> bool {
    false
}

/// The name that `groups` has for the group of `node`: `uucp` on Arch, elsewhere `dialout`, as where that says nothing.
#[cfg(unix)]
pub(super) fn group_of(node: &Path, groups: &Path) -> String {
    use std::os::unix::fs::MetadataExt;
    let gid = fs::metadata(node).map_or(0, |node| node.gid());
    let groups = fs::read_to_string(groups).unwrap_or_default();
    let is_its = |line: &&str| gid > 0 && line.split(':').nth(2).and_then(|id| id.parse().ok()) == Some(gid);
    groups.lines().find(is_its).and_then(|line| line.split(':').next()).unwrap_or("dialout").to_owned()
}

#[cfg(not(unix))]
pub(super) fn group_of(_: &Path, _: &Path) -> String {
    "dialout".to_owned()
}

/// Each link of `folder` with what it finally points to.
pub(super) fn links(folder: &Path) -> Vec<(PathBuf, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut links: Vec<_> =
        entries.filter_map(|e| Some((e.path(), fs::canonicalize(e.path()).ok()?))).collect();
    links.sort();
    links
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::output::serial::lasting::lasting_name_below;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_port_is_named_with_and_without_a_rate() {
        let spec = |s: &str| s.parse::<PortSpec>();
        assert_eq!(
            spec("/dev/ttyUSB0@115200").unwrap(),
            PortSpec { path: "/dev/ttyUSB0".into(), baud: 115_200, rtscts: false }
        );
        let com = |rtscts| PortSpec { path: "COM3".into(), baud: DEFAULT_BAUD, rtscts };
        assert_eq!((spec("COM3").unwrap(), spec("COM3,rtscts").unwrap()), (com(false), com(true)));
        assert_eq!(spec("COM3@9600,rtscts").unwrap(), PortSpec { baud: 9_600, ..com(true) });
        assert_eq!(spec("/dev/serial/by-id/usb-x@y/z").unwrap().baud, DEFAULT_BAUD);
        for bad in ["/dev/ttyUSB0@", "/dev/ttyUSB0@0", "/dev/ttyUSB0@99999999999", "@9600", ",rtscts"] {
            let error = spec(bad).unwrap_err().to_string();
            assert!(error.contains("@115200"), "{bad}: {error}");
        }
    }

    #[test]
    fn a_name_with_an_at_keeps_it_and_the_rate_that_is_set_beside_it() {
        for name in ["/dev/serial/by-id/usb-Foo@Bar-if00", "/dev/serial/by-id/usb-Foo@Bar/x", "/dev/ttyUSB0"]
        {
            let named = |text: &str| PortSpec::named(text, 57_600).unwrap();
            assert_eq!(named(name), PortSpec { path: name.into(), baud: 57_600, rtscts: false });
            let asked = PortSpec { path: name.into(), baud: 9_600, rtscts: false };
            assert_eq!(named(&format!("{name}@9600")), asked);
        }
        let error = PortSpec::named("/dev/ttyUSB0", 300).unwrap_err().to_string();
        assert!(error.starts_with("'300' is no baud rate"), "{error}");
    }

    #[test]
    fn the_slowest_rate_that_may_be_named_carries_one_person() {
        let one = |rate_hz| pose_wire::Stream {
            rate_hz,
            persons: 1,
            with_3d: false,
            with_place: false,
            with_events: false,
        };
        assert!(pose_wire::fits_baud(*BAUD_RANGE.start(), one(30.0)).is_ok());
        assert!(pose_wire::fits_baud(2_400, one(30.0)).is_err());
        let error = "/dev/ttyUSB0@300".parse::<PortSpec>().unwrap_err().to_string();
        assert!(error.contains("give 4800 to 12000000"), "{error}");
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_port_is_listed_by_its_lasting_name_with_what_slows_it_down() {
        let root = tempfile::tempdir().unwrap();
        let at = |p: &str| root.path().join(p);
        let make = |p: &str, text: &str| write(&at(p), text);
        make("dev/ttyUSB0", "");
        make("dev/ttyS0", "");
        make("sys/devices/usb1/product", "FT232R USB UART\n");
        make("sys/devices/usb1/idVendor", "0403\n");
        make("sys/devices/usb1/idProduct", "6001\n");
        make("sys/devices/usb1/serial", "A1\n");
        make("sys/devices/usb1/if0/port/latency_timer", "16\n");
        make("sys/drivers/ftdi_sio/bind", "");
        symlink(at("sys/drivers/ftdi_sio"), at("sys/devices/usb1/if0/port/driver")).unwrap();
        fs::create_dir_all(at("sys/class/tty/ttyUSB0")).unwrap();
        symlink(at("sys/devices/usb1/if0/port"), at("sys/class/tty/ttyUSB0/device")).unwrap();
        make("sys/class/tty/ttyS0/type", "0\n");
        make("sys/class/tty/ttyS0/device/uevent", "");
        fs::create_dir_all(at("sys/class/tty/tty1")).unwrap();
        fs::create_dir_all(at("dev/serial/by-id")).unwrap();
        symlink("../../ttyUSB0", at("dev/serial/by-id/usb-FTDI_A1-if00-port0")).unwrap();

        let ports = ports_below(&fs::canonicalize(root.path()).unwrap());
        assert_eq!(ports.len(), 1, "{ports:?}");
        let port = &ports[0];
        assert!(port.name().ends_with("dev/serial/by-id/usb-FTDI_A1-if00-port0"));
        assert_eq!(port.driver.as_deref(), Some("ftdi_sio"));
        assert_eq!(port.product.as_deref(), Some("FT232R USB UART"));
        assert!(port.hint().unwrap().contains("16 ms"));
        assert!(!port.is_console && !port.is_debug_connector, "{port:?}");

        let root = fs::canonicalize(root.path()).unwrap();
        let lasting = |name: &str| lasting_name_below(&root, &root.join(name));
        let by_id = root.join("dev/serial/by-id/usb-FTDI_A1-if00-port0");
        assert_eq!(lasting("dev/ttyUSB0"), by_id);
        assert_eq!(lasting_name_below(&root, &by_id), by_id);
        assert_eq!(lasting("dev/ttyS0"), root.join("dev/ttyS0"));
        // Of two without serial numbers either may have that name.
        fs::remove_file(root.join("sys/devices/usb1/serial")).unwrap();
        assert_eq!(lasting("dev/ttyUSB0"), root.join("dev/ttyUSB0"), "nothing else is known");
        fs::create_dir_all(root.join("dev/serial/by-path")).unwrap();
        let by_port = root.join("dev/serial/by-path/pci-0000:00:14.0-usb-0:1:1.0-port0");
        symlink("../../ttyUSB0", &by_port).unwrap();
        assert_eq!(lasting("dev/ttyUSB0"), by_port);
        assert_eq!(lasting_name_below(&root, &by_id), by_id, "the user has named it");
    }

    #[test]
    fn a_pi_5s_debug_connector_and_the_ports_of_consoles_are_known() {
        use std::os::unix::fs::PermissionsExt;

        let root = tempfile::tempdir().unwrap();
        let at = |p: &str| root.path().join(p);
        let make = |p: &str, text: &str| write(&at(p), text);
        for (name, mode) in
            [("ttyAMA0", 0o660), ("ttyAMA10", 0o620), ("ttyS0", 0o660), ("ttyS1", 0o620), ("ttyUSB0", 0o600)]
        {
            make(&format!("dev/{name}"), "");
            fs::set_permissions(at(&format!("dev/{name}")), fs::Permissions::from_mode(mode)).unwrap();
            fs::create_dir_all(at(&format!("sys/class/tty/{name}/device"))).unwrap();
        }
        make("sys/class/tty/console/active", "tty1 ttyS0\n");
        symlink("ttyAMA10", at("dev/serial0")).unwrap();
        let below = fs::canonicalize(root.path()).unwrap();
        let told = |is: fn(&PortInfo) -> bool| -> Vec<String> {
            let ports = ports_below(&below).into_iter().filter(is);
            ports.map(|port| port.path.file_name().unwrap().to_string_lossy().into_owned()).collect()
        };
        assert_eq!(told(|port| port.is_console), ["ttyAMA10", "ttyS0", "ttyS1"]);
        assert_eq!(told(|port| port.is_debug_connector), [""; 0], "another board's");
        make("sys/firmware/devicetree/base/model", "Raspberry Pi 5 Model B Rev 1.0\0");
        assert_eq!(told(|port| port.is_debug_connector), ["ttyAMA10"]);

        use std::os::unix::fs::MetadataExt;
        let own = fs::metadata(at("dev/ttyS0")).unwrap().gid();
        make("groups", &format!("root:x:0:\nuucp:x:{own}:pi\n"));
        let group = group_of(&at("dev/ttyS0"), &at("groups"));
        assert_eq!(group, if own == 0 { "dialout" } else { "uucp" }, "nobody is told to join root's");
        assert_eq!(group_of(&at("dev/ttyS9"), &at("groups")), "dialout");

        let hint = |name: &str| port_among(ports_below(&below), &at(name)).unwrap().hint();
        assert!(hint("dev/serial0").unwrap().contains("pins 8 and 10 are /dev/ttyAMA0"));
        assert!(hint("dev/ttyS0").unwrap().contains("login console is on it"));
        assert_eq!(hint("dev/ttyAMA0"), None);
    }
}
