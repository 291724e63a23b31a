//! What a run cannot do, told before anything is opened.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use posewire::capture;
use posewire::config::{BUILTIN, Calibration, Config, Flags, Rate, SMOOTHER, Size};
use posewire::files;
use posewire::models;
use posewire::output::display::DisplayTarget;
use posewire::output::{Existing, video};
use posewire::pipeline::faults::Faults;

use super::notify;
use super::outputs::Outputs;
use super::sinks::existing;
use crate::cli::{Usage, keep_input};

/// Refuses what cannot be, or would be for nothing.
///
/// # Errors
/// What is wrong, and what to do.
pub fn check(
    config: &Config,
    config_file: Option<&Path>,
    flags: &Flags,
    has_size: bool,
    faults: &Faults,
) -> Result<(), Usage> {
    check_source(config, faults)?;
    suits_source(config, flags, has_size, notify::is_service())?;
    let (smoother, weights) = (config.temporal.smoother, &config.models.temporal);
    if weights == BUILTIN && smoother.network().is_some() && smoother != SMOOTHER {
        return Err(Usage(format!(
            "--smoother {smoother} has no weights of its own: name their manifest with --temporal FILE"
        )));
    }
    let outputs = Outputs::of(config);
    if faults.has_serial() && outputs.serial.is_none() {
        return Err(Usage("serial faults need a serial port: add --serial PORT".into()));
    }
    if let Some(path) = outputs.video {
        video::check_name(path).map_err(|e| Usage(e.to_string()))?;
    }
    if let Some(path) = config_file.filter(|path| outputs.shows_password(path)) {
        log::warn!(
            "{path}: every user of this machine can read the broker's password in it: sudo chgrp dialout {path}; sudo chmod 640 {path}",
            path = path.display()
        );
    }
    keep_inputs(config, &outputs, config_file)?;
    keep_apart(config, std::io::stdout().is_terminal())?;
    keep_moved_apart(config, &outputs, existing(config), config_file)?;
    has_use(config, flags)?;
    if config.source.no_drop && matches!(config.output.rate, Rate::Hz(_)) {
        let why = "every frame of a file is sent once (--no-drop, or --video of a file)";
        if flags.rate.is_some() {
            return Err(Usage(format!("--rate does nothing where {why}: leave it out")));
        }
        log::warn!("[output] rate does nothing where {why}");
    }
    Ok(())
}

fn check_source(config: &Config, faults: &Faults) -> Result<(), Usage> {
    let s = &config.source;
    let asked = [
        ("width", s.width, Size::SIDES, "pixels"),
        ("height", s.height, Size::SIDES, "pixels"),
        ("fps", s.fps, 1..=1000, "frames a second"),
    ];
    for (key, value, range, unit) in asked {
        if !range.contains(&value) {
            let (least, most) = range.into_inner();
            return Err(Usage(format!(
                "[source] {key} = {value}: no source gives that: {least} to {most} {unit}"
            )));
        }
    }
    capture::check_name(&s.camera).map_err(Usage)?;
    if faults.camera.unplug > 0.0 && s.no_drop {
        return Err(Usage(
            "camera.unplug cannot be injected into what is read frame by frame: leave out --no-drop or the fault".into(),
        ));
    }
    Ok(())
}

/// Refuses flags that ask for what the source does not give: a file is as it is.
fn suits_source(config: &Config, flags: &Flags, has_size: bool, is_service: bool) -> Result<(), Usage> {
    let (s, has_serial) = (&config.source, Outputs::of(config).serial.is_some());
    let is_file = !s.replay.as_os_str().is_empty();
    let is_clip = !is_file && s.camera.is_empty();
    let of_camera = "is asked of a camera or of the built-in clip";
    let table = [
        ("--size", has_size, !is_file, of_camera),
        // Where a file or a folder says no rate, a line is shared out by it.
        ("--fps", flags.fps.is_some(), !is_file || has_serial, of_camera),
        // A service waits for its port too.
        (
            "--no-wait",
            flags.no_wait,
            !is_file || (is_service && has_serial),
            "is for a camera that may be missing",
        ),
        (
            "--seed",
            flags.seed.is_some(),
            is_clip || !config.faults.inject.is_empty(),
            "is for the built-in clip and for --inject",
        ),
    ];
    match table.into_iter().find(|(_, is_given, has_use, _)| *is_given && !has_use) {
        Some((flag, _, _, use_of_it)) => {
            let source = if is_file { s.replay.display().to_string() } else { capture::told_name(&s.camera) };
            Err(Usage(format!("{flag} does nothing with {source}: it {use_of_it}; leave it out")))
        }
        None => Ok(()),
    }
}

/// Refuses outputs that would overwrite what is read.
fn keep_inputs(config: &Config, outputs: &Outputs, config_file: Option<&Path>) -> Result<(), Usage> {
    for input in inputs(config, config_file) {
        for (_, output) in outputs.files() {
            keep_input(&input, output)?;
        }
    }
    Ok(())
}

/// What is read.
fn inputs(config: &Config, config_file: Option<&Path>) -> Vec<PathBuf> {
    let Config { source, events, metres, .. } = config;
    let mut inputs = models::files(&config.models);
    inputs.extend([&source.replay, &events.zones].map(Clone::clone));
    inputs.extend(config_file.map(Path::to_path_buf));
    if let Calibration::File(path) = &metres.calibration {
        inputs.push(path.clone());
    }
    inputs
}

/// Refuses what would be overwritten by a file that moves out of a new one's way.
fn keep_moved_apart(
    config: &Config,
    outputs: &Outputs,
    existing: Existing,
    config_file: Option<&Path>,
) -> Result<(), Usage> {
    let inputs = inputs(config, config_file);
    for (flag, name) in outputs.moved_files(config, existing) {
        let other = outputs.files().find(|(_, path)| files::would_be_same(path, &name));
        let over = match other {
            Some((other, _)) => format!("that of {other}"),
            None if inputs.iter().any(|input| files::is_same(input, &name)) => "what is read".into(),
            None => continue,
        };
        let name = name.display();
        return Err(Usage(format!(
            "{name}: {flag} moves its older file there, over {over}: give one of them another name"
        )));
    }
    Ok(())
}

/// Refuses two outputs into one file, and lines into a picture or a table.
fn keep_apart(config: &Config, is_terminal: bool) -> Result<(), Usage> {
    let is_shown = files::is_stdout;
    let outputs = Outputs::of(config);
    let files: Vec<_> = outputs.files().collect();
    for (i, &(one, path)) in files.iter().enumerate() {
        for &(other, other_path) in &files[..i] {
            let are_shown = (other, one) == ("--jsonl", "--events") && is_shown(path) && is_shown(other_path);
            if are_shown && config.jsonl.format.has_first_row() {
                return Err(Usage(
                    "--jsonl - and --events - would put lines of JSON between a table's rows: give one of them a file, or \
                     leave --jsonl-format csv out"
                        .into(),
                ));
            }
            if !are_shown && files::would_be_same(path, other_path) {
                let path = path.display();
                return Err(Usage(format!("{path}: {other} and {one} need a file each: name another one")));
            }
        }
    }
    if is_terminal && outputs.display == Some(&DisplayTarget::Terminal) {
        for &(flag, path) in &files {
            if matches!(flag, "--jsonl" | "--events") && is_shown(path) {
                return Err(Usage(format!(
                    "{flag} - would write lines into the picture of --display terminal: give it a file, or leave one of them out"
                )));
            }
        }
    }
    Ok(())
}

/// Refuses flags that say how an output is to be that there is not.
fn has_use(config: &Config, flags: &Flags) -> Result<(), Usage> {
    let outputs = Outputs::of(config);
    let (has_film, has_web, is_drawn) = (outputs.video.is_some(), outputs.web.is_some(), outputs.is_drawn());
    let has_lines = outputs.jsonl.is_some() || outputs.is_empty();
    let paced = "--serial PORT, --jsonl PATH, --osc, --udp, --web or --display";
    let table = [
        ("--rate", flags.rate.is_some(), outputs.have_rate(), paced),
        ("--predict", flags.predict.is_some(), outputs.have_moment(), paced),
        ("--jsonl-format", flags.jsonl_format.is_some(), has_lines, "--jsonl PATH"),
        ("--video-rate", flags.video_rate.is_some(), has_film, "--video FILE"),
        ("--no-pictures", flags.no_pictures, is_drawn, "--display KIND or --video FILE"),
        ("--dim", flags.dim.is_some(), is_drawn, "--display KIND or --video FILE"),
        (
            "--display-style",
            flags.display_style.is_some(),
            is_drawn || has_web,
            "--display KIND, --video FILE or --web ADDR",
        ),
        ("--web-pixels", flags.web_pixels, has_web, "--web ADDR"),
        ("--osc-format", flags.osc_format.is_some(), outputs.osc.is_some(), "--osc HOST:PORT"),
        ("--udp-format", flags.udp_format.is_some(), outputs.udp.is_some(), "--udp HOST:PORT"),
        ("--mqtt-name", flags.mqtt_name.is_some(), outputs.mqtt.is_some(), "--mqtt URL"),
        ("--mcap-pixels", flags.mcap_pixels, outputs.mcap.is_some(), "--mcap FILE"),
        ("--foxglove-pixels", flags.foxglove_pixels, outputs.foxglove.is_some(), "--foxglove ADDR"),
    ];
    match table.into_iter().find(|(_, is_given, has_use, _)| *is_given && !has_use) {
        Some((flag, _, _, need)) => {
            Err(Usage(format!("{flag} does nothing alone: add {need}, or leave it out")))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        Config::parse(text, Path::new("x")).unwrap()
    }

    #[test]
    fn outputs_need_a_file_each_whether_or_not_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let told = |sections: [(&str, &str); 2], is_terminal| {
            let text = sections.map(|(section, path)| format!("[{section}]\npath = {path:?}\n")).concat();
            keep_apart(&config(&text), is_terminal).err().map(|why| why.0).unwrap_or_default()
        };
        std::fs::create_dir(folder.path().join("more")).unwrap();
        let (new, same) = (at("q"), at("more/../q"));
        for (one, other) in [("jsonl", "mcap"), ("video", "mcap"), ("jsonl", "events")] {
            let said = told([(one, &new), (other, &same)], false);
            assert!(said.contains("need a file each") && said.contains(&format!("--{one}")), "{said}");
        }
        assert_eq!(told([("jsonl", &new), ("events", &at("other"))], false), "");
        assert_eq!(told([("jsonl", "-"), ("events", "-")], true), "");
        assert_eq!(told([("jsonl", "-"), ("events", "/dev/stdout")], true), "");
        assert!(told([("jsonl", "/dev/fd/1"), ("mcap", "/dev/stdout")], true).contains("need a file each"));
    }

    #[test]
    fn what_is_read_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, "").unwrap();
            path.to_str().unwrap().to_owned()
        };
        let [read, new] = ["read.toml", "new.toml"].map(at);
        let told = |section: &str, key: &str, output: &str| {
            let text = format!("[{section}]\n{key} = {read:?}\n[jsonl]\npath = {output:?}\n");
            let config = config(&text);
            keep_inputs(&config, &Outputs::of(&config), None).err().map(|why| why.0).unwrap_or_default()
        };
        for (section, key) in [
            ("source", "replay"),
            ("events", "zones"),
            ("metres", "calibration"),
            ("models", "keypoints"),
            ("models", "finder"),
            ("models", "temporal"),
        ] {
            let said = told(section, key, &read);
            assert!(said.contains("read.toml, which is read"), "[{section}] {key}: {said}");
            assert_eq!(told(section, key, &new), "", "[{section}] {key}");
        }
    }

    #[test]
    fn lines_do_not_go_into_a_picture() {
        let config = config("[display]\nkind = \"terminal\"\n[events]\npath = \"-\"\n");
        assert!(keep_apart(&config, true).is_err_and(|why| why.0.contains("--events -")));
        assert!(keep_apart(&config, false).is_ok(), "the display itself says what is amiss");
    }

    #[test]
    fn a_file_that_moves_out_of_the_way_goes_over_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let told = |text: &str, existing, config_file: Option<&Path>| {
            let config = config(text);
            let kept = keep_moved_apart(&config, &Outputs::of(&config), existing, config_file);
            kept.err().map(|why| why.0).unwrap_or_default()
        };
        let lines = |rotate_mb: u32, other: &str| {
            format!("[jsonl]\npath = {:?}\nrotate_mb = {rotate_mb}\n{other}", at("poses.jsonl"))
        };
        let events = format!("[events]\npath = {:?}\n", at("poses.jsonl.1"));
        let both = told(&lines(1, &events), Existing::Append, None);
        assert!(
            both.contains("poses.jsonl.1") && both.contains("rotate_mb") && both.contains("--events"),
            "{both}"
        );
        assert_eq!(told(&lines(0, &events), Existing::Append, None), "");
        std::fs::write(at("poses.jsonl.1"), "").unwrap();
        let file = at("poses.jsonl.1");
        assert!(told(&lines(1, ""), Existing::Replace, Some(Path::new(&file))).contains("what is read"));
        assert_eq!(told(&lines(1, ""), Existing::Replace, None), "");
        assert_eq!(told("[jsonl]\npath = \"-\"\nrotate_mb = 1\n", Existing::Append, None), "");
        let film =
            format!("[video]\npath = {:?}\n[source]\nreplay = {:?}\n", at("film.mp4"), at("film.2.mp4"));
        std::fs::write(at("film.2.mp4"), "").unwrap();
        let film_of_one = told(&film, Existing::Append, None);
        assert!(film_of_one.contains("film.2.mp4") && film_of_one.contains("what is read"), "{film_of_one}");
        assert_eq!(told(&film, Existing::Replace, None), "");
    }

    #[test]
    fn a_flag_that_the_source_has_no_use_for_is_refused() {
        let told = |flags: Flags, has_size: bool, text: &str| {
            let mut config = config(text);
            flags.clone().apply(&mut config);
            suits_source(&config, &flags, has_size, false).err().map(|why| why.0).unwrap_or_default()
        };
        let film = "[source]\nreplay = \"a.mp4\"\n";
        let with_serial = "[source]\nreplay = \"a.mp4\"\n[serial]\nport = \"/dev/ttyUSB0\"\n";
        let size = told(Flags::default(), true, film);
        assert!(size.contains("--size does nothing with a.mp4") && size.contains("leave it out"), "{size}");
        assert_eq!(told(Flags::default(), true, ""), "");
        let fps = || Flags { fps: Some(60), ..Flags::default() };
        assert!(told(fps(), false, film).contains("--fps"));
        assert_eq!(told(fps(), false, with_serial), "");
        let no_wait = || Flags { no_wait: true, ..Flags::default() };
        assert!(told(no_wait(), false, film).contains("a camera that may be missing"));
        assert_eq!(told(no_wait(), false, "[source]\ncamera = \"auto\"\n"), "");
        let seed = || Flags { seed: Some(7), ..Flags::default() };
        assert!(told(seed(), false, film).contains("--seed"));
        assert!(told(seed(), false, "[source]\ncamera = \"auto\"\n").contains("does nothing with auto"));
        let by_net = told(seed(), false, "[source]\ncamera = \"rtsp://user:secret@10.0.0.9/live\"\n");
        assert!(by_net.contains("does nothing with rtsp://10.0.0.9/live"), "{by_net}");
        assert_eq!(told(Flags { inject: Some("camera.drop=1".into()), ..seed() }, false, film), "");
        assert_eq!(told(Flags { synthetic: true, ..seed() }, false, ""), "");
        assert_eq!(
            told(Flags::default(), false, &format!("{film}[faults]\nseed = 4\n")),
            "",
            "a file may say so"
        );
    }

    #[test]
    fn a_flag_that_does_nothing_is_refused_with_what_it_needs() {
        let told = |flags: Flags, text: &str| {
            let mut config = config(text);
            flags.clone().apply(&mut config);
            has_use(&config, &flags).err().map(|why| why.0).unwrap_or_default()
        };
        let pixels = || Flags { web_pixels: true, ..Flags::default() };
        assert!(told(pixels(), "").contains("--web-pixels") && told(pixels(), "").contains("--web ADDR"));
        assert_eq!(told(pixels(), "[web]\naddress = \"127.0.0.1:8080\"\n"), "");
        let rate = || Flags { rate: "5".parse().ok(), ..Flags::default() };
        assert!(told(rate(), "[mcap]\npath = \"a.mcap\"\n").starts_with("--rate does nothing"));
        assert_eq!(told(rate(), "[mcap]\npath = \"a.mcap\"\n[udp]\naddress = \"host:9100\"\n"), "");
        let predict = || Flags { predict: "150".parse().ok(), ..Flags::default() };
        assert!(told(predict(), "[events]\npath = \"-\"\n").starts_with("--predict does nothing"));
        assert_eq!(told(predict(), "[mcap]\npath = \"a.mcap\"\n"), "");
        let table = || Flags { jsonl_format: "csv".parse().ok(), ..Flags::default() };
        assert_eq!(told(table(), ""), "", "lines on the standard output");
        assert!(told(table(), "[mcap]\npath = \"a.mcap\"\n").contains("--jsonl PATH"));
        assert_eq!(told(Flags::default(), "[web]\npictures = true\n"), "", "a file may say how it would be");
    }
}
