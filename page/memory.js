// SPDX-License-Identifier: MIT
// The bytes of a buffer as rows of typed columns, or in hexadecimal. Rows arrive when they are looked at: first what the trace
// alone tells of them, and then, where the device computed bytes of them, what a replay has there.

import {aborted, api} from "./api.js";
import {chip, dim, el, fill, number, press, short, size, skeleton} from "./dom.js";
import {saveRows} from "./export.js";
import {pipelineNames} from "./facts.js";
import {origin} from "./objects.js";
import {go} from "./route.js";
import {bytesOf, endOf, valuesOf} from "./reflect.js";
import {Rows} from "./rows.js";

const ROW = 20;
const MEMBERS = 300;
const LARGEST = 65536; // bytes of a block
const WINDOW = 256;    // rows of one request
const TOGETHER = 16;   // windows of which one replay tells the bytes
const PRESETS = ["hex", "vec4", "mat4", "vec3", "vec2", "float", "uint", "int", "u16"];
const BYTES = {
  u8: 1,
  i8: 1,
  x8: 1,
  u16: 2,
  i16: 2,
  f16: 2,
  x16: 2,
  half: 2,
  u32: 4,
  i32: 4,
  f32: 4,
  x32: 4,
  float: 4,
  int: 4,
  uint: 4,
  u64: 8,
  i64: 8,
  f64: 8,
  x64: 8,
  double: 8
};

/** The columns of types like "f32x3,u8x4": [{label, bytes}], or null. */
export function columnsOf(as) {
  const columns = [];
  for (const one of as.split(",")) {
    const type = one.trim();
    const simple = /^([a-z]+\d*?)(?:x(\d+))?$/.exec(type);
    const vector = /^([iu]?)vec([234])$/.exec(type), matrix = /^mat([234])$/.exec(type),
          counted = /^([ufix](?:8|16|32|64))(?:x(\d+))?$/.exec(type);
    if (vector)
      for (const letter of "xyzw".slice(0, Number(vector[2]))) columns.push({label: letter, bytes: 4});
    else if (matrix)
      for (let i = 0; i < matrix[1] ** 2; i++)
        columns.push({label: `${Math.floor(i / matrix[1])},${i % matrix[1]}`, bytes: 4});
    else {
      const [, base, many] = counted ?? simple ?? [];
      if (!BYTES[base]) return null;
      for (let i = 0; i < Number(many ?? 1); i++)
        columns.push({label: many > 1 ? `${base}.${i}` : base, bytes: BYTES[base]});
    }
  }
  return columns;
}

const knows = ({known}) => known === "yes" || known === "nobody";
/** Whether a byte is known of an answer. */
const isKnown = ({replayed, parts}, at) => replayed || parts.some((part) => at >= part.begin && at < part.end && knows(part));

export class Memory {
  constructor(box, facts, query, signal) {
    this.signal = signal;
    this.object = facts.object;
    this.at = query.at;
    this.whole = facts.creation?.args?.pCreateInfo?.size ?? 0;
    this.about = dim(size(this.whole));
    this.types = el("input", {
      class: "wide",
      placeholder: "f32x3,u8x4",
      "aria-label": "Types of the columns",
      title: "types like vec4, f32x3, u8x4, with commas for structures",
      on: {change: (event) => go({query: {as: event.target.value.trim() || null}}, {replace: true})}
    });
    this.from = el("input", {
      "aria-label": "Offset",
      title: "offset of the first row",
      inputmode: "numeric",
      on: {change: (event) => go({query: {offset: event.target.value.trim() || null, bytes: null}}, {replace: true})}
    });
    this.members = chip("members", false, () => go({query: {as: "block", stride: null}}, {replace: true}),
        {title: "as the shader names them", data: {as: "block"}});
    this.chips = PRESETS.map(
        (name) => chip(name, false,
            () => go({query: {as: name === "hex" ? null : name, stride: null}}, {replace: true}), {data: {as: name}}));
    this.box = el("div", {class: "memory", tabindex: "0", "aria-label": "Bytes"});
    this.parts = el("div", {class: "texture dim"});
    this.replay = el("div", {class: "texture dim", hidden: true});
    box.append(el("details", {class: "part", open: true}, el("summary", {}, "Bytes", this.about),
                   el("div", {class: "tools"}, this.members, this.chips, this.types, dim("at"), this.from, saveRows(this)), this.box, this.replay),
        el("details", {class: "part", open: true}, el("summary", {}, "Written by"), this.parts));
    this.origins();
    this.show(query);
  }

  show({as = "", offset, bytes, stride, block}) {
    const key = [as, offset, bytes, stride, block].join();
    if (key === this.key) return;
    this.key = key;
    this.members.hidden = !block;
    press(this.members, as === "block");
    if (as === "block" && block) return this.showBlock(block, Number(offset) || 0, key);
    this.begin = Math.max(0, Math.min(Number(offset) || 0, this.whole));
    const columns = as ? columnsOf(as) : null;
    this.types.value = as;
    this.types.setAttribute("aria-invalid", String(Boolean(as && !columns)));
    this.from.value = String(this.begin);
    for (const button of this.chips) button.setAttribute("aria-pressed", String(button.dataset.as === (as || "hex")));
    this.as = columns ? as : "";
    this.columns = columns;
    this.step = columns ? Number(stride) || columns.reduce((sum, column) => sum + column.bytes, 0) : 16;
    const end = Math.min(this.whole, this.begin + (Number(bytes) || this.whole));
    this.end = end;
    this.windows = new Map();
    this.asked = new Set(); // windows of which a replay was asked
    fill(this.box);
    const head = el("div", {class: "line head"}, el("span", {class: "off"}, "offset"),
        columns ? columns.map(({label}) => el("span", {class: "cell-value"}, label)) : null);
    if (columns) this.box.append(head);
    this.rows =
        new Rows(this.box, {extent: ROW, make: (row) => this.line(row), seen: (from, to) => this.want(from, to)});
    const span = Math.max(0, end - this.begin);
    const used = columns ? columns.reduce((sum, column) => sum + column.bytes, 0) : 1;
    // The last element may lack its padding.
    this.rows.set(columns ? Math.floor(Math.max(0, span - used + this.step) / this.step) : Math.ceil(span / 16));
    this.box.style.height = `${Math.min(520, Math.max(60, this.rows.count * ROW + 30))}px`;
  }

  /** Shows the members of a block that a shader of a pipeline has at a binding. `block` is PIPELINE/SET.BINDING. */
  async showBlock(block, offset, key) {
    for (const button of this.chips) press(button, false);
    this.types.value = "";
    this.from.value = String(offset);
    this.box.style.height = "auto";
    fill(this.box, skeleton(4));
    try {
      const [pipeline, place] = block.split("/");
      const names = await pipelineNames(pipeline, this.at);
      const {members} = names.bindings.get(place)?.block ?? {members: []};
      const bytes = Math.min(this.whole - offset, Math.max(0, ...members.map(endOf)), LARGEST);
      const answer = await this.ask({offset: String(offset), bytes});
      if (this.key !== key) return;
      const view = bytesOf(answer.hex);
      const known = (at) => isKnown(answer, offset + at);
      const shown = members.filter((member) => member.offset < bytes);
      const rows =
          shown.slice(0, MEMBERS)
              .map(
                  (member) => [el("dt", {title: `${member.type} at ${offset + member.offset}`}, member.name),
                      el("dd", {},
                          el("div", {class: "matrix"},
                              valuesOf(member, view, known)
                                  .map((line) => el("div", {},
                                           line.map((value) => el("span", {class: value === null ? "unknown" : null},
                                                        value === null ? "?"
                                                                       : short(typeof value === "bigint" ? String(value)
                                                                                                         : value)))))),
                          dim(` ${member.type}`))]);
      fill(this.box, el("dl", {class: "members"}, rows),
          shown.length > MEMBERS ? dim(`and ${number(shown.length - MEMBERS)} more members`) : null,
          rows.length ? null : dim("the shader names no members"));
    } catch (error) {
      if (this.key === key) fill(this.box, dim(error.sentence ?? String(error)));
    }
  }

  /** Asks for the bytes of rows in view. */
  want(from, to) {
    for (let number = Math.floor(from / WINDOW); number * WINDOW < to; number++) {
      if (this.windows.has(number)) continue;
      const {key, windows} = this;
      const offset = this.begin + number * WINDOW * this.step;
      const bytes = Math.min(this.end - offset, WINDOW * this.step);
      const queries = {at: this.at, offset: String(offset), bytes, as: this.as, stride: this.as ? this.step : null};
      const have = (answer) => {
        windows.set(number, answer);
        if (this.key !== key) return;
        this.rows.refresh();
        if (answer.parts && !answer.parts.every(knows)) this.wantReplayed(Math.floor(number / TOGETHER));
      };
      windows.set(number, null);
      api.json(api.path("/memory/" + this.object, queries)).then(have, (error) => have({
        error: error.sentence ?? String(error)
      }));
    }
  }

  /** The same of bytes that only a replay tells, of some windows together. */
  async wantReplayed(group) {
    if (this.asked.has(group)) return;
    this.asked.add(group);
    const {key, windows} = this, many = WINDOW * this.step;
    const offset = this.begin + group * TOGETHER * many, bytes = Math.min(this.end - offset, TOGETHER * many);
    try {
      const {hex, elements, ...rest} = await this.replayed({offset: String(offset), bytes, as: this.as, stride: this.as ? this.step : null});
      for (let i = 0; i < TOGETHER && i * many < bytes; i++)
        windows.set(group * TOGETHER + i, {
          ...rest,
          hex: hex?.slice(2 * i * many, 2 * (i + 1) * many),
          elements: elements?.slice(i * WINDOW, (i + 1) * WINDOW)
        });
      if (this.key === key) this.rows.refresh();
    } catch { /* what the trace tells stays, and says why */
    }
  }

  /** Bytes of a range as the trace tells them, or a replay where it does not tell all. Where no replay can, not all is known. */
  async ask(queries) {
    const told = await api.json(api.path("/memory/" + this.object, {at: this.at, ...queries}));
    return told.parts.every(knows) ? told : this.replayed(queries).catch(() => told);
  }

  /** Values of rows, as a file has them: null or ?? where they are not known. */
  async rowsAt(offset, bytes) {
    const answer = await this.ask({offset: String(offset), bytes, as: this.as, stride: this.as ? this.step : null});
    if (this.columns) return answer.elements.map((row) => row ?? this.columns.map(() => null));
    const pairs = (answer.hex.match(/../g) ?? []).map((pair, i) => isKnown(answer, offset + i) ? pair : "??");
    return (pairs.join("").match(/.{1,32}/g) ?? []).map((row) => [row]);
  }

  /** An answer with all bytes, as a replay has them behind the position. */
  async replayed(queries) {
    const path = api.path(`/memory/${this.object}/after/${this.at}`, queries), {signal} = this;
    const say = (...text) => {
      this.replay.hidden = false;
      fill(this.replay, text);
    };
    say(el("span", {class: "spin"}), ` playing up to ${this.at}, for bytes that the device computed`);
    try {
      await api.work(path, {signal});
      const answer = await api.json(path, {signal});
      say("Bytes that the device computed are as a replay has them.");
      return answer;
    } catch (error) {
      if (!aborted(error)) say(`No replay tells the bytes that the device computed: ${error.sentence ?? error}`);
      throw error;
    }
  }

  line(row) {
    const answer = this.windows.get(Math.floor(row / WINDOW));
    const offset = this.begin + row * this.step, within = row % WINDOW;
    const head = el("span", {class: "off"}, String(offset));
    if (!answer) return el("div", {class: "line"}, head, dim("…"));
    if (answer.error) return el("div", {class: "line"}, head, within === 0 ? answer.error : "");
    if (this.columns) {
      const values = answer.elements[within] ?? [];
      return el("div", {class: "line", data: {offset}}, head,
          values.map((value) => el("span", {class: value === null ? "cell-value unknown" : "cell-value"},
                         value === null ? "?" : short(value))));
    }
    const from = within * 16, bytes = answer.hex.slice(from * 2, from * 2 + 32).match(/../g) ?? [];
    const cells = [], letters = [];
    bytes.forEach((pair, i) => {
      const sure = isKnown(answer, offset + i);
      const value = parseInt(pair, 16);
      cells.push((i && i % 4 === 0 ? "  " : " ") + (sure ? pair : "??"));
      letters.push(sure && value > 31 && value < 127 ? String.fromCharCode(value) : "·");
    });
    return el(
        "div", {class: "line", data: {offset}}, head, el("span", {}, cells.join("").padEnd(52)), dim(letters.join("")));
  }

  async origins() {
    try {
      const answer = await api.json(api.path("/memory/" + this.object, {at: this.at, parts: true}));
      const shown = answer.parts.slice(0, 200);
      fill(this.parts, answer.not_followed ? el("div", {}, answer.not_followed) : null,
          shown.map((part) => el("div", {},
                        el("span", {class: "mono"}, `${number(part.begin)} to ${number(part.end)}  `), origin(part))),
          answer.parts.length > shown.length ? `and ${number(answer.parts.length - shown.length)} more ranges` : null);
    } catch (error) { fill(this.parts, error.sentence ?? String(error)); }
  }
}
