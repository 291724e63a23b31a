
// Drawing: the looks of every display. Places are pixels of the camera's picture; joints in COCO's order.

/** 0 absent, 1 measured, 2 predicted, 3 unsure. */
function lookOf([x, y, score, sigma, how]) {
  return how === "absent" ? 0 : score < UNSURE_SCORE ? 3 : how === "measured" ? 1 : 2;
}

/** What pose-draw makes of its sizes for these joints: marks that would cover a small figure shrink. */
function sizesOf(joints, unit) {
  const px = unit / 2, along = axis => joints.map(joint => joint[axis]);
  const extent = Math.max(...[0, 1].map(axis => Math.max(...along(axis)) - Math.min(...along(axis))));
  const joint = Math.min(SIZES.joint * px, Math.max(extent / 18, 3));
  const stroke = Math.min(SIZES.stroke * px, Math.max(joint / 2, 1));
  return {joint, stroke, dash: Math.min(SIZES.dash * px, Math.max(joint, 3)), outline: stroke / 3};
}

/** As pose-draw draws it: filled discs and solid bones, rings and dashes, small dots and dots. */
function drawPerson(pen, person, unit, colour) {
  const joints = person.keypoints, looks = joints.map(lookOf);
  const {joint, stroke, dash, outline} = sizesOf(joints.filter((_, i) => looks[i]), unit);
  const dashes = [null, [], [dash, dash], [stroke, 2 * stroke + 1]];
  const radii = [0, joint / 2, joint * 5 / 8, joint / 4];
  // The outline of the whole figure first, so that it stands out on any picture.
  for (const [ink, wider] of [["#000", outline], [colour, 0]]) {
    pen.strokeStyle = ink;
    pen.lineWidth = stroke + 2 * wider;
    for (const [a, b] of BONES) {
      if (!looks[a] || !looks[b]) continue;
      pen.setLineDash(dashes[Math.max(looks[a], looks[b])]);
      pen.beginPath();
      pen.moveTo(joints[a][0], joints[a][1]);
      pen.lineTo(joints[b][0], joints[b][1]);
      pen.stroke();
    }
    pen.setLineDash([]);
    joints.forEach(([x, y], i) => {
      if (!looks[i]) return;
      disc(pen, x, y, radii[looks[i]] + wider, ink);
      if (looks[i] === 2) disc(pen, x, y, radii[2] - joint / 3, "#000");
    });
  }
}

/** What the network alone saw: thin, without bones' outlines, sure joints only. */
function drawSeen(pen, joints, unit, colour) {
  pen.strokeStyle = colour;
  pen.lineWidth = unit;
  for (const [a, b] of BONES) {
    if (joints[a][2] < UNSURE_SCORE || joints[b][2] < UNSURE_SCORE) continue;
    pen.beginPath();
    pen.moveTo(joints[a][0], joints[a][1]);
    pen.lineTo(joints[b][0], joints[b][1]);
    pen.stroke();
  }
  for (const [x, y, score] of joints) if (score >= UNSURE_SCORE) disc(pen, x, y, 1.6 * unit, colour);
}

/** One standard deviation round each joint. */
function drawSigma(pen, person, unit, colour) {
  pen.strokeStyle = colour;
  pen.lineWidth = 0.6 * unit;
  pen.globalAlpha = 0.7;
  for (const joint of person.keypoints) {
    if (!lookOf(joint) || joint[3] <= 0) continue;
    pen.beginPath();
    pen.arc(joint[0], joint[1], joint[3], 0, 7);
    pen.stroke();
  }
  pen.globalAlpha = 1;
}

function drawLabel(pen, person, unit, colour, x) {
  pen.font = `600 ${8 * unit}px system-ui`;
  pen.lineWidth = 2 * unit;
  pen.strokeStyle = "#000";
  const y = Math.max(person.box[1] - 2 * unit, 8 * unit);
  pen.strokeText(person.id, x, y);
  pen.fillStyle = colour;
  pen.fillText(person.id, x, y);
}

/** Polygons in shares of the picture. */
function drawZones(pen, zones, unit, width, height) {
  for (const [, corners] of zones) {
    pen.beginPath();
    for (const [x, y] of corners) pen.lineTo(x * width, y * height);
    pen.closePath();
    pen.fillStyle = "rgb(255 255 255 / 10%)";
    pen.fill();
    for (const [ink, wider] of [["black", 1], ["white", 0]]) {
      pen.strokeStyle = ink;
      pen.lineWidth = (0.8 + wider) * unit;
      pen.stroke();
    }
  }
}

/** The name of each at its left end. */
function drawZoneNames(pen, zones, unit, width, height, isMirrored) {
  pen.font = `${6 * unit}px system-ui`;
  pen.fillStyle = "white";
  for (const [name, corners] of zones) {
    const places = corners.map(([x, y]) => [(isMirrored ? 1 - x : x) * width, y * height]);
    const [x, y] = places.reduce((left, place) => place[0] < left[0] ? place : left);
    pen.fillText(name, x + 2 * unit, Math.min(y + 7 * unit, height - 2 * unit));
  }
}

function disc(pen, x, y, radius, ink) {
  pen.fillStyle = ink;
  pen.beginPath();
  pen.arc(x, y, Math.max(radius, 0.5), 0, 7);
  pen.fill();
}

/** Where wrists, ankles and the nose of each person have been. */
class Trails {
  static JOINTS = ["nose", "left_wrist", "right_wrist", "left_ankle", "right_ankle"].map(name => JOINTS.indexOf(name));
  static KEPT_US = 1_500_000;
  #of = new Map(); #newestUs = -Infinity;

  add(line) {
    // A clock that goes back is that of a board that has started anew: what was is of others.
    if (line.emitted_us < this.#newestUs) this.clear();
    this.#newestUs = line.emitted_us;
    for (const person of line.persons) {
      if (!this.#of.has(person.id)) this.#of.set(person.id, []);
      this.#of.get(person.id).push([line.emitted_us, Trails.JOINTS.map(j => lookOf(person.keypoints[j]) ? person.keypoints[j] : null)]);
    }
    for (const [id, points] of this.#of) {
      while (points.length && line.emitted_us - points[0][0] > Trails.KEPT_US) points.shift();
      if (!points.length) this.#of.delete(id);
    }
  }

  clear() { this.#of.clear(); this.#newestUs = -Infinity; }

  draw(pen, unit, nowUs) {
    pen.lineCap = "round";
    for (const [id, points] of this.#of) {
      pen.strokeStyle = COLOURS[id % COLOURS.length];
      pen.lineWidth = unit;
      for (let i = 1; i < points.length; i++) {
        pen.globalAlpha = 0.8 * (1 - (nowUs - points[i][0]) / Trails.KEPT_US);
        for (let j = 0; j < Trails.JOINTS.length; j++) {
          const [from, to] = [points[i - 1][1][j], points[i][1][j]];
          if (!from || !to) continue;
          pen.beginPath();
          pen.moveTo(from[0], from[1]);
          pen.lineTo(to[0], to[1]);
          pen.stroke();
        }
      }
    }
    pen.globalAlpha = 1;
  }
}
