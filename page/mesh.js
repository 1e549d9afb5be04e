// SPDX-License-Identifier: MIT
// The vertices of the selected draw, in the place of the picture: a mesh that one can turn, and rows with attributes and outputs. A replay
// finds them.

import {aborted, api} from "./api.js";
import {chip, count, dim, el, fill, handle, notice, number, plain, short} from "./dom.js";
import {saveText} from "./export.js";
import {Segment} from "./menu.js";
import {MeshView} from "./mesh_view.js";
import {go, isCommand} from "./route.js";
import {Rows} from "./rows.js";

const MOST = 50000; // rows that are asked for
const LINE = 20;
const WIDTH = 12; // characters of a number
const POSITION = 0; // the built-in
const OFF = {mesh: null, row: null, draw: null};
/* As the primitives of a topology follow each other: rows of one, how far apart, which of them count. */
const SHAPES = {
  LINE_LIST: [2, 2, [0, 1]],
  LINE_STRIP: [2, 1, [0, 1]],
  TRIANGLE_LIST: [3, 3, [0, 1, 2]],
  TRIANGLE_STRIP: [3, 1, [0, 1, 2]],
  TRIANGLE_FAN: [3, 1, [1, 2]],
  LINE_LIST_WITH_ADJACENCY: [4, 4, [1, 2]],
  LINE_STRIP_WITH_ADJACENCY: [4, 1, [1, 2]],
  TRIANGLE_LIST_WITH_ADJACENCY: [6, 6, [0, 2, 4]],
  TRIANGLE_STRIP_WITH_ADJACENCY: [6, 2, [0, 2, 4]]
};

/** The rows of each primitive; a restart ends a strip. */
export function primitivesOf(topology, rows) {
  const [needs, step, places] = SHAPES[topology] ?? [1, 1, [0]], found = [];
  for (let begin = 0, i = 0; i <= rows.length; i++) {
    if (i < rows.length && rows[i].vertex !== null) continue;
    const turns = topology.startsWith("TRIANGLE_STRIP"); // in every second triangle of a strip the last two change places
    for (let at = begin, odd = false; at + needs <= i; at += step, odd = !odd) {
      const of = places.map((place) => at + place);
      if (turns && odd) of.push(...of.splice(1, 2).reverse());
      if (topology === "TRIANGLE_FAN") of.push(begin);
      found.push(of);
    }
    begin = i + 1;
  }
  return found;
}

/** The corners of the clip volume, as pairs: x and y from -1 to 1, z from 0, which is near, to -1. */
function clipVolume() {
  const lines = [], corner = (i) => [i & 1 ? 1 : -1, i & 2 ? 1 : -1, i & 4 ? -1 : 0];
  for (let i = 0; i < 8; i++)
    for (const bit of [1, 2, 4])
      if (!(i & bit)) lines.push(corner(i), corner(i | bit));
  return lines;
}

export class Mesh {
  constructor() {
    Object.assign(this, {name: "mesh", title: "the vertices of the draw", wanted: "", head: null, lines: []});
    this.view = new MeshView();
    this.view.onPick = (vertex) => go({query: {row: String(vertex)}}, {replace: true});
    this.side = new Segment([
      {name: "out", text: "out", id: "mesh-out", title: "Position, divided by w: the box is what is seen"},
      {name: "in", text: "in", id: "mesh-in", title: "an attribute, as the vertex shader gets it"}
    ], (name) => go({query: {mesh: name === "in" ? name : null}}, {replace: true}), {"aria-label": "Which positions"});
    this.attribute = el("select", {id: "mesh-attribute", "aria-label": "Attribute", on: {change: () => this.build(false)}});
    const field = (name, label) => el("label", {class: "held"}, label + " ", el("input", {
      id: "mesh-" + name, class: "step", type: "number", min: 0, on: {change: (event) => go({query: {[name]: event.target.value || null, row: null}}, {replace: true})}
    }));
    this.instance = field("instance", "instance");
    this.draw = field("draw", "draw");
    this.says = el("span", {id: "mesh-says", role: "status"});
    this.top = el("div", {class: "mesh-head", "aria-hidden": "true"});
    this.table = el("div", {
      id: "mesh-rows", tabindex: "0", role: "grid", "aria-label": "Vertices",
      on: {click: (event) => this.click(event), keydown: (event) => this.key(event), scroll: () => { this.top.scrollLeft = this.table.scrollLeft; }}
    });
    this.rows = new Rows(this.table, {extent: LINE, make: (row) => this.make(row)});
    this.error = el("div", {class: "says", hidden: true});
    this.box = el("div", {class: "mesh", id: "mesh", hidden: true},
        el("div", {class: "tools"}, this.side.box, this.attribute, this.draw, this.instance,
            chip("fit", null, () => this.view.fit(), {title: "show all of it (double click)"}), this.says,
            el("span", {class: "saves"}, chip("CSV", null, () => this.saveRows(), {title: "save the rows", data: {save: "csv"}}),
                chip("OBJ", null, () => this.saveObj(), {title: "save what is shown", data: {save: "obj"}}))),
        el("div", {class: "mesh-stage"}, this.view.canvas, this.error), this.top, this.table);
  }

  /** For picture.js. */
  show(position, query, signal) {
    const {instance, draw, row} = query;
    const wanted = [position, instance, draw].join();
    this.side.set(query.mesh === "in" ? "in" : "out", () => true);
    this.shown = query.mesh === "in" ? "in" : "out";
    this.row = row === undefined || row === null ? -1 : Number(row);
    if (wanted === this.wanted && this.head) {
      this.build(true);
      return;
    }
    this.wanted = wanted;
    this.at = position;
    this.load({rows: `0-${MOST - 1}`, instance, draw}, signal);
  }

  leave() { this.wanted = ""; }

  async load(queries, signal) {
    const keep = this.head !== null;
    this.box.classList.add("old");
    this.error.hidden = true;
    try {
      if (!isCommand(this.at)) throw Object.assign(new Error("A draw has vertices: choose one."), {status: 404});
      const path = api.path("/mesh/" + this.at, queries);
      await api.work(path, {signal});
      const [first, ...lines] = await api.lines(path, {signal});
      this.head = first.mesh;
      this.lines = lines;
      this.fillTools();
      this.build(keep && this.kept === this.head.topology);
      this.kept = this.head.topology;
      this.box.classList.remove("old");
      this.box.dataset.loaded = this.at;
    } catch (error) {
      if (aborted(error) || signal.aborted) return;
      this.head = null;
      this.lines = [];
      this.rows.set(0);
      fill(this.top);
      fill(this.says);
      delete this.box.dataset.loaded;
      this.error.hidden = false;
      const again = ["instance", "draw"].some((name) => queries[name]) ? chip("the first one", null, () => go({query: {...OFF, instance: null}}, {replace: true})) : null;
      fill(this.error, notice("No vertices", error.sentence ?? error.message, again));
    }
  }

  fillTools() {
    const {head} = this;
    const set = (label, value, count, first) => {
      label.hidden = count < 2;
      Object.assign(label.lastChild, {value, min: first, max: first + count - 1});
    };
    set(this.instance, head.instance, head.instances, head.first_instance);
    set(this.draw, head.draw, head.draws, 0);
    const usable = head.inputs.map((input, i) => ({input, i})).filter(({input}) => input.components > 1);
    const chosen = usable.find(({input}) => /pos/i.test(input.name ?? "")) ?? usable[0];
    fill(this.attribute, usable.map(({input, i}) => el("option", {value: i, selected: i === chosen?.i}, input.name ?? `location ${input.location}`)));
    this.columns = [
      ...head.inputs.map((input, i) => ({side: "in", i, name: input.name ?? `location ${input.location}`, components: input.components,
        about: [plain(input.format ?? "", "VK_FORMAT_"), `binding ${input.binding}`, input.rate === "instance" && `of instances, divisor ${input.divisor}`].filter(Boolean).join(", ")})),
      ...head.outputs.map((output, i) => ({side: "out", i, name: output.name, components: output.components,
        about: output.location === null ? "built-in" : `location ${output.location}`}))
    ];
    const cell = (text, width, more = {}) => {
      const made = el("span", more, text);
      made.style.width = `${width}ch`;
      return made;
    };
    fill(this.top, cell("row", 7), cell("index", 9), cell("vertex", 9),
        this.columns.map(({side, name, components, about}) => cell([dim(side + " "), name], Math.max(components, 1) * WIDTH, {title: about, class: side})));
    this.rows.set(this.lines.length);
  }

  // The mesh

  /** The place of a row, or null. */
  placeOf(row) {
    if (this.shown === "in") {
      const [x, y, z = 0] = row.in?.[Number(this.attribute.value)] ?? [];
      return [x, y, z].every(Number.isFinite) ? [x, y, z] : null;
    }
    const [x, y, z, w] = row.out?.[this.position] ?? [];
    return w > 0 && [x, y, z].every(Number.isFinite) ? [x / w, this.down * y / w, -z / w] : null; // as one looks at the screen
  }

  build(keep) {
    const {head, lines} = this;
    if (!head) return;
    this.down = (head.viewport?.height ?? 1) < 0 ? 1 : -1; // which way y goes
    this.position = head.outputs.findIndex(({built_in: number}) => number === POSITION);
    this.attribute.hidden = this.shown !== "in" || !this.attribute.options.length;
    const places = new Float32Array(lines.length * 3), has = new Uint8Array(lines.length);
    lines.forEach((row, i) => {
      const place = this.placeOf(row);
      if (!place) return;
      places.set(place, i * 3);
      has[i] = 1;
    });
    const all = primitivesOf(head.topology, lines), whole = all.filter((rows) => rows.every((row) => has[row]));
    const of = (length) => whole.filter((rows) => rows.length === length).flat();
    this.primitives = whole;
    const form = [this.wanted, this.shown, this.attribute.value].join();
    if (form !== this.form)
      this.view.show({places, faces: of(3), lines: of(2), points: of(1), frame: this.shown === "out" ? clipVolume() : []}, keep && this.formed === this.shown);
    Object.assign(this, {form, formed: this.shown});
    this.box.dataset.bounds = this.view.bounds?.map(short).join(" ") ?? "";
    this.box.dataset.primitives = whole.length;
    this.say(all.length - whole.length);
    this.select();
  }

  say(lacking) {
    const {head, lines} = this, name = {1: "point", 2: "line", 3: "triangle"}[this.primitives[0]?.length] ?? "primitive";
    const parts = [
      lines.length < head.count && `the first ${number(lines.length)} of ${number(head.count)} rows`, count(this.primitives.length, name),
      lacking && `${number(lacking)} ${this.shown === "out" ? "behind the eye, or not shaded" : "without values"}`,
      this.shown === "out" && head.no_outputs && `no outputs: ${head.no_outputs}`
    ];
    fill(this.says, parts.filter(Boolean).join(", "));
  }

  // The rows

  make(i) {
    const row = this.lines[i];
    const made = el("div", {class: "mesh-row", role: "row", "aria-selected": String(i === this.row)});
    const cell = (text, width, more) => {
      const span = el("span", {role: "gridcell", ...more}, text);
      span.style.width = `${width}ch`;
      return span;
    };
    made.append(cell(number(row.row), 7, {class: "dim"}), cell(row.index === null ? "–" : String(row.index), 9),
        cell(row.restart ? "restart" : row.vertex === null ? "–" : String(row.vertex), 9, row.restart ? {class: "dim"} : {}));
    for (const {side, i: place, components} of row.restart ? [] : this.columns) {
      const values = row[side]?.[place];
      made.append(cell(Array.from({length: components}, (_, k) => el("span", {}, values ? short(values[k]) : "–")), Math.max(components, 1) * WIDTH, {class: side}));
    }
    return made;
  }

  select() {
    this.rows.refresh();
    if (this.row >= 0 && this.row < this.lines.length) this.rows.reveal(this.row);
    this.view.select(this.row >= 0 && this.row < this.lines.length && this.lines[this.row].vertex !== null ? this.row : -1);
  }

  click(event) {
    const row = event.target.closest(".mesh-row");
    if (row) go({query: {row: row.dataset.row}}, {replace: true});
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.table.clientHeight / LINE) - 1), last = this.lines.length - 1;
    const to = {ArrowDown: this.row + 1, ArrowUp: this.row - 1, PageDown: this.row + page, PageUp: this.row - page, Home: 0, End: last}[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    go({query: {row: String(Math.max(0, Math.min(last, to)))}}, {replace: true});
  }

  // Files

  saveRows() {
    const head = ["row", "index", "vertex", ...this.columns.flatMap(({side, name, components}) => Array.from({length: components}, (_, i) => `${side} ${name}.${i}`))];
    const lines = this.lines.map((row) => [row.row, row.index, row.restart ? "" : row.vertex,
      ...this.columns.flatMap(({side, i, components}) => Array.from({length: components}, (_, k) => row[side]?.[i]?.[k] ?? ""))].map((value) => value ?? "").join());
    saveText([this.at, "mesh"], ".csv", [head.map((name) => (/[",]/.test(name) ? `"${name.replaceAll("\"", "\"\"")}"` : name)).join(), ...lines].join("\r\n") + "\r\n", "text/csv");
  }

  /** As the verb writes it: outputs are normalized device coordinates. */
  saveObj() {
    const numbers = new Map(), lines = [`# ${this.at}, instance ${this.head.instance}`], faces = [];
    const numberOf = (row) => {
      const {vertex} = this.lines[row];
      if (!numbers.has(vertex)) {
        const [x, y, z] = this.placeOf(this.lines[row]);
        numbers.set(vertex, numbers.size + 1);
        lines.push(`v ${[x, this.shown === "out" ? this.down * y : y, this.shown === "out" ? -z : z].join(" ")}`);
      }
      return numbers.get(vertex);
    };
    for (const rows of this.primitives) faces.push(`${{1: "p", 2: "l", 3: "f"}[rows.length]} ${rows.map(numberOf).join(" ")}`);
    saveText([this.at, this.shown], ".obj", [...lines, ...faces].join("\n") + "\n", "text/plain");
  }
}
