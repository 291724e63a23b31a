// The page of `posewire calibrate`: the camera's picture, the corners in it, where they have been, and what to do next.

const canvas = $("view"), pen = canvas.getContext("2d");
const shown = Object.assign({ mirror: true }, stored("calibration"));
/** What was told last, and the picture of it. */
let state = null, picture = null;

function toggle() {
  shown.mirror = !shown.mirror;
  store("calibration", shown);
  drawControls();
  draw();
}

const ACTIONS = { m: toggle, d: () => setTheme(theme() === "dark" ? "light" : "dark") };

function drawControls() {
  // Whoever holds a board before a camera finds its sides as in a mirror.
  $("controls").replaceChildren(control("mirror", "m", ACTIONS.m, shown.mirror), control("dark, light", "d", ACTIONS.d));
}

addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || !ACTIONS[event.key]) return;
  event.preventDefault();
  ACTIONS[event.key]();
});

function draw() {
  if (!state || !picture) return;
  const [width, height] = [canvas.width, canvas.height] = state.size;
  pen.setTransform(shown.mirror ? -1 : 1, 0, 0, 1, shown.mirror ? width : 0, 0);
  pen.drawImage(picture, 0, 0, width, height);
  const rows = state.cells.length;
  state.cells.forEach((cells, row) => cells.forEach((has, column) => {
    const side = [width / cells.length, height / rows];
    pen.fillStyle = has ? "rgb(0 158 115 / 28%)" : "rgb(0 0 0 / 35%)";
    pen.fillRect(column * side[0], row * side[1], side[0] - 1, side[1] - 1);
  }));
  const radius = Math.max(2, width / 160);
  for (const [x, y] of state.corners) {
    for (const [ink, wider] of [["#000", 1], ["#f0e442", 0]]) {
      pen.fillStyle = ink;
      pen.beginPath();
      pen.arc(x, y, radius + wider, 0, 7);
      pen.fill();
    }
  }
}

function tell() {
  const seen = state.corners.length;
  $("state").textContent = state.is_over ? "done" : seen ? `${seen} corners are seen` : "no board is seen";
  $("next").textContent = state.told;
  [$("views").max, $("views").value] = [state.wanted, state.views];
  $("views").textContent = `${state.views} of ${state.wanted}`;
  const cells = state.cells.flat(), percent = cells.length ? Math.round(100 * cells.filter(has => has).length / cells.length) : 0;
  $("share").textContent = `in ${percent} % of the picture, ${state.views} of ${state.wanted} views`;
  notice(state.is_over ? state.told : "");
}

async function follow() {
  let shownPicture = 0;
  for (;;) {
    let againMs = 150;
    try {
      const said = await (await fetch("state")).json();
      if (said.picture !== shownPicture) {
        const answer = await fetch("picture");
        const next = answer.ok ? await createImageBitmap(await answer.blob()).catch(() => null) : null;
        if (next) {
          picture?.close();
          picture = next;
        }
        shownPicture = said.picture;
      }
      state = said;
      tell();
      draw();
      if (said.is_over) return;
    } catch {
      $("state").textContent = "no answer from posewire calibrate; trying again…";
      // Another one may answer, whose pictures count from one.
      [shownPicture, againMs] = [0, 1000];
    }
    await new Promise(done => setTimeout(done, againMs));
  }
}

drawControls();
follow();
