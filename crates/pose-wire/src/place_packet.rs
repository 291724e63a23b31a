//! PLACE: where one person stands before the camera.

use pose::Place;

use crate::{
    bytes::{Reader, Writer},
    quantise::round_i16,
};

/// Bytes of the body.
pub(crate) const PLACE_BODY_LEN: usize = 32;

/// Where one person stands, in wire units; beside the POSE of the same `seq` and `track_id`.
///
/// ```text
///  4 seq u32   8 captured_at µs i64   16 track_id u32   20 distance mm u16   22 distance_sigma mm u16
/// 24 at mm: x i16, y i16, z i16   30 sigma mm: x u16, y u16, z u16                                        36 = end
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlacePacket {
    /// Of the moment of sending, as in the POSEs.
    pub seq: u32,
    /// Capture time of the frame in which they stood there, microseconds of the host's monotonic clock.
    pub captured_at_us: i64,
    /// Whose place it is.
    pub track_id: u32,
    /// From the camera to the middle of the hips, mm; 65535: that or more.
    pub distance_mm: u16,
    /// Its standard deviation, mm.
    pub distance_sigma_mm: u16,
    /// The middle of the hips in camera space: x right in the picture, y down, z along the lens's axis; mm.
    pub at_mm: [i16; 3],
    /// Standard deviations, mm.
    pub sigma_mm: [u16; 3],
}

/// Metres to mm, rounded, saturating; NaN is 0.
fn mm(metres: f32) -> u16 {
    (metres * 1000.0 + 0.5) as u16
}

impl PlacePacket {
    /// The packet of `place`. What is lost: half a millimetre; places stop at ±32.7 m, distances and sigmas at 65.5 m.
    pub fn new(place: &Place, track_id: u32, seq: u32, captured_at_us: i64) -> Self {
        Self {
            seq,
            captured_at_us,
            track_id,
            distance_mm: mm(place.distance_m),
            distance_sigma_mm: mm(place.distance_sigma_m),
            at_mm: place.at_m.map(|m| round_i16(m * 1000.0)),
            sigma_mm: place.sigma_m.map(mm),
        }
    }

    /// Back to metres.
    pub fn place(&self) -> Place {
        let m = |mm: u16| f32::from(mm) / 1000.0;
        Place {
            at_m: self.at_mm.map(|mm| f32::from(mm) / 1000.0),
            sigma_m: self.sigma_mm.map(m),
            distance_m: m(self.distance_mm),
            distance_sigma_m: m(self.distance_sigma_mm),
        }
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.put(self.seq.to_le_bytes());
        w.put(self.captured_at_us.to_le_bytes());
        w.put(self.track_id.to_le_bytes());
        w.put(self.distance_mm.to_le_bytes());
        w.put(self.distance_sigma_mm.to_le_bytes());
        self.at_mm.iter().for_each(|v| w.put(v.to_le_bytes()));
        self.sigma_mm.iter().for_each(|v| w.put(v.to_le_bytes()));
    }

    pub(crate) fn read(mut r: Reader<'_>) -> Option<Self> {
        let place = Self {
            seq: r.u32(),
            captured_at_us: r.i64(),
            track_id: r.u32(),
            distance_mm: r.u16(),
            distance_sigma_mm: r.u16(),
            at_mm: core::array::from_fn(|_| r.i16()),
            sigma_mm: core::array::from_fn(|_| r.u16()),
        };
        r.finish(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metres_come_back_to_half_a_millimetre_and_stop_at_the_ends() {
        let place = Place {
            at_m: [-0.4204, 0.31, 3.1216],
            sigma_m: [0.02, 0.0, 0.1106],
            distance_m: 3.1656,
            distance_sigma_m: 0.13,
        };
        let packet = PlacePacket::new(&place, 7, 3, 9);
        assert_eq!((packet.track_id, packet.seq, packet.captured_at_us), (7, 3, 9));
        assert_eq!((packet.at_mm, packet.distance_mm), ([-420, 310, 3122], 3166));
        assert_eq!((packet.sigma_mm, packet.distance_sigma_mm), ([20, 0, 111], 130));
        let back = packet.place();
        assert_eq!((back.sigma_m, back.distance_m, back.distance_sigma_m), ([0.02, 0.0, 0.111], 3.166, 0.13));
        for (a, b) in back.at_m.iter().zip(place.at_m) {
            assert!((a - b).abs() <= 0.00051, "{a} {b}");
        }
        let far = Place { at_m: [-1e9, f32::NAN, 1e9], distance_m: 1e9, ..place };
        let packet = PlacePacket::new(&far, 7, 3, 9);
        assert_eq!((packet.at_mm, packet.distance_mm), ([i16::MIN, 0, i16::MAX], u16::MAX));
    }
}
