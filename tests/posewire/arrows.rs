//! The house's law: which folder may know which, checked from the code's own imports.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Each module of `src/` and the modules that it may name. An arrow that is added here changes the design.
const MODULES: [(&str, &[&str]); 30] = [
    // What every stage may see.
    ("child_process", &[]),
    ("progress", &["tty"]),
    ("stderr_tail", &[]),
    ("reason", &[]),
    ("permission", &[]),
    ("telemetry", &[]),
    ("tty", &[]),
    ("usb", &[]),
    ("avi", &["files", "picture"]),
    ("coco", &["files"]),
    // Modules that are crates: what runs on every frame is optimised apart, and other programs have a use for some. `clock` is one of `timing`.
    ("clock", &[]),
    ("files", &[]),
    ("maps", &[]),
    ("math", &[]),
    ("names", &[]),
    ("picture", &[]),
    ("temporal", &[]),
    // The stages: none knows another.
    ("capture", &["avi", "child_process", "clock", "permission", "picture", "reason", "stderr_tail", "usb"]),
    ("infer", &["files", "math", "picture", "reason", "telemetry"]),
    ("keypoints", &["infer", "maps", "math", "picture"]),
    ("track", &[]),
    ("calibrate", &["files", "names"]),
    ("metres", &["calibrate", "picture"]),
    (
        "output",
        &[
            "child_process",
            "clock",
            "coco",
            "files",
            "names",
            "permission",
            "picture",
            "reason",
            "stderr_tail",
            "tty",
            "usb",
        ],
    ),
    // What is configured, and what joins the stages.
    ("config", &["files", "infer", "names", "output", "picture", "temporal"]),
    ("models", &["config", "files", "infer", "reason", "temporal"]),
    (
        "tracker",
        &["config", "infer", "keypoints", "metres", "models", "picture", "telemetry", "temporal", "track"],
    ),
    ("pipeline", &["capture", "clock", "config", "output", "picture", "reason", "telemetry", "tracker"]),
    ("lib", &["config", "tracker"]),
    ("main", &[]),
];

/// Those of [`MODULES`] that are crates: they are named as such, or after `crate::`.
const MODULE_CRATES: [&str; 6] = ["files", "maps", "math", "names", "picture", "temporal"];

/// Each crate of the workspace and those of Posewire's own that it may depend on.
const CRATES: [(&str, &[&str]); 23] = [
    ("pose", &[]),
    ("camera-model", &[]),
    ("datagrams", &[]),
    ("files", &[]),
    ("int8", &[]),
    ("latest", &[]),
    ("math", &[]),
    ("names", &[]),
    ("picture", &[]),
    ("shutdown", &[]),
    ("timing", &[]),
    ("page-server", &["names"]),
    ("maps", &["math"]),
    ("temporal", &["math", "names", "pose"]),
    ("people", &["pose"]),
    ("pose-wire", &["pose"]),
    ("pose-draw", &["pose"]),
    ("pose-events", &["pose"]),
    ("pose-mqtt", &["names"]),
    ("pose-osc", &["names", "pose"]),
    (
        "posewire",
        &[
            "camera-model",
            "datagrams",
            "files",
            "int8",
            "latest",
            "maps",
            "math",
            "names",
            "page-server",
            "people",
            "picture",
            "pose",
            "pose-draw",
            "pose-events",
            "pose-mqtt",
            "pose-osc",
            "pose-wire",
            "shutdown",
            "temporal",
            "timing",
        ],
    ),
    (
        "posewire-hub",
        &[
            "camera-model",
            "datagrams",
            "files",
            "page-server",
            "people",
            "pose",
            "pose-draw",
            "pose-events",
            "pose-mqtt",
            "pose-osc",
            "shutdown",
            "timing",
        ],
    ),
    ("posewire-lab", &["files", "people", "pose", "posewire"]),
];

/// Neither clock, file nor environment: time is an argument.
const PURE: [&str; 2] = ["keypoints", "track"];
const PURE_CRATES: [&str; 4] = ["maps", "math", "picture", "temporal"];
const IMPURE: [&str; 7] =
    ["Instant::now", "SystemTime", "std::fs", "std::env", "File::open", "Monotonic", "clock::"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
        if entry.is_dir() {
            found.extend(sources(&entry));
        } else if entry.extension().is_some_and(|e| e == "rs") {
            found.push(entry);
        }
    }
    found
}

/// The code of a file: neither comments nor unit tests, which may build what they test from any module.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// What `code` names that it may not where time is an argument.
fn impure(code: &str) -> Option<&'static str> {
    IMPURE.into_iter().find(|word| code.contains(word))
}

/// `src/capture/replay/avi.rs` belongs to `capture`.
fn module(path: &Path) -> String {
    let inside = path.strip_prefix(root().join("src")).unwrap();
    inside.components().next().unwrap().as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned()
}

/// Every module that `code` names after `parent`, as `crate::`, alone or in braces.
fn named(code: &str, parent: &str) -> BTreeSet<String> {
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut modules = BTreeSet::new();
    for (at, _) in code.match_indices(parent) {
        let rest = &code[at + parent.len()..];
        match rest.strip_prefix('{') {
            None => _ = modules.insert(word(rest)),
            Some(list) => {
                let mut depth = 0;
                let mut start = true;
                for (i, c) in list.char_indices() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => start = true,
                        c if start && c.is_alphabetic() => {
                            modules.insert(word(&list[i..]));
                            start = false;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    modules
}

/// Every one of [`MODULE_CRATES`] that `code` names as a crate.
fn named_crates(code: &str) -> impl Iterator<Item = String> {
    let is_named = |name: &&str| {
        let is_path = |before: &str| {
            let is_inside = before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
            !is_inside || before.ends_with(" ::")
        };
        // A module may have a part of the same name.
        !code.contains(&format!("mod {name};"))
            && code.match_indices(&format!("{name}::")).any(|(at, _)| is_path(&code[..at]))
    };
    MODULE_CRATES.into_iter().filter(is_named).map(str::to_owned)
}

#[test]
fn every_module_names_only_the_modules_it_may() {
    let allowed: BTreeMap<&str, &[&str]> = MODULES.into_iter().collect();
    let mut wrong = Vec::new();
    // Unit tests may build what they test from any module.
    for path in sources(&root().join("src")).into_iter().filter(|path| !path.ends_with("tests.rs")) {
        let (module, code) = (module(&path), code(&path));
        // The command line may name everything.
        if module == "cli" {
            continue;
        }
        let Some(may) = allowed.get(module.as_str()) else {
            wrong.push(format!("src/{module} has no row in tests/posewire/arrows.rs"));
            continue;
        };
        for other in named(&code, "crate::")
            .into_iter()
            .chain(named_crates(&code))
            .filter(|other| *other != module && allowed.contains_key(other.as_str()))
        {
            if !may.contains(&other.as_str()) {
                wrong.push(format!("{}: {module} must not know {other}", path.display()));
            }
        }
        // The rest of `timing` holds no state: any module may name it.
        if module != "lib" && named(&code, "timing::").contains("clock") {
            wrong.push(format!("{}: say crate::clock", path.display()));
        }
        let impure = impure(&code).filter(|_| PURE.contains(&module.as_str()));
        wrong.extend(impure.map(|word| {
            format!("{}: {module} is to read no clock, file or environment: {word}", path.display())
        }));
        if module != "infer" && code.contains("tract_onnx") {
            wrong.push(format!("{}: only infer names an inference engine", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_runs_on_every_frame_reads_no_clock_file_or_environment() {
    for name in PURE_CRATES {
        let files = sources(&root().join("crates").join(name).join("src"));
        assert!(!files.is_empty(), "crates/{name}");
        for path in files.iter().filter(|path| !path.ends_with("tests.rs")) {
            assert_eq!(impure(&code(path)), None, "{}", path.display());
        }
    }
}

#[test]
fn every_crate_depends_only_on_the_crates_it_may() {
    let own: BTreeSet<&str> =
        CRATES.iter().flat_map(|(name, may)| may.iter().chain([name])).copied().collect();
    let mut checked = 0;
    for folder in fs::read_dir(root().join("crates")).unwrap().map(|e| e.unwrap().path()).chain([root()]) {
        let Ok(text) = fs::read_to_string(folder.join("Cargo.toml")) else { continue };
        let manifest: toml::Table = text.parse().unwrap();
        let name = manifest["package"]["name"].as_str().unwrap().to_owned();
        let Some((_, may)) = CRATES.iter().find(|(known, _)| *known == name) else { continue };
        checked += 1;
        for depended in
            manifest["dependencies"].as_table().unwrap().keys().filter(|d| own.contains(d.as_str()))
        {
            assert!(may.contains(&depended.as_str()), "{name} must not depend on {depended}");
        }
    }
    assert_eq!(checked, CRATES.len());
}

#[test]
fn the_check_sees_what_it_is_to_see() {
    let modules = named("use crate::{a::{b, c}, d};\nfn f() { crate::e::g() }", "crate::");
    assert_eq!(modules.into_iter().collect::<Vec<_>>(), ["a", "d", "e"]);
    let crates = |code: &str| named_crates(code).collect::<Vec<_>>();
    assert_eq!(
        crates("use maps::peak;\nfn f() { math::logistic(0.0); ::files::read(\"x\") }"),
        ["files", "maps", "math"]
    );
    assert!(
        crates("mod maps;\nuse maps::peak;\nuse super::math::logistic; use crate::my_files::read;")
            .is_empty()
    );
    for clock in [
        "use timing::clock::now_us;",
        "use timing::{Histogram, clock};\nfn f() { clock::since_1970_us(); }",
        "fn f() { let t = ::timing::clock::now_us(); }",
    ] {
        assert!(named(clock, "timing::").contains("clock") && impure(clock).is_some(), "{clock}");
    }
    assert!(!named("use timing::{Histogram, Summary};", "timing::").contains("clock"));
}
