const canvas = document.getElementById("view"), pen = canvas.getContext("2d");
const TRAIL_MS = 4000, FLOOR_M = 1;
const shown = { trails: true, names: true };
// Looked at from: turned about the vertical, tilted, metres away, and the point in the middle of the view.
const HOME = { turn: -0.6, tilt: 0.5, away: 9, at: [0, 0, 0.8] };
let look = structuredClone(HOME), isHome = true, isTurning = false;
let moment = null, momentMs = 0, cameras = [], moments = 0, rate = 0;
// Why no moment comes, where that is known.
let why = "";
const trails = new Map();

const colourOf = id => COLOURS[id % COLOURS.length];

// --- Projection: the room's x right, y ahead, z up; its own few lines rather than a library.

function eyeAxes() {
  const [ct, st, cp, sp] = [Math.cos(look.turn), Math.sin(look.turn), Math.cos(look.tilt), Math.sin(look.tilt)];
  return { right: [ct, st, 0], up: [-st * sp, ct * sp, cp], ahead: [-st * cp, ct * cp, -sp] };
}

function projector() {
  const { right, up, ahead } = eyeAxes(), focal = 1.15 * Math.min(canvas.width, 1.4 * canvas.height);
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  return p => {
    const v = [p[0] - look.at[0], p[1] - look.at[1], p[2] - look.at[2]];
    const depth = dot(v, ahead) + look.away;
    if (depth < 0.1) return null;
    return [canvas.width / 2 + focal * dot(v, right) / depth, canvas.height / 2 - focal * dot(v, up) / depth, focal / depth];
  };
}

function line(see, a, b) {
  const [p, q] = [see(a), see(b)];
  if (!p || !q) return;
  pen.beginPath(); pen.moveTo(p[0], p[1]); pen.lineTo(q[0], q[1]); pen.stroke();
}

// --- What is drawn

function extent() {
  const low = [-1, -1], high = [1, 1];
  for (const c of cameras) for (const k of [0, 1]) {
    low[k] = Math.min(low[k], c.at_m[k] - 0.4); high[k] = Math.max(high[k], c.at_m[k] + 0.4);
  }
  return [low.map(v => Math.floor(v)), high.map(v => Math.ceil(v))];
}

function goHome() {
  const [low, high] = extent();
  look = structuredClone(HOME);
  look.at = [(low[0] + high[0]) / 2, (low[1] + high[1]) / 2, 0.8];
  look.away = 1.1 * Math.hypot(high[0] - low[0], high[1] - low[1]);
}

function drawFloor(see, unit) {
  const [low, high] = extent();
  for (let x = low[0]; x <= high[0]; x += FLOOR_M) {
    pen.strokeStyle = x === 0 ? "#4b5763" : "#262c33"; pen.lineWidth = unit;
    line(see, [x, low[1], 0], [x, high[1], 0]);
  }
  for (let y = low[1]; y <= high[1]; y += FLOOR_M) {
    pen.strokeStyle = y === 0 ? "#4b5763" : "#262c33"; pen.lineWidth = unit;
    line(see, [low[0], y, 0], [high[0], y, 0]);
  }
}

function drawCamera(see, camera, unit) {
  const isMoved = moment?.moved.includes(camera.name);
  const [right, down, ahead] = camera.rotation, far = 0.45;
  const corner = (x, y) => [0, 1, 2].map(k => camera.at_m[k] + far * (ahead[k] + x * camera.half[0] * right[k] + y * camera.half[1] * down[k]));
  const corners = [corner(-1, -1), corner(1, -1), corner(1, 1), corner(-1, 1)];
  pen.strokeStyle = isMoved ? "#ffb000" : "#9aa4af"; pen.lineWidth = 1.5 * unit;
  corners.forEach((c, k) => { line(see, camera.at_m, c); line(see, c, corners[(k + 1) % 4]); });
  pen.setLineDash([3 * unit, 4 * unit]); pen.globalAlpha = 0.5;
  line(see, camera.at_m, [camera.at_m[0], camera.at_m[1], 0]);
  pen.setLineDash([]); pen.globalAlpha = 1;
  const p = see([camera.at_m[0], camera.at_m[1], camera.at_m[2] + 0.22]);
  if (!p || !shown.names) return;
  pen.fillStyle = pen.strokeStyle; pen.font = `${12 * unit}px system-ui, sans-serif`; pen.textAlign = "center";
  pen.fillText(isMoved ? `${camera.name}: was moved` : camera.name, p[0], p[1]);
}

function middleOf(person) {
  const known = [11, 12, 5, 6].map(j => person.joints[j]).filter(Boolean);
  if (!known.length) return null;
  return [0, 1, 2].map(k => known.reduce((sum, j) => sum + j[k], 0) / known.length);
}

function drawTrail(see, id, unit) {
  const trail = trails.get(id) ?? [], now = performance.now();
  pen.strokeStyle = colourOf(id); pen.lineWidth = 2 * unit; pen.lineCap = "round";
  for (let k = 1; k < trail.length; k++) {
    pen.globalAlpha = 0.7 * Math.max(0, 1 - (now - trail[k].ms) / TRAIL_MS);
    line(see, trail[k - 1].at, trail[k].at);
  }
  pen.globalAlpha = 1;
}

function drawPerson(see, person, unit) {
  const middle = middleOf(person);
  if (!middle) return;
  const colour = colourOf(person.id), ground = see([middle[0], middle[1], 0]);
  if (ground) {
    pen.fillStyle = colour; pen.globalAlpha = 0.25;
    pen.beginPath(); pen.ellipse(ground[0], ground[1], 0.28 * ground[2], 0.28 * ground[2] * Math.max(0.1, Math.sin(look.tilt)), 0, 0, 7); pen.fill();
    pen.globalAlpha = 1;
  }
  pen.lineCap = "round";
  for (const [a, b] of BONES) {
    const [p, q] = [person.joints[a], person.joints[b]];
    if (!p || !q) continue;
    const isSure = Math.max(p[3], q[3]) < 0.1, scale = see(p)?.[2] ?? 0;
    // A dark edge, so that crossing limbs are told apart.
    pen.strokeStyle = "#0b0d0f"; pen.lineWidth = Math.max(4 * unit, 0.075 * scale); line(see, p, q);
    pen.setLineDash(isSure ? [] : [4 * unit, 5 * unit]);
    pen.strokeStyle = colour; pen.lineWidth = Math.max(2 * unit, 0.045 * scale); line(see, p, q);
    pen.setLineDash([]);
  }
  for (const joint of person.joints) {
    const p = joint && see(joint);
    if (!p) continue;
    pen.fillStyle = colour;
    pen.beginPath(); pen.arc(p[0], p[1], Math.max(2 * unit, 0.035 * p[2]), 0, 7); pen.fill();
  }
  const head = person.joints.slice(0, 5).filter(Boolean), top = head[0] ?? middle;
  const p = see([top[0], top[1], top[2] + 0.3]);
  if (p && shown.names) {
    pen.font = `600 ${14 * unit}px system-ui, sans-serif`; pen.textAlign = "center";
    pen.lineWidth = 3 * unit; pen.strokeStyle = "#0b0d0f"; pen.strokeText(`#${person.id}`, p[0], p[1]);
    pen.fillStyle = colour; pen.fillText(`#${person.id}`, p[0], p[1]);
  }
}

function draw() {
  const unit = window.devicePixelRatio || 1;
  const [width, height] = [Math.round(canvas.clientWidth * unit), Math.round(canvas.clientHeight * unit)];
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  if (isHome) goHome();
  if (isTurning) { look.turn += 0.004; }
  pen.clearRect(0, 0, canvas.width, canvas.height);
  const see = projector(), { ahead } = eyeAxes();
  drawFloor(see, unit);
  const persons = (moment?.persons ?? []).map(p => ({ ...p, middle: middleOf(p) })).filter(p => p.middle);
  if (shown.trails) for (const id of trails.keys()) drawTrail(see, id, unit);
  // Farther ones first.
  const depth = at => at[0] * ahead[0] + at[1] * ahead[1] + at[2] * ahead[2];
  const things = [...cameras.map(c => [depth(c.at_m), () => drawCamera(see, c, unit)]),
    ...persons.map(p => [depth(p.middle), () => drawPerson(see, p, unit)])];
  things.sort((a, b) => b[0] - a[0]).forEach(([, thing]) => thing());
}

function frame() { draw(); requestAnimationFrame(frame); }

// --- Beside the view

function item(colour, text, more, isMoved) {
  const li = document.createElement("li"), span = document.createElement("span");
  if (colour) { const dot = document.createElement("i"); dot.style.background = colour; li.append(dot); }
  li.append(text); span.textContent = more; li.append(span); li.classList.toggle("moved", Boolean(isMoved));
  return li;
}

function list() {
  const persons = moment?.persons ?? [], at = p => middleOf(p)?.slice(0, 2).map(v => v.toFixed(2)).join(", ") ?? "";
  document.getElementById("persons").replaceChildren(...persons.map(p =>
    item(colourOf(p.id), `#${p.id}`, `${at(p)} m · ${p.cameras} cam.`)));
  document.getElementById("cameras").replaceChildren(...cameras.map(c =>
    item(null, c.name, moment?.moved.includes(c.name) ? "was moved" : `${c.at_m[2].toFixed(1)} m high`, moment?.moved.includes(c.name))));
  const isOld = performance.now() - momentMs > 2000;
  document.getElementById("state").textContent = !moment ? "no moment yet" :
    `${persons.length} ${persons.length === 1 ? "person" : "people"} · ${rate} moments a second · ${((moment.sent_us - moment.at_us) / 1000).toFixed(0)} ms old`;
  const notice = document.getElementById("notice");
  notice.hidden = moment !== null && !isOld;
  notice.textContent = why || (moment ? "Nothing comes from the cameras" : "Waiting for the cameras");
}

// --- Moments

function take(text) {
  moment = JSON.parse(text); momentMs = performance.now(); moments += 1;
  for (const person of moment.persons) {
    const middle = middleOf(person);
    if (!middle) continue;
    if (!trails.has(person.id)) trails.set(person.id, []);
    const trail = trails.get(person.id);
    if (!trail.length || momentMs - trail.at(-1).ms > 60) trail.push({ ms: momentMs, at: [middle[0], middle[1], 0.01] });
  }
  for (const [id, trail] of trails) {
    while (trail.length && momentMs - trail[0].ms > TRAIL_MS) trail.shift();
    if (!trail.length) trails.delete(id);
  }
}

function connect() {
  const socket = new WebSocket(`${location.origin.replace("http", "ws")}/lines${location.search}`);
  socket.onmessage = message => take(message.data);
  socket.onclose = () => setTimeout(connect, 1000);
}

const ask = async path => {
  const answer = await fetch(`${path}${location.search}`);
  if (answer.status === 403) throw new Error("This link is an earlier start's: open the one that the hub has printed");
  return answer.json();
};

async function askForCameras() {
  try {
    cameras = await ask("cameras");
    why = await ask("tells") ? "" : "Another hub of this room tells: this one stands by";
  } catch (error) {
    // A request without an answer is a TypeError.
    why = error instanceof TypeError ? "The hub does not answer" : error.message;
  }
}

// --- Hands

const pointers = new Map();
function moveBy(dx, dy) {
  const { right, up } = eyeAxes(), scale = look.away / canvas.clientHeight;
  for (const k of [0, 1, 2]) look.at[k] += scale * (dy * up[k] - dx * right[k]);
}
canvas.addEventListener("pointerdown", e => { pointers.set(e.pointerId, [e.clientX, e.clientY]); canvas.setPointerCapture(e.pointerId); });
canvas.addEventListener("pointermove", e => {
  const before = pointers.get(e.pointerId);
  if (!before) return;
  isHome = false;
  const [dx, dy] = [e.clientX - before[0], e.clientY - before[1]];
  if (pointers.size === 2) {
    const [other] = [...pointers].filter(([id]) => id !== e.pointerId).map(p => p[1]);
    const far = Math.hypot(before[0] - other[0], before[1] - other[1]), now = Math.hypot(e.clientX - other[0], e.clientY - other[1]);
    look.away = Math.min(60, Math.max(1, look.away * far / Math.max(now, 1)));
    moveBy(dx / 2, dy / 2);
  } else if (e.shiftKey || e.buttons & 6) {
    moveBy(dx, dy);
  } else {
    look.turn -= 0.006 * dx; look.tilt = Math.min(1.57, Math.max(0.02, look.tilt + 0.006 * dy));
  }
  pointers.set(e.pointerId, [e.clientX, e.clientY]);
});
for (const over of ["pointerup", "pointercancel"]) canvas.addEventListener(over, e => pointers.delete(e.pointerId));
canvas.addEventListener("wheel", e => {
  e.preventDefault(); isHome = false; look.away = Math.min(60, Math.max(1, look.away * Math.exp(0.001 * e.deltaY)));
}, { passive: false });
canvas.addEventListener("dblclick", () => { isHome = true; });

function press(key) {
  if (key === "o") { isHome = false; goHome(); look.tilt = 1.57; look.turn = 0; }
  if (key === "a") { isTurning = !isTurning; if (isTurning) { isHome = false; goHome(); } }
  if (key === "t") shown.trails = !shown.trails;
  if (key === "n") shown.names = !shown.names;
  const pressed = { a: isTurning, o: look.tilt > 1.5, t: shown.trails, n: shown.names };
  for (const button of document.querySelectorAll("button")) button.setAttribute("aria-pressed", pressed[button.dataset.key]);
}
document.addEventListener("keydown", e => { if (!e.ctrlKey && !e.metaKey) press(e.key); });
for (const button of document.querySelectorAll("button")) button.addEventListener("click", () => press(button.dataset.key));

connect();
askForCameras();
setInterval(askForCameras, 2000);
setInterval(() => { rate = moments; moments = 0; list(); }, 1000);
setInterval(list, 250);
frame();
