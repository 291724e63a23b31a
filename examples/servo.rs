//! A servo that copies the right elbow of the first person for as long as their left hand is raised.
//!
//! `cargo run --release --example servo -- /dev/ttyUSB0` (`stty -F /dev/ttyUSB0 raw -echo 115200` first) prints the pulses that a servo would get.
//! [`ElbowServo`] needs nothing but `pose`: on a microcontroller it stands behind `pose-wire`'s decoder (`firmware/app` has one), and
//! its number goes to a timer.

use std::io::Read;

use pose::gesture::{Held, angle_rad, hands_raised};
use pose::{Joint, Pose};
use pose_wire::SourceState;
use posewire::output::serial::{Heard, Reader};

/// A hobby servo's ends, microseconds of pulse: a folded arm and a stretched one.
const FOLDED_US: f32 = 1000.0;
const STRETCHED_US: f32 = 2000.0;

/// An elbow cannot be folded further, radians.
const FOLDED_RAD: f32 = 0.5;

/// A whole way takes at least this long: a servo that is thrown about breaks gears and fingers.
const WAY_S: f32 = 0.5;

/// What the servo is told.
pub struct ElbowServo {
    is_asked: Held,
    pulse_us: f32,
    at_us: Option<i64>,
    /// By the newest STATUS, which comes with the first poses and every second: whether they are of people. The built-in clip's are not.
    is_real: bool,
}

impl Default for ElbowServo {
    fn default() -> Self {
        // A hand that is up for a fifth of a second is meant, and one that is gone for a moment is not down.
        Self { is_asked: Held::new(200_000, 400_000), pulse_us: FOLDED_US, at_us: None, is_real: false }
    }
}

impl ElbowServo {
    /// The pulse's length in microseconds, where a first person is heard of. A moment whose packet of theirs was lost begins with another.
    pub fn hear(&mut self, heard: &Heard) -> Option<f32> {
        match heard {
            Heard::Status(status) => self.is_real = status.source != SourceState::BUILT_IN,
            Heard::Moment(moment, _) if self.is_real => {
                let first = moment.persons().find(|person| person.index == 0)?;
                return Some(self.update(&first.pose(), moment.valid_at_us()));
            }
            _ => {}
        }
        None
    }

    /// The same after `pose`, which is of the moment `at_us`. What is not known moves nothing.
    pub fn update(&mut self, pose: &Pose, at_us: i64) -> f32 {
        let since_s = self.at_us.replace(at_us).map_or(0.0, |before| (at_us - before).max(0) as f32 * 1e-6);
        let [is_left_up, _] = hands_raised(pose);
        let is_asked = self.is_asked.update(is_left_up, at_us);
        let elbow = angle_rad(pose, Joint::RightShoulder, Joint::RightElbow, Joint::RightWrist);
        if let (true, Some(elbow)) = (is_asked, elbow) {
            let stretched = (elbow - FOLDED_RAD) / (std::f32::consts::PI - FOLDED_RAD);
            let wanted = FOLDED_US + stretched.clamp(0.0, 1.0) * (STRETCHED_US - FOLDED_US);
            // After a pause too, it sets off slowly.
            let reach = since_s.min(0.1) / WAY_S * (STRETCHED_US - FOLDED_US);
            self.pulse_us += (wanted - self.pulse_us).clamp(-reach, reach);
        }
        self.pulse_us
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("name the port, or a file of its bytes")?;
    let mut port = std::fs::File::open(path)?;
    let (mut reader, mut servo) = (Reader::default(), ElbowServo::default());
    let mut bytes = [0; 1024];
    loop {
        let n = port.read(&mut bytes)?;
        if n == 0 {
            return Ok(());
        }
        reader.feed(&bytes[..n], |heard| {
            if let Some(pulse_us) = servo.hear(&heard) {
                println!("{pulse_us:.0} us");
            }
            Ok(())
        })?;
    }
}
