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
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
POSEWIRE = os.environ.get("POSEWIRE", str(ROOT / "target/debug/posewire"))
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
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
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
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
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


class Preview(unittest.TestCase):
    """The built-in clip on the page."""

    def setUp(self) -> None:
        if CHROMIUM is None:
            print(
                "SKIPPED: the preview in a browser: no chromium on this machine (sudo apt install chromium)"
            )
            self.skipTest("no chromium")
        command = [POSEWIRE, "run", "--synthetic", "--web", "127.0.0.1:0", "--web-pixels"]
        self.tracker = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.stop)
        assert self.tracker.stderr is not None
        for line in self.tracker.stderr:
            if found := re.search(r"web preview: (http://\S+)", line):
                self.address = found[1]
                return
        self.fail("posewire tells no address")

    def stop(self) -> None:
        self.tracker.terminate()
        self.tracker.communicate(timeout=SOON_S)

    def open(self, width: int, height: int) -> Browser:
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        browser = Browser(folder.name, width, height)
        self.addCleanup(browser.close)
        browser.call("Page.navigate", url=self.address)
        browser.until("typeof frame !== 'undefined' && frame?.line.persons.length > 0 && picture !== null")
        return browser

    def test_the_page_shows_what_the_messages_say(self) -> None:
        browser = self.open(1280, 800)
        browser.until("document.querySelectorAll('#legs tr').length > 5")
        time.sleep(4)
        browser.screenshot("desktop")
        seq = browser.value("frame.line.seq")
        browser.until(f"frame.line.seq > {seq + 10}")

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

        own = (self.address, self.address.replace("http", "ws"), "data:", "blob:")
        others = [url for url in browser.requests if not url.startswith(own)]
        self.assertEqual((others, browser.errors), ([], []))

    def test_a_phone_shows_picture_and_figures_one_above_the_other(self) -> None:
        browser = self.open(390, 844)
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


if __name__ == "__main__":
    unittest.main()
