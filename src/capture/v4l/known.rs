//! Who a camera was, so that it is known again when it is back under another number, and another one of its model is not taken for it.

use std::fs;
use std::path::{Path, PathBuf};

use super::mute_last;
use crate::capture::usb::{port_of, usb_id_of};

/// A video node, as the kernel's tree tells it without opening it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    /// `/dev/video0`, no link.
    pub path: PathBuf,
    /// Which USB device it belongs to.
    pub usb_id: Option<String>,
    /// Where that is plugged in.
    pub port: Option<PathBuf>,
}

impl Node {
    /// What is known of `path`, which may be a link.
    pub fn of(path: &Path, sysfs: &Path) -> Self {
        Self { path: node_of(path), usb_id: usb_id_of(path, sysfs), port: port_of(path, sysfs) }
    }
}

/// What a link leads to; the name itself where that is nowhere now.
pub(super) fn node_of(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// What is remembered of a camera that has given a frame.
pub(super) struct Known {
    /// What the driver calls it.
    pub card: String,
    /// Where it was.
    pub node: Node,
    /// The ports of others of its model that were there at the same time.
    pub beside: Vec<PathBuf>,
}

impl Known {
    /// The camera at `node`, which gives frames, among all `nodes` that there are now.
    pub fn new(card: String, node: Node, nodes: &[Node]) -> Self {
        let mut known = Self { card, node, beside: Vec::new() };
        known.see(nodes);
        known
    }

    /// Remembers who is beside it among all `nodes` that there are, while it is there or at the moment when it is lost: others may have
    /// been plugged in since its first frame.
    pub fn see(&mut self, nodes: &[Node]) {
        let Node { usb_id, port: Some(own), .. } = &self.node else { return };
        for port in nodes.iter().filter(|node| node.usb_id == *usb_id).filter_map(|node| node.port.as_ref()) {
            if port != own && !self.beside.contains(port) {
                self.beside.push(port.clone());
            }
        }
    }

    /// Whether a device that says this of itself may be this camera. Serial numbers tell two of one model apart where both have
    /// one; many cameras have none.
    pub fn may_be(&self, card: &str, usb_id: Option<&str>) -> bool {
        let serials = self.node.usb_id.as_deref().and_then(serial).zip(usb_id.and_then(serial));
        self.card == card && serials.is_none_or(|(known, found)| known == found)
    }

    /// Where to look for it, in this order: where it was plugged in, where its serial number is, at the node `own` that the user named,
    /// anywhere else but where others of its model were. udev's names by ID do not help: of two cameras that say the same of themselves,
    /// either may have that name. Nodes that are `refused`, as by another program, come last; those that are `given_up` not at all.
    pub fn candidates(
        &self,
        own: Option<&Path>,
        nodes: &[Node],
        refused: &[PathBuf],
        given_up: &[PathBuf],
    ) -> Vec<PathBuf> {
        let has_serial = self.node.usb_id.as_deref().is_some_and(|id| serial(id).is_some());
        let rank = |node: &Node| {
            let is_own = own == Some(&node.path);
            if self.node.port.is_some() && node.port == self.node.port {
                // One device may have several nodes.
                return Some(if is_own { 0 } else { 1 + u8::from(node.path != self.node.path) });
            }
            let is_other = node.usb_id == self.node.usb_id
                && node.port.as_ref().is_some_and(|port| self.beside.contains(port));
            match () {
                () if is_other => None,
                () if has_serial && node.usb_id == self.node.usb_id => Some(3),
                () if is_own => Some(4),
                () => Some(5),
            }
        };
        let unlisted = own.filter(|own| nodes.iter().all(|node| node.path != *own));
        let mut found: Vec<(u8, &Path)> = unlisted.map(|own| (4, own)).into_iter().collect();
        found.extend(nodes.iter().filter_map(|node| Some((rank(node)?, &*node.path))));
        found.retain(|(_, path)| !given_up.iter().any(|other| other == path));
        found.sort_by_key(|(rank, _)| *rank);
        // It keeps this order among those that it leaves in front.
        mute_last(found.into_iter().map(|(_, path)| path.to_owned()).collect(), refused)
    }
}

/// The last part of `vendor:product:serial`, where it is there.
fn serial(usb_id: &str) -> Option<&str> {
    usb_id.splitn(3, ':').nth(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(number: u32, usb_id: &str, port: &str) -> Node {
        let usb_id = Some(usb_id.to_owned()).filter(|id| !id.is_empty());
        let port = Some(PathBuf::from(port)).filter(|_| !port.is_empty());
        Node { path: path(number), usb_id, port }
    }

    fn path(number: u32) -> PathBuf {
        PathBuf::from(format!("/dev/video{number}"))
    }

    /// Numbers of the nodes to be tried.
    fn tried(known: &Known, own: Option<u32>, nodes: &[Node], refused: &[u32], given_up: &[u32]) -> Vec<u32> {
        let paths = |numbers: &[u32]| numbers.iter().map(|number| path(*number)).collect::<Vec<_>>();
        let own = own.map(path);
        let found = known.candidates(own.as_deref(), nodes, &paths(refused), &paths(given_up));
        let number =
            |path: &PathBuf| path.to_str().unwrap().strip_prefix("/dev/video").unwrap().parse().unwrap();
        found.iter().map(number).collect()
    }

    #[test]
    fn two_cameras_of_one_model_are_told_apart_by_their_serial_numbers() {
        let known = |usb_id: &str| Known::new("C270".into(), node(0, usb_id, ""), &[]);
        let a = known("046d:0825:A");
        assert!(a.may_be("C270", Some("046d:0825:A")));
        assert!(!a.may_be("C270", Some("046d:0825:B")), "the other one");
        assert!(!a.may_be("C920", Some("046d:0825:A")));
        // Nobody can tell where one of the two has no number.
        assert!(a.may_be("C270", Some("046d:0825")) && a.may_be("C270", None));
        assert!(known("046d:0825").may_be("C270", Some("046d:0825:B")));
        assert!(known("").may_be("C270", None));
    }

    /// With serial numbers that are none, too: many makers give all their cameras the same.
    #[test]
    fn the_other_camera_of_a_model_is_not_taken_for_the_one_that_was_lost() {
        for id in ["046d:0825", "046d:0825:1"] {
            let there = [node(0, id, "1-1"), node(1, id, "1-1"), node(2, id, "1-2"), node(4, "x", "1-3")];
            let known = Known::new("C270".into(), there[2].clone(), &there);
            assert_eq!(tried(&known, Some(2), &there, &[], &[]), [2, 4]);
            assert_eq!(tried(&known, None, &there, &[2], &[]), [4, 2], "held by another program");
            // Plugged in again it has another number, and the other one has its own.
            let now = [node(2, id, "1-1"), node(3, id, "1-2"), node(4, "x", "1-3")];
            assert_eq!(tried(&known, Some(2), &now, &[], &[]), [3, 4]);
            // Gone: a third one of the model may be it, in another port.
            let now = [node(0, id, "1-1"), node(5, id, "1-4")];
            assert_eq!(tried(&known, None, &now, &[], &[]), [5]);
        }
    }

    /// As at the start of a machine, whose cameras come one after the other.
    #[test]
    fn another_camera_of_the_model_that_came_later_is_not_taken_for_it_either() {
        for id in ["046d:0825", "046d:0825:1"] {
            let [a, b, c] = [0, 1, 2].map(|number| node(number, id, &format!("1-{number}")));
            let mut known = Known::new("C270".into(), a.clone(), std::slice::from_ref(&a));
            known.see(&[a.clone(), b.clone()]);
            known.see(std::slice::from_ref(&b));
            assert_eq!(known.beside, [PathBuf::from("1-1")]);
            assert_eq!(tried(&known, Some(0), std::slice::from_ref(&b), &[], &[]), [0], "waited for");
            assert_eq!(tried(&known, None, &[b, c], &[], &[]), [2], "it may be in another port now");
        }
    }

    #[test]
    fn a_camera_is_looked_for_by_its_port_its_serial_number_and_the_users_name() {
        let known = Known::new("C270".into(), node(0, "046d:0825:A", "1-1"), &[]);
        let now =
            [node(0, "y", "1-9"), node(1, "z", "1-8"), node(5, "046d:0825:A", "1-2"), node(6, "w", "1-1")];
        assert_eq!(tried(&known, Some(1), &now, &[], &[]), [6, 5, 1, 0]);
        assert_eq!(tried(&known, Some(9), &now[..2], &[], &[]), [9, 0, 1], "named, and not there now");
        // Of one device's nodes the user's, then the one that it was.
        let known = Known::new("vivid".into(), node(3, "", "vivid.0"), &[]);
        let now = [2, 3, 4].map(|number| node(number, "", "vivid.0"));
        assert_eq!(tried(&known, Some(4), &now, &[], &[]), [4, 3, 2]);
        assert_eq!(tried(&known, None, &now, &[], &[]), [3, 2, 4]);
        // Where the kernel's tree cannot be seen.
        let known = Known::new("C270".into(), node(0, "", ""), &[]);
        let now = [0, 1].map(|number| node(number, "", ""));
        assert_eq!(tried(&known, Some(1), &now, &[], &[]), [1, 0]);
    }

    #[test]
    fn what_refuses_is_tried_last_and_what_is_given_up_not_at_all() {
        let there = [0, 1, 2].map(|number| node(number, "046d:0825", &format!("1-{number}")));
        let known = Known::new("C270".into(), there[0].clone(), &there[..1]);
        assert_eq!(tried(&known, Some(0), &there, &[0], &[]), [1, 2, 0]);
        assert_eq!(tried(&known, Some(0), &there, &[1, 0], &[]), [2, 1, 0], "the latest last");
        assert_eq!(tried(&known, None, &there, &[], &[0, 2]), [1]);
    }
}
