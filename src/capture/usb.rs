//! Which USB device a video node belongs to: what finds a camera's calibration again whatever number it gets.

use std::fs;
use std::path::{Path, PathBuf};

use crate::usb;

/// The device that the node `/dev/videoN` (or a link to it) belongs to, in the kernel's tree under `sysfs`: on USB, the port it is plugged into.
pub fn port_of(node: &Path, sysfs: &Path) -> Option<PathBuf> {
    fs::canonicalize(usb::folder_of(node, sysfs)?.join("device")).ok()
}

/// `046d:0825` or `046d:0825:SERIAL` of the node `/dev/videoN` (or a link to it), as the kernel's tree under `sysfs`
/// (`/sys/class/video4linux`) tells it; `None` for what hangs on no USB.
pub fn usb_id_of(node: &Path, sysfs: &Path) -> Option<String> {
    let device = usb::device_of(&usb::folder_of(node, sysfs)?)?;
    let serial = usb::word(&device.join("serial")).filter(|serial| !serial.is_empty());
    let serial = serial.map(|serial| format!(":{serial}")).unwrap_or_default();
    Some(usb::product(&device)? + &serial)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// The kernel's tree: `class/video4linux/videoN/device` leads to the interface below the device.
    #[test]
    fn the_numbers_are_those_of_the_device_above_the_nodes_interface() {
        let root = tempfile::tempdir().unwrap();
        let (dev, class) = (root.path().join("dev"), root.path().join("sys/class/video4linux"));
        let device = root.path().join("sys/devices/usb1/1-2");
        let interface = device.join("1-2:1.0");
        fs::create_dir_all(&dev).unwrap();
        fs::create_dir_all(&interface).unwrap();
        for (number, leads_to) in [(0, &interface), (1, &root.path().join("sys/devices/platform"))] {
            fs::write(dev.join(format!("video{number}")), "").unwrap();
            fs::create_dir_all(leads_to).unwrap();
            fs::create_dir_all(class.join(format!("video{number}"))).unwrap();
            symlink(leads_to, class.join(format!("video{number}/device"))).unwrap();
        }
        fs::write(device.join("idVendor"), "046d\n").unwrap();
        fs::write(device.join("idProduct"), "0825\n").unwrap();
        let id = |name: &str| usb_id_of(&dev.join(name), &class);
        assert_eq!(id("video0").as_deref(), Some("046d:0825"));
        let at = |name: &str| port_of(&dev.join(name), &class);
        assert_eq!((at("video0"), at("video7")), (fs::canonicalize(&interface).ok(), None));
        fs::write(device.join("serial"), "5A3B1C20\n").unwrap();
        symlink(dev.join("video0"), dev.join("by-id")).unwrap();
        assert_eq!(id("by-id").as_deref(), Some("046d:0825:5A3B1C20"));
        assert_eq!((id("video1"), id("video7")), (None, None));
    }
}
