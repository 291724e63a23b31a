//! Clocks, lines and the room together: datagrams in, people out.

use crate::camera::Lens;
use crate::clock::{Clock, Exchange};
use crate::coverage::PictureCoverage;
use crate::failover::Heartbeat;
use crate::fuse::{Fusion, RoomPerson};
use crate::line::{self, LineError, Look};
use crate::{Extrinsics, V3};

/// Nobody sends what is older, and nothing comes before its light but by a clock's error.
const OLDEST_US: i64 = 2_000_000;
const AHEAD_US: i64 = 20_000;

/// One line as a board sent it, and when it came.
#[derive(Clone, Debug)]
pub struct Packet {
    /// From which camera.
    pub camera: usize,
    /// By the hub's clock.
    pub arrived_us: i64,
    /// The line.
    pub text: String,
}

/// Every camera's lens, clock and correction: datagrams in, what each camera saw out.
#[derive(Clone, Debug)]
pub struct CameraInputs {
    lenses: Vec<Lens>,
    clocks: Vec<Clock>,
    offsets_us: Vec<i64>,
    /// The last stamp of each camera, by its board's clock: what another datagram overtook is old.
    captured_us: Vec<i64>,
    coverage: Vec<PictureCoverage>,
}

impl CameraInputs {
    /// Of cameras with these lenses; `offsets_us` are added to their stamps.
    pub fn new(lenses: Vec<Lens>, offsets_us: Vec<i64>) -> Self {
        let n = lenses.len();
        let (clocks, captured_us) = (vec![Clock::default(); n], vec![i64::MIN / 2; n]);
        Self { lenses, clocks, offsets_us, captured_us, coverage: vec![PictureCoverage::default(); n] }
    }

    /// What a camera saw, by the hub's clock; `None` for what was overtaken.
    ///
    /// # Errors
    /// [`LineError`]: it is no line.
    pub fn receive(&mut self, packet: &Packet) -> Result<Option<Look>, LineError> {
        let camera = packet.camera;
        let read = line::read(&packet.text, &self.lenses[camera])?;
        let clock = &mut self.clocks[camera];
        clock.arrived(read.emitted_us, packet.arrived_us);
        let before_us = self.captured_us[camera];
        // A clock that was set anew may go back; a datagram that was overtaken is late by less than a second.
        if read.captured_us <= before_us && before_us.saturating_sub(read.captured_us) < 1_000_000 {
            return Ok(None);
        }
        self.captured_us[camera] = read.captured_us;
        if !read.is_sized {
            self.coverage[camera].add(&read.persons, &self.lenses[camera]);
        }
        let at_us = clock.hub_us(read.captured_us).unwrap_or(packet.arrived_us) + self.offsets_us[camera];
        // A stamp that no clock explains must not carry the whole room away.
        let at_us = at_us.clamp(packet.arrived_us - OLDEST_US, packet.arrived_us + AHEAD_US);
        Ok(Some(Look { camera, at_us, persons: read.persons }))
    }

    /// An exchange with a camera's agent came to its end.
    pub fn exchanged(&mut self, camera: usize, exchange: Exchange) {
        self.clocks[camera].exchanged(exchange);
    }

    /// In how many pictures a camera saw a person, and a warning where it looks like another size than the lens was calibrated at.
    pub fn coverage(&self, camera: usize) -> (u64, Option<String>) {
        let coverage = &self.coverage[camera];
        (coverage.pictures(), coverage.size_warning(&self.lenses[camera]))
    }
}

/// The people of a room at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// Counts moments.
    pub seq: u64,
    /// The moment, by the hub's clock: the newest light that it rests on.
    pub at_us: i64,
    /// Who is there.
    pub people: Vec<RoomPerson>,
    /// Cameras that no longer stand where they stood.
    pub moved: Vec<usize>,
}

/// The whole hub but for sockets and files.
#[derive(Clone, Debug)]
pub struct Hub {
    /// What comes in.
    pub inputs: CameraInputs,
    /// The room.
    pub fusion: Fusion,
    seq: u64,
    /// When it told last, and whether a camera said anything since.
    told_us: i64,
    is_fresh: bool,
}

impl Hub {
    /// Cameras with these lenses at these places.
    pub fn new(lenses: Vec<Lens>, places: Vec<Extrinsics>, offsets_us: Vec<i64>) -> Self {
        let fusion = Fusion::new(places);
        Self {
            inputs: CameraInputs::new(lenses, offsets_us),
            fusion,
            seq: 0,
            told_us: i64::MIN / 2,
            is_fresh: false,
        }
    }

    /// Takes in a datagram, and gives how many persons it tells of.
    ///
    /// # Errors
    /// [`LineError`]: it is no line.
    pub fn receive(&mut self, packet: &Packet) -> Result<usize, LineError> {
        let Some(look) = self.inputs.receive(packet)? else { return Ok(0) };
        let persons = look.persons.len();
        self.fusion.look(look);
        self.is_fresh = true;
        Ok(persons)
    }

    /// What is sent to the other hub of this room.
    pub fn heartbeat(&self, numbers: &[u32]) -> Heartbeat {
        let (here, next_id) = self.fusion.whereabouts();
        let persons = here.iter().map(|(id, at)| (*id, [at.x, at.y, at.z])).collect();
        Heartbeat { moments: self.seq, next_id, numbers: numbers.to_vec(), persons }
    }

    /// Goes on where the other hub of this room is.
    pub fn learn(&mut self, heartbeat: &Heartbeat) {
        self.seq = self.seq.max(heartbeat.moments);
        let others: Vec<(u32, V3)> = heartbeat.persons.iter().map(|(id, at)| (*id, V3::from(*at))).collect();
        self.fusion.rename(&others, heartbeat.next_id);
    }

    /// When a moment is due, if at least `gap_us` are to lie between two; `None` as long as nothing is new.
    pub fn due_us(&self, gap_us: i64) -> Option<i64> {
        self.is_fresh.then_some(self.told_us + gap_us)
    }

    /// The people at `now_us`, where a moment is due. Cameras that saw the same instant speak one after the other: each makes it better
    /// known, so there may be several moments of one instant.
    pub fn tell(&mut self, now_us: i64, gap_us: i64) -> Option<Moment> {
        if self.due_us(gap_us).is_none_or(|due| now_us < due) {
            return None;
        }
        (self.told_us, self.is_fresh) = (now_us, false);
        self.seq += 1;
        let (at_us, moved) = (self.fusion.newest_us(), self.fusion.moved());
        Some(Moment { seq: self.seq - 1, at_us, people: self.fusion.people(at_us), moved })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_known_better_makes_no_picture_old() {
        let lens = Lens::read(
            "width_px = 640\nheight_px = 480\nfx_px = 500\nfy_px = 500\ncx_px = 320\ncy_px = 240\nk1 = 0\nk2 = 0\n",
        );
        let mut inputs = CameraInputs::new(vec![lens.unwrap()], vec![0]);
        let mut receive = |captured_us: i64, way_us: i64| {
            let text =
                format!("{{\"captured_us\":{captured_us},\"emitted_us\":{captured_us},\"persons\":[]}}");
            let look = inputs.receive(&Packet { camera: 0, arrived_us: captured_us + way_us, text }).unwrap();
            look.map(|look| look.at_us)
        };
        assert_eq!(receive(1_000_000, 80_000), Some(1_080_000));
        // By this line's way the one before was 80 ms late on its.
        assert_eq!(receive(1_033_000, 0), Some(1_033_000));
        assert_eq!(
            (receive(1_033_000, 500), receive(1_000_000, 90_000)),
            (None, None),
            "twice, and overtaken"
        );
        assert!(receive(1_066_000, 0).is_some());
    }

    const LENS: &str = "width_px = 640\nheight_px = 480\nfx_px = 500\nfy_px = 500\ncx_px = 320\ncy_px = 240\nk1 = 0\nk2 = 0\n";

    fn received(
        inputs: &mut CameraInputs,
        captured_us: i64,
        emitted_us: i64,
        arrived_us: i64,
    ) -> Option<i64> {
        let text = format!("{{\"captured_us\":{captured_us},\"emitted_us\":{emitted_us},\"persons\":[]}}");
        inputs.receive(&Packet { camera: 0, arrived_us, text }).unwrap().map(|look| look.at_us)
    }

    #[test]
    fn a_stamp_is_corrected_by_the_cameras_offset_and_kept_near_its_arrival() {
        let inputs = |offset_us| CameraInputs::new(vec![Lens::read(LENS).unwrap()], vec![offset_us]);
        assert_eq!(received(&mut inputs(0), 1_000_000, 1_010_000, 1_010_000), Some(1_000_000));
        assert_eq!(received(&mut inputs(-7_000), 1_000_000, 1_010_000, 1_010_000), Some(993_000));
        // Light of an hour ago, and of an hour hence.
        assert_eq!(received(&mut inputs(0), -3_600_000_000, 1_000_000, 1_000_000), Some(-1_000_000));
        assert_eq!(received(&mut inputs(0), 3_600_000_000, 1_000_000, 1_000_000), Some(1_020_000));
    }

    #[test]
    fn a_board_whose_clock_was_set_back_is_heard_again() {
        let mut inputs = CameraInputs::new(vec![Lens::read(LENS).unwrap()], vec![0]);
        assert!(received(&mut inputs, 9_000_000, 9_000_000, 9_000_000).is_some());
        assert_eq!(received(&mut inputs, 8_001_000, 8_001_000, 9_001_000), None, "was overtaken");
        assert!(received(&mut inputs, 7_999_000, 7_999_000, 9_033_000).is_some());
    }

    #[test]
    fn whoever_learns_from_the_other_hub_counts_on_from_there() {
        let new = || Hub::new(vec![Lens::read(LENS).unwrap()], vec![Extrinsics::identity()], vec![0]);
        let (mut first, mut second) = (new(), new());
        let tell = |hub: &mut Hub, now_us: i64| {
            let text = format!("{{\"captured_us\":{now_us},\"emitted_us\":{now_us},\"persons\":[]}}");
            hub.receive(&Packet { camera: 0, arrived_us: now_us, text }).unwrap();
            hub.tell(now_us, 0).unwrap().seq
        };
        assert_eq!([tell(&mut first, 1_000_000), tell(&mut first, 2_000_000)], [0, 1]);
        second.learn(&first.heartbeat(&[]));
        assert_eq!(tell(&mut second, 3_000_000), 2);
        // What the other told before this one does not count back.
        second.learn(&Heartbeat { moments: 1, ..Heartbeat::default() });
        assert_eq!(tell(&mut second, 4_000_000), 3);
    }

    #[test]
    fn no_line_waits_longer_than_the_gap() {
        let lens = Lens::read(
            "width_px = 640\nheight_px = 480\nfx_px = 500\nfy_px = 500\ncx_px = 320\ncy_px = 240\nk1 = 0\nk2 = 0\n",
        );
        let mut hub = Hub::new(vec![lens.unwrap(); 2], vec![Extrinsics::identity(); 2], vec![0; 2]);
        let line = |camera: usize, arrived_us: i64| {
            // Both cameras see the same instants.
            let captured_us = arrived_us / 100_000 * 100_000;
            let text =
                format!("{{\"captured_us\":{captured_us},\"emitted_us\":{arrived_us},\"persons\":[]}}");
            Packet { camera, arrived_us, text }
        };
        assert_eq!(hub.due_us(8_000), None);
        hub.receive(&line(0, 1_000_000)).unwrap();
        assert_eq!(hub.tell(1_000_000, 8_000).map(|m| (m.seq, m.at_us)), Some((0, 1_000_000)));
        assert_eq!(hub.tell(1_050_000, 8_000), None, "nothing is new");
        hub.receive(&line(1, 1_002_000)).unwrap();
        assert_eq!((hub.tell(1_002_000, 8_000), hub.due_us(8_000)), (None, Some(1_008_000)));
        assert_eq!(hub.tell(1_008_000, 8_000).map(|m| (m.seq, m.at_us)), Some((1, 1_000_000)));
    }
}
