"""Parts of the pages' scripts that need no browser, in node: trails, lines of poses, videos, zones.

python3 -m unittest tests/test_pages.py
"""

from __future__ import annotations

import json
import shutil
import subprocess
import unittest
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parent.parent / "src/output/web/page"
NODE = shutil.which("node")

# What the program puts before the scripts, as far as these parts ask for it.
CONSTANTS = """
const JOINTS = ["nose", "left_wrist", "right_wrist", "left_ankle", "right_ankle"], COLOURS = ["#fff"], UNSURE_SCORE = 0.3;
"""

# Lines of poses of nobody: frame, when its light fell, when the line was made.
TRACK = """
const track = rows => Track.of("poses.jsonl", rows.map(([frame, captured, emitted], seq) =>
  `{"seq":${seq},"frame":${frame},"captured_us":${captured},"emitted_us":${emitted},"persons":[]}\\n`).join(""));
"""

# A video that says how long it is, and at last whether it could go where it was sent.
VIDEO = """
const revoked = [];
Object.assign(URL, { createObjectURL: () => "blob:1", revokeObjectURL: url => revoked.push(url) });
const video = { duration: 10, currentTime: 0 };
globalThis.document = { createElement: () => { setTimeout(() => video.onloadeddata()); return video; } };
globalThis.createImageBitmap = async of => ({ at: of.currentTime });
"""


class Pages(unittest.TestCase):
    """Each script answers by its last value."""

    def value(self, files: str, script: str) -> Any:
        if NODE is None:
            print("SKIPPED: the pages' scripts: no node on this machine (sudo apt install nodejs)")
            self.skipTest("no node")
        text = CONSTANTS + "".join((PAGE / f"{name}.js").read_text() for name in files.split())
        text += f"(async () => console.log(JSON.stringify(await (async () => {{ {script} }})())))();"
        done = subprocess.run([NODE, "-"], input=text, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_trails_of_a_board_that_starts_anew_begin_anew(self) -> None:
        # A pen that counts the strokes of the nose's way.
        script = """
          let strokes = 0;
          const pen = { beginPath() {}, moveTo() {}, lineTo() {}, stroke() { strokes += 1; } };
          const absent = [0, 0, 0, 0, "absent"], trails = new Trails();
          const add = (us, x) => trails.add({ emitted_us: us, persons: [
            { id: 1, keypoints: [[x, 0, 1, 1, "measured"], absent, absent, absent, absent] }] });
          for (let i = 0; i < 5; i++) add(9e9 + 33000 * i, i);
          add(1000, 0);
          add(34000, 1);
          trails.draw(pen, 1, 34000);
          return strokes;
        """
        self.assertEqual(self.value("draw", script), 1)

    def test_lines_of_a_rate_of_their_own_are_shown_one_by_one(self) -> None:
        script = (
            TRACK
            + """
          const rated = track([[0, 0, 5000], [0, 0, 15000], [1, 33000, 40000], [1, 33000, 50000]]);
          const { frames } = new BlackReel(rated);
          const each = track([[0, 0, 5000], [1, 33000, 90000]]);
          return [frames.map(frame => frame.us), frames.map(frame => rated.indexOf(frame, 5000)),
            rated.indexOf({ number: 1, us: 33000 }, 16000), new BlackReel(each).frames.map(frame => frame.us)];
        """
        )
        self.assertEqual(
            self.value("tracks", script), [[0, 10000, 35000, 45000], [0, 1, 2, 3], 2, [0, 33000]]
        )

    def test_events_among_lines_are_passed_over_and_other_formats_told_of(self) -> None:
        script = """
          const event = '{"event":"appear","id":1,"captured_us":0}\\n';
          const line = persons => `{"seq":0,"frame":0,"captured_us":0,"persons":${persons}}\\n`;
          const said = text => { try { return Track.of("poses.jsonl", text).length; } catch (error) { return error.message; } };
          return [event + line("[]") + event + line("[]"), event, event + line('[{"id":1,"keypoints":{"nose":null}}]'),
            line("[]").replace('"persons":[]', '"id":1,"nose_x":2.5')].map(said);
        """
        both, alone, named, flat = self.value("tracks", script)
        self.assertEqual((both, alone), (2, "no line of poses in it"))
        self.assertIn("line 2 is no line of poses in the format full", named)
        self.assertIn("line 1 is no line of poses in the format full", flat)

    def test_a_video_goes_to_one_place_at_a_time_and_says_what_keeps_it_from_one(self) -> None:
        script = (
            TRACK
            + VIDEO
            + """
          const reel = await VideoReel.open({ name: "clip.mp4" }), frames = [reel.frames.length];
          // Numbers, not lines, count frames: some lines were left out.
          reel.take(track([[0, 0, 0], [4, 160000, 160000], [5, 200000, 200000]]));
          frames.push(reel.frames.length, reel.frames[10].us);
          const turn = () => new Promise(done => setTimeout(done));
          const both = Promise.all([reel.picture(10), reel.picture(20)]);
          await turn(); video.onseeked(); await turn(); video.onseeked();
          const places = (await both).map(({ at }) => Math.round(100 * at));
          const failing = reel.picture(30).catch(error => error.message);
          await turn(); video.onerror();
          const pending = reel.picture(40).catch(error => error.message);
          await turn(); reel.close();
          return [frames, places, (await failing).includes("posewire view FILE"), await pending, revoked.length];
        """
        )
        wanted = [[300, 250, 400_000], [42, 82], True, "it was closed", 1]
        self.assertEqual(self.value("tracks", script), wanted)

    def test_a_video_of_uneven_rate_goes_where_lines_say_that_its_frames_lie(self) -> None:
        script = (
            TRACK
            + VIDEO
            + """
          const reel = await VideoReel.open({ name: "clip.mp4" });
          const places = async () => {
            const found = [];
            for (const i of reel.frames.keys()) {
              const picture = reel.picture(i);
              await new Promise(done => setTimeout(done));
              video.onseeked?.();
              found.push(Math.round(1000 * (await picture).at));
            }
            return found;
          };
          video.duration = 0.2334;
          reel.take(track([[0, 5000, 0], [1, 38_333, 0], [2, 138_333, 0]]));
          const uneven = [reel.frames, await places()];
          // The first and the third have no line, the fourth has two.
          video.duration = 1;
          reel.take(track([[1, 0, 0], [3, 80_000, 0], [3, 80_000, 9], [4, 160_000, 0]]));
          const between = [reel.frames.slice(1, 5).map(({ us }) => us - reel.frames[1].us), reel.frames.length];
          // One that is said to end before its last frame does, and lines of a longer one.
          const cut = [];
          video.duration = 0.1;
          for (const rows of [[[0, 0, 0], [1, 100_000, 0]], [[0, 0, 0], [1, 100_000, 0], [90, 9e6, 0]]]) {
            reel.take(track(rows));
            cut.push(reel.frames.length);
          }
          return [...uneven, ...between, cut];
        """
        )
        frames = [{"number": 0, "us": 0}, {"number": 1, "us": 33_333}, {"number": 2, "us": 133_333}]
        wanted = [frames, [17, 83, 183], [0, 40_000, 80_000, 160_000], 14, [2, 3]]
        self.assertEqual(self.value("tracks", script), wanted)

    def test_lines_dropped_onto_a_served_recording_are_none_of_its_runs(self) -> None:
        script = (
            TRACK
            + """
          const said = { name: "clip.avi", note: "", frames: 0, is_whole: false }, bodies = [];
          const line = (run, seq) => `{"seq":${seq},"frame":${seq},"captured_us":0,"emitted_us":${10 * run + seq},"persons":[]}\n`;
          globalThis.fetch = async path => {
            const [, run, , from] = path.split(/[^a-z0-9]/);
            if (path.startsWith("bodies")) bodies.push(path);
            const lines = Array.from({ length: said.tracks[0].lines }, (_, seq) => line(run, seq)).slice(from);
            return { ok: true, json: async () => path === "recording" ? said : [], text: async () => lines.join("") };
          };
          const grow = lines => { said.tracks = [{ name: "xl", lines }, { name: "none", lines }]; return reel.update(); };
          const reel = new ServedReel(), before = track([[0, 0, 99]]);
          await grow(2);
          const served = reel.tracks.map(track => track.emitted.slice());
          reel.tracks = [reel.tracks[1], before];
          await grow(3);
          for (const shown of reel.tracks) await reel.stand(shown, 0);
          return [served, reel.tracks.map(track => track.emitted), bodies];
        """
        )
        wanted = [[[0, 1], [10, 11]], [[10, 11, 12], [99]], ["bodies/1/0"]]
        self.assertEqual(self.value("tracks", script), wanted)

    def test_a_video_that_does_not_say_its_length_is_refused_in_words(self) -> None:
        script = VIDEO + (
            "video.duration = Infinity; return [await VideoReel.open({}).catch(e => e.message), revoked.length];"
        )
        said, revoked = self.value("tracks", script)
        self.assertIn("it does not say how long it is: `posewire view FILE`", said)
        self.assertEqual(revoked, 1)

    def test_a_double_click_ends_a_zone_and_a_corner_goes_while_it_is_held(self) -> None:
        script = """
          const editor = new ZoneEditor(() => {}), near = [0.02, 0.02];
          const drawn = corners => {
            for (const corner of corners) { editor.down(corner, near); editor.up(); }
            editor.close();
            return editor.zones.map(zone => zone.polygon.length);
          };
          const two = drawn([[0.1, 0.1], [0.5, 0.5], [0.5, 0.5]]);
          const three = drawn([[0.1, 0.1], [0.5, 0.1], [0.5, 0.5], [0.5, 0.5]]);
          editor.down([0.5, 0.5], near);
          editor.key("Delete");
          editor.move([0.6, 0.6]);
          return [two, three, editor.zones.length];
        """
        self.assertEqual(self.value("zones", script), [[], [3], 0])


if __name__ == "__main__":
    unittest.main()
