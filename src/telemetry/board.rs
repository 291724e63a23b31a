//! What the board says of itself: temperature, throttling, governor, memory. Linux's files; elsewhere nothing is known.

use std::fs;
use std::path::{Path, PathBuf};

/// Readings that change while running.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Readings {
    /// The hottest thermal zone, degrees Celsius.
    pub temperature_c: Option<f32>,
    /// Whether the firmware slows the processor down now (Raspberry Pi).
    pub throttled: Option<bool>,
}

/// Reads the board's sensors. Opens files: for the supervisor, once a second, not for a stage.
pub fn read() -> Readings {
    read_under(Path::new("/sys"))
}

fn read_under(sys: &Path) -> Readings {
    let zones = fs::read_dir(sys.join("class/thermal")).into_iter().flatten().flatten();
    let temperature_c = zones
        .filter(|zone| zone.file_name().as_encoded_bytes().starts_with(b"thermal_zone"))
        .filter_map(|zone| number(&zone.path().join("temp")))
        .map(|thousandths| thousandths as f32 / 1_000.0)
        .max_by(f32::total_cmp);
    // Bits 1 and 2 of the Raspberry Pi firmware's word: frequency capped, throttled, both now.
    let throttled = throttling_word(sys)
        .and_then(|text| u32::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok())
        .map(|word| word & 0b110 != 0);
    Readings { temperature_c, throttled }
}

/// The firmware's word on throttling: in `soc/soc:firmware`, or with an address as `soc@107c000000/soc@107c000000:firmware`, by
/// the kernel's tree of devices.
fn throttling_word(sys: &Path) -> Option<String> {
    let below = |folder: &Path, named: fn(&str) -> bool| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries
            .filter(|entry| entry.file_name().to_str().is_some_and(named))
            .map(|entry| entry.path())
            .collect()
    };
    let socs = below(&sys.join("devices/platform"), |name| name == "soc" || name.starts_with("soc@"));
    let firmwares = socs.iter().flat_map(|soc| below(soc, |name| name.ends_with(":firmware")));
    firmwares.into_iter().find_map(|firmware| fs::read_to_string(firmware.join("get_throttled")).ok())
}

/// The frequency governor of the first core: `performance`, `ondemand`, …
pub fn governor() -> Option<String> {
    let text = fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").ok()?;
    Some(text.trim().to_owned())
}

/// Resident memory of this process in bytes.
pub fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib * 1024)
}

fn number(path: &Path) -> Option<i64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hottest_zone_and_the_throttling_bits_are_read() {
        let sys = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("class/thermal/thermal_zone0/temp", "48312\n"),
            ("class/thermal/thermal_zone1/temp", "61000\n"),
            ("class/thermal/cooling_device0/temp", "99000\n"),
            ("devices/platform/soc/soc:firmware/get_throttled", "50004\n"),
        ] {
            let path = sys.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        assert_eq!(read_under(sys.path()), Readings { temperature_c: Some(61.0), throttled: Some(true) });
    }

    #[test]
    fn the_firmware_is_found_by_the_names_of_newer_kernels() {
        let sys = tempfile::tempdir().unwrap();
        let firmware = sys.path().join("devices/platform/soc@107c000000/soc@107c000000:firmware");
        fs::create_dir_all(&firmware).unwrap();
        for (word, throttled) in [("50000\n", Some(false)), ("2\n", Some(true)), ("?\n", None)] {
            fs::write(firmware.join("get_throttled"), word).unwrap();
            assert_eq!(read_under(sys.path()).throttled, throttled, "{word}");
        }
    }

    #[test]
    fn a_board_without_sensors_reads_as_unknown() {
        let sys = tempfile::tempdir().unwrap();
        assert_eq!(read_under(sys.path()), Readings::default());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn resident_memory_is_believable() {
        let bytes = resident_bytes().unwrap();
        assert!((1 << 19..1 << 36).contains(&bytes), "{bytes}");
    }
}
