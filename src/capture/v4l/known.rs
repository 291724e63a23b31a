//! Who a camera was, so that it is known again when it is back under another number.

use std::path::PathBuf;

/// What is remembered of a camera that has given a frame.
pub(super) struct Known {
    /// What the driver calls it.
    pub card: String,
    /// Its lasting name, where it has one.
    pub by_id: Option<PathBuf>,
    /// Where it hangs on USB.
    pub usb_id: Option<String>,
}

impl Known {
    /// Whether a device that says this of itself may be this camera. Serial numbers tell two of one model apart where both have
    /// one; many cameras have none.
    pub fn may_be(&self, card: &str, usb_id: Option<&str>) -> bool {
        let serials = self.usb_id.as_deref().and_then(serial).zip(usb_id.and_then(serial));
        self.card == card && serials.is_none_or(|(known, found)| known == found)
    }
}

/// The last part of `vendor:product:serial`, where it is there.
fn serial(usb_id: &str) -> Option<&str> {
    usb_id.splitn(3, ':').nth(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_cameras_of_one_model_are_told_apart_by_their_serial_numbers() {
        let known = |usb_id: Option<&str>| Known {
            card: "C270".into(),
            by_id: None,
            usb_id: usb_id.map(str::to_owned),
        };
        let a = known(Some("046d:0825:A"));
        assert!(a.may_be("C270", Some("046d:0825:A")));
        assert!(!a.may_be("C270", Some("046d:0825:B")), "the other one");
        assert!(!a.may_be("C920", Some("046d:0825:A")));
        // Nobody can tell where one of the two has no number.
        assert!(a.may_be("C270", Some("046d:0825")) && a.may_be("C270", None));
        assert!(known(Some("046d:0825")).may_be("C270", Some("046d:0825:B")));
        assert!(known(None).may_be("C270", None));
    }
}
