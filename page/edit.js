// SPDX-License-Identifier: MIT
// The code of a shader beside the picture of a draw, to be changed. The address has the changed code, so a link shows the
// same picture again.

import {aborted, api, ApiError} from "./api.js";
import {byId, chip, dim, el, fill, plain, press, shaderLink} from "./dom.js";
import {frameOf, go, isCommand, route} from "./route.js";

const MOST_BYTES = 256 << 10; // of code, as the server takes it
const MOST_LINK = 64 << 10;   // characters of it in an address
const MOST_PIPELINES = 16;    // that are looked at for a draw
const KINDS = {
  VERTEX: "vert",
  TESSELLATION_CONTROL: "tesc",
  TESSELLATION_EVALUATION: "tese",
  GEOMETRY: "geom",
  FRAGMENT: "frag",
  COMPUTE: "comp",
  TASK: "task",
  MESH: "mesh",
  RAYGEN: "rgen",
  INTERSECTION: "rint",
  ANY_HIT: "rahit",
  CLOSEST_HIT: "rchit",
  MISS: "rmiss",
  CALLABLE: "rcall"
};
export const NO_EDIT = {
  edit: null,
  as: null,
  code: null
};

// ---- code in an address: deflated, in base64 for addresses

async function pack(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let letters = "";
  for (const byte of bytes) letters += String.fromCharCode(byte);
  return btoa(letters).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

async function unpack(packed) {
  const wrong = () => new ApiError(400, "The code in the address is damaged, or too long.");
  if (packed.length > MOST_LINK) throw wrong();
  try {
    const letters = atob(packed.replace(/-/g, "+").replace(/_/g, "/"));
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
    const parts = [];
    for (let all = 0;;) {
      const {done, value} = await reader.read();
      if (done) return await new Blob(parts).text();
      all += value.length;
      if (all > MOST_BYTES) {
        reader.cancel().catch(() => {});
        throw wrong();
      }
      parts.push(value);
    }
  } catch { throw wrong(); }
}

/** A text of the server in which the code that it was sent has no name. */
export const theCode = (text) => text.replace(/\b[0-9a-f]{16}\.\w+/g, "the code");

// ---- which draw

const DRAWS = /^vkCmdDraw/;

/** A draw with the shader: at `at`, if that has it; else the first one of its frame, or of all. Null: there is none. */
export async function drawWith(shader, at, options) {
  const users = [...new Set(shader.uses.map(({object}) => object))].filter((object) => /^Vk(Pipeline|ShaderEXT):/.test(object));
  const ask = async (queries) => {
    let first = null;
    for (const object of users.slice(0, MOST_PIPELINES)) {
      const lines = await api.lines(api.path(`/objects/${object}/uses`, queries), options);
      for (const {position, command} of lines) {
        if (!DRAWS.test(command) || !isCommand(position)) continue;
        if (position === at) return at;
        first ??= position;
      }
    }
    return first;
  };
  return (at && await ask({frames: frameOf(at)})) || ask({});
}

export class Edit {
  constructor() {
    this.pane = byId("edit-pane");
    this.text = el("textarea", {
      id: "edit-text",
      spellcheck: "false",
      autocomplete: "off",
      wrap: "off",
      "aria-label": "Code",
      on: {
        input: () => this.changed(),
        scroll: () => { this.gutter.scrollTop = this.text.scrollTop; },
        keydown: (event) => {
          if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          this.apply();
        }
      }
    });
    this.gutter = el("div", {id: "edit-lines", "aria-hidden": "true"});
    this.says = el("div", {id: "edit-says", role: "status"});
    this.title = el("span", {});
    this.ways = ["glsl", "spirv"].map(
        (way) => chip(way === "glsl" ? "GLSL" : "SPIR-V", false,
            () => go({query: {as: way === "glsl" ? null : way, code: null}}), {data: {as: way}}));
    this.try = chip(["apply ", el("kbd", {}, "Ctrl ⏎")], null, () => this.apply(), {id: "edit-apply"});
    this.own = chip("undo all", null, () => this.undo(), {id: "edit-undo", title: "the trace's own code"});
    fill(this.pane,
        el("h2", {}, this.title, el("span", {class: "chips"}, this.ways,
            chip("close", null, () => go({query: NO_EDIT}), {id: "edit-close"}))),
        el("div", {class: "edit-box"}, this.gutter, this.text), this.says,
        el("div", {class: "tools"}, this.try, this.own, this.about = dim()));
    this.wanted = "";
  }

  /** Whether the picture is made with other code. */
  get isOn() { return Boolean(route.query.edit && route.query.code); }

  /** Shows the code that the address names; nothing where it names none. */
  show({edit, as, code}) {
    byId("commands").classList.toggle("edits", Boolean(edit));
    this.pane.hidden = !edit;
    byId("state-pane").hidden = Boolean(edit);
    const wanted = edit ? [edit, as, code].join() : "";
    if (wanted === this.wanted) return;
    this.wanted = wanted;
    this.stop?.abort();
    if (!edit) return;
    this.stop = new AbortController();
    this.load(edit, as, code, this.stop.signal).catch((error) => {
      if (!aborted(error)) this.say(error);
    });
  }

  /** Nobody looks any more. */
  leave() {
    this.stop?.abort();
    this.wanted = "";
  }

  shader(hash, as, signal) { return api.json(api.path("/shaders/" + hash, {glsl: as !== "spirv"}), {signal}); }

  async load(hash, as, code, signal) {
    for (const button of this.ways) press(button, button.dataset.as === (as ?? "glsl"));
    fill(this.title, "Shader ", shaderLink(hash));
    fill(this.says);
    this.box(false);
    const shader = await this.shader(hash, as, signal);
    const own = (as === "spirv" ? shader.spirv : shader.glsl) ?? "";
    const stages = [...new Set(shader.stages.map(({stage}) => plain(stage, "VK_SHADER_STAGE_").toLowerCase()))];
    const text = code ? await unpack(code) : own;
    signal.throwIfAborted();
    fill(this.title, `${stages.join(", ").replace(/_/g, " ")} shader `.trimStart(), shaderLink(hash));
    this.old = own;
    this.applied = text;
    if (this.text.value !== text) this.text.value = text;
    this.box(true);
    this.changed();
  }

  box(there) {
    this.text.disabled = !there;
    if (!there) this.try.disabled = this.own.disabled = true;
  }

  /** The user has typed. */
  changed() {
    const lines = this.text.value.split("\n").length;
    if (this.gutter.childElementCount !== lines)
      fill(this.gutter, Array.from({length: lines}, (_, i) => el("i", {}, i + 1)));
    this.try.disabled = this.text.value === this.applied;
    this.own.disabled = this.text.value === this.old;
    fill(this.about, this.isOn ? "the address has this code" : "");
  }

  async apply() {
    const {value} = this.text;
    if (this.text.disabled || value === this.applied) return;
    if (value === this.old) return go({query: {code: null}});
    const code = await pack(value);
    if (code.length > MOST_LINK || new Blob([value]).size > MOST_BYTES)
      return this.say(new ApiError(413,
          `This code is too long: it has ${Math.ceil(code.length / 1024)} KiB in an address, which has ${
              MOST_LINK >> 10} at most, and ${MOST_BYTES >> 10} KiB as text.`));
    go({query: {code, before: null}});
  }

  undo() {
    this.text.value = this.old;
    this.changed();
    go({query: {code: null}});
  }

  /** What a picture is asked for: SHADER=CODE, which the server then has; null where nothing is changed. */
  async replacement({edit, as, code}, signal) {
    if (!edit || !code) return null;
    const text = await unpack(code);
    let kind = "spvasm";
    if (as !== "spirv") {
      const {stages} = await this.shader(edit, as, signal);
      kind = KINDS[plain(stages[0]?.stage ?? "", "VK_SHADER_STAGE_").replace(/_(KHR|EXT|NV)$/, "")] ?? "frag";
    }
    return `${edit}=${await api.sendCode(kind, text, signal)}`;
  }

  /** What is wrong with the code; without an error, nothing is. */
  say(error = null) {
    const log = theCode(error?.log ?? "").split("\n").map((line) => line.trim()).filter(Boolean);
    const bad = new Set();
    const rows = log.map((line) => {
      const found = /^\w+: (?:the code:)?(\d+): (.*)$/.exec(line);
      if (!found) return el("p", {}, line);
      const number = Number(found[1]);
      bad.add(number);
      return el("p", {}, chip(`line ${number}`, null, () => this.reveal(number)), " ", found[2]);
    });
    fill(this.says, error ? el("strong", {}, theCode(error.sentence ?? String(error))) : null, rows);
    [...this.gutter.children].forEach((line, i) => line.classList.toggle("bad", bad.has(i + 1)));
  }

  reveal(number) {
    const lines = this.text.value.split("\n"), from = lines.slice(0, number - 1).join("\n").length + (number > 1 ? 1 : 0);
    this.text.focus();
    this.text.setSelectionRange(from, from + (lines[number - 1]?.length ?? 0));
    this.text.scrollTop = Math.max(0, (number - 4) * 18);
  }
}
