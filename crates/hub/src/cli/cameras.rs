//! What a hub knows of its cameras beside what they see: who is silent, whose lines are wrong, who was moved, and where that is written down.

use std::mem::{Discriminant, discriminant};
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, anyhow, bail};
use posewire_hub::Extrinsics;
use posewire_hub::config::{Camera, is_placed_anew, placed_text};
use posewire_hub::geometry::centre;
use posewire_hub::line::LineError;

use super::mqtt::Health;
use super::slow::Slow;
use super::text;

/// Without a word of use from a camera for so long, it is told.
const SILENT_US: i64 = 3_000_000;

/// The cameras of a room.
pub struct Cameras {
    all: Vec<Camera>,
    pub health: Health,
    /// When the last line came that was of use, and the last one that was not, and why.
    heard_us: Vec<i64>,
    refused: Vec<Option<(i64, LineError)>>,
    /// Whether any line of any camera was of use.
    is_of_use: bool,
    slow: Vec<Slow>,
    wrong: Wrong,
    /// Where a place that was found anew is written down; `None`: nowhere.
    room: Option<PathBuf>,
}

/// Lines that were of no use.
pub struct Wrong {
    command: &'static str,
    names: Vec<String>,
    /// Of each camera, in the order in which they began.
    all: Vec<Vec<Fault>>,
}

/// One kind of fault that lines of a camera have.
struct Fault {
    kind: Discriminant<LineError>,
    count: u64,
    /// The first one's words.
    first: String,
}

impl Wrong {
    /// Of `cameras`, as `command` says it.
    pub fn new(command: &'static str, cameras: &[Camera]) -> Self {
        let names = cameras.iter().map(|camera| camera.name.clone()).collect();
        let all = cameras.iter().map(|_| Vec::new()).collect();
        Self { command, names, all }
    }

    /// One more; the 1st, 2nd, 4th, 8th … of its kind is told.
    pub fn add(&mut self, camera: usize, wrong: &LineError) {
        if self.count(camera, wrong).is_power_of_two() {
            say!("posewire-hub {}: camera {:?}: {wrong}", self.command, self.names[camera]);
        }
    }

    /// How many of this kind there are, with this one. Each is counted by itself: after a night of one fault another is news.
    fn count(&mut self, camera: usize, wrong: &LineError) -> u64 {
        let (faults, kind) = (&mut self.all[camera], discriminant(wrong));
        let at = faults.iter().position(|fault| fault.kind == kind).unwrap_or_else(|| {
            faults.push(Fault { kind, count: 0, first: wrong.to_string() });
            faults.len() - 1
        });
        faults[at].count += 1;
        faults[at].count
    }

    /// Why nothing came that is of use, and what to do.
    pub fn nothing(&self, cameras: &[Camera]) -> Error {
        match (self.told(), cameras.first()) {
            (Some(wrong), _) => Error::msg(wrong),
            (None, Some(Camera { name, endpoint, .. })) => anyhow!(
                "nothing came: does each board run what this wants, as camera {name:?} {}?",
                endpoint.board_command()
            ),
            (None, None) => anyhow!("nothing came"),
        }
    }

    /// All of them, a sentence a camera and kind; `None` where none was wrong.
    pub fn told(&self) -> Option<String> {
        let all = self.names.iter().zip(&self.all);
        let all = all.flat_map(|(name, faults)| faults.iter().map(move |fault| (name, fault)));
        let all: Vec<String> = all
            .map(|(name, Fault { count, first, .. })| {
                format!("{count} of camera {name:?}'s lines were of no use, the first since: {first}")
            })
            .collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

impl Cameras {
    /// Nothing was heard of them yet. `room`: the file in which a place that is found anew is written down.
    pub fn new(all: Vec<Camera>, room: Option<PathBuf>, now_us: i64) -> Self {
        let n = all.len();
        let health = Health { silent: vec![false; n], moved: vec![false; n] };
        let wrong = Wrong::new("run", &all);
        let (heard_us, refused) = (vec![now_us; n], (0..n).map(|_| None).collect());
        let slow = vec![Slow::default(); n];
        Self { all, health, heard_us, refused, is_of_use: false, slow, wrong, room }
    }

    /// What people call them.
    pub fn names(&self) -> Vec<String> {
        self.wrong.names.clone()
    }

    /// A line came, and what was wrong with it.
    pub fn heard(&mut self, camera: usize, wrong: Option<LineError>, now_us: i64) {
        if let Some(wrong) = wrong {
            self.wrong.add(camera, &wrong);
            self.refused[camera] = Some((now_us, wrong));
            return;
        }
        self.heard_us[camera] = now_us;
        self.is_of_use = true;
        if std::mem::take(&mut self.health.silent[camera]) {
            say!("posewire-hub run: camera {:?} is back", self.all[camera].name);
        }
        if let Some(a_second) = self.slow[camera].heard(now_us) {
            say!(
                "posewire-hub run: camera {:?} tells of {a_second:.1} pictures a second: below four a second people are told with gaps. A smaller network (`posewire run --model`) makes its board quicker",
                self.all[camera].name
            );
        }
    }

    /// Says at the end which lines were of no use. `take`: all of it was heard.
    ///
    /// # Errors
    /// No line of the take was of use.
    pub fn end(&self, take: Option<&Path>) -> Result<()> {
        let Some(told) = self.wrong.told() else { return Ok(()) };
        if let Some(take) = take
            && !self.is_of_use
        {
            bail!("{}: nobody could be told of: {told}", take.display());
        }
        say!("posewire-hub run: {told}");
        Ok(())
    }

    /// Says what looks wrong about a camera.
    pub fn warn(&self, camera: usize, warning: &str) {
        say!("posewire-hub run: camera {:?}: {warning}", self.all[camera].name);
    }

    /// Says who has been silent for too long; whose lines are all refused sees as little.
    pub fn look_for_silence(&mut self, now_us: i64) {
        for (c, camera) in self.all.iter().enumerate() {
            if !self.health.silent[c] && now_us - self.heard_us[c] > SILENT_US {
                self.health.silent[c] = true;
                let (name, wants) = (&camera.name, camera.endpoint.board_command());
                match &self.refused[c] {
                    Some((at_us, wrong)) if now_us - at_us <= SILENT_US => {
                        say!(
                            "posewire-hub run: camera {name:?} counts as silent, no line is of use: {wrong}"
                        );
                    }
                    _ => say!("posewire-hub run: camera {name:?} is silent: does its board run {wants}?"),
                }
            }
        }
    }

    /// Says who was moved.
    pub fn moved(&mut self, moved: &[usize]) {
        for (c, was) in self.health.moved.iter_mut().enumerate() {
            let is = moved.contains(&c);
            if is && !*was {
                say!(
                    "posewire-hub run: camera {:?} was moved: what it sees does not fit any more. It is placed anew as soon as somebody has walked before it for some seconds whom two others see, too",
                    self.all[c].name,
                );
            }
            *was = is;
        }
    }

    /// Says where a camera was placed anew, and writes it down, so that it is known after a restart.
    pub fn placed(&self, camera: usize, place: &Extrinsics) {
        let (eye, name) = (centre(place), &self.all[camera].name);
        let where_to =
            format!("camera {name:?} is placed anew, at {:.2}, {:.2}, {:.2} m", eye.x, eye.y, eye.z);
        let Some(room) = &self.room else {
            say!("posewire-hub run: {where_to}. The room's file keeps the old place");
            return;
        };
        match write_down(room, name, place) {
            Ok(before) => say!(
                "posewire-hub run: {where_to}, and {} says so now; what `calibrate` wrote is in {}. A new `calibrate` knows it better",
                room.display(),
                before.display()
            ),
            Err(e) => say!(
                "posewire-hub run: {where_to}. {} still has the old place ({e:#}): after a restart it is found again, or walk about for `calibrate`",
                room.display()
            ),
        }
    }

    /// Where they stand, for the view: rows of the rotation are their right, down and ahead; `half` is the tangent of half the picture.
    pub fn said(&self, places: &[Extrinsics]) -> String {
        let one = |(camera, place): (&Camera, &Extrinsics)| {
            let (eye, turn) = (centre(place), place.rotation.to_rotation_matrix());
            let row = |k: usize| [turn[(k, 0)], turn[(k, 1)], turn[(k, 2)]];
            let lens = &camera.lens;
            let half =
                [0.5 * f64::from(lens.width_px) / lens.fx_px, 0.5 * f64::from(lens.height_px) / lens.fy_px];
            serde_json::json!({ "name": camera.name, "at_m": [eye.x, eye.y, eye.z], "rotation": [row(0), row(1), row(2)], "half": half })
        };
        serde_json::Value::from_iter(self.all.iter().zip(places).map(one)).to_string()
    }
}

/// Writes a camera's place into the room's file; gives where the file as `calibrate` wrote it is kept.
fn write_down(room: &Path, name: &str, place: &Extrinsics) -> Result<PathBuf> {
    let text = files::read_text_at_most(room, files::MAX_TEXT_BYTES)?;
    let placed = placed_text(&text, name, place).context("it is no room's file any more")?;
    let mut before = room.as_os_str().to_owned();
    before.push(".before");
    let before = PathBuf::from(before);
    // Somebody walked for it: what is found later does not take its place, a new `calibrate` does.
    if !is_placed_anew(&text) || !before.exists() {
        text::replace(&before, &text)?;
    }
    text::replace(room, &placed)?;
    Ok(before)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The cameras of a folder's file.
    fn cameras(names: &[&str]) -> Vec<Camera> {
        let folder = tempfile::tempdir().unwrap();
        let lens = "width_px = 640\nheight_px = 480\nfx_px = 500\nfy_px = 500\ncx_px = 320\ncy_px = 240\nk1 = 0\nk2 = 0\n";
        fs::write(folder.path().join("lens.toml"), lens).unwrap();
        let one = |name: &&str| {
            format!("[[camera]]\nname = '{name}'\ncalibration = 'lens.toml'\nlisten = 'zenoh:{name}'\n")
        };
        let file = folder.path().join("cameras.toml");
        fs::write(&file, names.iter().map(one).collect::<String>()).unwrap();
        posewire_hub::config::cameras(&file).unwrap()
    }

    #[test]
    fn each_kind_of_fault_is_counted_by_itself() {
        let mut wrong = Wrong::new("run", &cameras(&["door", "window"]));
        let wide = LineError::OtherShape { theirs_px: [1_280, 720], calibrated_px: [640, 480] };
        let counts = [&LineError::BuiltInClip, &LineError::BuiltInClip, &LineError::BuiltInClip, &wide];
        assert_eq!(counts.map(|fault| wrong.count(1, fault)), [1, 2, 3, 1]);
        assert_eq!(wrong.count(0, &wide), 1);
        // Another text of one kind is no news.
        let junk = |why: &str| LineError::NotALine(why.to_owned());
        assert_eq!([junk("a"), junk("b")].map(|fault| wrong.count(0, &fault)), [1, 2]);
        let told = wrong.told().unwrap();
        for part in ["3 of camera \"window\"'s", "1 of camera \"window\"'s", "2 of camera \"door\"'s"] {
            assert!(told.contains(part), "{told}");
        }
        assert!(told.contains("plug a camera in; 1 of"), "{told}");
    }

    #[test]
    fn a_camera_whose_lines_are_all_refused_is_silent_until_one_is_of_use() {
        let mut cameras = Cameras::new(cameras(&["door", "window"]), None, 0);
        let take = Path::new("take.jsonl");
        assert!(cameras.end(Some(take)).is_ok(), "nothing was refused");
        for at_us in (0..=4_000_000).step_by(100_000) {
            cameras.heard(0, Some(LineError::BuiltInClip), at_us);
            cameras.look_for_silence(at_us);
        }
        assert_eq!(cameras.health.silent, [true, true]);
        let told = cameras.end(Some(take)).unwrap_err().to_string();
        assert!(told.starts_with("take.jsonl: ") && told.contains("41 of camera \"door\"'s lines"), "{told}");
        assert!(cameras.end(None).is_ok(), "live, boards may still come");
        cameras.heard(0, None, 4_100_000);
        cameras.look_for_silence(4_200_000);
        assert_eq!(cameras.health.silent, [false, true]);
        assert!(cameras.end(Some(take)).is_ok());
    }

    #[test]
    fn the_last_calibration_is_kept_whatever_is_placed_anew() {
        let folder = tempfile::tempdir().unwrap();
        let room = folder.path().join("room.toml");
        let calibrated = |number: u32| {
            format!(
                "# the {number}.\n[[camera]]\nname = \"door\"\nat_m = [0.0, 0.0, 2.0]\nrotation = [1.0, 0.0, 0.0, 0.0]\n"
            )
        };
        for number in 1..=2 {
            fs::write(&room, calibrated(number)).unwrap();
            for _ in 0..2 {
                let before = write_down(&room, "door", &Extrinsics::translation(0.0, 0.0, 1.0)).unwrap();
                assert_eq!(fs::read_to_string(before).unwrap(), calibrated(number));
                let text = fs::read_to_string(&room).unwrap();
                assert!(text.starts_with(&format!("# the {number}.")) && text.contains("-1.0"), "{text}");
            }
        }
        assert!(write_down(&room, "window", &Extrinsics::identity()).is_err());
    }
}
