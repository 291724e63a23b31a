//! What the kernel's tree says of devices on USB, for cameras and serial ports.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of `node` (`/dev/ttyACM0`, or a link to it) in the kernel's folder of its `class` (`/sys/class/tty`).
pub fn folder_of(node: &Path, class: &Path) -> Option<PathBuf> {
    Some(class.join(fs::canonicalize(node).ok()?.file_name()?))
}

/// The USB device that a node's folder (`/sys/class/tty/ttyACM0`) belongs to: the nearest above it. The hub above that one has a serial
/// number too.
pub fn device_of(node: &Path) -> Option<PathBuf> {
    let interface = fs::canonicalize(node.join("device")).ok()?;
    interface.ancestors().find(|folder| folder.join("idVendor").is_file()).map(Path::to_owned)
}

/// One of a device's words without its newline.
pub fn word(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

/// Vendor and product: `046d:0825`.
pub fn product(device: &Path) -> Option<String> {
    Some(format!("{}:{}", word(&device.join("idVendor"))?, word(&device.join("idProduct"))?))
}
