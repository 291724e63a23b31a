"""The hub's view of the room in a real browser, as `test_preview.py` has the tracker's preview.

POSEWIRE_HUB=target/debug/posewire-hub python3 -m unittest tests/test_hub_view.py
POSEWIRE_SCREENSHOTS=FOLDER keeps what it looked like.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from test_preview import CHROMIUM, POSEWIRE, Browser

HUB = str(Path(os.environ.get("POSEWIRE_HUB", Path(POSEWIRE).with_name("posewire-hub"))).resolve())

# Where each joint of the nearest person is drawn, in the colour of the identity.
DRAWN_AT_JOINTS = """(() => {
  shown.names = shown.trails = false;
  draw();
  const see = projector(), { ahead } = eyeAxes();
  const depth = p => { const m = middleOf(p); return m[0] * ahead[0] + m[1] * ahead[1] + m[2] * ahead[2]; };
  const nearest = moment.persons.filter(middleOf).toSorted((a, b) => depth(a) - depth(b)).slice(0, 1);
  return nearest.flatMap(person => person.joints.filter(Boolean).map(joint => {
    const [x, y] = see(joint), [r, g, b] = pen.getImageData(Math.round(x), Math.round(y), 1, 1).data;
    return [COLOURS[person.id % COLOURS.length], `#${[r, g, b].map(c => c.toString(16).padStart(2, "0")).join("")}`];
  }));
})()"""


class View(unittest.TestCase):
    """Two simulated persons before four cameras, as time goes by."""

    def setUp(self) -> None:
        if CHROMIUM is None:
            print("SKIPPED: the room in a browser: no chromium on this machine (sudo apt install chromium)")
            self.skipTest("no chromium")
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(self.folder.cleanup)
        at = Path(self.folder.name)

        def hub(*words: str) -> None:
            subprocess.run([HUB, *words], cwd=at, check=True, capture_output=True)

        hub("simulate", "--out", "alone", "--seconds", "20")
        replay = ("--replay", "alone/take.jsonl", "--out", "room.toml")
        hub("calibrate", "alone/cameras.toml", "--stature", "1.7", *replay)
        hub("simulate", "--out", "two", "--persons", "2", "--seconds", "40")
        sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(4)]
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        ports = [s.getsockname()[1] for s in sockets]
        for s in sockets:
            s.close()
        cameras = (at / "two/cameras.toml").read_text()
        for k, port in enumerate(ports, 1):
            cameras = cameras.replace(f":{9100 + k}", f":{port}")
        (at / "two/cameras.toml").write_text(cameras)
        command = [HUB, "run", "two/cameras.toml", "--room", "room.toml", "--web", "127.0.0.1:0"]
        self.hub = subprocess.Popen(command, cwd=at, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.stop)
        assert self.hub.stderr is not None
        for line in self.hub.stderr:
            if found := re.search(r"in a browser: (http://\S+)", line):
                self.address = found[1]
                break
        else:
            self.fail("posewire-hub tells no address")
        self.over = False
        lines = (at / "two/take.jsonl").read_text().splitlines()
        self.feeding = threading.Thread(target=self.feed, args=(lines, ports))
        self.feeding.start()

    def feed(self, lines: list[str], ports: list[int]) -> None:
        mouth = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        begin, first = time.monotonic(), json.loads(lines[0])["arrived_us"]
        for line in lines:
            taken = json.loads(line)
            time.sleep(max(0.0, begin + (taken["arrived_us"] - first) / 1e6 - time.monotonic()))
            if self.over:
                break
            port = ports[int(taken["camera"].removeprefix("camera-")) - 1]
            mouth.sendto(json.dumps(taken["line"]).encode(), ("127.0.0.1", port))
        mouth.close()

    def stop(self) -> None:
        self.over = True
        self.feeding.join()
        self.hub.terminate()
        self.hub.communicate(timeout=30)

    def open(self, width: int, height: int) -> Browser:
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        browser = Browser(folder.name, width, height)
        self.addCleanup(browser.close)
        browser.call("Page.navigate", url=self.address)
        browser.until("typeof moment !== 'undefined' && moment?.persons.length === 2 && cameras.length === 4")
        return browser

    def test_the_view_shows_people_cameras_and_what_was_moved(self) -> None:
        browser = self.open(1280, 800)
        time.sleep(3)
        browser.screenshot("room")
        pairs = browser.value(DRAWN_AT_JOINTS)
        self.assertGreater(len(pairs), 10)
        self.assertGreater(sum(wanted == drawn for wanted, drawn in pairs), 0.8 * len(pairs), pairs)
        browser.value("shown.names = shown.trails = true")
        browser.press("o")
        browser.until("document.querySelectorAll('#persons li').length === 2")
        browser.value("moment.moved = ['camera-2'], list()")
        self.assertEqual(browser.value("document.querySelectorAll('li.moved').length"), 1)
        browser.screenshot("above")
        own = (self.address, self.address.replace("http", "ws"), "data:", "blob:")
        others = [url for url in browser.requests if not url.startswith(own)]
        self.assertEqual((others, browser.errors), ([], []))

        # A phone: the view above, the lists below it.
        phone = self.open(390, 844)
        phone.until("document.querySelectorAll('#persons li').length === 2")
        time.sleep(1)
        phone.screenshot("room-phone")
        self.assertLessEqual(phone.value("document.documentElement.scrollWidth"), 390)
        edge = "document.querySelector('{}').getBoundingClientRect().{}"
        stage, aside = phone.value(edge.format("#stage", "bottom")), phone.value(edge.format("aside", "top"))
        self.assertLessEqual(stage, aside + 1)
        self.assertEqual(phone.errors, [])


if __name__ == "__main__":
    unittest.main()
