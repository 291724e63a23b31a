//! Names under which a serial port is found again after it was unplugged, and no other is taken for it.

use std::fs;
use std::path::{Path, PathBuf};

use super::PortError;
use super::ports::{BY_ID, BY_PORT, links};
use crate::usb::{self, word};

/// The USB device of the port that `path` names, be it by a link.
fn usb_device_of(root: &Path, path: &Path) -> Option<PathBuf> {
    usb::device_of(&usb::folder_of(path, &root.join("sys/class/tty"))?)
}

/// Vendor and product of what is plugged in at `path`, on USB.
pub(super) fn product_of(path: &Path) -> Option<String> {
    product_below(Path::new("/"), path)
}

fn product_below(root: &Path, path: &Path) -> Option<String> {
    usb::product(&usb_device_of(root, path)?)
}

/// The name under which `path` will be found again after it was unplugged: its by-id link where it has a serial number of its own. Without,
/// all adapters of a model share that link, which leads to the one that was plugged in last: it is then the link of its USB port.
pub(super) fn lasting_name(path: &Path) -> PathBuf {
    lasting_name_below(Path::new("/"), path)
}

/// As [`lasting_name`], with `/sys` and `/dev` looked for below `root`.
pub(super) fn lasting_name_below(root: &Path, path: &Path) -> PathBuf {
    let [by_id, by_port] = [BY_ID, BY_PORT].map(|folder| links(&root.join(folder)));
    if by_id.iter().chain(&by_port).any(|(link, _)| link == path) {
        return path.to_owned();
    }
    let node = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let says = |device: &Path| {
        ["serial", "idVendor", "idProduct"].map(|name| word(&device.join(name)).unwrap_or_default())
    };
    // Some makers give all their adapters the same.
    let has_own_serial = usb_device_of(root, path).is_none_or(|own| {
        let all = fs::read_dir(root.join("sys/class/tty")).into_iter().flatten().flatten();
        let mut others = all.filter_map(|tty| usb::device_of(&tty.path())).filter(|other| *other != own);
        let said = says(&own);
        !said[0].is_empty() && !others.any(|other| says(&other) == said)
    });
    let by_id = if has_own_serial { by_id } else { Vec::new() };
    let found = by_id.into_iter().chain(by_port).find(|(_, to)| *to == node);
    found.map_or_else(|| path.to_owned(), |(link, _)| link)
}

/// Under which name a lost port is to be opened again: its lasting name `path`, or, where it may be in another USB port by now, as it was
/// `named` by the user.
///
/// # Errors
/// [`PortError::Another`]: what is there is not the product that it `was`. Where the user named a USB port, any may be there.
pub(super) fn again<'a>(path: &'a Path, named: &'a Path, was: Option<&str>) -> Result<&'a Path, PortError> {
    again_below(Path::new("/"), path, named, was)
}

fn again_below<'a>(
    root: &Path,
    path: &'a Path,
    named: &'a Path,
    was: Option<&str>,
) -> Result<&'a Path, PortError> {
    let is_in = |name: &Path, folder: &str| name.parent() == Some(&root.join(folder));
    if is_in(path, BY_ID) || is_in(named, BY_PORT) {
        return Ok(path);
    }
    let mut another = None;
    for name in [path, named].into_iter().filter(|name| name.exists()) {
        match (was, product_below(root, name)) {
            (Some(was), Some(is)) if was != is => {
                another = Some(PortError::Another { path: name.to_owned(), is, was: was.to_owned() });
            }
            _ => return Ok(name),
        }
    }
    another.map_or(Ok(named), Err)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Terminals below a root, each with its USB device's serial number, and links to them.
    fn tree(devices: &[(&str, &str, &str)]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        // A root hub has all that a device has.
        for (name, word) in [("idVendor", "1d6b"), ("idProduct", "0002"), ("serial", "xhci-hcd.0")] {
            write(&root.join("sys/devices/usb1").join(name), word);
        }
        for (at, (tty, product, serial)) in devices.iter().enumerate() {
            let device = root.join(format!("sys/devices/usb1/1-{at}"));
            write(&device.join("idVendor"), "2341");
            write(&device.join("idProduct"), product);
            if !serial.is_empty() {
                write(&device.join("serial"), serial);
            }
            let interface = device.join(format!("1-{at}:1.0"));
            fs::create_dir_all(&interface).unwrap();
            write(&root.join("dev").join(tty), "");
            fs::create_dir_all(root.join("sys/class/tty").join(tty)).unwrap();
            symlink(&interface, root.join("sys/class/tty").join(tty).join("device")).unwrap();
            fs::create_dir_all(root.join(BY_PORT)).unwrap();
            symlink(root.join("dev").join(tty), root.join(BY_PORT).join(format!("port-{at}"))).unwrap();
        }
        fs::create_dir_all(root.join(BY_ID)).unwrap();
        symlink(root.join("dev").join(devices[0].0), root.join(BY_ID).join("usb-Arduino")).unwrap();
        (folder, root)
    }

    #[test]
    fn a_serial_number_counts_that_is_the_devices_own() {
        let lasting = |devices: &[(&str, &str, &str)]| {
            let (_folder, root) = tree(devices);
            let name = lasting_name_below(&root, &root.join("dev").join(devices[0].0));
            name.file_name().unwrap().to_string_lossy().into_owned()
        };
        assert_eq!(lasting(&[("ttyACM0", "8036", "A1"), ("ttyACM1", "8036", "A2")]), "usb-Arduino");
        assert_eq!(lasting(&[("ttyACM0", "8036", ""), ("ttyACM1", "8036", "")]), "port-0", "the hub's");
        assert_eq!(lasting(&[("ttyACM0", "8036", "0001"), ("ttyACM1", "8036", "0001")]), "port-0");
        assert_eq!(lasting(&[("ttyACM0", "8036", "0001"), ("ttyACM1", "8037", "0001")]), "usb-Arduino");
        let (_folder, root) = tree(&[("ttyACM0", "8036", "A1"), ("ttyACM1", "8036", "A2")]);
        assert_eq!(lasting_name_below(&root, &root.join("dev/ttyACM1")), root.join(BY_PORT).join("port-1"));
    }

    #[test]
    fn another_product_in_the_place_of_a_lost_port_is_not_opened() {
        let (_folder, root) = tree(&[("ttyUSB0", "7523", ""), ("ttyUSB1", "01a8", "")]);
        let [own, other, port, none] =
            ["dev/ttyUSB0", "dev/ttyUSB1", "dev/serial/by-path/port-0", "dev/serial/by-path/port-9"]
                .map(|name| root.join(name));
        let again = |path, named, was| again_below(&root, path, named, was).map_err(|e| e.to_string());
        let was = Some("2341:7523");
        assert_eq!(again(&port, &own, was), Ok(&*port));
        assert_eq!(again(&none, &own, was), Ok(&*own), "in another port");
        let told = again(&none, &other, was).unwrap_err();
        assert!(told.contains("2341:01a8") && told.contains("2341:7523"), "{told}");
        assert!(again(&port, &own, Some("2341:01a8")).is_err());
        assert_eq!(again(&port, &other, Some("2341:01a8")), Ok(&*other), "where the user named it");
        assert_eq!(again(&port, &port, Some("2341:01a8")), Ok(&*port), "the user named the port");
        assert_eq!(again(&none, &other, None), Ok(&*other), "not known yet");
        assert_eq!(again(&none, &root.join("dev/ttyUSB9"), was), Ok(&*root.join("dev/ttyUSB9")));
    }
}
