
// The planar body: as pose-draw's, limbs, trunk and head as shaded contours. PARTS holds their shapes in shares of the body's height.

const [NECK, PELVIS, HEAD] = [17, 18, 19];
const TRUNK = 8, SKULL = 9, NOSE_PART = 17;
/** How long bones are of a body's height: as in pose-draw's parts.rs. */
const LENGTHS = [
  [NECK, PELVIS, 0.303], [11, 13, 0.224], [12, 14, 0.224], [13, 15, 0.232], [14, 16, 0.232], [5, 7, 0.172], [6, 8, 0.172],
  [7, 9, 0.150], [8, 10, 0.150], [5, 6, 0.215], [NECK, HEAD, 0.135], [3, 4, 0.092],
];

/** [x, y, look, depth] of joints and of the places beside them; null where not known. */
function placesOf(person) {
  const places = person.keypoints.map((joint, j) => {
    const look = lookOf(joint);
    return look ? [joint[0], joint[1], look, person.keypoints3d?.[j][2] ?? 0] : null;
  });
  const between = (a, b) => a && b ? [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2, Math.min(a[2], b[2]), (a[3] + b[3]) / 2] : null;
  const face = places.slice(0, 5).filter(place => place);
  const mean = k => face.reduce((sum, place) => sum + place[k], 0) / face.length;
  const head = between(places[3], places[4])
    ?? (face.length ? [mean(0), mean(1), Math.min(...face.map(place => place[2])), mean(3)] : null);
  return [...places, between(places[5], places[6]), between(places[11], places[12]), head];
}

/** The parts of a person, the farthest first. */
function partsOf(person) {
  const places = placesOf(person);
  const heights = LENGTHS.filter(([a, b]) => places[a] && places[b])
    .map(([a, b, share]) => Math.hypot(places[a][0] - places[b][0], places[a][1] - places[b][1]) / share).sort((a, b) => b - a);
  const height = heights[1] ?? heights[0] ?? 0;
  if (height < 1) return [];
  return PARTS.map(([a, b, before, beyond, r, q, bulge, c, d, behind], i) => {
    let [from, to] = [places[a], places[b]];
    if (!from || !to || i === NOSE_PART && to[3] > from[3]) return null;
    const long = Math.hypot(to[0] - from[0], to[1] - from[1]);
    const along = long > 1e-3 ? [(to[0] - from[0]) / long, (to[1] - from[1]) / long] : [0, -1];
    const radii = [r * height, q * height], caps = [c * height, d * height];
    const look = Math.max(from[2], to[2]), depth = (from[3] + to[3]) / 2 + behind;
    if (i === TRUNK) {
      [[5, 6], [11, 12]].forEach(([left, right], k) => {
        if (!places[left] || !places[right]) return;
        const across = [places[left][0] - places[right][0], places[left][1] - places[right][1]];
        const width = Math.abs(across[0] * along[1] - across[1] * along[0]);
        radii[k] = Math.max(radii[k], 0.46 * width + 0.036 * height);
      });
    }
    if (i === SKULL) [before, beyond] = [-0.020, 0.022];
    if (before || beyond) {
      const moved = share => [to[0] + along[0] * share * height, to[1] + along[1] * share * height];
      [from, to] = [moved(before), moved(beyond)];
    }
    return {from, to, along, radii, caps, bulge: bulge * height, look, depth};
  }).filter(part => part).sort((a, b) => b.depth - a.depth);
}

/** The contour of a part, made wider on each side. */
function contour({from, to, along, radii, caps, bulge}, wider) {
  const path = new Path2D(), across = [-along[1], along[0]], side = [[], []];
  for (let k = 0; k <= 8; k++) {
    const t = k / 8, radius = radii[0] + (radii[1] - radii[0]) * t + 4 * bulge * t * (1 - t) + wider;
    const at = [0, 1].map(i => from[i] + (to[i] - from[i]) * t);
    side[0].push([0, 1].map(i => at[i] + across[i] * radius));
    side[1].unshift([0, 1].map(i => at[i] - across[i] * radius));
  }
  const cap = (at, radius, length, sign) => Array.from({length: 11}, (_, k) => {
    const angle = Math.PI * (k + 1) / 12, [c, s] = [Math.cos(angle) * sign * radius, Math.sin(angle) * sign * length];
    return [0, 1].map(i => at[i] + across[i] * c + along[i] * s);
  });
  for (const [x, y] of [
    ...side[0], ...cap(to, radii[1] + wider, caps[1] + wider, 1), ...side[1], ...cap(from, radii[0] + wider, caps[0] + wider, -1),
  ]) path.lineTo(x, y);
  path.closePath();
  return path;
}

/** A colour with so much of its strength; above 1 with white in it. */
function toned(colour, share) {
  const bytes = [1, 3, 5].map(k => parseInt(colour.slice(k, k + 2), 16));
  return `rgb(${bytes.map(v => Math.round(share <= 1 ? v * share : v + (255 - v) * (share - 1))).join(" ")})`;
}

/** Measured parts solid, predicted ones half transparent, unsure ones their contours alone. */
function drawPlanar(pen, person, unit, colour) {
  const parts = partsOf(person);
  pen.lineJoin = "round";
  pen.fillStyle = "#000";
  for (const part of parts) if (part.look === 1) pen.fill(contour(part, 0.7 * unit));
  for (const part of parts) {
    const path = contour(part, 0), [r, [dx, dy]] = [Math.max(...part.radii), part.along];
    // Light comes from above left.
    const lit = -dy * -0.45 + dx * -0.56 > 0 ? 1 : -1, middle = [0, 1].map(i => (part.from[i] + part.to[i]) / 2);
    const shade = pen.createLinearGradient(
      middle[0] - dy * r * lit, middle[1] + dx * r * lit, middle[0] + dy * r * lit, middle[1] - dx * r * lit);
    [[0, 0.92], [0.25, 1.18], [0.6, 0.85], [1, 0.38]].forEach(([at, share]) => shade.addColorStop(at, toned(colour, share)));
    pen.fillStyle = shade;
    pen.strokeStyle = toned(colour, 0.32);
    pen.lineWidth = 0.6 * unit;
    pen.globalAlpha = part.look === 2 ? 0.5 : 1;
    pen.setLineDash(part.look === 3 ? [2 * unit, 2 * unit] : []);
    if (part.look !== 3) pen.fill(path);
    pen.stroke(path);
  }
  pen.globalAlpha = 1;
  pen.setLineDash([]);
}
