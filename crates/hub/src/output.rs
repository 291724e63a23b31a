//! People of a room as JSON lines.

use std::fmt::Write;

use crate::hub::Moment;

/// `{"seq":0,"at_us":…,"sent_us":…,"moved":["door"],"persons":[{"id":1,"cameras":3,"joints":[[x,y,z,sigma]|null, … 17]}]}`: metres of the
/// room, times of the hub's monotonic clock.
pub fn json_line(moment: &Moment, sent_us: i64, names: &[impl AsRef<str>]) -> String {
    let mut text = String::with_capacity(200 + 800 * moment.people.len());
    // Writing to a String cannot fail.
    let _ =
        write!(text, "{{\"seq\":{},\"at_us\":{},\"sent_us\":{sent_us},\"moved\":[", moment.seq, moment.at_us);
    for (k, camera) in moment.moved.iter().enumerate() {
        let name = serde_json::to_string(names[*camera].as_ref()).unwrap_or_default();
        let _ = write!(text, "{}{name}", if k > 0 { "," } else { "" });
    }
    text.push_str("],\"persons\":[");
    for (k, person) in moment.people.iter().enumerate() {
        let comma = if k > 0 { "," } else { "" };
        let _ = write!(text, "{comma}{{\"id\":{},\"cameras\":{},\"joints\":[", person.id, person.cameras);
        for (j, joint) in person.joints.iter().enumerate() {
            let comma = if j > 0 { "," } else { "" };
            let _ = match joint {
                Some(joint) => {
                    let [x, y, z] = [joint.at.x, joint.at.y, joint.at.z];
                    write!(text, "{comma}[{x:.4},{y:.4},{z:.4},{:.4}]", joint.sigma)
                }
                None => write!(text, "{comma}null"),
            };
        }
        text.push_str("]}");
    }
    text.push_str("]}\n");
    text
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::V3;
    use crate::fuse::{RoomJoint, RoomPerson};

    /// People with these ids, all in one place, whose right ear nobody sees; the second camera was moved.
    pub(crate) fn moment(ids: &[u32]) -> Moment {
        let people = ids
            .iter()
            .map(|&id| RoomPerson {
                id,
                cameras: 3,
                joints: std::array::from_fn(|j| {
                    (j != 4).then(|| RoomJoint { at: V3::new(1.0, -2.0, 0.1 * j as f64), sigma: 0.02 })
                }),
            })
            .collect();
        Moment { seq: 7, at_us: 1_000_000, people, moved: vec![1] }
    }

    #[test]
    fn a_line_is_json_with_everything_in_it() {
        let text = json_line(&moment(&[4, 9]), 1_020_000, &["door", "the \"window\""]);
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["moved"][0], "the \"window\"");
        assert_eq!(
            (&read["seq"], &read["at_us"], &read["sent_us"]),
            (&7.into(), &1_000_000.into(), &1_020_000.into())
        );
        assert_eq!((&read["persons"][1]["id"], &read["persons"][1]["cameras"]), (&9.into(), &3.into()));
        assert_eq!(read["persons"][0]["joints"][9], serde_json::json!([1.0, -2.0, 0.9, 0.02]));
        assert!(read["persons"][0]["joints"][4].is_null());
        assert!(text.ends_with("]}\n") && !text.trim_end().contains('\n'));
    }
}
