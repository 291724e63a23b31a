//! A program that writes pictures into a pipe, as a camera: started without a shell, watched, and started again when it ends or
//! falls silent. Which programs these are: [`programs`].

pub mod csi;
pub mod programs;

use std::io::ErrorKind;
use std::process::{Command, Stdio};
use std::time::Duration;

use self::programs::{Launch, TellsLight};
use super::replay::pipe::clip_of;
use super::{CaptureError, FrameSource, SourceCounters, SourceInfo, Stream};
use crate::child_process::Group;
use crate::clock::{Clock, Monotonic};
use crate::picture::Frame;
use crate::reason::Reason;
use crate::stderr_tail::StderrTail;

/// Until its first picture: a Pi's camera takes 2 s to start, a stream over a radio may take longer to be found.
const FIRST_FRAME_US: i64 = 15_000_000;

/// Without a picture after that it hangs.
const STALL_US: i64 = 5_000_000;

/// From an end to the next start, doubled as long as it does not run well.
const FIRST_WAIT_US: i64 = 500_000;
const LONGEST_WAIT_US: i64 = 8_000_000;

/// Who gave pictures for so long ran well.
const RAN_WELL_US: i64 = 10_000_000;

/// Why a program is no use any more that ended by itself.
const ENDED: &str = "ended";
/// Of a program that is content and gave none.
const NO_PICTURE: &str =
    "it gave no picture; an address has to be that of a stream, not of a single picture or a short film";

/// How long a program has to end by itself. Cameras that are killed may stay taken.
const GOODBYE: Duration = Duration::from_millis(500);

/// The same where we end: within 500 ms, of which noticing takes some.
const LAST_GOODBYE: Duration = Duration::from_millis(250);

/// A camera behind a program. It never opens itself again: [`Reopening`](super::Reopening) does.
pub struct ChildCamera<K = Monotonic> {
    launch: Launch,
    running: Option<Running>,
    clock: K,
    /// Not started again before this.
    start_at_us: i64,
    wait_us: i64,
    why: Reason,
    /// Lost before its first picture it is not waited for.
    must_begin: bool,
    next_seq: u64,
    counters: SourceCounters,
    /// Whether the program can say when light fell; asked once.
    tells_light: Option<bool>,
    /// What the log last said of that.
    told_light: Option<bool>,
}

struct Running {
    program: String,
    group: Group,
    stream: Stream,
    stderr_tail: StderrTail,
    started_us: i64,
    last_frame_us: Option<i64>,
    /// Added to the stream's own numbers.
    first_seq: u64,
}

impl ChildCamera {
    /// A camera that is not started yet.
    pub fn new(launch: Launch) -> Self {
        Self::with_clock(launch, Monotonic)
    }
}

impl<K: Clock> ChildCamera<K> {
    /// The same by `clock`.
    pub fn with_clock(launch: Launch, clock: K) -> Self {
        Self {
            launch,
            running: None,
            clock,
            start_at_us: i64::MIN,
            wait_us: FIRST_WAIT_US,
            why: "".into(),
            must_begin: false,
            next_seq: 0,
            counters: SourceCounters::default(),
            tells_light: None,
            told_light: None,
        }
    }

    /// The same, but a program that ends, or gives nothing, before its first picture is [`CaptureError::Unusable`] instead of
    /// [`CaptureError::Lost`].
    #[must_use]
    pub fn that_must_begin(self) -> Self {
        Self { must_begin: true, ..self }
    }

    /// What makes `program` say when light fell; nothing where it cannot.
    fn light_arguments(&mut self, program: &str) -> Vec<String> {
        let Some(TellsLight { known_by, arguments }) = &self.launch.light else { return Vec::new() };
        // One that is not installed says nothing.
        self.tells_light =
            self.tells_light.or_else(|| Some(csi::answer(program, "--help")?.contains(known_by)));
        if self.tells_light == Some(true) { arguments.clone() } else { Vec::new() }
    }

    /// Says once by what the frames are stamped.
    fn tell_stamp(&mut self, has_light: bool) {
        if self.told_light.replace(has_light) == Some(has_light) {
            return;
        }
        let name = &self.launch.name;
        if has_light {
            log::info!("{name}: frames have the camera's own time stamps");
        } else {
            log::info!(
                "{name}: frames are stamped when they arrive; ages leave out the camera's own delay, some 50 to 100 ms"
            );
        }
    }

    fn start(&mut self) -> Result<Running, CaptureError> {
        let programs = self.launch.programs.clone();
        let name = self.launch.name.clone();
        let fail = |why: Reason| CaptureError::unusable(&name, why);
        let mut started = None;
        for (program, arguments) in &programs {
            let light = self.light_arguments(program);
            let mut command = Command::new(program);
            command
                .args(&light)
                .args(arguments)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            match Group::start(&mut command) {
                Ok(group) => {
                    started = Some((program, group, !light.is_empty()));
                    break;
                }
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                Err(e) => return Err(fail(Reason::new(format!("{program} cannot be started"), e))),
            }
        }
        let Some((program, mut group, tells_light)) = started else {
            return Err(fail(self.launch.missing.clone().into()));
        };
        let (stdout, stderr) = (group.first().stdout.take(), group.first().stderr.take());
        let (Some(stdout), Some(stderr)) = (stdout, stderr) else { return Err(fail("no pipe to it".into())) };
        let stderr_tail = StderrTail::of(stderr).map_err(|e| fail(Reason::of(e)))?;
        let called = program.clone();
        let stream = Stream::live(&self.launch.name, Box::new(move || clip_of(stdout, called, tells_light)))?;
        log::debug!("{}: {program} is started", self.launch.name);
        Ok(Running {
            program: program.clone(),
            group,
            stream,
            stderr_tail,
            started_us: self.clock.now_us(),
            last_frame_us: None,
            first_seq: self.next_seq,
        })
    }

    /// Ends what runs; `why` it is no use any more.
    fn lose(&mut self, why: &str) -> CaptureError {
        if let Some(mut running) = self.running.take() {
            // Its pipe is closed a moment before it is gone, which takes longer on a busy board.
            let own = running.group.gone_within(if why == ENDED { GOODBYE } else { Duration::ZERO });
            running.group.end(GOODBYE);
            let status = own.map(|status| format!(" ({status})")).unwrap_or_default();
            if own.is_some() {
                running.stderr_tail.wait_for_all();
            }
            let ran_well = running.last_frame_us.is_some_and(|last| last - running.started_us >= RAN_WELL_US);
            if ran_well {
                self.wait_us = FIRST_WAIT_US;
            }
            self.retry_later();
            self.counters = self.counted(&running);
            let said = self.launch.without_secrets(&running.stderr_tail.last_line());
            let ended_well = own.is_some_and(|status| status.success()) && running.last_frame_us.is_none();
            let said = match said.is_empty() {
                true if ended_well => format!(": {NO_PICTURE}"),
                true => String::new(),
                false => format!(": {said}"),
            };
            self.why = format!("{}: {} {why}{status}{said}", self.launch.name, running.program).into();
        }
        self.lost()
    }

    fn retry_later(&mut self) {
        self.start_at_us = self.clock.now_us() + self.wait_us;
        self.wait_us = (2 * self.wait_us).min(LONGEST_WAIT_US);
    }

    fn lost(&self) -> CaptureError {
        if self.must_begin && self.next_seq == 0 {
            return CaptureError::Unusable(self.why.clone());
        }
        CaptureError::Lost { device: self.launch.name.clone(), reason: self.why.clone() }
    }

    fn counted(&self, running: &Running) -> SourceCounters {
        let SourceCounters { overtaken, damaged, .. } = running.stream.counters();
        SourceCounters {
            overtaken: self.counters.overtaken + overtaken,
            damaged: self.counters.damaged + damaged,
            ..self.counters
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.group.end(LAST_GOODBYE);
    }
}

impl<K: Clock + Send> FrameSource for ChildCamera<K> {
    fn info(&self) -> SourceInfo {
        let Launch { name, fps, .. } = &self.launch;
        match &self.running {
            Some(running) if running.stream.states_rate() => running.stream.info(),
            // JPEGs say none: it is the one that the program was asked for.
            Some(running) => SourceInfo { fps: *fps, ..running.stream.info() },
            None => SourceInfo { name: name.clone(), width: 0, height: 0, fps: *fps, live: true },
        }
    }

    fn next_frame(&mut self, timeout: Duration) -> Result<Option<Frame>, CaptureError> {
        let Some(running) = &mut self.running else { return Err(self.lost()) };
        match running.stream.next_frame(timeout) {
            Ok(Some(mut frame)) => {
                frame.seq += running.first_seq;
                self.next_seq = frame.seq + 1;
                running.last_frame_us = Some(self.clock.now_us());
                let has_light = running.stream.has_light();
                self.tell_stamp(has_light);
                Ok(Some(frame))
            }
            Ok(None) => {
                let (since_us, limit_us) = match running.last_frame_us {
                    Some(last_us) => (last_us, STALL_US),
                    None => (running.started_us, FIRST_FRAME_US),
                };
                if self.clock.now_us() - since_us < limit_us {
                    return Ok(None);
                }
                Err(self.lose(&format!("gives no picture for {} s", limit_us / 1_000_000)))
            }
            Err(CaptureError::Ended) => Err(self.lose(ENDED)),
            // Where a stream ends before it begins, what it said on its way is the better reason.
            Err(_) if running.group.gone_within(GOODBYE).is_some() => Err(self.lose(ENDED)),
            Err(why) => Err(self.lose(&format!("gives no pictures ({why:#})"))),
        }
    }

    fn reopen(&mut self) -> Result<(), CaptureError> {
        if self.running.is_some() {
            self.lose("is started again");
        }
        if self.clock.now_us() < self.start_at_us {
            return Err(self.lost());
        }
        match self.start() {
            Ok(running) => self.running = Some(running),
            // It has run: no memory for a process, or a program that is being replaced, passes.
            Err(CaptureError::Unusable(why)) if self.next_seq > 0 => {
                self.why = why;
                self.retry_later();
                return Err(self.lost());
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn is_away(&self) -> bool {
        self.running.as_ref().is_none_or(|running| running.last_frame_us.is_none())
    }

    fn counters(&self) -> SourceCounters {
        self.running.as_ref().map_or(self.counters, |running| self.counted(running))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::capture::clip::Clip;
    use crate::capture::synthetic::Synthetic;
    use crate::clock::Manual;

    struct Shared(&'static Manual);

    impl Clock for Shared {
        fn now_us(&self) -> i64 {
            self.0.now_us()
        }
    }

    fn camera(script: &str) -> (ChildCamera<Shared>, &'static Manual) {
        let clock: &'static Manual = Box::leak(Box::new(Manual::at(0)));
        let launch = Launch {
            name: "CSI camera 0".into(),
            programs: vec![("sh".into(), vec!["-c".into(), script.into()])],
            missing: String::new(),
            fps: 30.0,
            light: None,
            secrets: Vec::new(),
        };
        (ChildCamera::with_clock(launch, Shared(clock)), clock)
    }

    fn runs(pid: u32) -> bool {
        std::path::Path::new("/proc").join(pid.to_string()).exists()
    }

    #[test]
    fn a_program_that_hangs_before_its_first_picture_is_ended_and_started_again() {
        let (mut camera, clock) = camera("exec sleep 1000");
        camera.reopen().unwrap();
        let pid = camera.running.as_mut().unwrap().group.first().id();
        clock.set(FIRST_FRAME_US - 1);
        assert!(matches!(camera.next_frame(Duration::ZERO), Ok(None)), "a slow one is waited for");
        assert!(camera.is_away(), "but known by its first picture");
        clock.set(FIRST_FRAME_US);
        let lost = camera.next_frame(Duration::ZERO).unwrap_err().to_string();
        assert!(lost.contains("sh gives no picture for 15 s"), "{lost}");
        assert!(!runs(pid));
        assert!(camera.reopen().is_err(), "not at once");
        clock.set(FIRST_FRAME_US + FIRST_WAIT_US);
        camera.reopen().unwrap();
    }

    #[test]
    fn a_program_that_must_begin_is_refused_with_what_it_said_and_lost_only_later() {
        let (camera, clock) = camera("exec sleep 1000");
        let mut camera = camera.that_must_begin();
        camera.reopen().unwrap();
        assert!(
            matches!(camera.next_frame(Duration::ZERO), Ok(None)),
            "whoever waits may look at other things"
        );
        clock.set(FIRST_FRAME_US);
        let refused = camera.next_frame(Duration::ZERO);
        assert!(
            matches!(&refused, Err(CaptureError::Unusable(why)) if why.to_string().contains("no picture for 15 s")),
            "{refused:?}"
        );
        camera.next_seq = 1;
        assert!(matches!(camera.next_frame(Duration::ZERO), Err(CaptureError::Lost { .. })));
    }

    #[test]
    fn a_program_that_cannot_be_started_is_waited_for_once_it_has_run() {
        let (mut camera, clock) = camera("exec sleep 1000");
        camera.launch.programs[0].0 = "/no/such/program".into();
        camera.launch.missing = "it is not installed".into();
        assert!(matches!(camera.reopen(), Err(CaptureError::Unusable(_))), "it never ran");
        camera.next_seq = 1;
        for wait_us in [FIRST_WAIT_US, 2 * FIRST_WAIT_US] {
            let lost = camera.reopen();
            assert!(
                matches!(&lost, Err(CaptureError::Lost { reason, .. }) if reason.to_string().contains("not installed")),
                "{lost:?}"
            );
            assert_eq!(camera.start_at_us, clock.now_us() + wait_us);
            clock.set(camera.start_at_us);
        }
        camera.launch.programs[0].0 = "sh".into();
        camera.reopen().unwrap();
    }

    #[test]
    fn a_program_that_falls_silent_is_given_up_sooner() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("3.mjpeg");
        let mut clip = Synthetic::new(1, 64, 48, 30.0, 1).and_then(Synthetic::as_mjpeg).unwrap();
        let stream: Vec<u8> = (0..3).flat_map(|_| clip.next().unwrap().bytes.to_vec()).collect();
        std::fs::write(&path, stream).unwrap();
        let (mut camera, clock) = camera(&format!("cat {}; exec sleep 1000", path.display()));
        camera.reopen().unwrap();
        let began = std::time::Instant::now();
        let mut frames = 0;
        let lost = loop {
            assert!(began.elapsed() < Duration::from_secs(60), "{frames} frames, and never given up");
            match camera.next_frame(Duration::from_millis(100)) {
                Ok(Some(_)) => frames += 1,
                // Nothing came in the tenth of a second that was waited: now the limit passes.
                Ok(None) if frames > 0 => clock.set(clock.now_us() + STALL_US),
                Ok(None) => {}
                Err(lost) => break lost.to_string(),
            }
        };
        assert!(lost.contains("gives no picture for 5 s"), "{lost}");
    }

    #[test]
    fn the_rate_is_the_streams_own_or_else_the_one_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stream");
        let jpeg = Synthetic::new(1, 64, 48, 30.0, 1).and_then(Synthetic::as_mjpeg).unwrap().next().unwrap();
        let y4m = b"YUV4MPEG2 W2 H2 F15:1 Cmono\nFRAME\nabcd".to_vec();
        for (stream, fps) in [(jpeg.bytes.to_vec(), 60.0), (y4m, 15.0)] {
            std::fs::write(&path, stream).unwrap();
            let (mut camera, _clock) = camera(&format!("cat {}; exec sleep 1000", path.display()));
            camera.launch.fps = 60.0;
            camera.reopen().unwrap();
            assert_eq!(camera.info().fps, 60.0);
            let began = std::time::Instant::now();
            while camera.next_frame(Duration::from_millis(100)).unwrap().is_none() {
                assert!(began.elapsed() < Duration::from_secs(60), "no frame");
            }
            assert_eq!(camera.info().fps, fps);
        }
    }
}
