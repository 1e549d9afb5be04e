// SPDX-License-Identifier: MIT
// A mesh that one can turn: faces, edges and points by WebGL; where the browser has none, the edges alone. No library: a camera looks at
// the middle of the vertices, from a distance that shows them all.

import {el} from "./dom.js";
import {pinch} from "./pinch.js";

const ANGLE = 0.7; // radians: how wide it sees
const EDGES = 0.3; // how dense those of faces are
const NEAR = 7;    // pixels: a click so near to a vertex selects it
const VERTEX = `#version 300 es
uniform mat4 camera; uniform float size; in vec3 place; out vec3 at;
void main() { at = place; gl_Position = camera * vec4(place, 1); gl_PointSize = size; }`;
const FRAGMENT = `#version 300 es
precision highp float;
uniform vec4 color; uniform bool lit; uniform vec3 light; in vec3 at; out vec4 result;
void main() {
  vec3 across = cross(dFdx(at), dFdy(at));
  float bright = lit && length(across) > 0. ? .35 + .65 * abs(dot(normalize(across), light)) : 1.;
  result = vec4(color.rgb * bright, color.a);
}`;

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];

/** Lines around triangles; those that two triangles share are there twice. */
function edgesOf({faces, lines}) {
  const found = new Uint32Array(faces.length * 2 + lines.length);
  for (let i = 0, to = 0; i < faces.length; i += 3)
    for (let k = 0; k < 3; k++) {
      found[to++] = faces[i + k];
      found[to++] = faces[i + (k + 1) % 3];
    }
  found.set(lines, faces.length * 2);
  return found;
}

export class MeshView {
  constructor() {
    this.canvas = el("canvas", {
      id: "mesh-canvas",
      tabindex: "0",
      role: "img",
      "aria-label": "The mesh; drag or arrow keys turn it, the wheel zooms",
      on: {
        pointerdown: (event) => this.grab(event),
        wheel: (event) => this.wheel(event),
        dblclick: () => this.fit(),
        keydown: (event) => this.key(event)
      }
    });
    pinch(this.canvas, (factor) => {
      this.camera.distance /= factor;
      this.draw();
    });
    this.onPick = () => {}; // learns the number of a vertex
    this.mesh = null;
    this.selected = -1;
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  /** Numbers of vertices: points; pairs: lines; threes: faces. `frame`: pairs of points [x, y, z] of lines around. */
  show(mesh, keep) {
    this.mesh = {...mesh, edges: edgesOf(mesh)};
    this.fresh = true;
    const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
    const used = new Set([...mesh.faces, ...mesh.lines, ...mesh.points]);
    for (const vertex of used)
      for (let i = 0; i < 3; i++) {
        const value = mesh.places[vertex * 3 + i];
        low[i] = Math.min(low[i], value);
        high[i] = Math.max(high[i], value);
      }
    this.bounds = used.size ? [...low, ...high] : null;
    if (!keep || !this.camera) this.fit();
    this.draw();
  }

  select(vertex) {
    this.selected = vertex;
    this.draw();
  }

  fit() {
    const [a, b, c, d, e, f] = this.bounds ?? [-1, -1, -1, 1, 1, 1];
    const middle = [(a + d) / 2, (b + e) / 2, (c + f) / 2];
    const radius = Math.hypot(d - a, e - b, f - c) / 2 || 1;
    this.camera = {yaw: 0.35, pitch: 0.2, middle, radius, distance: radius / Math.sin(ANGLE / 2) * 1.05};
    this.draw();
  }

  // The camera

  /** Its directions: to the right, up, and away from what it sees. */
  get axes() {
    const {yaw, pitch} = this.camera;
    const away = [Math.sin(yaw) * Math.cos(pitch), Math.sin(pitch), Math.cos(yaw) * Math.cos(pitch)];
    const right = [Math.cos(yaw), 0, -Math.sin(yaw)];
    return {right, up: cross(away, right), away};
  }

  /** By columns, as WebGL takes it. */
  get matrix() {
    const {middle, distance, radius} = this.camera, {right, up, away} = this.axes;
    const scale = 1 / Math.tan(ANGLE / 2), aspect = this.canvas.width / this.canvas.height;
    const near = Math.max(distance - radius * 4, distance / 100), far = distance + radius * 8;
    const depth = (far + near) / (near - far), more = 2 * far * near / (near - far);
    const across = scale / Math.max(aspect, 1), down = scale * Math.min(aspect, 1);
    const shift = (axis) => -dot(axis, middle), z = shift(away) - distance;
    return [0, 1, 2].flatMap((i) => [across * right[i], down * up[i], depth * away[i], -away[i]])
        .concat([across * shift(right), down * shift(up), depth * z + more, -z]);
  }

  /** Where a vertex is, in pixels of the canvas; null: behind the camera. */
  seen(vertex, matrix) {
    const place = [...this.mesh.places.slice(vertex * 3, vertex * 3 + 3), 1];
    const [x, y, , w] = [0, 1, 2, 3].map((row) => place.reduce((all, value, i) => all + matrix[i * 4 + row] * value, 0));
    return w > 0 && Number.isFinite(x / w) ? [(x / w + 1) / 2 * this.canvas.width, (1 - y / w) / 2 * this.canvas.height] : null;
  }

  grab(event) {
    const {camera} = this, from = {...camera, middle: [...camera.middle]}, {right, up} = this.axes;
    const pans = event.button > 0 || event.shiftKey;
    let moved = false;
    const move = (next) => {
      const x = next.clientX - event.clientX, y = next.clientY - event.clientY;
      moved ||= Math.hypot(x, y) > 3;
      const by = 2 * from.distance * Math.tan(ANGLE / 2) / this.canvas.clientHeight;
      if (pans)
        camera.middle = from.middle.map((value, i) => value + by * (y * up[i] - x * right[i]));
      else
        Object.assign(camera, {yaw: from.yaw - x / 150, pitch: Math.max(-1.55, Math.min(1.55, from.pitch + y / 150))});
      this.draw();
    };
    this.canvas.setPointerCapture(event.pointerId);
    this.canvas.addEventListener("pointermove", move);
    const done = (next) => {
      this.canvas.removeEventListener("pointermove", move);
      if (next.type === "pointerup" && !moved) this.pick(next);
    };
    for (const name of ["pointerup", "pointercancel"]) this.canvas.addEventListener(name, done, {once: true});
  }

  wheel(event) {
    event.preventDefault();
    this.camera.distance *= Math.exp(event.deltaY * (event.deltaMode ? 0.06 : 0.002));
    this.draw();
  }

  key(event) {
    const by = {ArrowLeft: [0.1, 0], ArrowRight: [-0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1]}[event.key];
    const zoom = {"+": 0.9, "-": 1.1}[event.key];
    if (!by && !zoom) return;
    event.preventDefault();
    event.stopPropagation();
    if (by) {
      this.camera.yaw += by[0];
      this.camera.pitch = Math.max(-1.55, Math.min(1.55, this.camera.pitch + by[1]));
    }
    if (zoom) this.camera.distance *= zoom;
    this.draw();
  }

  /** The vertex nearest to the pointer. */
  pick(event) {
    const box = this.canvas.getBoundingClientRect(), ratio = this.canvas.width / box.width, {matrix} = this;
    const at = [(event.clientX - box.left) * ratio, (event.clientY - box.top) * ratio];
    let nearest = -1, best = NEAR * ratio;
    for (let i = 0; i * 3 < this.mesh.places.length; i++) {
      const place = this.seen(i, matrix), away = place ? Math.hypot(place[0] - at[0], place[1] - at[1]) : Infinity;
      if (away <= best) [nearest, best] = [i, away];
    }
    if (nearest >= 0) this.onPick(nearest);
  }

  // Drawing

  draw() {
    if (this.planned) return;
    this.planned = requestAnimationFrame(() => {
      this.planned = 0;
      const {canvas} = this;
      if (!this.mesh || !canvas.clientWidth || !canvas.clientHeight) return;
      canvas.width = Math.round(canvas.clientWidth * devicePixelRatio);
      canvas.height = Math.round(canvas.clientHeight * devicePixelRatio);
      this.gl ??= this.begin();
      if (this.gl)
        this.drawAll();
      else
        this.drawEdges();
      canvas.dataset.drawn = this.gl ? "webgl" : "2d";
    });
  }

  /** null: this browser has no WebGL. */
  begin() {
    const gl = this.canvas.getContext("webgl2", {antialias: true, preserveDrawingBuffer: true});
    if (!gl) return null;
    this.canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    this.canvas.addEventListener("webglcontextrestored", () => {
      this.gl = null;
      this.fresh = true;
      this.draw();
    });
    const program = gl.createProgram();
    for (const [type, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.bindAttribLocation(program, 0, "place");
    gl.linkProgram(program);
    gl.useProgram(program);
    this.at = Object.fromEntries(["camera", "size", "color", "lit", "light"].map((name) => [name, gl.getUniformLocation(program, name)]));
    this.buffers = Object.fromEntries(["places", "faces", "edges", "points", "frame"].map((name) => [name, gl.createBuffer()]));
    gl.enableVertexAttribArray(0);
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.POLYGON_OFFSET_FILL);
    gl.polygonOffset(1, 1);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    return gl;
  }

  upload() {
    const {gl, mesh, buffers} = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, buffers.places);
    gl.bufferData(gl.ARRAY_BUFFER, mesh.places, gl.STATIC_DRAW);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffers.frame);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(mesh.frame.flat()), gl.STATIC_DRAW);
    for (const name of ["faces", "edges", "points"]) {
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffers[name]);
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, Uint32Array.from(mesh[name]), gl.STATIC_DRAW);
    }
    this.fresh = false;
  }

  color(name, alpha = 1) {
    const {gl} = this, [, hex] = /#(\w+)/.exec(getComputedStyle(this.canvas).getPropertyValue(name)) ?? [];
    const digits = hex?.length === 3 ? [...hex].map((one) => one + one).join("") : hex ?? "888888";
    gl.uniform4f(this.at.color, ...[0, 2, 4].map((i) => parseInt(digits.slice(i, i + 2), 16) / 255), alpha);
  }

  drawAll() {
    const {gl, mesh, buffers} = this;
    if (this.fresh) this.upload();
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.uniformMatrix4fv(this.at.camera, false, this.matrix);
    gl.uniform3fv(this.at.light, this.axes.away);
    const lines = (buffer, kind, count, first = 0) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
      gl.drawArrays(kind, first, count);
    };
    const elements = (name, kind) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffers.places);
      gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffers[name]);
      gl.drawElements(kind, mesh[name].length, gl.UNSIGNED_INT, 0);
    };
    gl.uniform1i(this.at.lit, 1);
    this.color("--accent");
    elements("faces", gl.TRIANGLES);
    gl.uniform1i(this.at.lit, 0);
    gl.uniform1f(this.at.size, 4 * devicePixelRatio);
    gl.enable(gl.BLEND);
    this.color("--text", mesh.faces.length ? EDGES : 1);
    elements("edges", gl.LINES);
    gl.disable(gl.BLEND);
    this.color("--text");
    elements("points", gl.POINTS);
    this.color("--dim");
    lines(buffers.frame, gl.LINES, mesh.frame.length);
    if (this.selected < 0) return;
    gl.disable(gl.DEPTH_TEST);
    gl.uniform1f(this.at.size, 9 * devicePixelRatio);
    this.color("--bad");
    lines(buffers.places, gl.POINTS, 1, this.selected);
    gl.enable(gl.DEPTH_TEST);
  }

  drawEdges() {
    const context = this.canvas.getContext("2d"), {matrix, mesh} = this, style = getComputedStyle(this.canvas);
    const {edges, points} = mesh;
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.strokeStyle = style.getPropertyValue("--accent");
    context.beginPath();
    for (let i = 0; i < edges.length; i += 2) {
      const from = this.seen(edges[i], matrix), to = this.seen(edges[i + 1], matrix);
      if (!from || !to) continue;
      context.moveTo(...from);
      context.lineTo(...to);
    }
    context.stroke();
    const mark = (vertex, size, color) => {
      const place = this.seen(vertex, matrix);
      context.fillStyle = style.getPropertyValue(color);
      if (place) context.fillRect(place[0] - size / 2, place[1] - size / 2, size, size);
    };
    for (const vertex of points) mark(vertex, 4, "--text");
    if (this.selected >= 0) mark(this.selected, 9, "--bad");
  }
}
