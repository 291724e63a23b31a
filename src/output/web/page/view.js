// The viewer: a recording, frame by frame, with the poses of one or two runs over it.

const shown = Object.assign(
  { beside: true, picture: true, trails: false, sigma: false, ids: true, style: STYLES[0] }, stored("view"));
if (!STYLES.includes(shown.style)) shown.style = STYLES[0];
const bodies = new Bodies();
/** What was fetched or turned meanwhile waits to be drawn. */
let isDirty = false;
const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4], MOST_GIF_FRAMES = 240, MOST_GIF_PX = 640, MOST_KEPT = 60;
const plot = new Plot($("plot"));
/** The recording, and the frame that is shown with its picture. */
let reel = null, at = 0, current = null, isLoading = false, isPlaying = false, speed = 1, span = [null, null];
let joint = JOINTS.indexOf("left_wrist"), person = null, playsFrom = null;
/** What is wrong with what was opened, and with the picture that is wanted. */
let problem = "", trouble = "";
/** Pictures by frame; another map where they are of another recording or rate. */
let kept = new Map();

const CONTROLS = [
  ["beside", "b", "side by side"],
  ["picture", "p", "picture"],
  ["trails", "t", "trails"],
  ["sigma", "g", "uncertainty"],
  ["ids", "i", "identities"],
];
const ACTIONS = [
  ["y", "body", () => setStyle(STYLES[(STYLES.indexOf(shown.style) + 1) % STYLES.length])],
  ["w", "whole plot", () => { plot.isWhole = !plot.isWhole; render(); }],
  ["j", "next joint", () => { joint = (joint + 1) % JOINTS.length; render(); }],
  ["[", "span from here", () => { span[0] = at; render(); }],
  ["]", "span to here", () => { span[1] = at; render(); }],
  ["e", "save PNG", () => savePng()],
  ["a", "save GIF", () => saveGif()],
  ["o", "open files", () => $("open").click()],
  ["d", "dark, light", () => { setTheme(theme() === "dark" ? "light" : "dark"); render(); }],
];
const KEYS = {
  " ": () => setPlaying(!isPlaying),
  ArrowRight: e => seek(at + (e.shiftKey ? 10 : 1)), ArrowLeft: e => seek(at - (e.shiftKey ? 10 : 1)),
  Home: () => seek(0), End: () => seek(Infinity),
  ArrowUp: () => setSpeed(1), ArrowDown: () => setSpeed(-1),
};

function toggle(key) {
  shown[key] = !shown[key];
  store("view", shown);
  drawControls();
  render();
}

/** How persons are drawn. */
async function setStyle(style) {
  shown.style = style;
  bodies.orbit = null;
  store("view", shown);
  drawControls();
  if (current) await stand(current.index);
  render();
}

/** Whatever the drawing of a frame needs beside its picture. */
async function stand(index) {
  if (shown.style !== "volumetric" || !reel.stand) return;
  const frame = reel.frames[index];
  await Promise.all(reel.tracks.map(track => reel.stand(track, track.indexOf(frame, halfFrameUs()))));
}

function drawControls() {
  $("controls").replaceChildren(
    ...CONTROLS.map(([key, letter, name]) => control(name, letter, () => toggle(key), shown[key])),
    ...ACTIONS.map(([letter, name, act]) => control(letter === "y" ? shown.style : name, letter, act)),
  );
}

addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target instanceof HTMLSelectElement) return;
  const found = CONTROLS.find(([, letter]) => letter === event.key), action = ACTIONS.find(([letter]) => letter === event.key);
  const key = KEYS[event.key];
  if (!found && !action && !key) return;
  event.preventDefault();
  if (found) toggle(found[0]);
  action?.[2]();
  key?.(event);
});

// ——— places in the recording

function seek(to) {
  if (!reel?.frames.length) return;
  at = Math.min(reel.frames.length - 1, Math.max(0, Math.round(to)));
  if (isPlaying) playsFrom = { us: reel.frames[at].us, since: performance.now() };
  load();
}

/** Loads the picture of the frame that is wanted, and of whichever is wanted by then. */
async function load() {
  if (isLoading) return;
  isLoading = true;
  if (trouble) [trouble, isDirty] = ["", true];
  try {
    while (reel && current?.index !== at) {
      const index = at, from = kept;
      let picture;
      try { picture = await pictureOf(index); } catch (error) {
        if (from !== kept) continue;
        trouble = error.message;
        setPlaying(false);
        notice(trouble, true);
        break;
      }
      if (from === kept) await stand(index);
      if (from !== kept) continue;
      [current, trouble] = [{ index, picture }, ""];
      render();
    }
  } finally { isLoading = false; }
}

/** Those shown lately are kept: who steps to and fro waits for nothing. None where another recording was opened meanwhile. */
async function pictureOf(index) {
  const from = kept, picture = kept.has(index) ? kept.get(index) : await reel.picture(index);
  if (from !== kept) {
    picture?.close();
    return null;
  }
  // Those wanted last stand last.
  kept.delete(index);
  kept.set(index, picture);
  for (const [oldest, old] of kept) {
    if (kept.size <= MOST_KEPT) break;
    if (oldest === current?.index) continue;
    old?.close();
    kept.delete(oldest);
  }
  return picture;
}

function forgetPictures() {
  for (const picture of kept.values()) picture?.close();
  [kept, current, trouble] = [new Map(), null, ""];
}

function setPlaying(on) {
  isPlaying = on && Boolean(reel?.frames.length);
  if (isPlaying) {
    if (at === reel.frames.length - 1 && reel.isWhole) at = 0;
    playsFrom = { us: reel.frames[at].us, since: performance.now() };
  }
  drawTransport();
}

function setSpeed(step) {
  speed = SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, SPEEDS.indexOf(speed) + step))];
  if (isPlaying) playsFrom = { us: reel.frames[at].us, since: performance.now() };
  drawTransport();
}

function play() {
  requestAnimationFrame(play);
  if (isDirty) render();
  if (!isPlaying) return;
  const us = playsFrom.us + speed * 1000 * (performance.now() - playsFrom.since);
  let next = at;
  while (next + 1 < reel.frames.length && reel.frames[next + 1].us <= us) next += 1;
  if (next === reel.frames.length - 1 && reel.isWhole) setPlaying(false);
  if (next !== at) { at = next; load(); }
}

function drawTransport() {
  const last = Math.max(0, (reel?.frames.length ?? 1) - 1);
  $("play").textContent = isPlaying ? "❚❚" : "▶";
  $("slider").max = last;
  $("slider").value = at;
  const frame = reel?.frames[at];
  $("clock").textContent = frame ? `${(frame.us / 1e6).toFixed(2)} s · ${at + 1} of ${last + 1} · ×${speed}` : "";
}

// ——— drawing

function sizeOf() {
  return current?.picture ? [current.picture.width, current.picture.height] : reel?.size ?? [640, 480];
}

function halfFrameUs() {
  const frames = reel.frames;
  return frames.length > 1 ? 0.5 * frames.at(-1).us / (frames.length - 1) : 1e6;
}

const personsOf = (track, frame) => track.lineOf(frame, halfFrameUs())?.persons ?? [];

/** One pane, in pixels of the picture. */
function paint(pen, size, picture, tracks, frame) {
  const unit = Math.max(...size) / 320;
  pen.fillStyle = "#000";
  pen.fillRect(0, 0, ...size);
  const [track, other] = tracks, isVolumetric = shown.style === "volumetric";
  const stood = isVolumetric && track?.standing.get(track.indexOf(frame, halfFrameUs())) || [];
  const isTurned = stood.length > 0 && bodies.orbit !== null;
  if (picture && shown.picture && !isTurned) pen.drawImage(picture, 0, 0, ...size);
  if (!track) return;
  if (stood.length) bodies.draw(pen, stood, ...size, pen.getTransform().a);
  if (isTurned) return;
  if (shown.trails) {
    const trails = new Trails(), index = reel.frames.indexOf(frame);
    for (let i = Math.max(0, index - 90); i <= index; i++) {
      trails.add({ emitted_us: reel.frames[i].us, persons: personsOf(track, reel.frames[i]) });
    }
    trails.draw(pen, unit, frame.us);
  }
  const hasBody = id => bodies.ready() && stood.some(([of]) => of === id), persons = personsOf(track, frame);
  // The farther behind the nearer.
  const sorted = shown.style === "skeleton" ? persons : persons.toSorted((a, b) => a.box[3] - b.box[3]);
  for (const p of sorted) {
    if (shown.sigma) drawSigma(pen, p, unit, colourOf(p.id));
    if (!hasBody(p.id)) (shown.style === "skeleton" ? drawPerson : drawPlanar)(pen, p, unit, colourOf(p.id));
    if (shown.ids) drawLabel(pen, p, unit, colourOf(p.id), p.box[0]);
  }
  // The other run, one over the other: thin and white.
  for (const p of other ? personsOf(other, frame) : []) drawSeen(pen, p.keypoints, unit, "#fff");
}

/** What each pane shows: a track each, or all in one. */
function panes() {
  const tracks = reel?.tracks ?? [];
  return shown.beside && tracks.length > 1 ? tracks.map(track => [track]) : [tracks];
}

function render() {
  isDirty = false;
  drawTransport();
  if (!reel || !current || current.index >= reel.frames.length) return;
  const frame = reel.frames[current.index], size = sizeOf(), wanted = panes();
  while ($("panes").children.length > wanted.length) $("panes").lastChild.remove();
  while ($("panes").children.length < wanted.length) {
    const pane = document.createElement("figure"), name = document.createElement("figcaption");
    pane.append(document.createElement("canvas"), name);
    $("panes").append(pane);
  }
  wanted.forEach((tracks, k) => {
    const pane = $("panes").children[k], canvas = pane.firstChild;
    const scale = Math.min(3, Math.max(1, canvas.clientWidth * (devicePixelRatio || 1) / size[0]));
    const [w, h] = size.map(side => Math.round(side * scale));
    if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
    const pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    paint(pen, size, current.picture, tracks, frame);
    pane.lastChild.textContent = tracks.map(track => track.name).join(" · white: ") || "no poses";
  });
  drawChoice(frame);
  const [first, last] = markedSpan();
  plot.draw(reel.frames, current.index, reel.tracks, jointOf, reel.tracks.map(inkOf), span[0] === null && span[1] === null ? null : [first, last]);
  notice(problem || trouble || reel.note || (current.picture || reel.size ? "" : "this picture is damaged"), true);
}

function inkOf(_, k) {
  return getComputedStyle(document.documentElement).getPropertyValue(k === 0 ? "--accent" : "--second");
}

/** The chosen person of a frame, else the first. */
function chosenOf(track, frame) {
  const persons = personsOf(track, frame);
  return person === null ? persons[0] : persons.find(p => p.id === person);
}

function jointOf(track, frame) {
  const found = chosenOf(track, frame)?.keypoints[joint];
  return found && lookOf(found) ? found : null;
}

function drawChoice(frame) {
  const ids = [...new Set(reel.tracks.flatMap(track => personsOf(track, frame).map(p => p.id)))];
  if (person !== null && !ids.includes(person)) ids.push(person);
  const words = ["the first one", ...ids.map(id => `person ${id}`)].join();
  if ($("person").dataset.words !== words) {
    $("person").dataset.words = words;
    $("person").replaceChildren(new Option("the first one", ""), ...ids.map(id => new Option(`person ${id}`, id)));
  }
  $("person").value = person ?? "";
  $("joint").value = joint;
  $("figures").replaceChildren(...reel.tracks.map((track, k) => {
    const row = document.createElement("tr"), found = chosenOf(track, frame)?.keypoints[joint];
    row.insertCell().textContent = track.name;
    row.firstChild.style.color = inkOf(track, k);
    const figures = found && lookOf(found) ? [found[0].toFixed(1), found[1].toFixed(1), found[2].toFixed(2), `± ${found[3].toFixed(1)}`] : ["–"];
    for (const figure of figures) row.insertCell().textContent = figure;
    return row;
  }));
  $("persons").replaceChildren(...reel.tracks.flatMap(track => personsOf(track, frame).map(p => {
    const row = document.createElement("li"), dot = document.createElement("i"), said = document.createElement("span");
    dot.style.background = colourOf(p.id);
    const looks = p.keypoints.map(lookOf);
    said.textContent = ["measured", "predicted", "unsure"].map((name, i) => [looks.filter(l => l === i + 1).length, name])
      .filter(([count]) => count > 0).map(([count, name]) => `${count} ${name}`).join(", ");
    row.append(dot, `${p.id} ${reel.tracks.length > 1 ? track.name : ""}`, said);
    return row;
  })));
}

/** A click on a figure chooses its nearest joint. */
$("panes").addEventListener("click", event => {
  const pane = event.target.closest("figure"), index = [...$("panes").children].indexOf(pane);
  if (!reel || index < 0) return;
  const canvas = pane.firstChild, box = canvas.getBoundingClientRect(), [width, height] = sizeOf();
  // The picture lies in the middle of its canvas, as large as fits.
  const scale = Math.min(box.width / width, box.height / height);
  const x = (event.clientX - box.left - (box.width - scale * width) / 2) / scale;
  const y = (event.clientY - box.top - (box.height - scale * height) / 2) / scale;
  let nearest = 30 / scale;
  for (const p of panes()[index].flatMap(track => personsOf(track, reel.frames[current.index]))) {
    p.keypoints.forEach((k, j) => {
      const distance = Math.hypot(k[0] - x, k[1] - y);
      if (lookOf(k) && distance < nearest) [nearest, joint, person] = [distance, j, p.id];
    });
  }
  render();
});

// ——— out of the page

/** What all panes show of a frame, side by side, at `scale`. */
function composed(index, picture, scale, size = sizeOf()) {
  const wanted = panes(), canvas = document.createElement("canvas");
  const [w, h] = size.map(side => Math.max(1, Math.round(side * scale)));
  [canvas.width, canvas.height] = [w * wanted.length, h];
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  wanted.forEach((tracks, k) => {
    pen.setTransform(w / size[0], 0, 0, h / size[1], k * w, 0);
    pen.save();
    pen.beginPath();
    pen.rect(0, 0, ...size);
    pen.clip();
    paint(pen, size, picture, tracks, reel.frames[index]);
    pen.restore();
  });
  return canvas;
}

const baseName = () => reel.name.replace(/\.[^.]*$/, "") || "recording";

function png() {
  return new Promise(done => composed(current.index, current.picture, 1).toBlob(done, "image/png"));
}

async function savePng() {
  if (reel && current) download(`${baseName()}-${reel.frames[current.index].number}.png`, await png());
}

/** The marked frames; one second on each side where nothing is marked. */
function markedSpan() {
  const times = reel.frames.map(f => f.us), last = reel.frames.length - 1;
  if (span[0] === null && span[1] === null) {
    return [-1e6, 1e6].map(by => Math.min(last, Math.max(0, newestBefore(times, times[at] + by))));
  }
  return [span[0] ?? 0, span[1] ?? last].sort((a, b) => a - b);
}

/** Frames `first` to `last`, at most 30 a second; null where another recording was opened meanwhile. */
async function gif(first, last, told = () => {}) {
  const frames = reel.frames, from = kept, size = sizeOf(), chosen = [first];
  for (let i = first + 1; i <= last; i++) if (frames[i].us - frames[chosen.at(-1)].us >= 32_000) chosen.push(i);
  const step = Math.ceil(chosen.length / MOST_GIF_FRAMES), indices = chosen.filter((_, i) => i % step === 0);
  const scale = Math.min(1, MOST_GIF_PX / (size[0] * panes().length));
  const pixels = [];
  for (const index of indices) {
    const picture = await pictureOf(index);
    if (from === kept) await stand(index);
    if (from !== kept) return null;
    const canvas = composed(index, picture, scale, size);
    pixels.push(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height));
    told(`pictures: ${pixels.length} of ${indices.length}`);
  }
  const some = pixels.filter((_, i) => i % Math.ceil(pixels.length / 8) === 0);
  const made = new Gif(pixels[0].width, pixels[0].height, paletteOf(some));
  for (const [i, picture] of pixels.entries()) {
    const until = i + 1 < indices.length ? frames[indices[i + 1]].us - frames[indices[i]].us : 100_000;
    made.add(picture, Math.max(2, Math.round(until / 10_000)));
    told(`GIF: ${i + 1} of ${pixels.length}`);
    // The page stays alive meanwhile.
    if (i % 8 === 7) await new Promise(done => setTimeout(done));
  }
  return made.blob();
}

async function saveGif() {
  if (!reel || !current) return;
  const [first, last] = markedSpan(), name = `${baseName()}-${reel.frames[first].number}.gif`;
  try {
    const made = await gif(first, last, text => { $("state").textContent = text; });
    if (made) download(name, made);
  } catch (error) {
    trouble = `no GIF: ${error.message}`;
    render();
  } finally { drawState(); }
}

// ——— into the page

function drawState() {
  const parts = reel ? [reel.name, `${reel.frames.length} frames`] : ["no recording"];
  if (reel && !reel.isWhole) parts.push(reel.expected ? `being tracked: ${Math.floor(100 * reel.frames.length / reel.expected)} %` : "being tracked…");
  $("state").textContent = parts.join(" · ");
  $("files").replaceChildren(...(reel ? [reel.name, ...reel.tracks.map(track => `${track.name}: ${track.length} lines`)] : []).map(text => {
    const row = document.createElement("li");
    row.textContent = text;
    return row;
  }));
}

function take(next) {
  reel?.close?.();
  forgetPictures();
  [reel, at, span, person, isPlaying] = [next, 0, [null, null], null, false];
  drawState();
  notice("");
  seek(0);
}

/** Recordings and JSON lines, in any order; what is wrong with one is said, the others are taken. */
async function openFiles(files) {
  problem = "";
  const wrong = [], tracks = [];
  let opened = null;
  for (const file of files) {
    try {
      const head = new Uint8Array(await file.slice(0, 1).arrayBuffer());
      if (head[0] === 0x7b) tracks.push(Track.of(file.name, await file.text()));
      else if (/\.(mp4|m4v|webm|mov|ogv|mkv)$/i.test(file.name)) opened = await VideoReel.open(file);
      else opened = await FileReel.open(file);
    } catch (error) { wrong.push(`${file.name}: ${error.message}`); }
  }
  problem = wrong.join("; ");
  if (opened) {
    take(opened);
  } else if (tracks.length && (!reel || reel instanceof BlackReel)) {
    take(new BlackReel(tracks[0]));
    tracks.shift();
  }
  if (reel && tracks.length) {
    // The newest two: more would hide one another.
    reel.tracks = [...(opened ? [] : reel.tracks), ...tracks].slice(-2);
    if (reel.take) {
      reel.take(tracks[0]);
      // The same frame may be another picture now, and the last ones none.
      forgetPictures();
      const last = reel.frames.length - 1;
      [at, span] = [Math.min(at, last), span.map(i => i === null ? null : Math.min(i, last))];
      if (isPlaying) playsFrom = { us: reel.frames[at].us, since: performance.now() };
    }
  }
  if (reel && !reel.tracks.length && !problem) problem = "no poses: drop the JSON lines of this recording too (posewire run FILE --no-drop --jsonl poses.jsonl)";
  drawState();
  if (reel?.frames.length) { current = null; load(); } else notice(problem || EMPTY);
}

const EMPTY = "Drop a recording here, and the JSON lines of its poses. Nothing leaves this page.";

$("open").addEventListener("change", event => openFiles(event.target.files));
addEventListener("dragover", event => event.preventDefault());
addEventListener("drop", event => {
  event.preventDefault();
  openFiles([...event.dataTransfer.files]);
});
bodies.watch($("panes"), () => shown.style === "volumetric" && Boolean(reel?.stand));
$("play").addEventListener("click", () => setPlaying(!isPlaying));
$("slider").addEventListener("input", event => seek(Number(event.target.value)));
// Keys belong to the page, not to the slider.
$("slider").addEventListener("keydown", event => event.preventDefault());
$("joint").append(...JOINTS.map((name, i) => new Option(name.replace("_", " "), i)));
$("joint").addEventListener("change", event => { joint = Number(event.target.value); event.target.blur(); render(); });
$("person").addEventListener("change", event => { person = event.target.value === "" ? null : Number(event.target.value); event.target.blur(); render(); });
for (const kind of ["pointerdown", "pointermove"]) {
  $("plot").addEventListener(kind, event => {
    if (!reel?.frames.length || !(event.buttons & 1)) return;
    seek(Math.max(0, newestBefore(reel.frames.map(f => f.us), plot.usAt(event.offsetX))));
  });
}
addEventListener("resize", () => render());

/** Follows what the server tracks, until it has all. */
async function follow() {
  const served = new ServedReel();
  try {
    while (!served.isWhole) {
      const isNew = await served.update();
      if (isNew && reel === null) take(served);
      if (reel === null) notice(served.note || "reading the recording…");
      if (reel !== served && reel !== null) return;
      drawState();
      render();
      if (!served.isWhole) await new Promise(done => setTimeout(done, 300));
    }
    if (reel === null) notice(served.note || "the recording holds no picture");
  } catch (error) {
    problem = error.message;
    notice(problem, reel !== null);
  }
}

drawControls();
drawState();
if (IS_SERVED) follow(); else notice(EMPTY);
play();
