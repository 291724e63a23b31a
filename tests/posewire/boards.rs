//! Boards as people have them, imitated: what each command does with their video nodes, with and without cameras, and when a
//! camera is pulled out. `tests/boards` has the nodes, `docs/boards.md` the table that comes of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use posewire::capture::clip::Clip;
use posewire::capture::synthetic::Synthetic;
use serde::Deserialize;

use crate::cli::Running;

#[derive(Deserialize)]
struct Boards {
    board: Vec<Board>,
}

#[derive(Deserialize)]
struct Board {
    name: String,
    nodes: String,
    csi_nodes: String,
    /// What `rpicam-vid --list-cameras` says; a Jetson has no such program.
    listing: Option<String>,
}

/// What a program of the board's maker does: names its cameras, and sends pictures as long as one is there.
const CSI_PROGRAM: &str = "#!/bin/sh
case \"$*\" in
*--list-cameras*) if [ -e $BOARD/csi ]; then cat $BOARD/listing; else echo 'No cameras available!'; fi; exit;;
esac
while [ -e $BOARD/csi ]; do
    for i in 0 1 2 3 4 5; do cat $BOARD/pictures/$i.jpg; sleep 0.1; done
done
echo 'ERROR: no cameras available' >&2
exit 255
";

/// A USB camera's two nodes: pictures, and what describes them.
const USB_NODES: [&str; 2] =
    ["uvcvideo 04200001 HD Webcam | MJPG 640x480 30, YUYV 640x480 10", "uvcvideo 04a00000 HD Webcam"];

/// Longer than another camera is waited for in the place of one that went.
const LONG_AWAY: Duration = Duration::from_millis(6_500);

const PATIENCE: Duration = Duration::from_secs(60);

/// A board's folder: what the imitated nodes are read from, and its programs.
struct Imitated {
    folder: tempfile::TempDir,
    nodes: PathBuf,
    usb: Mutex<Vec<PathBuf>>,
}

impl Imitated {
    fn new(board: &Board, has_usb: bool, has_csi: bool, nodes: &Path, pictures: &[Vec<u8>]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for wanted in ["dev/v4l/by-id", "sys/class/video4linux", "etc", "pictures", "bin"] {
            fs::create_dir_all(folder.path().join(wanted)).unwrap();
        }
        let it = Self { folder, nodes: nodes.into(), usb: Mutex::default() };
        for (i, jpeg) in pictures.iter().enumerate() {
            fs::write(it.path(&format!("pictures/{i}.jpg")), jpeg).unwrap();
        }
        let lines = board.nodes.lines().chain(if has_csi { board.csi_nodes.lines() } else { "".lines() });
        for line in lines.filter(|line| !line.is_empty()) {
            let (node, rest) = line.split_once(' ').unwrap();
            it.add(node, rest, "");
        }
        if has_csi {
            fs::write(it.path("csi"), "").unwrap();
        }
        let program = match &board.listing {
            Some(listing) => {
                fs::write(it.path("listing"), format!("Available cameras\n-----------------\n{listing}\n"))
                    .unwrap();
                "rpicam-vid"
            }
            None => {
                fs::write(it.path("etc/nv_tegra_release"), "# R36 (release)\n").unwrap();
                "gst-launch-1.0"
            }
        };
        let program = it.path("bin").join(program);
        fs::write(&program, CSI_PROGRAM).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        if has_usb {
            it.plug();
        }
        it
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `text` as in the table of boards.
    fn add(&self, node: &str, text: &str, sends: &str) -> PathBuf {
        let (head, formats) = text.split_once(" | ").unwrap_or((text, ""));
        let mut words = head.splitn(3, ' ');
        let [driver, caps, card] = [(); 3].map(|()| words.next().unwrap());
        let mut told = format!("driver {driver}\ncard {card}\ncaps {caps}\n{sends}");
        for format in formats.split(", ").filter(|f| !f.is_empty()) {
            writeln!(told, "format {format}").unwrap();
        }
        let path = self.path("dev").join(node);
        // At once, as a node comes.
        let hidden = self.path("dev").join(format!(".{node}"));
        fs::write(&hidden, told).unwrap();
        let names = self.path("sys/class/video4linux").join(node);
        fs::create_dir_all(&names).unwrap();
        fs::write(names.join("name"), format!("{card}\n")).unwrap();
        fs::rename(hidden, &path).unwrap();
        path
    }

    /// A USB camera under the first free numbers.
    fn plug(&self) {
        let free = (0..).filter(|n| !self.path(&format!("dev/video{n}")).exists());
        let names: Vec<_> = free.take(2).map(|n| format!("video{n}")).collect();
        let link = self.path("dev/v4l/by-id/usb-Maker_HD_Webcam-video-index0");
        let _ = fs::remove_file(&link);
        symlink(format!("../../{}", names[0]), &link).unwrap();
        *self.usb.lock().unwrap() = (names.iter().zip(USB_NODES).zip(["sends 10\n", ""]))
            .map(|((name, text), sends)| self.add(name, text, sends))
            .collect();
    }

    fn unplug(&self) {
        for node in self.usb.lock().unwrap().drain(..) {
            fs::remove_file(&node).unwrap();
            let name = node.file_name().unwrap();
            fs::remove_dir_all(self.path("sys/class/video4linux").join(name)).unwrap();
        }
        fs::remove_file(self.path("dev/v4l/by-id/usb-Maker_HD_Webcam-video-index0")).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_posewire"));
        command.args(args).env("BOARD", self.folder.path()).env("LD_PRELOAD", &self.nodes);
        command.env("PATH", format!("{}:/usr/bin:/bin", self.path("bin").display()));
        command.env_remove("NOTIFY_SOCKET").env_remove("RUST_LOG").stdin(Stdio::null());
        command
    }

    fn says(&self, args: &[&str]) -> String {
        let output = self.command(args).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }
}

/// How often each comes: `2 × codec, metadata`.
fn counted(words: impl Iterator<Item = String>) -> String {
    let mut counts = BTreeMap::new();
    for word in words {
        *counts.entry(word).or_insert(0) += 1;
    }
    let told = counts.iter().map(|(word, n)| if *n == 1 { word.clone() } else { format!("{n} × {word}") });
    told.collect::<Vec<_>>().join(", ")
}

/// What `posewire devices` lists: cameras by name, everything else by what it is.
fn devices(board: &Imitated) -> String {
    let text = board.says(&["devices"]);
    let (cameras, _) = text.strip_prefix("cameras:\n").unwrap().split_once("serial ports:").unwrap();
    let mut usable = Vec::new();
    let mut others = Vec::new();
    let mut lines = cameras.lines().peekable();
    while let Some(line) = lines.next() {
        let name = line.trim();
        let mut details = Vec::new();
        while lines.peek().is_some_and(|next| next.starts_with("      ")) {
            details.push(lines.next().unwrap().trim());
        }
        match details.iter().find_map(|line| line.split_once("): ").filter(|_| line.starts_with('/'))) {
            Some((_, what)) => others.push(what.split(',').next().unwrap().to_owned()),
            None if name.starts_with("none") => usable.push("none".to_owned()),
            None => {
                // By its lasting name, without its folder; of a sensor without its modes.
                let name = name.strip_prefix("/dev/v4l/by-id/").unwrap_or(name);
                usable.push(name.split(" [").next().unwrap().to_owned());
            }
        }
    }
    let others = counted(others.into_iter());
    [usable.join(", "), others].into_iter().filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join("; ")
}

/// What `posewire doctor` says of cameras.
fn doctor(board: &Imitated) -> String {
    let text = board.says(&["doctor"]);
    let of_cameras = |line: &&str| line.contains("camera") || line.contains("video");
    let told = text.lines().take_while(|line| !line.contains(" cores, ")).filter(of_cameras);
    // What it is, without what to do.
    let short = |line: &str| {
        line.split([':', '[', '(']).next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    told.map(short).collect::<Vec<_>>().join("; ")
}

/// A run without any option for its source.
struct Run<'a> {
    board: &'a Imitated,
    process: Running,
}

impl<'a> Run<'a> {
    fn start(board: &'a Imitated) -> Self {
        let log = fs::File::create(board.path("log")).unwrap();
        let lines = board.path("poses.jsonl");
        let args = ["run", "--model", "nano", "--max-persons", "1", "--smoother", "none", "--jsonl"];
        let mut command = board.command(&args);
        let process = Running::start(command.arg(lines).stdout(Stdio::null()).stderr(log));
        Self { board, process }
    }

    fn lines(&self) -> Vec<serde_json::Value> {
        let text = fs::read_to_string(self.board.path("poses.jsonl")).unwrap_or_default();
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.board.path("log")).unwrap()
    }

    fn wait(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !holds(self) {
            assert!(began.elapsed() < PATIENCE, "{what} does not happen:\n{}", self.log());
            sleep(Duration::from_millis(50));
        }
    }

    /// What the newest line is of.
    fn wait_for_lines(&self, after: usize) -> String {
        self.wait("a line", |run| run.lines().len() > after);
        match self.lines().last().unwrap().get("source") {
            Some(source) => source.as_str().unwrap().to_owned(),
            None => self.camera(),
        }
    }

    /// Which camera the log named last.
    fn camera(&self) -> String {
        let log = self.log();
        let mut names = log.lines().rev().filter_map(|line| {
            let at = line.find("/dev/video").or_else(|| line.find("CSI camera"))?;
            // `/dev/video0 (HD Webcam): …`, `CSI camera 0: …`; not `/dev/video0: lost`.
            let name = &line[at..];
            let end = name.find([':', ',', ')'])?;
            let is_node = name.starts_with("/dev");
            (is_node == name[..end].contains('(')).then(|| name[..end + usize::from(is_node)].to_owned())
        });
        names.next().unwrap_or_default()
    }

    fn ended(mut self) {
        self.process.terminate();
        assert!(self.process.wait_within(Duration::from_secs(20)).success(), "{}", self.log());
    }
}

/// What a run shows, and what it does when its camera goes and comes back, or when the first one comes.
fn run(board: &Imitated, has_usb: bool, has_csi: bool) -> [String; 2] {
    let run = Run::start(board);
    let shown = run.wait_for_lines(0);
    if !has_usb && !has_csi {
        board.plug();
        run.wait("the camera", |run| run.lines().last().is_some_and(|line| line.get("source").is_none()));
        let told = format!("(plugged in) goes on with {}", run.camera());
        run.ended();
        return [shown, told];
    }
    if has_usb {
        board.unplug();
    } else {
        fs::remove_file(board.path("csi")).unwrap();
    }
    run.wait("the loss", |run| run.log().contains("opening it again until it is back"));
    sleep(LONG_AWAY);
    let before = run.lines().len();
    sleep(Duration::from_secs(1));
    let meanwhile = if run.lines().len() == before { "waits".into() } else { run.wait_for_lines(before) };
    let before = run.lines().len();
    if has_usb {
        board.plug();
    } else {
        fs::write(board.path("csi"), "").unwrap();
    }
    let then = run.wait_for_lines(before);
    assert!(run.log().contains("back after"), "{}", run.log());
    run.ended();
    [shown, format!("{meanwhile}; goes on with {then}")]
}

fn row(board: &Board, [has_usb, has_csi]: [bool; 2], nodes: &Path, pictures: &[Vec<u8>]) -> String {
    let imitated = Imitated::new(board, has_usb, has_csi, nodes, pictures);
    let cameras = match (has_usb, has_csi) {
        (false, false) => "none",
        (true, false) => "USB",
        (false, true) => "CSI",
        (true, true) => "USB, CSI",
    };
    let [devices, doctor] = [devices(&imitated), doctor(&imitated)];
    let [shown, pulled] = run(&imitated, has_usb, has_csi);
    format!("| {} | {cameras} | {devices} | {doctor} | {shown} | {pulled} |\n", board.name)
}

/// The library that imitates nodes, in `folder`.
fn nodes_library(folder: &Path) -> Option<PathBuf> {
    let library = folder.join("nodes.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/boards/nodes.c");
    let mut build = Command::new("cc");
    build.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).arg("-ldl");
    build.status().ok()?.success().then_some(library)
}

const HEAD: &str = "| board | cameras | `devices` | `doctor` | `run` | the camera is pulled out |\n|---|---|---|---|---|---|\n";

/// `POSEWIRE_BLESS=1 cargo test --test posewire boards::` writes the table anew.
#[test]
fn every_board_does_what_the_table_of_boards_says() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = nodes_library(folder.path()).expect("cc, which linked this test");
    let mut clip = Synthetic::new(1, 640, 480, 10.0, 4).unwrap().as_mjpeg().unwrap();
    let pictures: Vec<Vec<u8>> = (0..6).map(|_| clip.next().unwrap().bytes.to_vec()).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let boards = fs::read_to_string(root.join("tests/boards/boards.toml")).unwrap();
    let Boards { board: boards } = toml::from_str(&boards).unwrap();
    let cameras = [[false, false], [true, false], [false, true], [true, true]];
    let cases: Vec<_> = boards.iter().flat_map(|board| cameras.map(|cameras| (board, cameras))).collect();
    // Most of their time they wait for what is pulled out.
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(vec![String::new(); cases.len()]);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some((i, (board, cameras))) = {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    cases.get(i).map(|case| (i, case))
                } {
                    let told = row(board, *cameras, &nodes, &pictures);
                    rows.lock().unwrap()[i] = told;
                }
            });
        }
    });
    let table = format!("{HEAD}{}", rows.into_inner().unwrap().concat());
    let page = root.join("docs/boards.md");
    let text = fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once(HEAD).expect("the table's head");
    let rows: usize = rest.lines().take_while(|line| line.starts_with('|')).map(|line| line.len() + 1).sum();
    if std::env::var_os("POSEWIRE_BLESS").is_some() {
        fs::write(&page, format!("{before}{table}{}", &rest[rows..])).unwrap();
    } else {
        assert_eq!(format!("{HEAD}{}", &rest[..rows]), table, "write it anew: POSEWIRE_BLESS=1");
    }
}
