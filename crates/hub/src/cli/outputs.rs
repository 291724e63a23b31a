//! Where moments go.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Error, Result, ensure};
use pose_events::Watch;
use pose_mqtt::Broker;
use pose_osc::OscFormat;
use posewire_hub::events::{happened, line};
use posewire_hub::failover::Heartbeat;
use posewire_hub::hub::Moment;
use posewire_hub::osc::Osc;
use posewire_hub::output::json_line;
use posewire_hub::zones::zones;
use shutdown::Stopped;
use timing::clock::{now_us, since_1970_us};

use super::mqtt::{Health, Mqtt};
use super::peer::Peer;
use super::pipes::wait_for_reader;
use super::text::{self, Ended, IfLate, Text};
use super::web::Web;

/// Where moments go
#[derive(Debug, clap::Args)]
pub struct Args {
    /// JSON lines to a file, or to standard output (`-`); taken where no output is named
    #[arg(long, value_name = "PATH")]
    jsonl: Option<PathBuf>,
    /// JSON lines as datagrams
    #[arg(long, value_name = "HOST:PORT")]
    udp: Option<String>,
    /// OSC, as --osc-format says it
    #[arg(long, value_name = "HOST:PORT")]
    pub osc: Option<String>,
    /// What OSC says: posewire (own addresses, a bundle a moment), or one person as vrchat (its trackers, in metres) or vmc (bones as rotations)
    #[arg(long, value_name = "FORMAT", default_value_t, requires = "osc")]
    osc_format: OscFormat,
    /// A view of the room for browsers, and the JSON lines as a WebSocket at /lines
    #[arg(long, value_name = "ADDRESS:PORT")]
    web: Option<SocketAddr>,
    /// What happens, rather than where joints are, a JSON line an event, to a file or to standard output (`-`)
    #[arg(long, value_name = "PATH")]
    events: Option<PathBuf>,
    /// Tell a broker who is there, in which zone, what happens and how the cameras are: mqtt://[USER:PASSWORD@]HOST[:PORT]
    #[arg(long, value_name = "URL")]
    mqtt: Option<Broker>,
    /// This room's part of every topic; the machine's name where not given
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true, requires = "mqtt")]
    mqtt_name: String,
    /// Polygons on the room's floor that --events and --mqtt watch
    #[arg(long, value_name = "FILE")]
    zones: Option<PathBuf>,
}

/// Where moments go.
pub struct Outputs {
    lines: Option<Text>,
    udp: Option<Peer>,
    osc: Option<(Peer, Osc)>,
    web: Option<Web>,
    events: Option<Text>,
    mqtt: Option<Mqtt>,
    watch: Option<Watch>,
    /// The cameras'.
    names: Vec<String>,
    /// Why a text is not whole.
    failed: Option<Error>,
}

impl Args {
    /// Whether anybody takes moments as they come, rather than a text that waits.
    pub fn are_live(&self) -> bool {
        self.udp.is_some() || self.osc.is_some() || self.web.is_some() || self.mqtt.is_some()
    }

    /// Waits until each named pipe has a reader, who does not see its end while what is returned is kept.
    pub fn wait_for_readers(&self, stop: &AtomicBool) -> Result<Vec<File>, Stopped> {
        let texts = [("run: --jsonl", &self.jsonl), ("run: --events", &self.events)];
        let texts = texts.into_iter().filter_map(|(what, path)| Some((what, path.as_deref()?)));
        let held = texts.map(|(what, path)| wait_for_reader(what, path, stop));
        Ok(held.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// Refuses outputs that would overwrite each other, or what is read: `inputs` and the zones.
    pub fn keep<'a>(&'a self, inputs: impl Iterator<Item = &'a Path> + Clone) -> Result<()> {
        let inputs = inputs.chain(self.zones.as_deref());
        for output in [&self.jsonl, &self.events].into_iter().flatten() {
            text::keep(inputs.clone(), output)?;
        }
        let (Some(lines), Some(events)) = (&self.jsonl, &self.events) else { return Ok(()) };
        ensure!(
            ![lines, events].iter().all(|path| files::is_stdout(path)),
            "--jsonl - and --events - cannot both have standard output: give one of them a file"
        );
        ensure!(
            !files::would_be_same(lines, events),
            "{}: --jsonl and --events need a file each",
            lines.display()
        );
        Ok(())
    }
}

impl Outputs {
    /// Opens what `args` name; `cameras`: where they stand, as JSON, and their `names`; `if_late`: of files and standard output.
    pub fn open(args: &Args, cameras: &str, names: Vec<String>, if_late: &IfLate) -> Result<Self> {
        let watches = args.events.is_some() || args.mqtt.is_some();
        let none = !watches
            && args.jsonl.is_none()
            && args.udp.is_none()
            && args.osc.is_none()
            && args.web.is_none();
        ensure!(
            args.zones.is_none() || watches,
            "--zones says what --events and --mqtt are to watch: add --events PATH, --events - or --mqtt URL"
        );
        let zones = args.zones.as_deref().map(zones).transpose()?.unwrap_or_default();
        let watch = watches.then(|| Watch::new(zones));
        let udp = args.udp.as_deref().map(|to| Peer::open("run: --udp", to)).transpose()?;
        let udp = udp.map(|peer| peer.or("for so many people take --jsonl FILE, --jsonl - or --web"));
        let osc = args.osc.as_deref().map(|to| Peer::open("run: --osc", to)).transpose()?;
        let osc = osc.map(|peer| (peer, Osc::new(args.osc_format)));
        let web = args.web.map(|address| Web::start(address, cameras.to_owned())).transpose()?;
        let web = web.map(|(web, link)| {
            say!("posewire-hub run: the room in a browser: {link}");
            web
        });
        let broker = args.mqtt.clone().filter(|broker| broker.get().is_some());
        let mqtt = broker.map(|broker| Mqtt::new(broker, &args.mqtt_name, &names, now_us()));
        // Files last: none is made where something else is wrong.
        let shown = none.then_some(Path::new("-"));
        let text = |option, path: Option<&Path>| {
            path.map(|path| Text::create("run", option, path, if_late.clone())).transpose()
        };
        let lines = text("--jsonl", args.jsonl.as_deref().or(shown))?;
        let events = text("--events", args.events.as_deref())?;
        Ok(Self { lines, udp, osc, web, events, mqtt, watch, names, failed: None })
    }

    /// Of OSC, who has which number.
    pub fn numbers(&self) -> &[u32] {
        self.osc.as_ref().map_or(&[][..], |osc| osc.1.numbers())
    }

    /// As the other hub has it.
    pub fn learn(&mut self, heartbeat: &Heartbeat) {
        if let Some((_, osc)) = &mut self.osc {
            osc.take_over(&heartbeat.numbers);
        }
    }

    /// Where cameras stand now.
    pub fn place(&self, cameras: String) {
        if let Some(web) = &self.web {
            web.place(cameras);
        }
    }

    /// From time to time, whether a moment came or not; `is_active`: no other hub of the room is.
    pub fn look(&mut self, health: &Health, is_active: bool) -> Result<()> {
        if let Some(web) = &self.web {
            web.look(is_active);
        }
        if let (Some(mqtt), Some(watch)) = (&mut self.mqtt, &self.watch) {
            match is_active {
                true => mqtt.look(watch, health, now_us())?,
                false => mqtt.hush(),
            }
        }
        Ok(())
    }

    /// A moment that another hub of the room tells: whoever takes over knows what has happened, and tells of nothing a second time.
    pub fn follow(&mut self, moment: &Moment) {
        if let Some(watch) = &mut self.watch {
            happened(watch, moment);
        }
    }

    /// False where nobody is left who takes any more.
    pub fn send(&mut self, moment: &Moment, sent_us: i64) -> Result<bool> {
        // First what is made for those who wait for it.
        if let Some((peer, osc)) = &mut self.osc {
            let age_us = sent_us - moment.at_us;
            osc.tell(moment, since_1970_us() - age_us, |bytes| peer.send(bytes));
        }
        if self.udp.is_some() || self.lines.is_some() || self.web.is_some() {
            let text = json_line(moment, sent_us, &self.names);
            if let Some(peer) = &mut self.udp {
                peer.send(text.as_bytes());
            }
            if let Some(web) = &self.web {
                web.tell(&text);
            }
            if let Some(out) = &mut self.lines {
                out.write(text.into_bytes());
            }
        }
        if let Some(watch) = &mut self.watch {
            let events = happened(watch, moment);
            if let Some(mqtt) = &mut self.mqtt {
                mqtt.tell(watch, &events, sent_us)?;
            }
            if let Some(out) = &mut self.events {
                for event in &events {
                    out.write(line(event, watch.zones(), sent_us));
                }
            }
        }
        Ok(self.is_taken())
    }

    /// Leaves texts that have ended; whether anybody is left who takes.
    fn is_taken(&mut self) -> bool {
        let ended = [&mut self.lines, &mut self.events].map(|text| {
            let why = text.as_mut().and_then(Text::ended)?;
            *text = None;
            Some(why)
        });
        let is_taken = self.lines.is_some()
            || self.udp.is_some()
            || self.osc.is_some()
            || self.web.is_some()
            || self.events.is_some()
            || self.mqtt.is_some();
        for why in ended.into_iter().flatten() {
            // The last one's end is the program's.
            if is_taken {
                say!("posewire-hub run: {why}; the other outputs go on");
            }
            self.judge(why);
        }
        is_taken
    }

    /// Everything is where it goes.
    pub fn end(&mut self) -> Result<()> {
        for text in [self.lines.take(), self.events.take()].into_iter().flatten() {
            if let Some(why) = { text }.finish() {
                if let Ended::Left(why) = &why {
                    say!("posewire-hub run: {why}");
                }
                self.judge(why);
            }
        }
        self.failed.take().map_or(Ok(()), Err)
    }

    fn judge(&mut self, why: Ended) {
        if let Ended::Failed(error) = why {
            self.failed.get_or_insert(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind, Result, Write};
    use std::sync::{Arc, Mutex};
    use std::time::{Duration, Instant};

    use posewire_hub::V3;
    use posewire_hub::fuse::{RoomJoint, RoomPerson};

    use super::*;

    /// Keeps what is written, until it fails.
    #[derive(Clone, Default)]
    struct Kept {
        text: Arc<Mutex<Vec<u8>>>,
        fails: Option<ErrorKind>,
    }

    impl Write for Kept {
        fn write(&mut self, text: &[u8]) -> Result<usize> {
            match self.fails {
                Some(kind) => Err(Error::from(kind)),
                None => self.text.lock().unwrap().write(text),
            }
        }

        fn flush(&mut self) -> Result<()> {
            Ok(())
        }
    }

    impl Kept {
        fn lines(&self) -> Vec<String> {
            let text = String::from_utf8(self.text.lock().unwrap().clone()).unwrap();
            text.lines().map(str::to_owned).collect()
        }
    }

    fn outputs(lines: Option<&Kept>, events: &Kept) -> Outputs {
        let text = |option: &str, kept: &Kept| {
            Text::to("run", format!("{option} kept"), IfLate::Lost, Box::new(kept.clone())).unwrap()
        };
        Outputs {
            lines: lines.map(|kept| text("--jsonl", kept)),
            udp: None,
            osc: None,
            web: None,
            events: Some(text("--events", events)),
            mqtt: None,
            watch: Some(Watch::new(pose_events::Zones::default())),
            names: vec![],
            failed: None,
        }
    }

    fn moment(at_ms: i64, ids: &[u32]) -> Moment {
        let joint = Some(RoomJoint { at: V3::new(1.0, 2.0, 1.0), sigma: 0.02 });
        let person = |&id: &u32| RoomPerson { id, joints: [joint; pose::JOINTS], cameras: 2 };
        Moment { seq: 0, at_us: 1_000 * at_ms, people: ids.iter().map(person).collect(), moved: vec![] }
    }

    #[test]
    fn a_hub_that_takes_over_tells_only_what_happens_from_then_on() {
        let events = Kept::default();
        let mut outputs = outputs(None, &events);
        for at_ms in (0..9_000).step_by(20) {
            // Tells, then not, then again; who comes while it does not is nobody new.
            let ids: &[u32] = match at_ms {
                0..2_000 => &[1],
                2_000..8_000 => &[1, 2],
                _ => &[2],
            };
            match (1_000..6_000).contains(&at_ms) {
                true => outputs.follow(&moment(at_ms, ids)),
                false => assert!(outputs.send(&moment(at_ms, ids), 1_000 * at_ms).unwrap()),
            }
        }
        outputs.end().unwrap();
        let told: Vec<(String, i64)> = events
            .lines()
            .iter()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .map(|event| (event["event"].to_string(), event["at_us"].as_i64().unwrap() / 1_000))
            .collect();
        let told: Vec<(&str, i64)> = told.iter().map(|(what, at_ms)| (&**what, *at_ms)).collect();
        assert_eq!(told, [("\"appear\"", 0), ("\"count\"", 300), ("\"leave\"", 8_500), ("\"count\"", 8_500)]);
    }

    #[test]
    fn a_text_that_ends_leaves_the_others_alone() {
        for (fails, is_fault) in [(ErrorKind::BrokenPipe, false), (ErrorKind::StorageFull, true)] {
            let (full, events) = (Kept { fails: Some(fails), ..Kept::default() }, Kept::default());
            let mut two = outputs(Some(&full), &events);
            for at_ms in [0, 200, 400] {
                assert!(two.send(&moment(at_ms, &[1]), 0).unwrap(), "{fails}");
            }
            assert_eq!((two.end().is_err(), events.lines().len()), (is_fault, 2), "{fails}");
            // The last one ends the program, as soon as its thread has tried to write.
            let mut one = outputs(None, &full);
            let began = Instant::now();
            while one.send(&moment(0, &[1]), 0).unwrap() {
                assert!(began.elapsed() < Duration::from_secs(20), "{fails}");
            }
            assert_eq!(one.end().is_err(), is_fault, "{fails}");
        }
    }
}
