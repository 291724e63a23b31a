
// The page: one WebSocket, the newest message, and what the person who looks wants to see of it.

const $ = id => document.getElementById(id);
const canvas = $("view"), pen = canvas.getContext("2d"), trails = new Trails();
/** What is shown; kept for the next visit. */
const shown = Object.assign(
  { smoothed: true, picture: true, trails: false, sigma: false, ids: true, zones: true, mirror: false },
  stored("shown"),
);
/** The newest frame: what the message said, and its picture. */
let frame = null, picture = null, zones = [], socket = null, isDirty = false, messages = 0, since = performance.now();

function stored(key) {
  // A browser may keep nothing for this page.
  try { return JSON.parse(localStorage.getItem(`posewire.${key}`)); } catch { return null; }
}

function store(key, value) {
  try { localStorage.setItem(`posewire.${key}`, JSON.stringify(value)); } catch { /* As if it were the first visit. */ }
}

const CONTROLS = [
  ["smoothed", "s", "smoothed"],
  ...(SHOWS_PICTURES ? [["picture", "p", "picture"]] : []),
  ["trails", "t", "trails"],
  ["sigma", "g", "uncertainty"],
  ["ids", "i", "identities"],
  ["zones", "z", "zones"],
  ["mirror", "m", "mirror"],
];
const ACTIONS = [
  ["d", "dark, light", () => setTheme(theme() === "dark" ? "light" : "dark")],
  ["f", "full screen", () => document.fullscreenElement ? document.exitFullscreen() : $("stage").requestFullscreen()],
  ["x", "forget persons", () => { if (socket?.readyState === WebSocket.OPEN) socket.send("reset"); }],
];

function theme() {
  return document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark");
}

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  store("theme", name);
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
    ...ACTIONS.map(([letter, name, act]) => control(name, letter, act)),
  );
}

function control(name, letter, act, isOn) {
  const button = document.createElement("button"), key = document.createElement("kbd");
  key.textContent = letter;
  button.append(name, key);
  button.addEventListener("click", act);
  if (isOn !== undefined) button.setAttribute("aria-pressed", isOn);
  return button;
}

addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
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
let droppedBefore = null;

function setStatus(text) {
  const status = JSON.parse(text), dropped = status.frames_dropped + status.poses_dropped;
  charts.fps.add(status.fps);
  charts.age.add(status.age_ms);
  charts.drops.add(droppedBefore === null ? 0 : dropped - droppedBefore);
  charts.temperature.add(status.temperature_c);
  droppedBefore = dropped;
  $("legs").replaceChildren(...status.legs_us.map(([name, p50, p99]) => {
    const row = document.createElement("tr");
    for (const text of [name.replaceAll("_", " "), (p50 / 1000).toFixed(2), (p99 / 1000).toFixed(1)]) row.insertCell().textContent = text;
    return row;
  }));
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
      : status.source === "built-in clip" ? "built-in clip: nobody is there" : "",
    status.source === "built-in clip" && status.engine !== "",
  );
  const rate = messages / (performance.now() - since) * 1000;
  [messages, since] = [0, performance.now()];
  $("state").textContent = [
    status.source, status.engine, `${rate.toFixed(0)} Hz shown`, status.throttled ? "slowed down by heat or voltage" : "",
  ].filter(Boolean).join(" · ");
}

/** Over the middle of the picture, or in its corner where there is something to see. */
function notice(text, inCorner = false) {
  $("notice").hidden = !text;
  $("notice").textContent = text;
  $("notice").className = inCorner ? "corner" : "";
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
  if (picture && shown.picture) pen.drawImage(picture, 0, 0, width, height);
  const unit = Math.max(width, height) / 320, persons = frame.line.persons;
  if (shown.zones) drawZones(pen, zones, unit, width, height);
  if (shown.trails) trails.draw(pen, unit, frame.line.emitted_us);
  const colourOf = id => COLOURS[id % COLOURS.length];
  if (shown.smoothed) {
    for (const person of persons) {
      if (shown.sigma) drawSigma(pen, person, unit, colourOf(person.id));
      drawPerson(pen, person, unit, colourOf(person.id));
    }
  } else {
    for (const [id, joints] of frame.seen) drawSeen(pen, joints, unit, colourOf(id));
  }
  // Letters are never mirrored.
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  if (shown.zones) drawZoneNames(pen, zones, unit, width, height, shown.mirror);
  if (shown.ids) {
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

function connect() {
  socket = new WebSocket(new URL("live", location.href).href.replace(/^http/, "ws"));
  socket.binaryType = "arraybuffer";
  socket.onopen = () => { $("state").textContent = "connected"; notice("waiting for the first pose…"); };
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

if (stored("theme")) setTheme(stored("theme"));
drawControls();
connect();
draw();
