// Recordings and the poses in them, wherever they come from: this page's server, or files that are dropped onto it.

/** The JSON lines of one run; a line is understood when it is looked at. */
class Track {
  static HEAD = /^\{"seq":\d+,"frame":(\d+|null),"captured_us":(-?\d+),(?:"emitted_us":(-?\d+))?/;
  /** Lines understood lately. */
  static KEPT = 2000;
  #texts = []; #lines = new Map(); #byNumber = new Map();

  /** By line: how its persons' bodies stand, as far as this page's server was asked. */
  standing = new Map();

  /** By line: when its light fell and when it was made, microseconds, and its frame's number or null. */
  constructor(name) { this.name = name; this.times = []; this.emitted = []; this.numbers = []; }

  get length() { return this.#texts.length; }

  /** Whether lines were made at a rate of their own, several of one frame. */
  get isRated() { return this.times.some((us, i) => us === this.times[i - 1]); }

  /** Throws what is wrong with a line that is none of poses; other formats have the head too. */
  push(text, at = this.length + 1) {
    const head = Track.HEAD.exec(text);
    if (!head || !text.includes('"persons":[') || text.includes('"keypoints":{')) {
      throw Error(`line ${at} is no line of poses in the format full: \`posewire run FILE --no-drop --jsonl poses.jsonl\` writes them`);
    }
    const number = head[1] === "null" ? null : Number(head[1]);
    // Of several lines of a frame the first is nearest to its picture.
    if (number !== null && !this.#byNumber.has(number)) this.#byNumber.set(number, this.length);
    this.numbers.push(number);
    this.times.push(Number(head[2]));
    this.emitted.push(Number(head[3] ?? head[2]));
    this.#texts.push(text);
  }

  /** Of whole text; the last line may have been cut off, and events are passed over. */
  static of(name, text) {
    const track = new Track(name), lines = text.split("\n");
    for (const [i, line] of lines.entries()) {
      if (!line.trim() || line.startsWith('{"event":')) continue;
      if (i === lines.length - 1 && !line.endsWith("}")) break;
      track.push(line, i + 1);
    }
    if (!track.length) throw Error("no line of poses in it");
    return track;
  }

  line(i) {
    if (!this.#lines.has(i)) {
      if (this.#lines.size >= Track.KEPT) this.#lines.clear();
      let line = null;
      try { line = JSON.parse(this.#texts[i]); } catch { /* Damaged: nobody is there. */ }
      this.#lines.set(i, Array.isArray(line?.persons) ? line : { persons: [] });
    }
    return this.#lines.get(i);
  }

  /** The line of a frame: by its number, else by its time; null where there is none. */
  lineOf(frame, halfFrameUs) {
    const i = this.indexOf(frame, halfFrameUs);
    return i < 0 ? null : this.line(i);
  }

  /** Which line that is; -1 where there is none. */
  indexOf({ number, us, of, line }, halfFrameUs) {
    if (of === this) return line;
    const found = this.#byNumber.get(number);
    if (found !== undefined) return found;
    if (this.#byNumber.size || !this.length) return -1;
    const at = newestBefore(this.times, this.times[0] + us + halfFrameUs);
    return at >= 0 && Math.abs(this.times[at] - this.times[0] - us) <= halfFrameUs ? at : -1;
  }
}

/** The last index whose time is not after `us`; -1 before the first. */
function newestBefore(times, us) {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= us) low = middle + 1; else high = middle;
  }
  return low - 1;
}

/** What the viewer's server answers. */
async function asked(path) {
  try { return await fetch(path); } catch (error) {
    throw Error(`the viewer's server is gone (${error.message}): start \`posewire view\` again and load the page anew`);
  }
}

/** What `posewire view FILE` serves, some of it while it is still being tracked. */
class ServedReel {
  frames = []; tracks = []; name = ""; note = ""; isWhole = false;
  /** The server's runs by their numbers; `tracks`, which are shown, may be others: lines that were dropped onto the page. */
  #runs = [];

  /** Fetches what is new; whether anything was. */
  async update() {
    const said = await (await asked("recording")).json();
    [this.name, this.note] = [said.name, said.note];
    const before = this.frames.length;
    while (this.frames.length < said.frames) {
      const more = await (await asked(`times?from=${this.frames.length}`)).json();
      if (!more.length) break;
      for (const [number, us] of more) this.frames.push({ number, us });
    }
    for (const [k, { name, lines }] of said.tracks.entries()) {
      if (!this.#runs[k]) this.tracks.push(this.#runs[k] = new Track(name));
      const track = this.#runs[k];
      while (track.length < lines) {
        const text = await (await asked(`tracks/${k}?from=${track.length}`)).text();
        if (!text) break;
        for (const line of text.split("\n")) if (line) track.push(line);
      }
    }
    this.isWhole = said.is_whole;
    this.expected = said.expected;
    return this.frames.length > before;
  }

  /** Asks how the bodies of a line stand. */
  async stand(track, i) {
    const k = this.#runs.indexOf(track);
    if (i < 0 || k < 0 || track.standing.has(i)) return;
    if (track.standing.size >= Track.KEPT) track.standing.clear();
    const answer = await fetch(`bodies/${k}/${i}`).catch(() => null);
    if (answer?.ok) track.standing.set(i, await answer.json());
  }

  async picture(i) {
    const answer = await asked(`frames/${i}`);
    return answer.ok ? createImageBitmap(await answer.blob()).catch(() => null) : null;
  }
}

/** An AVI from this computer's own disk; none of it leaves the page. */
class FileReel {
  isWhole = true; tracks = [];

  static async open(file) {
    const reel = new FileReel(), { frames, note } = await readAvi(file);
    return Object.assign(reel, { file, frames, note, name: file.name });
  }

  async picture(i) {
    const { offset, bytes } = this.frames[i];
    return createImageBitmap(this.file.slice(offset, offset + bytes, "image/jpeg")).catch(() => null);
  }
}

/** A video that the browser itself plays; its frames are those that lines speak of. */
class VideoReel {
  isWhole = true; tracks = []; note = ""; #turn = Promise.resolve(); #giveUp = () => {};

  static async open(file) {
    const reel = Object.assign(new VideoReel(), { name: file.name, video: document.createElement("video") });
    reel.video.muted = true;
    reel.video.src = URL.createObjectURL(file);
    try {
      await new Promise((done, failed) => {
        reel.video.onloadeddata = done;
        reel.video.onerror = () => failed(Error("this browser cannot play it: `posewire view FILE` on the board opens every video"));
      });
      reel.#lay([{ number: 0, us: 0 }], 1e6 / 30);
    } catch (error) {
      reel.close();
      throw error;
    }
    return reel;
  }

  /** Lets go of the file. */
  close() {
    this.#giveUp(Error("it was closed"));
    URL.revokeObjectURL(this.video.src);
  }

  /** Puts frames where some are `known` to lie, between these evenly, before and beyond them `step` apart; microseconds. */
  #lay(known, step) {
    const end = 1e6 * this.video.duration;
    // Of what a browser recorded nothing says how long it is.
    if (!Number.isFinite(end)) throw Error("it does not say how long it is: `posewire view FILE` on the board opens it");
    const begin = known[0].us - known[0].number * step;
    const places = known.map(({ number, us }) => ({ number, us: us - begin }));
    if (places[0].number) places.unshift({ number: 0, us: 0 });
    const last = places.at(-1), before = places.at(-2) ?? last;
    // Where the last ones are slow, no other follows because the mean is quick.
    const pace = Math.max(step, (last.us - before.us) / Math.max(1, last.number - before.number));
    const more = Math.max(1, Math.round((end - last.us) / pace));
    places.push({ number: last.number + more, us: last.us + more * pace });
    this.frames = places.slice(1).flatMap((to, k) => {
      const { number, us } = places[k], count = to.number - number;
      return Array.from({ length: count }, (_, i) => ({ number: number + i, us: Math.round(us + (to.us - us) * i / count) }));
    });
    // Lines of another video go on after the end; but some videos are said to end where their last frame begins, or the one before it.
    this.frames = this.frames.filter(({ number, us }) => number === 0 || us < end + 1.5 * pace);
  }

  /** Lines say when the light of each frame fell: rates may be uneven. */
  take(track) {
    const lines = track.times.map((us, i) => ({ number: track.numbers[i] ?? i, us }));
    const known = [];
    // Lines without numbers are found by their times, wherever frames lie: the mean will do.
    for (const line of track.numbers.includes(null) ? [lines[0], lines.at(-1)] : lines) {
      const last = known.at(-1);
      if (!last || line.number > last.number && line.us > last.us) known.push(line);
    }
    const [first, last] = [known[0], known.at(-1)];
    if (known.length > 1) this.#lay(known, (last.us - first.us) / (last.number - first.number));
  }

  /** One after the other: a video is at one place at a time. */
  picture(i) {
    const sought = this.#turn.then(() => this.#pictureAt(i));
    this.#turn = sought.catch(() => {});
    return sought;
  }

  async #pictureAt(i) {
    const { duration } = this.video, next = this.frames[i + 1]?.us ?? 1e6 * duration;
    const to = Math.min(duration, (this.frames[i].us + next) / 2e6);
    if (Math.abs(this.video.currentTime - to) > 1e-4) {
      const sought = new Promise((done, failed) => {
        this.video.onseeked = done;
        this.#giveUp = failed;
        this.video.onerror = () => failed(Error(`this browser cannot play it at ${to.toFixed(1)} s: \`posewire view FILE\` on the board opens every video`));
      });
      this.video.currentTime = to;
      await sought;
    }
    return createImageBitmap(this.video).catch(() => null);
  }
}

/** Poses without a picture: figures on black. */
class BlackReel {
  isWhole = true; note = "";

  constructor(track) {
    this.name = track.name;
    this.tracks = [track];
    // Lines of a rate of their own share a frame and when its light fell.
    const times = track.isRated ? track.emitted : track.times;
    this.frames = times.map((us, i) => ({ number: track.numbers[i] ?? i, us: us - times[0], of: track, line: i }));
    let { width, height } = track.line(0);
    if (width && height) { this.size = [width, height]; return; }
    // Lines of earlier versions do not say.
    [width, height] = [640, 480];
    for (let i = 0; i < track.length; i += Math.ceil(track.length / 500)) {
      for (const { box } of track.line(i).persons) {
        width = Math.max(width, box[0] + box[2]);
        height = Math.max(height, box[1] + box[3]);
      }
    }
    this.size = [Math.ceil(width), Math.ceil(height)];
  }

  async picture() { return null; }
}
