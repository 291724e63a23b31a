"""docs/bridges.md and docs/python.md as their readers use them: every command is run over the built-in clip, every listener has to hear
something.

The interpreter of the listeners is POSEWIRE_CLIENT_PYTHON, or this one; what it lacks is skipped, loudly.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = "\n".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("bridges.md", "python.md"))
POSEWIRE = Path(
    os.environ.get("POSEWIRE", Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release/posewire")
).resolve()  # the tests work in folders of their own
PYTHON = os.environ.get("POSEWIRE_CLIENT_PYTHON", sys.executable)
#: Longer than anything here takes on a busy machine.
SOON_S = 90.0


def section(title: str) -> str:
    """What stands under a heading of the pages, up to the next."""
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#+ |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"no page has a section {title}"
    return found[1]


def blocks(title: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", section(title), re.MULTILINE | re.DOTALL)


def command(title: str, program: str) -> str:
    """The one line of a section's shell blocks that begins with `program`."""
    lines = [line for block in blocks(title, "sh") for line in block.splitlines() if line.startswith(program)]
    assert len(lines) == 1, lines
    return lines[0]


def has(module: str, needed_for: str) -> bool:
    """Whether the listeners' Python has `module`; says so loudly where it does not."""
    there = (
        subprocess.run([PYTHON, "-c", f"import {module}"], check=False, capture_output=True).returncode == 0
    )
    if not there:
        print(f"SKIPPED: {needed_for}: {PYTHON} has no {module} (pip install it)", file=sys.stderr)
    return there


def free_port(kind: socket.SocketKind) -> int:
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int) -> None:
    """Until somebody listens on `port`."""
    began = time.monotonic()
    while time.monotonic() - began < SOON_S:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"nobody listens on {port}")


@contextmanager
def running(words: list[str], folder: str, **pipes: int) -> Iterator[subprocess.Popen[str]]:
    paths = [ROOT / "clients/python/src", folder, os.environ.get("PYTHONPATH", "")]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(words, cwd=folder, env=env, text=True, **pipes)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def program(path: Path, needed_for: str, how: str) -> bool:
    """Whether the program is there; says so loudly where it is not."""
    if not path.exists():
        print(f"SKIPPED: {needed_for}: no {path} ({how})", file=sys.stderr)
    return path.exists()


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        how = "cargo build --release, or name one in POSEWIRE"
        if not program(POSEWIRE, "the commands of docs/bridges.md and docs/python.md", how):
            raise unittest.SkipTest("no posewire")

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def tracker(self, line: str, port: int) -> list[str]:
        """The page's command on this machine, over the built-in clip."""
        words = self.here(line, port).split()
        self.assertEqual(words[:2], ["posewire", "run"])
        return [str(POSEWIRE), *words[1:], "--synthetic"]

    def here(self, text: str, port: int) -> str:
        """With this machine's address and a free port in the place of the page's."""
        text = re.sub(r"192\.168\.1\.\d+|0\.0\.0\.0", "127.0.0.1", text)
        return re.sub(r"\b(9000|9100|8080|39539)\b", str(port), text)

    def first_line(self, listener: list[str], tracker: list[str]) -> str:
        """What the listener says first, both running."""
        with (
            running(listener, self.folder, stdout=subprocess.PIPE) as ear,
            running(tracker, self.folder, stderr=subprocess.DEVNULL),
        ):
            stdout = ear.stdout
            assert stdout is not None
            said: list[str] = []
            reader = threading.Thread(target=lambda: said.append(stdout.readline()), daemon=True)
            reader.start()
            reader.join(SOON_S)
            self.assertTrue(said and said[0], f"{listener} heard nothing")
            ear.kill()
            return said[0].rstrip("\n")

    def heard(self, title: str, line: str, kind: socket.SocketKind = socket.SOCK_DGRAM) -> str:
        """What the Python of a section hears of the command `line`."""
        port = free_port(kind)
        (script,) = blocks(title, "python")
        path = Path(self.folder) / "listener.py"
        path.write_text(self.here(script, port), encoding="utf-8")
        return self.first_line([PYTHON, str(path)], self.tracker(line, port))

    def test_osc(self) -> None:
        if has("pythonosc", "the page's OSC"):
            line = self.heard("OSC", command("OSC", "posewire run"))
            self.assertRegex(line, r"^/posewire/1/left_wrist [\d.]+ [\d.]+ ")

    def first_datagram(self, title: str) -> bytes:
        """What the section's command sends first."""
        port = free_port(socket.SOCK_DGRAM)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ear:
            ear.bind(("127.0.0.1", port))
            ear.settimeout(SOON_S)
            words = self.tracker(command(title, "posewire run"), port)
            with running(words, self.folder, stderr=subprocess.DEVNULL):
                return ear.recv(2000)

    def test_vrchat(self) -> None:
        self.assertTrue(self.first_datagram("VRChat").startswith(b"/tracking/trackers/"))

    def test_vmc(self) -> None:
        self.assertIn(b"/VMC/Ext/Bone/Pos", self.first_datagram("VMC"))

    def test_bones_hung_on_each_other_lie_where_the_joints_are(self) -> None:
        if not has("pythonosc", "VMC's bones"):
            return
        peer = [PYTHON, "-B", str(ROOT / "tests/vmc_peer.py")]
        with running(peer, self.folder, stdout=subprocess.PIPE) as ears:
            assert ears.stdout is not None
            bones, lines = ears.stdout.readline().split()
            clip = ["--synthetic", "--no-drop", "--frames", "40", "--predict", "capture"]
            to = ["--osc", f"127.0.0.1:{bones}", "--osc-format", "vmc", "--udp", f"127.0.0.1:{lines}"]
            subprocess.run([str(POSEWIRE), "run", *clip, *to], check=True, capture_output=True)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mouth:
                for port in (bones, lines):
                    mouth.sendto(b"end", ("127.0.0.1", int(port)))
            told = json.loads(ears.stdout.read())
        self.assertGreater(told["joints"], 200, told)
        # The avatar's bones keep their lengths, which those of a lifted pose do not.
        self.assertLess(told["median_mm"], 25, told)
        self.assertLess(told["p95_mm"], 60, told)
        print(f"VMC: {told}", file=sys.stderr)

    def test_json_over_udp(self) -> None:
        line = self.heard("JSON over UDP", command("JSON over UDP", "posewire run"))
        self.assertRegex(line, r"^\d+ \[.*\]$")

    def test_json_over_a_websocket(self) -> None:
        if not has("websockets", "the page's WebSocket"):
            return
        title = "JSON over a WebSocket"
        (script,) = blocks(title, "python")
        # The reader starts the tracker first.
        wait = "import socket, time\nwhile True:\n    try:\n        socket.create_connection(('127.0.0.1', 8080)).close()\n        break\n"
        wait += "    except OSError:\n        time.sleep(0.1)\n"
        port = free_port(socket.SOCK_STREAM)
        path = Path(self.folder) / "listener.py"
        path.write_text(self.here(wait + script, port), encoding="utf-8")
        said = self.first_line([PYTHON, str(path)], self.tracker(command(title, "posewire run"), port))
        self.assertTrue(said.startswith("["), said)

    @contextmanager
    def mqtt(self, needed_for: str) -> Iterator[tuple[int, list[str]] | None]:
        """A broker's port and the page's command to it; says loudly where there is no broker."""
        broker = next(
            (p for p in ("/usr/sbin/mosquitto", shutil.which("mosquitto")) if p and Path(p).exists()), None
        )
        if broker is None or shutil.which("mosquitto_sub") is None:
            print(
                f"SKIPPED: {needed_for}: no mosquitto (sudo apt install mosquitto mosquitto-clients)",
                file=sys.stderr,
            )
            yield None
            return
        zones = re.search(
            r"^```toml\n(.*?)^```", (ROOT / "docs/events.md").read_text(), re.MULTILINE | re.DOTALL
        )
        assert zones
        (Path(self.folder) / "zones.toml").write_text(zones[1], encoding="utf-8")
        port = free_port(socket.SOCK_STREAM)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with running([broker, "-p", str(port)], self.folder, **quiet):
            wait_for(port)
            words = self.tracker(command("MQTT and Home Assistant", "posewire run"), port)
            yield port, [f"{word}:{port}" if word.startswith("mqtt://") else word for word in words]

    def test_mqtt(self) -> None:
        with self.mqtt("the page's MQTT") as there:
            if there is None:
                return
            port, words = there
            listener = self.here(command("MQTT and Home Assistant", "mosquitto_sub"), port)
            listener = listener.replace("'", "")
            said = self.first_line([*listener.split(), "-p", str(port), "-W", str(int(SOON_S))], words)
        self.assertTrue(said.startswith("posewire/hall/"), said)

    def test_home_assistant(self) -> None:
        """What it is told keeps to models of its schemas, and its templates make of the topics what an entity shows."""
        if not has("ha_mqtt_models_pydantic, jinja2", "Home Assistant's schemas"):
            return
        with self.mqtt("Home Assistant's schemas") as there:
            if there is None:
                return
            port, words = there
            asked = [word for topic in ("homeassistant/#", "posewire/#") for word in ("-t", topic)]
            # Configurations, and every topic that their entities are made of.
            listener = ["mosquitto_sub", "-p", str(port), "-F", "%t %p", *asked, "-W", "20"]
            checker = [PYTHON, str(ROOT / "tests/home_assistant.py")]
            with running(words, self.folder, stderr=subprocess.DEVNULL):
                heard = subprocess.Popen(
                    listener, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
                )
                done = subprocess.run(
                    checker, stdin=heard.stdout, check=False, capture_output=True, text=True, timeout=SOON_S
                )
                heard.kill()
                heard.communicate()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_python(self) -> None:
        if has("numpy", "the page's arrays"):
            self.assertTrue(self.heard("Arrays", self.datagrams()).startswith("["))
        self.assertTrue((ROOT / "clients/python/pyproject.toml").is_file())

    def datagrams(self) -> str:
        """The tracker's command that docs/python.md begins with."""
        return command("How do I use poses in Python?", "posewire run")

    def done(self, program: str, title: str, *more: str) -> str:
        """What a section's program says, the tracker running, until it ends."""
        port = free_port(socket.SOCK_DGRAM)
        words = self.here(command(title, f"python -m posewire {program}"), port).replace(" 60", " 2").split()
        env = os.environ | {"PYTHONPATH": str(ROOT / "clients/python/src"), "MPLBACKEND": "agg"}
        with running(self.tracker(self.datagrams(), port), self.folder, stderr=subprocess.DEVNULL):
            ended = subprocess.run(
                [PYTHON, *words[1:], *more],
                cwd=self.folder,
                env=env,
                check=False,
                timeout=SOON_S,
                capture_output=True,
                text=True,
            )
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return ended.stderr

    def test_a_live_plot(self) -> None:
        if has("matplotlib", "the page's plot"):
            self.done("plot", "A live plot", "--save", "walk.png", "--frames", "10")
            self.assertTrue((Path(self.folder) / "walk.png").read_bytes().startswith(b"\x89PNG"))

    def test_recordings(self) -> None:
        if has("pyarrow", "the page's recordings"):
            self.done("record", "Recordings")
            for name in ("walk.csv", "walk.trc"):
                lines = (Path(self.folder) / name).read_text(encoding="utf-8").splitlines()
                self.assertGreater(len(lines), 7, name)
            self.assertTrue((Path(self.folder) / "walk.parquet").read_bytes().endswith(b"PAR1"))

    def test_ros_2(self) -> None:
        words = self.tracker(command("ROS 2", "posewire run"), free_port(socket.SOCK_DGRAM))
        done = subprocess.run(
            [*words, "--no-drop", "--frames", "3"], check=False, capture_output=True, text=True
        )
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_lab_streaming_layer(self) -> None:
        if has("pylsl", "the page's Lab Streaming Layer"):
            said = self.done("lsl", "Lab Streaming Layer", "--frames", "20")
            samples = re.search(r"^(\d+) samples$", said, re.MULTILINE)
            self.assertTrue(samples and int(samples[1]) > 0, said)


if __name__ == "__main__":
    unittest.main()
