"""The script that installs a release: what it picks, and what it refuses."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tarfile
import tempfile
import unittest
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION = next(
    line.split('"')[1]
    for line in (ROOT / "Cargo.toml").read_text().splitlines()
    if line.startswith("version")
)


class Install(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copy(ROOT / "packaging/install.sh", self.folder)
        self.programs = self.folder / "programs"
        self.programs.mkdir()
        names = [f"posewire_{VERSION}_{arch}.deb" for arch in ("amd64", "arm64", "armhf")]
        names += [f"posewire-{VERSION}-{arch}.tar.gz" for arch in ("amd64", "arm64", "armhf")]
        for name in names:
            (self.folder / name).write_text(name)
        self.sums()

    def sums(self) -> None:
        files = sorted(path for path in self.folder.iterdir() if path.name.startswith("posewire"))
        lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
        (self.folder / "SHA256SUMS").write_text("".join(lines))

    def program(self, name: str, answer: str) -> None:
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{answer}\n")
        path.chmod(0o755)

    def install(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        path = f"{self.programs}:{os.environ['PATH']}"
        command = ["sh", str(self.folder / "install.sh"), *arguments]
        nowhere = "http://127.0.0.1:9/nothing"
        environment = {**os.environ, "PATH": path, "POSEWIRE_URL": nowhere, **more}
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    def test_the_version_is_the_projects(self) -> None:
        self.assertIn(f"\nversion={VERSION}\n", (ROOT / "packaging/install.sh").read_text())

    def test_debians_word_for_the_programs_decides(self) -> None:
        for arch in ("amd64", "arm64"):
            self.program("dpkg", f"echo {arch}")
            done = self.install("--dry-run")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"would install posewire_{VERSION}_{arch}.deb", done.stdout)

    def test_a_32_bit_board_without_neon_is_told_so(self) -> None:
        self.program("dpkg", "echo armhf")
        self.program("grep", 'case "$*" in *neon*) exit 1;; esac; exec /usr/bin/env -i /bin/grep "$@"')
        done = self.install("--dry-run")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no NEON", done.stderr)

    def test_a_32_bit_system_is_served_whichever_kernel_it_runs_on(self) -> None:
        self.program("dpkg", "echo armhf")
        for features in ("half thumb fastmult vfp edsp neon vfpv3", "fp asimd evtstrm crc32 cpuid"):
            with self.subTest(features):
                told = self.folder / "cpuinfo"
                told.write_text(f"Features\t: {features}\n")
                # What the script asks of the processor, asked of this one.
                there = f'case "$*" in */proc/cpuinfo) exec /bin/grep "$1" "$2" {told};; esac'
                self.program("grep", f'{there}; exec /bin/grep "$@"')
                done = self.install("--dry-run")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f"would install posewire_{VERSION}_armhf.deb", done.stdout)

    def test_a_machine_without_a_build_is_told_what_to_do(self) -> None:
        self.program("dpkg", "echo riscv64")
        done = self.install("--dry-run")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no build for riscv64; docs/start.md", done.stderr)

    def test_what_is_damaged_is_refused(self) -> None:
        self.program("dpkg", "echo arm64")
        (self.folder / f"posewire_{VERSION}_arm64.deb").write_text("other bytes")
        done = self.install("--dry-run")
        self.assertEqual(done.returncode, 1)
        self.assertIn("not what SHA256SUMS says", done.stderr)

    def test_what_is_nowhere_is_named(self) -> None:
        self.program("dpkg", "echo arm64")
        (self.folder / f"posewire_{VERSION}_arm64.deb").unlink()
        done = self.install("--dry-run")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"posewire_{VERSION}_arm64.deb is neither beside this script nor at", done.stderr)

    def test_sums_of_another_release_beside_the_script_are_passed_over(self) -> None:
        self.program("dpkg", "echo arm64")
        there = self.folder / "there"
        there.mkdir()
        # As curl is called: `-o FILE URL` are the last words.
        self.program("curl", f'while [ $# -gt 3 ]; do shift; done; cp {there}/"${{3##*/}}" "$2"')
        package = self.folder / f"posewire_{VERSION}_arm64.deb"
        shutil.move(self.folder / "SHA256SUMS", there)
        shutil.move(package, there)
        (self.folder / "SHA256SUMS").write_text(f"{'0' * 64}  posewire_0.0.1_arm64.deb\n")
        done = self.install("--dry-run")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"would install {package.name}", done.stdout)
        (there / "SHA256SUMS").unlink()
        done = self.install("--dry-run")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"has no line for {package.name}", done.stderr)
        self.assertNotIn("damaged", done.stderr)

    def test_what_is_plugged_in_already_comes_under_the_new_rule(self) -> None:
        said = self.folder / "said"
        self.program("udevadm", f'echo "$@" >> {said}')
        self.program("systemctl", ":")
        script = (ROOT / "packaging/install.sh").read_text()
        from_archive = script.split("&& [ -d /run/systemd/system ]; then\n")[1].split("    fi\n")[0]
        package = (ROOT / "packaging/build-deb.sh").read_text()
        in_package = package.split("DEBIAN/postinst\" <<'SCRIPT'\n")[1].split("SCRIPT\n")[0]
        in_package = in_package.replace("/run/systemd/system", str(self.folder))
        for part in (from_archive, in_package):
            said.write_text("")
            command = ["sh", "-c", f"as_root=\n{part}", "sh", "configure"]
            environment = {**os.environ, "PATH": f"{self.programs}:/usr/bin:/bin"}
            subprocess.run(command, env=environment, check=True)
            reload, *rest = said.read_text().splitlines()
            self.assertEqual(reload, "control --reload")
            self.assertEqual([line.split()[:2] for line in rest], [["trigger", "--action=change"]])
            for node in ("ttyUSB", "ttyACM", "video"):
                self.assertIn(f"--sysname-match={node}", rest[0])

    def archive(self, word: str) -> None:
        """An archive whose unit and rule say `word`."""
        inside = self.folder / f"posewire-{VERSION}-arm64"
        (inside / "man1").mkdir(parents=True, exist_ok=True)
        (inside / "posewire").write_text("#!/bin/sh\necho posewire of this release\n")
        for name in ("posewire.service", "99-posewire.rules", "posewire.example.toml", "man1/posewire.1"):
            (inside / name).write_text(word)
        with tarfile.open(self.folder / f"{inside.name}.tar.gz", "w:gz") as packed:
            packed.add(inside, inside.name)
        shutil.rmtree(inside)
        self.sums()

    def without_dpkg(self) -> tuple[Path, Path, Path]:
        """A root folder of a system without dpkg, wherever the test runs, and in it unit and rule."""
        root = self.folder / "root"
        unit, rule = root / "etc/systemd/system/posewire.service", root / "etc/udev/rules.d/99-posewire.rules"
        for file in (unit, rule):
            file.parent.mkdir(parents=True)
        self.program("sudo", 'exec "$@"')
        script = self.folder / "install.sh"
        text = script.read_text().replace("command -v dpkg", "command -v no-dpkg")
        script.write_text(text)
        self.program("uname", "echo aarch64")
        self.program("getconf", "echo 64")
        return root, unit, rule

    def test_the_group_of_serial_ports_is_the_systems(self) -> None:
        root, *files = self.without_dpkg()
        groups = {"uucp": "uucp", "dialout": "dialout", "dialout uucp": "dialout", "": "dialout"}
        self.archive("groups: video dialout")
        for there, expected in groups.items():
            (root / "etc/group").write_text("".join(f"{name}:x:20:\n" for name in there.split()))
            done = self.install(POSEWIRE_ROOT=str(root), PATH=f"{self.programs}:/usr/bin:/bin")
            self.assertEqual(done.returncode, 0, done.stderr)
            for file in files:
                self.assertEqual(file.read_text(), f"groups: video {expected}", there)

    def test_without_a_package_what_was_edited_stays_and_the_rest_is_new(self) -> None:
        root, unit, rule = self.without_dpkg()
        path = f"{self.programs}:/usr/bin:/bin"
        told = {}
        for release in ("first", "second", "third"):
            self.archive(release)
            done = self.install(POSEWIRE_ROOT=str(root), PATH=path)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("posewire of this release", done.stdout)
            self.assertIn("/usr/local/bin is not in PATH", done.stderr)
            told[release] = done.stderr
            self.assertEqual(rule.read_text(), release)
            if release == "first":
                unit.write_text("mine")
        self.assertNotIn("stays", told["first"])
        for release in ("second", "third"):
            self.assertIn(f"{unit} is not as it was installed, and stays", told[release])
        self.assertEqual((unit.read_text(), Path(f"{unit}.new").read_text()), ("mine", "third"))
        self.assertEqual((root / "etc/posewire.toml").read_text(), "first")

    def test_an_unknown_word_is_refused(self) -> None:
        self.assertEqual(self.install("--help-me").returncode, 2)


class Build(unittest.TestCase):
    """What the package is built with."""

    def test_what_is_missing_is_named_before_the_long_build(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            programs = Path(folder)
            for name in ("bash", "dirname", "head", "rm", "sed"):
                (programs / name).symlink_to(shutil.which(name) or name)
            # A Debian's without python3-venv.
            (programs / "python3").write_text("#!/bin/sh\nexit 1\n")
            (programs / "python3").chmod(0o755)
            environment = {"PATH": folder, "HOME": folder}
            command = [str(ROOT / "packaging/build-deb.sh"), "amd64"]
            done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("clang cmake nasm pkg-config python3-venv missing: apt-get install", done.stderr)


class Copyright(unittest.TestCase):
    """What the package says of the weights in it."""

    def said(self, features: str) -> str:
        command = [str(ROOT / "packaging/copyright.sh")]
        environment = {**os.environ, "FEATURES": features}
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout

    def test_every_embedded_network_is_named_with_its_terms(self) -> None:
        models = (ROOT / "src/models.rs").read_text()
        ordinary, usable = models.split("mod built_in {")[1:3]
        for features, part in (("", ordinary), ("usable", usable.split("use built_in")[0])):
            said = self.said(features)
            embedded = re.findall(r'"((?:keypoints|person|temporal)[\w-]*)(?:\.pwt)?"\)', part)
            self.assertGreaterEqual(len(embedded), 3)
            for name in embedded:
                self.assertIn(f"\n {name}:\n  Weights: ", said)
            self.assertEqual("for research and evaluation" in said, not features)
            self.assertIn("License: Expat or Apache-2.0", said)


class Notices(unittest.TestCase):
    """What the package says of other people's works in it."""

    def test_what_is_linked_is_named_with_its_licence_and_nothing_else(self) -> None:
        command = [str(ROOT / "packaging/notices.py")]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        listed, *texts = said.split(f"\n{'=' * 78}\n")
        crates = [line.split(":")[0].strip() for line in listed.splitlines() if line.startswith("  ")]
        names = {crate.split()[0] for crate in crates}
        self.assertLessEqual({"tract-onnx", "turbojpeg-sys", "clap"}, names)
        self.assertFalse({"proptest", "serde_derive", "bindgen", "posewire"} & names)
        told = {crate for text in texts for crate in text.split("\n")[0].split(", ")}
        self.assertEqual(set(crates) - told, set())
        # The terms of libjpeg-turbo, whose C sources a crate carries, ask for this sentence.
        flat = " ".join(said.split())
        self.assertIn("based in part on the work of the Independent JPEG Group", flat)

    def test_those_of_the_firmware_are_of_every_chip_and_screen(self) -> None:
        release = (ROOT / "packaging/release.sh").read_text().replace("\\\n", " ")
        call = next(line for line in release.splitlines() if "notices.py --manifest-path firmware" in line)
        command = shlex.split(call.split(" > ")[0])
        said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        names = {line.split()[0] for line in said.splitlines() if line.startswith("  ")}
        self.assertEqual({"ssd1306", "mipidsi", "embassy-usb", "embassy-rp"} - names, set())
        targets = re.findall(
            r"^rp\w+\) target=(.*) ;;$", (ROOT / "firmware/pico.sh").read_text(), re.MULTILINE
        )
        self.assertEqual(sorted(targets), sorted(b for a, b in pairwise(command) if a == "--target"))


if __name__ == "__main__":
    unittest.main()
