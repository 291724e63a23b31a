//! Programs that this one starts: a group each, ended within a time, and by the end of the process at the latest.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often it is looked whether one has ended.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// What has not ended.
struct Left {
    /// The first process of each [`Group`].
    groups: Vec<u32>,
    /// The process ends: there are to be no more.
    is_over: bool,
}

static LEFT: Mutex<Left> = Mutex::new(Left { groups: Vec::new(), is_over: false });

fn left() -> MutexGuard<'static, Left> {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives what `command` starts a group of its own: a Ctrl-C in the terminal is for us, who end it in good order.
pub fn set_apart(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}

/// How `child` has ended, where it does so within that time.
pub fn gone_within(child: &mut Child, within: Duration) -> Option<ExitStatus> {
    let began = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if began.elapsed() < within => std::thread::sleep(LOOK_EVERY),
            _ => return None,
        }
    }
}

/// A program and, where it is a script, whatever it has started: all of it ends with this, or with the process.
pub struct Group {
    first: Child,
    has_ended: bool,
}

impl Group {
    /// Starts `command` in a group of its own.
    ///
    /// # Errors
    /// As [`Command::spawn`]; or the process ends.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        set_apart(command);
        // Not under the lock: a disk that does not answer would hold up the end of the process.
        let first = command.spawn()?;
        let mut left = left();
        left.groups.push(first.id());
        let is_over = left.is_over;
        drop(left);
        let group = Self { first, has_ended: false };
        if is_over { Err(io::ErrorKind::Interrupted.into()) } else { Ok(group) }
    }

    /// The program itself, with its pipes.
    pub fn first(&mut self) -> &mut Child {
        &mut self.first
    }

    /// How the program has ended, where it does so within that time.
    pub fn gone_within(&mut self, within: Duration) -> Option<ExitStatus> {
        gone_within(&mut self.first, within)
    }

    /// Asks all of it to end, and kills what has not within `goodbye`: what an orphan holds, as a camera, nobody else can open.
    pub fn end(&mut self, goodbye: Duration) {
        if std::mem::replace(&mut self.has_ended, true) {
            return;
        }
        let mut is_gone = self.gone_within(Duration::ZERO).is_some();
        if !is_gone && !goodbye.is_zero() {
            // Not SIGTERM: rpicam-vid stops its camera at this one alone; ffmpeg and GStreamer do at either.
            signal_group(self.first.id(), Signal::Interrupt);
            is_gone = self.gone_within(goodbye).is_some();
        }
        signal_group(self.first.id(), Signal::Kill);
        if !is_gone {
            // It may be by now.
            let _ = self.first.kill();
            let _ = self.first.wait();
        }
        left().groups.retain(|id| *id != self.first.id());
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

/// Kills every group that is left: for the end of the process, which waits no longer for the thread that would end its own.
pub fn end_groups() {
    let mut left = left();
    left.is_over = true;
    for id in left.groups.drain(..) {
        signal_group(id, Signal::Kill);
    }
}

enum Signal {
    Interrupt,
    Kill,
}

#[cfg(unix)]
fn signal_group(id: u32, signal: Signal) {
    use rustix::process::{Pid, kill_process_group};
    let signal = match signal {
        Signal::Interrupt => rustix::process::Signal::INT,
        Signal::Kill => rustix::process::Signal::KILL,
    };
    if let Some(group) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        // Nobody may be left of it.
        let _ = kill_process_group(group, signal);
    }
}

#[cfg(not(unix))]
fn signal_group(_: u32, _: Signal) {}

#[cfg(all(test, unix))]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

    use super::*;

    /// A program, started and past its first line, which is to say so.
    fn started(command: &mut Command) -> Group {
        let mut group = Group::start(command.stdout(Stdio::piped())).unwrap();
        let said = BufReader::new(group.first().stdout.take().unwrap()).lines().next().unwrap().unwrap();
        assert_eq!(said, "ready");
        group
    }

    #[test]
    fn what_ends_when_it_is_asked_is_not_killed() {
        // Not a shell: one that was started with SIGINT ignored, as in the background of another, cannot trap it.
        let script = r#"$SIG{INT} = sub { exit 3 }; $| = 1; print "ready\n"; sleep 1 while 1"#;
        let mut group = started(Command::new("perl").args(["-e", script]));
        group.end(Duration::from_secs(20));
        assert_eq!(group.gone_within(Duration::ZERO).and_then(|status| status.code()), Some(3));
    }

    #[test]
    fn what_does_not_hear_is_killed_after_its_time() {
        let script = "trap '' INT TERM; echo ready; while :; do sleep .01; done";
        let mut group = started(Command::new("sh").args(["-c", script]));
        let began = Instant::now();
        group.end(Duration::from_millis(100));
        let took = began.elapsed();
        assert!(took >= Duration::from_millis(100) && took < Duration::from_secs(20), "{took:?}");
        let status = group.gone_within(Duration::ZERO).unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
    }
}
