//! Which camera a calibration is of: the numbers that a USB device says of itself.

use std::fmt;
use std::str::FromStr;

/// Vendor, product and, where the device has one, its serial number: `046d:0825:5A3B1C20`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsbId {
    /// Four hexadecimal digits, small letters.
    pub vendor: String,
    /// Four hexadecimal digits, small letters.
    pub product: String,
    /// Many cameras have none, and some makers give the same to all of a kind.
    pub serial: Option<String>,
}

impl FromStr for UsbId {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.splitn(3, ':');
        let mut number = || {
            let part = parts.next()?.to_ascii_lowercase();
            (part.len() == 4 && part.bytes().all(|b| b.is_ascii_hexdigit())).then_some(part)
        };
        let (vendor, product) = (number(), number());
        let serial = parts.next().map(str::trim).filter(|s| !s.is_empty()).map(str::to_owned);
        match (vendor, product) {
            (Some(vendor), Some(product)) => Ok(Self { vendor, product, serial }),
            _ => Err(format!("'{text}' is no USB id: vendor:product or vendor:product:serial, as 046d:0825")),
        }
    }
}

impl fmt::Display for UsbId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.vendor, self.product)?;
        self.serial.as_ref().map_or(Ok(()), |serial| write!(f, ":{serial}"))
    }
}

impl UsbId {
    /// Whether both may be the same camera: a serial number that one of them lacks tells nothing.
    pub fn may_be(&self, other: &Self) -> bool {
        let serials = self.serial.as_ref().zip(other.serial.as_ref());
        self.vendor == other.vendor && self.product == other.product && serials.is_none_or(|(a, b)| a == b)
    }

    /// A name for its file: letters, digits and hyphens.
    pub fn as_file_name(&self) -> String {
        let name = self.to_string();
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).take(80).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> UsbId {
        text.parse().unwrap()
    }

    #[test]
    fn ids_read_as_they_are_written() {
        for text in ["046d:0825", "046d:0825:5A3B1C20", "1bcf:2b8a:a:b"] {
            assert_eq!(id(text).to_string(), text);
        }
        assert_eq!(id("046D:0825:").to_string(), "046d:0825");
        for wrong in ["", "046d", "46d:0825", "046d:08g5", "logitech"] {
            assert!(wrong.parse::<UsbId>().unwrap_err().contains("no USB id"), "{wrong}");
        }
    }

    #[test]
    fn a_serial_number_that_is_missing_fits_any() {
        assert!(id("046d:0825").may_be(&id("046d:0825:A")) && id("046d:0825:A").may_be(&id("046d:0825:A")));
        assert!(!id("046d:0825:A").may_be(&id("046d:0825:B")) && !id("046d:0825").may_be(&id("046d:0826")));
    }

    #[test]
    fn a_file_is_named_without_anything_that_leads_elsewhere() {
        assert_eq!(id("046d:0825:../etc/x y").as_file_name(), "046d-0825----etc-x-y");
    }
}
