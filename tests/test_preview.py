"""The preview in a real browser: Chromium without a window, told what to do over a pipe (its DevTools protocol).

POSEWIRE=target/debug/posewire python3 -m unittest tests/test_preview.py
POSEWIRE_SCREENSHOTS=FOLDER keeps what it looked like.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import tomllib
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# Whole paths: some tests work in folders of their own.
POSEWIRE = str(Path(os.environ.get("POSEWIRE", ROOT / "target/debug/posewire")).resolve())
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SOON_S = 60.0

# The middle of the largest person's sure, measured joints: what the message says, and what is drawn there. Smaller ones may be
# drawn over each other.
DRAWN_AT_JOINTS = """(() => {
  shown.picture = shown.mirror = shown.trails = shown.sigma = shown.ids = false;
  render();
  const scale = canvas.width / frame.size[0];
  const largest = frame.line.persons.toSorted((a, b) => b.box[2] * b.box[3] - a.box[2] * a.box[3]).slice(0, 1);
  return largest.flatMap(person => person.keypoints.filter(k => lookOf(k) === 1).map(([x, y]) => {
    const [r, g, b] = pen.getImageData(Math.round(x * scale), Math.round(y * scale), 1, 1).data;
    return [COLOURS[person.id % COLOURS.length], `#${[r, g, b].map(c => c.toString(16).padStart(2, "0")).join("")}`];
  }));
})()"""

# The same in the viewer's first pane.
DRAWN_IN_PANE = """(() => {
  shown.picture = shown.ids = false;
  render();
  const canvas = document.querySelector("#panes canvas"), scale = canvas.width / sizeOf()[0], pen = canvas.getContext("2d");
  const person = personsOf(reel.tracks[0], reel.frames[current.index]).toSorted((a, b) => b.box[2] * b.box[3] - a.box[2] * a.box[3])[0];
  const pairs = person.keypoints.filter(k => lookOf(k) === 1).map(([x, y]) => {
    const [r, g, b] = pen.getImageData(Math.round(x * scale), Math.round(y * scale), 1, 1).data;
    return [colourOf(person.id), `#${[r, g, b].map(c => c.toString(16).padStart(2, "0")).join("")}`];
  });
  shown.picture = shown.ids = true;
  render();
  return pairs;
})()"""

# A GIF of the marked span as the browser's own decoder reads it, and a PNG.
EXPORTED = """(async () => {
  const [first, last] = markedSpan(), made = await gif(first, last), picture = await png();
  const decoder = new ImageDecoder({ data: await made.arrayBuffer(), type: "image/gif" });
  await decoder.tracks.ready;
  const frames = decoder.tracks.selectedTrack.frameCount, { image } = await decoder.decode({ frameIndex: frames - 1 });
  const { displayWidth, displayHeight } = image;
  image.close();
  return [Math.min(made.size, picture.size), frames, displayWidth, displayHeight, picture.type];
})()"""

# A recording of more frames than the viewer keeps, its first 101 of one light; frame 100 is on show while a GIF of 70 to 129 is made.
LONG_GIF = """(async () => {
  take({ name: "long", note: "", isWhole: true, tracks: [],
    frames: Array.from({ length: 130 }, (_, i) => ({ number: i, us: i * 33_333 })),
    picture: async () => {
      const canvas = new OffscreenCanvas(32, 24), pen = canvas.getContext("2d");
      pen.fillStyle = "#fff";
      pen.fillRect(0, 0, 32, 24);
      return createImageBitmap(canvas);
    } });
  seek(100);
  while (current?.index !== 100) await new Promise(done => setTimeout(done, 10));
  const made = await gif(70, 129), decoder = new ImageDecoder({ data: await made.arrayBuffer(), type: "image/gif" });
  await gif(0, 60);
  await decoder.tracks.ready;
  const { image } = await decoder.decode({ frameIndex: decoder.tracks.selectedTrack.frameCount - 1 });
  render();
  return [image.displayWidth, image.displayHeight, current.picture.width, kept.size];
})()"""

# Where the picture lies on the page: left, top, width and height, CSS pixels.
PICTURE_ON_SCREEN = """(() => {
  const box = canvas.getBoundingClientRect(), [width, height] = frame.size, scale = Math.min(box.width / width, box.height / height);
  return [box.left + (box.width - scale * width) / 2, box.top + (box.height - scale * height) / 2, scale * width, scale * height];
})()"""


class Browser:
    """One page of a Chromium that has a home of its own."""

    def __init__(self, folder: str, width: int, height: int) -> None:
        assert CHROMIUM is not None
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        command = f'exec 3<&{to_browser} 4>&{from_browser}; exec "$0" "$@"'
        flags = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-pipe",
            "--disable-dev-shm-usage",
        ]
        self.process = subprocess.Popen(
            [
                "bash",
                "-c",
                command,
                CHROMIUM,
                *flags,
                f"--user-data-dir={folder}",
                f"--window-size={width},{height}",
            ],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._id = 0
        self._session: str | None = None
        self.requests: list[str] = []
        self.errors: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def call(self, method: str, **params: Any) -> Any:
        self._id += 1
        message: dict[str, Any] = {"id": self._id, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _next(self) -> Any:
        while b"\0" not in self._buffer:
            got = os.read(self._read, 1 << 16)
            if not got:
                raise RuntimeError("the browser ended")
            self._buffer += got
        text, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(text)
        params = message.get("params", {})
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Network.webSocketCreated":
                self.requests.append(params["url"])
            case "Runtime.exceptionThrown":
                self.errors.append(str(params["exceptionDetails"]))
            case "Log.entryAdded" if params["entry"]["level"] == "error":
                self.errors.append(str(params["entry"]))
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning"):
                self.errors.append(str(params))
        return message

    def value(self, expression: str) -> Any:
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"]))
        return result["result"].get("value")

    def until(self, expression: str) -> None:
        until = time.monotonic() + SOON_S
        while not self.value(expression):
            if time.monotonic() > until:
                raise TimeoutError(f"never true: {expression}; {self.errors}")
            time.sleep(0.1)

    def press(self, key: str) -> None:
        # Keys with a name write nothing.
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def screenshot(self, name: str) -> None:
        folder = os.environ.get("POSEWIRE_SCREENSHOTS")
        if folder:
            png = self.call("Page.captureScreenshot", format="png")["data"]
            Path(folder, f"{name}.png").write_bytes(base64.b64decode(png))

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._write)
        os.close(self._read)


class Page(unittest.TestCase):
    """A page of the program's in a browser."""

    address: str

    def serve(self, *arguments: str) -> None:
        if CHROMIUM is None:
            print(
                "SKIPPED: the preview in a browser: no chromium on this machine (sudo apt install chromium)"
            )
            self.skipTest("no chromium")
        command = [POSEWIRE, *arguments, "--web", "127.0.0.1:0"]
        self.tracker = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.stop)
        assert self.tracker.stderr is not None
        for line in self.tracker.stderr:
            if found := re.search(r"(http://127\S+)", line):
                self.address = found[1]
                return
        self.fail("posewire tells no address")

    def stop(self) -> None:
        self.tracker.terminate()
        self.tracker.communicate(timeout=SOON_S)

    def folder(self) -> Path:
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        return Path(folder.name)

    def open(self, width: int, height: int, until: str) -> Browser:
        browser = Browser(str(self.folder()), width, height)
        self.addCleanup(browser.close)
        browser.call("Page.navigate", url=self.address)
        browser.until(until)
        return browser

    def assert_alone(self, browser: Browser) -> None:
        """No word of the console, no other host."""
        own = (self.address, self.address.replace("http", "ws"), "data:", "blob:")
        others = [url for url in browser.requests if not url.startswith(own)]
        self.assertEqual((others, browser.errors), ([], []))


class Preview(Page):
    """The built-in clip on the page."""

    def setUp(self) -> None:
        self.serve("run", "--synthetic", "--web-pixels")

    def open_live(self, width: int, height: int) -> Browser:
        return self.open(
            width,
            height,
            "typeof frame !== 'undefined' && frame?.line.persons.length > 0 && picture !== null",
        )

    def test_the_page_shows_what_the_messages_say(self) -> None:
        browser = self.open_live(1280, 800)
        browser.until("document.querySelectorAll('#legs tr').length > 5")
        time.sleep(4)
        browser.screenshot("desktop")
        seq = browser.value("frame.line.seq")
        browser.until(f"frame.line.seq > {seq + 10}")

        # On a busy machine nobody may be there for a moment.
        until = time.monotonic() + SOON_S
        pairs: list[list[str]] = []
        while len(pairs) <= 8 and time.monotonic() < until:
            pairs = browser.value(DRAWN_AT_JOINTS)
        self.assertGreater(len(pairs), 8)
        self.assertGreater(sum(wanted == drawn for wanted, drawn in pairs), 0.8 * len(pairs), pairs)

        self.assertTrue(browser.value("shown.smoothed"))
        browser.press("s")
        self.assertFalse(browser.value("shown.smoothed"))
        browser.until("frame.seen.length > 0")
        browser.screenshot("raw")
        for key in "smtgipd":
            browser.press(key)
        browser.screenshot("light")
        browser.press("x")
        before = browser.value("frame.line.persons[0]?.id ?? 0")
        browser.until(f"(frame.line.persons[0]?.id ?? 0) > {before}")

        self.assert_alone(browser)

    def test_zones_are_drawn_with_the_mouse_as_the_file_that_the_tracker_reads(self) -> None:
        browser = self.open_live(1280, 800)
        left, top, width, height = browser.value(PICTURE_ON_SCREEN)

        def click(x: float, y: float, to: tuple[float, float] | None = None) -> None:
            mouse = {"button": "left", "clickCount": 1}
            at = {"x": left + x * width, "y": top + y * height}
            browser.call("Input.dispatchMouseEvent", type="mousePressed", **at, **mouse)
            if to is not None:
                at = {"x": left + to[0] * width, "y": top + to[1] * height}
                browser.call("Input.dispatchMouseEvent", type="mouseMoved", **at, buttons=1, button="left")
            browser.call("Input.dispatchMouseEvent", type="mouseReleased", **at, **mouse)

        browser.press("e")
        for corner in [(0.1, 0.2), (0.5, 0.2), (0.5, 0.9), (0.1, 0.9), (0.1, 0.2)]:
            click(*corner)
        # A corner is moved; the middle of an edge becomes one.
        click(0.5, 0.2, to=(0.6, 0.3))
        click(0.3, 0.9, to=(0.3, 0.8))
        for corner in [(0.7, 0.1), (0.9, 0.1), (0.8, 0.6)]:
            click(*corner)
        browser.press("Enter")
        browser.value(
            "editor.rename(editor.zones[1], 'the \"door\"'); editor.zones[1].at = 'hands'; drawEditor()"
        )
        browser.screenshot("zones")
        text = browser.value("editor.toml()")
        zones = tomllib.loads(text)["zone"]
        self.assertEqual([(z["name"], z["at"]) for z in zones], [("zone 1", "feet"), ('the "door"', "hands")])
        wanted = [
            [(0.1, 0.2), (0.6, 0.3), (0.5, 0.9), (0.3, 0.8), (0.1, 0.9)],
            [(0.7, 0.1), (0.9, 0.1), (0.8, 0.6)],
        ]
        for zone, corners in zip(zones, wanted, strict=True):
            self.assertEqual(len(zone["polygon"]), len(corners), zone)
            for drawn, corner in zip(zone["polygon"], corners, strict=True):
                self.assertLess(max(abs(a - b) for a, b in zip(drawn, corner, strict=True)), 0.005, zone)
        file = self.folder() / "zones.toml"
        file.write_text(text)
        command = [POSEWIRE, "run", "--synthetic", "--no-drop", "--frames", "1", "--zones", str(file)]
        taken = subprocess.run([*command, "--events", "-"], capture_output=True, text=True, timeout=SOON_S)
        self.assertEqual(taken.returncode, 0, taken.stderr)
        # A corner is taken away, then the zone; the page goes on.
        click(0.8, 0.6)
        browser.press("Delete")
        self.assertEqual(browser.value("editor.zones.length"), 1)
        self.assert_alone(browser)

    def test_persons_are_drawn_as_bodies_that_may_be_turned(self) -> None:
        browser = self.open_live(1000, 700)
        # As many pixels that are not black as a figure has, once nothing but figures is drawn.
        browser.value("shown.picture = shown.ids = shown.zones = false")
        count = """(() => { render();
          const {data} = pen.getImageData(0, 0, canvas.width, canvas.height);
          let lit = 0;
          for (let i = 0; i < data.length; i += 4) lit += data[i + 3] > 0 && data[i] + data[i + 1] + data[i + 2] > 60;
          return lit / data.length * 4 / Math.max(1, frame.line.persons.length); })()"""
        browser.until("frame.line.persons.length > 0")
        skeleton = browser.value(count)
        browser.press("b")
        self.assertEqual(browser.value("shown.style"), "planar")
        browser.until("frame.line.persons.length > 0")
        planar = browser.value(count)
        self.assertGreater(planar, 1.5 * skeleton)
        browser.press("b")
        browser.until("frame.bodies?.length > 0 && bodies.ready()")
        browser.screenshot("volumetric")
        self.assertGreater(browser.value(count), 1.2 * skeleton)
        middle = {"x": 300, "y": 300, "button": "left", "clickCount": 1}
        browser.call("Input.dispatchMouseEvent", type="mousePressed", **middle)
        browser.call("Input.dispatchMouseEvent", type="mouseMoved", **(middle | {"x": 400}))
        browser.call("Input.dispatchMouseEvent", type="mouseReleased", **(middle | {"x": 400}))
        self.assertGreater(browser.value("bodies.orbit.yaw"), 0.5)
        browser.until("frame.bodies?.length > 0")
        self.assertGreater(browser.value(count), 0.002)
        browser.screenshot("turned")
        browser.press("b")
        self.assertEqual(browser.value("[shown.style, bodies.orbit]"), ["skeleton", None])
        browser.until("frame.bodies === undefined")
        self.assertEqual(browser.errors, [])

    def test_a_phone_shows_picture_and_figures_one_above_the_other(self) -> None:
        browser = self.open_live(390, 844)
        browser.until("document.querySelectorAll('#legs tr').length > 5")
        time.sleep(2)
        browser.screenshot("phone")
        self.assertLessEqual(browser.value("document.documentElement.scrollWidth"), 390)
        edge = "document.querySelector('{}').getBoundingClientRect().{}"
        stage, aside = (
            browser.value(edge.format("#stage", "bottom")),
            browser.value(edge.format("aside", "top")),
        )
        self.assertLessEqual(stage, aside + 1)
        self.assertEqual(browser.errors, [])


class Viewer(Page):
    """A recording on the viewer's page."""

    def record(self) -> Path:
        clip = self.folder() / "clip.avi"
        command = [POSEWIRE, "record", "--synthetic", "--size", "320x240", "--frames", "40", str(clip)]
        subprocess.run(command, check=True, capture_output=True, timeout=SOON_S)
        return clip

    def drop(self, browser: Browser, *files: Path) -> None:
        # By the element itself: a node's number is void when the page has changed since it was asked for.
        found = browser.call("Runtime.evaluate", expression="document.querySelector('#open')")
        element = found["result"]["objectId"]
        browser.call("DOM.setFileInputFiles", objectId=element, files=[str(file) for file in files])

    def test_a_recording_is_scrubbed_compared_and_exported(self) -> None:
        clip = self.record()
        self.serve("view", str(clip), "--smoother", "xl", "--smoother", "none")
        browser = self.open(1280, 800, "typeof reel !== 'undefined' && reel?.isWhole && current?.index === 0")
        self.assertEqual(
            browser.value("[reel.frames.length, ...reel.tracks.map(t => t.length)]"), [40, 40, 40]
        )
        for key, index in [("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", 39), ("Home", 0)]:
            browser.press(key)
            browser.until(f"current.index === {index}")
        browser.value("seek(30)")
        browser.until("current.index === 30")
        # Poses of the frame whose picture is shown, where the line says.
        self.assertEqual(browser.value("personsOf(reel.tracks[0], reel.frames[30]).length > 0"), True)
        pairs = browser.value(DRAWN_IN_PANE)
        self.assertGreater(len(pairs), 8)
        self.assertGreater(sum(wanted == drawn for wanted, drawn in pairs), 0.8 * len(pairs), pairs)
        self.assertEqual(browser.value("document.querySelectorAll('#panes figure').length"), 2)
        browser.screenshot("viewer")
        browser.press("b")
        self.assertEqual(browser.value("document.querySelectorAll('#panes figure').length"), 1)
        browser.screenshot("viewer-one")
        browser.press("b")
        browser.press("j")
        self.assertEqual(browser.value("JOINTS[joint]"), "right_wrist")
        browser.value("span = [10, 20]; render()")
        size, frames, width, height, kind = browser.value(EXPORTED)
        self.assertEqual((frames, width, height, kind), (11, 640, 240, "image/png"))
        self.assertGreater(size, 1000)
        self.assert_bodies(browser)
        browser.press("Home")
        browser.press(" ")
        browser.until("at > 5")
        self.assert_alone(browser)

    def assert_bodies(self, browser: Browser) -> None:
        """The three bodies of frame 30, each lit otherwise, and in what is saved."""
        lit = """(() => { shown.picture = shown.ids = false; render();
          const canvas = document.querySelector("#panes canvas");
          const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          let lit = 0;
          for (let i = 0; i < data.length; i += 4) lit += data[i] + data[i + 1] + data[i + 2] > 60;
          return lit / data.length * 4; })()"""
        browser.value("seek(30)")
        browser.until("current.index === 30")
        skeleton = browser.value(lit)
        browser.press("y")
        self.assertEqual(browser.value("shown.style"), "planar")
        self.assertGreater(browser.value(lit), 1.5 * skeleton)
        browser.press("y")
        browser.until("bodies.ready() && reel.tracks[0].standing.size > 0")
        volumetric = browser.value(lit)
        self.assertGreater(volumetric, 1.2 * skeleton)
        browser.value("shown.picture = shown.ids = true; render()")
        browser.screenshot("viewer-volumetric")
        self.assertGreater(browser.value("png().then(picture => picture.size)"), 1000)
        browser.value("bodies.orbit = {yaw: 1.2, pitch: 0.2}")
        self.assertGreater(browser.value(lit), 0.002)
        self.assertNotEqual(browser.value(lit), volumetric)
        browser.press("y")
        self.assertEqual(browser.value("[shown.style, bodies.orbit]"), ["skeleton", None])
        browser.value("shown.picture = shown.ids = true")

    def test_files_are_opened_by_the_page_alone_and_what_is_wrong_is_said(self) -> None:
        clip = self.record()
        lines = clip.with_name("poses.jsonl")
        command = [POSEWIRE, "run", str(clip), "--no-drop", "--predict", "capture", "--jsonl", str(lines)]
        subprocess.run(command, check=True, capture_output=True, timeout=SOON_S)
        self.serve("view")
        browser = self.open(390, 844, "typeof reel !== 'undefined'")
        self.drop(browser, clip, lines)
        browser.until("reel?.frames.length === 40 && current?.index === 0 && reel.tracks[0]?.length === 40")
        self.assertEqual(browser.value("[reel.note, problem]"), ["", ""])
        browser.value("seek(30)")
        browser.until("current.index === 30 && current.picture !== null")
        browser.screenshot("viewer-phone")
        self.assertLessEqual(browser.value("document.documentElement.scrollWidth"), 390)
        # As the program itself counts them: a recording that was cut off, and its own numbers and times.
        cut, other, empty = (clip.with_name(name) for name in ("cut.avi", "other.txt", "empty.avi"))
        whole = clip.read_bytes()
        cut.write_bytes(whole[: len(whole) // 2])
        other.write_text("a letter")
        empty.write_bytes(b"")
        self.drop(browser, cut)
        browser.until("reel.name === 'cut.avi'")
        count = browser.value("reel.frames.length")
        self.assertTrue(10 < count < 30, count)
        self.assertEqual(browser.value("reel.note"), f"cut off after {count} frames: these are whole")
        self.drop(browser, other, empty)
        browser.until(
            "problem.includes('other.txt: no AVI') && problem.includes('empty.avi: the file is empty')"
        )
        self.drop(browser, lines)
        browser.until("reel.tracks.length === 1 && problem === ''")
        self.assert_alone(browser)

    def test_the_picture_on_show_stays_whatever_is_kept_beside_it(self) -> None:
        self.serve("view")
        browser = self.open(800, 600, "typeof reel !== 'undefined'")
        self.assertEqual(browser.value(LONG_GIF), [32, 24, 32, 60])
        # The rate changes: pictures of the old one are forgotten, and what lies beyond the end is not asked for.
        browser.value("""reel.take = () => { reel.frames = reel.frames.slice(0, 50); };
          span = [3, 90]; openFiles([new File(['{"seq":0,"frame":0,"captured_us":0,"persons":[]}'], "poses.jsonl")])""")
        browser.until("current?.index === 49 && kept.size === 1")
        self.assertEqual(browser.value("span"), [3, 49])
        self.assert_alone(browser)

    def test_a_server_that_has_gone_is_told(self) -> None:
        self.serve("view", str(self.record()), "--smoother", "none")
        browser = self.open(800, 600, "typeof reel !== 'undefined' && reel?.isWhole && current?.index === 0")
        self.stop()
        browser.value("setPlaying(true); seek(30)")
        browser.until("!isPlaying && $('notice').textContent.includes('server is gone')")
        self.assertEqual(browser.value("[current.index, isLoading]"), [0, False])
        self.assertFalse([error for error in browser.errors if "Uncaught" in error], browser.errors)


if __name__ == "__main__":
    unittest.main()
