//! The real binary on the kernel's real camera driver, where `tests/camera-bed/run.py` has built its bed.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Those that show much in little time; `tests/camera-bed/run.py` runs all.
const SCENARIOS: [&str; 6] =
    ["missing_at_start", "renumber", "truncated_mjpeg", "sigterm", "no_camera_before", "vivid"];

fn bed() -> Option<PathBuf> {
    let place = std::env::var_os("POSEWIRE_CAMERA_BED").map(PathBuf::from);
    place.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cache/posewire/camera-bed")))
}

#[test]
fn a_camera_is_read_unplugged_and_found_again() {
    let parts = [
        "linux",
        "busybox",
        "dummy_hcd.ko",
        "drivers/vim2m.ko",
        "clip.mjpeg",
        "clip.yuyv",
        "clip.y4m",
        "usb-camera/release/usb-camera",
    ];
    let bed = bed().filter(|bed| parts.iter().all(|part| bed.join(part).exists()));
    if bed.is_none() {
        eprintln!(
            "SKIPPED: the camera bed is not built (tests/camera-bed/run.py builds it, about five minutes)"
        );
        return;
    }
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/camera-bed/run.py");
    let output = Command::new(run)
        .args(["--no-build", "--posewire", env!("CARGO_BIN_EXE_posewire")])
        .args(SCENARIOS)
        .output()
        .expect("python3 runs");
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{table}{}", String::from_utf8_lossy(&output.stderr));
}
