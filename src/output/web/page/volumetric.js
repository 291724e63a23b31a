
// The volumetric body: one mesh, moved by its bones as each message tells, over the picture or turned about as somebody drags it.

const BODY_VERTEX = `
  attribute vec3 place, direction;
  attribute vec4 bones, weights;
  attribute float open;
  uniform vec4 rows[93];
  uniform mat4 view;
  uniform mat3 turn;
  varying vec3 normal;
  varying float light;
  void main() {
    vec4 p = vec4(place, 1.0);
    vec3 at = vec3(0.0), n = vec3(0.0);
    for (int k = 0; k < 4; k++) {
      int row = 3 * int(bones[k] + 0.5);
      at += weights[k] * vec3(dot(rows[row], p), dot(rows[row + 1], p), dot(rows[row + 2], p));
      n += weights[k] * vec3(
        dot(rows[row].xyz, direction), dot(rows[row + 1].xyz, direction), dot(rows[row + 2].xyz, direction));
    }
    normal = turn * n;
    light = open;
    gl_Position = view * vec4(at, 1.0);
  }`;
const BODY_FRAGMENT = `
  precision mediump float;
  uniform vec3 clay;
  varying vec3 normal;
  varying float light;
  void main() {
    vec3 n = normalize(normal);
    float lit = max(dot(n, vec3(-0.42, 0.62, 0.66)), 0.0), rim = 1.0 - max(n.z, 0.0);
    float fill = (0.16 + 0.30 * (0.5 + 0.5 * n.y)) * light * (0.4 + 0.6 * light);
    float shine = pow(max(dot(n, vec3(-0.23, 0.34, 0.912)), 0.0), 24.0);
    vec3 colour = clay * (fill + 0.82 * lit) + 0.10 * shine * lit + 0.10 * rim * rim * rim * light;
    gl_FragColor = vec4(pow(min(colour, 1.0), vec3(1.0 / 2.2)), 1.0);
  }`;
const LINE_VERTEX = `attribute vec3 place; uniform mat4 view; void main() { gl_Position = view * vec4(place, 1.0); }`;
const LINE_FRAGMENT = `precision mediump float; void main() { gl_FragColor = vec4(0.5, 0.5, 0.5, 1.0) * 0.6; }`;

/** Columns of a 4×4 matrix times another. */
function times(a, b) {
  return Float32Array.from({length: 16}, (_, i) => {
    let sum = 0;
    for (let k = 0; k < 4; k++) sum += a[4 * k + i % 4] * b[4 * (i >> 2) + k];
    return sum;
  });
}

class Bodies {
  /** Turned so far by whoever drags, radians; null: as the camera sees it. */
  orbit = null;
  #canvas = document.createElement("canvas");
  #gl = null;
  #mesh = null;
  #floor = null;

  /** Whether there is something to draw with; fetches the mesh when first asked. */
  ready() {
    if (this.#gl === null) {
      this.#gl = this.#canvas.getContext("webgl", {alpha: true, antialias: true, premultipliedAlpha: true}) ?? false;
      if (this.#gl) this.#fetch();
    }
    return Boolean(this.#mesh);
  }

  async #fetch() {
    const answer = await fetch("body").catch(() => null);
    if (!answer?.ok) { this.#gl = null; return; }
    const bytes = await answer.arrayBuffer(), [vertices, triangles] = new Uint32Array(bytes, 0, 3);
    const places = Float32Array.from(new Int16Array(bytes, 12, 3 * vertices), v => v / 1e4);
    let at = 12 + 6 * vertices;
    const bones = new Uint8Array(bytes, at, 4 * vertices), weights = new Uint8Array(bytes, at += 4 * vertices, 4 * vertices);
    const open = new Uint8Array(bytes, at += 4 * vertices, vertices);
    at += vertices + (at + vertices) % 2;
    const corners = new Uint16Array(bytes, at, 3 * triangles), normals = new Float32Array(3 * vertices);
    for (let t = 0; t < corners.length; t += 3) {
      const [a, b, c] = [0, 1, 2].map(k => 3 * corners[t + k]);
      const [u, v] = [b, c].map(p => [0, 1, 2].map(k => places[p + k] - places[a + k]));
      const n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
      for (const p of [a, b, c]) for (let k = 0; k < 3; k++) normals[p + k] += n[k];
    }
    for (let p = 0; p < normals.length; p += 3) {
      const length = Math.hypot(normals[p], normals[p + 1], normals[p + 2]) || 1;
      for (let k = 0; k < 3; k++) normals[p + k] /= length;
    }
    this.#set({places, normals, bones, weights, open, corners});
    isDirty = true;
  }

  #set(mesh) {
    const gl = this.#gl;
    const program = (vertex, fragment) => {
      const made = gl.createProgram();
      for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
        const shader = gl.createShader(kind);
        gl.shaderSource(shader, text);
        gl.compileShader(shader);
        gl.attachShader(made, shader);
      }
      gl.linkProgram(made);
      return made;
    };
    const buffer = (kind, values) => {
      const made = gl.createBuffer();
      gl.bindBuffer(kind, made);
      gl.bufferData(kind, values, gl.STATIC_DRAW);
      return made;
    };
    const body = program(BODY_VERTEX, BODY_FRAGMENT), line = program(LINE_VERTEX, LINE_FRAGMENT);
    const parts = [
      ["place", mesh.places, 3, gl.FLOAT, false], ["direction", mesh.normals, 3, gl.FLOAT, false],
      ["bones", mesh.bones, 4, gl.UNSIGNED_BYTE, false], ["weights", mesh.weights, 4, gl.UNSIGNED_BYTE, true],
      ["open", mesh.open, 1, gl.UNSIGNED_BYTE, true],
    ].map(([name, values, size, type, normed]) =>
      ({at: gl.getAttribLocation(body, name), buffer: buffer(gl.ARRAY_BUFFER, values), size, type, normed}));
    const grid = [];
    for (let k = -10; k <= 10; k++) grid.push(k / 2, 0, -5, k / 2, 0, 5, -5, 0, k / 2, 5, 0, k / 2);
    this.#floor = {program: line, buffer: buffer(gl.ARRAY_BUFFER, new Float32Array(grid)), count: grid.length / 3};
    const corners = buffer(gl.ELEMENT_ARRAY_BUFFER, mesh.corners);
    this.#mesh = {program: body, parts, corners, count: mesh.corners.length};
  }

  /** Draws `bodies` of a message over a picture of `width` × `height` drawn `scale` as large. */
  draw(pen, bodies, width, height, scale) {
    if (!this.ready()) return;
    const gl = this.#gl, [w, h] = [Math.round(width * scale), Math.round(height * scale)];
    if (this.#canvas.width !== w || this.#canvas.height !== h) [this.#canvas.width, this.#canvas.height] = [w, h];
    gl.viewport(0, 0, w, h);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    // As far away as a person 1.7 m high of so many pixels is for a camera that sees 60 degrees across.
    const stood = bodies.map(([id, pxPerM, x, y, sole, bones]) => {
      const z = 0.87 * width / pxPerM;
      return {id, pxPerM, x, y, sole, bones, at: [(x - width / 2) / pxPerM, (height / 2 - y) / pxPerM, -z]};
    });
    const orbit = this.orbit && this.#view(stood, width, height);
    if (orbit) this.#drawFloor(orbit.at([0, orbit.floor, 0], orbit.middle));
    for (const body of stood.sort((a, b) => a.pxPerM - b.pxPerM)) {
      if (!orbit) {
        // Over the picture each hides all who are farther: there is no common scale of depth.
        gl.clear(gl.DEPTH_BUFFER_BIT);
        const s = 2 * body.pxPerM, [ox, oy] = [2 * body.x / width - 1, 1 - 2 * body.y / height];
        this.#drawBody(body, [s / width, 0, 0, 0, 0, s / height, 0, 0, 0, 0, -0.2, 0, ox, oy, 0, 1], [1, 0, 0, 0, 1, 0, 0, 0, 1]);
      } else {
        this.#drawBody(body, orbit.at(body.at, [0, 0, 0]), orbit.turn);
      }
    }
    pen.drawImage(this.#canvas, 0, 0, width, height);
  }

  /** What an eye sees that has been turned about the middle of everybody. */
  #view(stood, width, height) {
    const {yaw, pitch} = this.orbit;
    const middle = [0, 1, 2].map(k => stood.reduce((sum, body) => sum + body.at[k], 0) / (stood.length || 1));
    if (!stood.length) middle[2] = -3;
    const [cy, sy, cp, sp] = [Math.cos(yaw), Math.sin(yaw), Math.cos(pitch), Math.sin(pitch)];
    const turn = [cy, sp * sy, -cp * sy, 0, cp, sp, sy, -sp * cy, cp * cy];
    const far = Math.max(2.6, -middle[2]), f = 1.74;
    const eye = [f, 0, 0, 0, 0, f * width / height, 0, 0, 0, 0, -1.02, -1, 0, 0, -0.2, 0];
    const at = ([x, y, z], centre) => {
      const p = [x + (centre[0] ? centre[0] : 0) - middle[0], y - middle[1], z + (centre[2] ? centre[2] : 0) - middle[2]];
      const moved = [0, 1, 2].map(i => turn[i] * p[0] + turn[3 + i] * p[1] + turn[6 + i] * p[2]);
      const matrix = [...turn.slice(0, 3), 0, ...turn.slice(3, 6), 0, ...turn.slice(6, 9), 0, moved[0], moved[1], moved[2] - far, 1];
      return times(eye, matrix);
    };
    const floor = Math.min(...stood.map(body => body.at[1] + body.sole), middle[1] - 0.3);
    return {turn, at, middle, floor};
  }

  #drawFloor(view) {
    const gl = this.#gl, {program, buffer, count} = this.#floor, place = gl.getAttribLocation(program, "place");
    gl.useProgram(program);
    for (const {at} of this.#mesh.parts) gl.disableVertexAttribArray(at);
    gl.uniformMatrix4fv(gl.getUniformLocation(program, "view"), false, view);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, 3, gl.FLOAT, false, 0, 0);
    gl.drawArrays(gl.LINES, 0, count);
  }

  #drawBody({id, bones}, view, turn) {
    const gl = this.#gl, {program, parts, corners, count} = this.#mesh, uniform = name => gl.getUniformLocation(program, name);
    gl.useProgram(program);
    for (const {at, buffer, size, type, normed} of parts) {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, size, type, normed, 0, 0);
    }
    const linear = [1, 3, 5].map(k => (parseInt(COLOURS[id % COLOURS.length].slice(k, k + 2), 16) / 255) ** 2.2);
    gl.uniform3fv(uniform("clay"), linear.map((v, k) => 0.78 * v + 0.22 * [0.62, 0.6, 0.58][k]));
    gl.uniform4fv(uniform("rows"), rowsOf(bones));
    gl.uniformMatrix4fv(uniform("view"), false, view);
    gl.uniformMatrix3fv(uniform("turn"), false, turn);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, corners);
    gl.drawElements(gl.TRIANGLES, count, gl.UNSIGNED_SHORT, 0);
  }

  /** Dragging turns the bodies, a double click gives the camera's own view back. */
  watch(element, isShown) {
    let from = null;
    element.addEventListener("pointerdown", event => {
      if (!isShown()) return;
      from = [event.clientX, event.clientY, this.orbit ?? {yaw: 0, pitch: 0}];
      element.setPointerCapture(event.pointerId);
    });
    element.addEventListener("pointermove", event => {
      if (!from) return;
      const [x, y, {yaw, pitch}] = from, [dx, dy] = [event.clientX - x, event.clientY - y];
      if (!this.orbit && Math.hypot(dx, dy) < 4) return;
      this.orbit = {yaw: yaw + dx / 120, pitch: Math.min(1.4, Math.max(-0.3, pitch + dy / 160))};
      isDirty = true;
    });
    for (const name of ["pointerup", "pointercancel"]) element.addEventListener(name, () => { from = null; });
    element.addEventListener("dblclick", () => { this.orbit = null; isDirty = true; });
  }
}

/** Three rows of each bone's matrix, from its quaternion and shift. */
function rowsOf(bones) {
  const rows = new Float32Array(12 * 31);
  for (let k = 0; k < 31; k++) {
    const [w, x, y, z, a, b, c] = bones.slice(7 * k, 7 * k + 7);
    rows.set([
      1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), a,
      2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x), b,
      2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y), c,
    ], 12 * k);
  }
  return rows;
}
