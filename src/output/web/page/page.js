
// The page: one WebSocket, the newest message, and what the person who looks wants to see of it.

const canvas = $("view"), pen = canvas.getContext("2d"), trails = new Trails();
const bodies = new Bodies();
/** What is shown; kept for the next visit. */
const shown = Object.assign(
  { smoothed: true, picture: true, trails: false, sigma: false, ids: true, zones: true, mirror: false, style: STYLE },
  stored("shown"),
);
/** The newest frame: what the message said, and its picture. */
let frame = null, picture = null, zones = [], socket = null, isDirty = false, messages = 0, since = performance.now();

const CONTROLS = [
  ["smoothed", "s", "smoothed"],
  ...(SHOWS_PICTURES ? [["picture", "p", "picture"]] : []),
  ["trails", "t", "trails"],
  ["sigma", "g", "uncertainty"],
  ["ids", "i", "identities"],
  ["zones", "z", "zones"],
  ["mirror", "m", "mirror"],
];
const editor = new ZoneEditor(() => { drawEditor(); isDirty = true; });
const ACTIONS = [
  ["e", "draw zones", () => { editor.toggle(zones); drawControls(); }],
  ["b", "body", () => setStyle(STYLES[(STYLES.indexOf(shown.style) + 1) % STYLES.length])],
  ["d", "dark, light", () => setTheme(theme() === "dark" ? "light" : "dark")],
  ["f", "full screen", () => document.fullscreenElement ? document.exitFullscreen() : $("stage").requestFullscreen()],
  ["v", "recordings", () => { location.href = "view"; }],
  ["x", "forget persons", () => { if (socket?.readyState === WebSocket.OPEN) socket.send("reset"); }],
];

/** How persons are drawn; the volumetric body's bones are sent to whoever shows it. */
function setStyle(style) {
  shown.style = style;
  bodies.orbit = null;
  store("shown", shown);
  askForBodies();
  drawControls();
  isDirty = true;
}

function askForBodies() {
  if (socket?.readyState === WebSocket.OPEN) socket.send(shown.style === "volumetric" ? "bodies" : "no bodies");
}

function toggle(key) {
  shown[key] = !shown[key];
  store("shown", shown);
  drawControls();
  isDirty = true;
}

function drawControls() {
  $("controls").replaceChildren(
    ...CONTROLS.map(([key, letter, name]) => control(name, letter, () => toggle(key), shown[key])),
    ...ACTIONS.map(([letter, name, act]) =>
      control(letter === "b" ? shown.style : name, letter, act, letter === "e" ? editor.isOn : undefined)),
  );
}

addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select")) return;
  if (editor.isOn && editor.key(event.key)) return event.preventDefault();
  const found = CONTROLS.find(([, letter]) => letter === event.key), action = ACTIONS.find(([letter]) => letter === event.key);
  if (found) toggle(found[0]);
  action?.[2]();
});

const charts = {
  fps: new Chart($("charts"), "frames/s", ""),
  age: new Chart($("charts"), "old when sent", " ms"),
  drops: new Chart($("charts"), "dropped/s", "", 1),
  temperature: new Chart($("charts"), "°C, the board", ""),
};
const stages = new Stages($("legs"));
let droppedBefore = null;

function setStatus(text) {
  const status = JSON.parse(text), dropped = status.frames_dropped + status.poses_dropped;
  charts.fps.add(status.fps);
  charts.age.add(status.age_ms);
  charts.drops.add(droppedBefore === null ? 0 : dropped - droppedBefore);
  charts.temperature.add(status.temperature_c);
  droppedBefore = dropped;
  stages.set(status.stages_us);
  zones = status.zones;
  $("events").replaceChildren(...status.events.map(([what, id, zone, ago]) => {
    const row = document.createElement("li"), when = document.createElement("span");
    when.textContent = ago < 1 ? "now" : ago < 120 ? `${ago} s ago` : `${Math.round(ago / 60)} min ago`;
    row.append([id, what.replaceAll("_", " "), zone].filter(word => word !== null).join(" "), when);
    return row;
  }));
  notice(
    status.engine === "" ? "loading the networks…"
      : status.source.startsWith("camera lost") ? "the camera is gone and looked for"
      : status.source === "built-in clip" ? "built-in clip, not a camera" : "",
    status.source === "built-in clip" && status.engine !== "",
  );
  const rate = messages / (performance.now() - since) * 1000;
  [messages, since] = [0, performance.now()];
  $("state").textContent = [
    status.source, status.engine, `${rate.toFixed(0)} Hz shown`, status.throttled ? "slowed down by heat or voltage" : "",
  ].filter(Boolean).join(" · ");
}

async function setFrame(buffer) {
  const bytes = new DataView(buffer).getUint32(0, true);
  const said = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, bytes)));
  const jpeg = new Uint8Array(buffer, 4 + bytes);
  let next = null;
  if (jpeg.length && shown.picture) {
    // A damaged picture is left out; its poses are shown.
    next = await createImageBitmap(new Blob([jpeg], { type: "image/jpeg" })).catch(() => null);
  }
  picture?.close();
  [frame, picture, isDirty] = [said, next, true];
  messages += 1;
  trails.add(said.line);
}

function draw() {
  requestAnimationFrame(draw);
  if (isDirty && frame) render();
}

function render() {
  isDirty = false;
  const [width, height] = frame.size;
  // Sharp on a large screen, whatever the camera's size.
  const scale = Math.min(3, Math.max(1, canvas.clientWidth * (devicePixelRatio || 1) / width));
  const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.clearRect(0, 0, w, h);
  pen.setTransform(shown.mirror ? -scale : scale, 0, 0, scale, shown.mirror ? w : 0, 0);
  const isVolumetric = shown.style === "volumetric" && shown.smoothed && frame.bodies;
  const isTurned = isVolumetric && bodies.orbit;
  if (picture && shown.picture && !isTurned) pen.drawImage(picture, 0, 0, width, height);
  const unit = Math.max(width, height) / 320, persons = frame.line.persons;
  const drawn = isTurned ? [] : editor.isOn ? editor.drawn() : shown.zones ? zones : [];
  drawZones(pen, drawn, unit, width, height);
  if (shown.trails && !isTurned) trails.draw(pen, unit, frame.line.emitted_us);
  if (shown.smoothed) {
    if (isVolumetric) bodies.draw(pen, frame.bodies, width, height, scale);
    const hasBody = id => isVolumetric && bodies.ready() && frame.bodies.some(([of]) => of === id);
    // The farther behind the nearer.
    const sorted = shown.style === "skeleton" ? persons
      : persons.toSorted((a, b) => a.distance && b.distance ? b.distance - a.distance : a.box[3] - b.box[3]);
    for (const person of sorted) {
      if (isTurned) break;
      if (shown.sigma) drawSigma(pen, person, unit, colourOf(person.id));
      if (hasBody(person.id)) continue;
      (shown.style === "skeleton" ? drawPerson : drawPlanar)(pen, person, unit, colourOf(person.id));
    }
  } else {
    for (const [id, joints] of frame.seen) drawSeen(pen, joints, unit, colourOf(id));
  }
  if (editor.isOn) editor.draw(pen, unit, width, height);
  // Letters are never mirrored.
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  drawZoneNames(pen, drawn, unit, width, height, shown.mirror);
  if (shown.ids && !isTurned) {
    for (const person of persons) {
      const x = shown.mirror ? width - person.box[0] - person.box[2] : person.box[0];
      drawLabel(pen, person, unit, colourOf(person.id), x);
    }
  }
  $("persons").replaceChildren(...persons.map(person => {
    const row = document.createElement("li"), dot = document.createElement("i"), words = document.createElement("span");
    dot.style.background = colourOf(person.id);
    const looks = person.keypoints.map(lookOf);
    words.textContent = ["absent", "measured", "predicted", "unsure"]
      .map((name, look) => [looks.filter(l => l === look).length, name]).slice(1)
      .filter(([count]) => count > 0).map(([count, name]) => `${count} ${name}`).join(", ");
    row.append(dot, String(person.id), words);
    return row;
  }));
}

/** Zones beside the picture, while they are drawn. */
function drawEditor() {
  $("zones").hidden = !editor.isOn;
  canvas.classList.toggle("edited", editor.isOn);
  const typed = document.activeElement?.closest?.("#zones");
  if (!typed) editor.list($("zone-list"));
}

/** Where in the picture a pointer is, in shares of it, and how far it may miss. */
function shareAt(event) {
  const box = canvas.getBoundingClientRect(), [width, height] = frame.size;
  const scale = Math.min(box.width / width, box.height / height), [w, h] = [scale * width, scale * height];
  const x = (event.clientX - box.left - (box.width - w) / 2) / w, y = (event.clientY - box.top - (box.height - h) / 2) / h;
  return [[shown.mirror ? 1 - x : x, y], [ZoneEditor.NEAR_PX / w, ZoneEditor.NEAR_PX / h]];
}

canvas.addEventListener("pointerdown", event => {
  if (!editor.isOn || !frame) return;
  event.preventDefault();
  document.activeElement?.blur();
  canvas.setPointerCapture(event.pointerId);
  editor.down(...shareAt(event));
});
canvas.addEventListener("pointermove", event => { if (editor.isOn && frame) editor.move(shareAt(event)[0]); });
canvas.addEventListener("pointerup", () => editor.up());
canvas.addEventListener("dblclick", () => { if (editor.isOn) editor.close(); });
$("zone-save").addEventListener("click", () => download("zones.toml", new Blob([editor.toml()], { type: "application/toml" })));

function connect() {
  socket = new WebSocket(new URL("live", location.href).href.replace(/^http/, "ws"));
  socket.binaryType = "arraybuffer";
  socket.onopen = () => {
    $("state").textContent = "connected";
    // Whoever answers now may count from zero, and people have moved meanwhile.
    droppedBefore = null;
    trails.clear();
    askForBodies();
    notice("waiting for the first pose…");
  };
  socket.onmessage = async ({ data }) => {
    if (typeof data === "string") return setStatus(data);
    const from = socket;
    if (!frame) notice("");
    await setFrame(data);
    // Only now: what came meanwhile is newer than what would have waited here.
    if (from.readyState === WebSocket.OPEN) from.send("taken");
  };
  socket.onclose = () => {
    $("state").textContent = "no connection; trying again…";
    setTimeout(connect, 1000);
  };
}

if (!STYLES.includes(shown.style)) shown.style = STYLE;
bodies.watch(canvas, () => shown.style === "volumetric" && !editor.isOn && frame?.bodies);
drawControls();
connect();
draw();
