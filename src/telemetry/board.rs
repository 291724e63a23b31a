//! What the board says of itself: temperature, throttling, governor, memory. Linux's files; elsewhere nothing is known.

use std::fs;
use std::path::{Path, PathBuf};

/// Readings that change while running.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Readings {
    /// The hottest sensor of the processor, or of the board where none is known to be that, degrees Celsius.
    pub temperature_c: Option<f32>,
    /// Whether the firmware slows the processor down now (Raspberry Pi).
    pub throttled: Option<bool>,
}

/// Reads the board's sensors. Opens files: for the supervisor, once a second, not for a stage.
pub fn read() -> Readings {
    read_under(Path::new("/sys"))
}

fn read_under(sys: &Path) -> Readings {
    let temperature_c = hottest_c(&sys.join("class/thermal"));
    // Bits 1 and 2 of the Raspberry Pi firmware's word: frequency capped, throttled, both now.
    let throttled = throttling_word(sys)
        .and_then(|text| u32::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok())
        .map(|word| word & 0b110 != 0);
    Readings { temperature_c, throttled }
}

/// The hottest of the thermal zones that are of the processor, or of all where none is.
fn hottest_c(thermal: &Path) -> Option<f32> {
    let (mut of_processor, mut of_others) = (None, None);
    for zone in fs::read_dir(thermal).into_iter().flatten().flatten() {
        if !zone.file_name().as_encoded_bytes().starts_with(b"thermal_zone") {
            continue;
        }
        let Some(thousandths) = number(&zone.path().join("temp")) else { continue };
        let kind = fs::read_to_string(zone.path().join("type")).unwrap_or_default().to_lowercase();
        // A Jetson's power chip reads 100 °C whatever it has.
        if kind.contains("pmic") {
            continue;
        }
        let hottest = if is_of_processor(&kind) { &mut of_processor } else { &mut of_others };
        let celsius = thousandths as f32 / 1_000.0;
        *hottest = Some(hottest.map_or(celsius, |c: f32| c.max(celsius)));
    }
    of_processor.or(of_others)
}

/// By what drivers call their zones: `cpu-thermal`, `CPU-therm`, `soc-thermal`, `bigcore0-thermal`, `x86_pkg_temp`, …; not the Wi-Fi card's.
fn is_of_processor(kind: &str) -> bool {
    ["cpu", "gpu", "soc", "core", "cluster", "x86_pkg"].iter().any(|part| kind.contains(part))
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
    fn zones_of_the_processor_count_and_others_where_there_is_none() {
        for (zones, celsius) in [
            // A Jetson: its power chip's reading is none.
            (&[("CPU-therm", "41000"), ("GPU-therm", "42000"), ("PMIC-Die", "100000")][..], Some(42.0)),
            (&[("PMIC-Die", "100000")], None),
            (&[("x86_pkg_temp", "61000"), ("iwlwifi_1", "78000"), ("acpitz", "27800")], Some(61.0)),
            (&[("acpitz", "27800"), ("pch_skylake", "52000")], Some(52.0)),
            (&[("cpu-thermal", "-61000")], Some(-61.0)),
        ] {
            let sys = tempfile::tempdir().unwrap();
            for (i, (kind, temp)) in zones.iter().enumerate() {
                let zone = sys.path().join(format!("class/thermal/thermal_zone{i}"));
                fs::create_dir_all(&zone).unwrap();
                fs::write(zone.join("type"), format!("{kind}\n")).unwrap();
                fs::write(zone.join("temp"), format!("{temp}\n")).unwrap();
            }
            assert_eq!(read_under(sys.path()).temperature_c, celsius, "{zones:?}");
        }
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
