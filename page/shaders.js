// SPDX-License-Identifier: MIT
// Shaders: the list, a search in their code, and the text of one.

import {aborted, api} from "./api.js";
import {byId, chip, count, dim, el, fill, handle, later, notice, plain, size, skeleton} from "./dom.js";
import {saveShader} from "./export.js";
import {drawWith} from "./edit.js";
import {left} from "./links.js";
import {go} from "./route.js";
import {Rows} from "./rows.js";

const LINE = 18;
const KEYWORDS =
    "Op\\w+|void|float|int|uint|bool|vec[234]|mat[234]|uniform|layout|in|out|struct|if|else|for|return|const";
const WORDS = new RegExp(`(;.*$|//.*$)|("(?:[^"\\\\]|\\\\.)*")|(%\\w+)|\\b(${KEYWORDS})\\b|\\b(\\d[\\w.]*)\\b`, "g");
const CLASSES = ["c", "s", "v", "k", "num"];

export class Shaders {
  constructor() {
    this.box = byId("shader-list");
    this.rows = new Rows(this.box, {extent: 24, make: (row) => this.row(row)});
    this.items = [];
    this.text = el("input", {
      type: "search",
      class: "wide",
      placeholder: "search in the code",
      "aria-label": "Search in the code",
      id: "shader-search",
      on: {input: later(250, () => go({query: {search: this.text.value || null}}, {replace: true}))}
    });
    this.glsl = chip("GLSL", false,
        () => go({query: {glsl: this.glsl.getAttribute("aria-pressed") === "true" ? null : "1", line: null}},
            {replace: true}),
        {id: "shader-glsl", title: "as GLSL, by SPIRV-Cross"});
    fill(byId("shader-tools"), this.text);
    this.box.addEventListener("click", (event) => {
      const row = event.target.closest("[data-row]");
      if (row) this.choose(Number(row.dataset.row));
    });
    this.box.addEventListener("keydown", (event) => {
      const now = this.items.findIndex((item) => this.isChosen(item));
      const to = {ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: this.items.length - 1}[event.key];
      if (to === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      this.choose(Math.max(0, Math.min(to, this.items.length - 1)));
    });
  }

  isChosen({hash, line}) {
    return Boolean(this.selected) && hash.startsWith(this.selected) && (line === undefined || String(line) === this.at);
  }

  choose(row) {
    const item = this.items[row];
    if (item) go({subject: item.hash, query: {line: item.line ?? null}});
  }

  async show(hash, query) {
    this.stop?.abort();
    const {signal} = (this.stop = new AbortController());
    this.selected = hash;
    this.at = query.line ?? "";
    if (document.activeElement !== this.text) this.text.value = query.search ?? "";
    this.glsl.setAttribute("aria-pressed", String(query.glsl === "1"));
    await Promise.all([this.list(query, signal), this.code(hash, query, signal)].map((work) => work.catch((error) => {
      if (!aborted(error) && !signal.aborted) throw error;
    })));
  }

  /** Nobody looks any more. */
  leave() { this.stop?.abort(); }

  async list({search, glsl}, signal) {
    const key = `${search ?? ""} ${search ? glsl ?? "" : ""}`;
    if (key !== this.key) {
      try {
        const answer =
            await api.json(api.path("/shaders", search ? {search, glsl, "ignore-case": true} : {}), {signal});
        this.items = search ? answer.matches.map((match) => ({...match, hash: match.shader})) : answer.shaders;
        this.key = key;
      } catch (error) {
        if (aborted(error)) throw error;
        this.items = [];
        return this.message(notice("No shaders", error.sentence ?? String(error)));
      }
    }
    signal.throwIfAborted();
    if (this.items.length)
      this.message();
    else
      this.message(notice(search ? "No line has that" : "No shaders",
          search ? "The search looks at the text of all shaders, their names and entry points."
                 : "The trace makes none."));
    this.rows.set(this.items.length);
    const row = this.items.findIndex((item) => this.isChosen(item));
    if (row >= 0) this.rows.reveal(row);
  }

  message(...parts) {
    byId("shader-message").hidden = !parts.length;
    this.box.hidden = parts.length > 0;
    fill(byId("shader-message"), parts);
  }

  row(index) {
    const item = this.items[index];
    const more = "line" in item ? [dim(item.line ? `:${item.line}` : ""), el("span", {class: "what"}, item.text)] : [
      el("span", {class: "what"},
          [...new Set(item.stages.map(({stage}) => plain(stage, "VK_SHADER_STAGE_").toLowerCase()))].join(", ") ||
              item.code),
      item.names[0] ? el("span", {class: "label"}, item.names[0]) : null,
      el("span", {class: "t"}, count(item.pipelines.length, "pipeline"), " · ", size(item.bytes))
    ];
    return el("div",
        {class: "row", role: "option", "aria-selected": String(this.isChosen(item)), data: {listed: item.hash}},
        el("span", {}, item.hash.slice(0, 8)), more);
  }

  async code(hash, {glsl, line}, signal) {
    const box = byId("shader-view");
    const key = `${hash} ${glsl ?? ""}`;
    if (!hash) {
      this.shown = key;
      return fill(box, notice("Choose a shader", "Its code, and what uses it, stand here."));
    }
    if (key !== this.shown) {
      const wait = setTimeout(() => {
        if (!signal.aborted) fill(box, skeleton(12));
      }, 120);
      try {
        const shader = await api.json(api.path("/shaders/" + hash, {glsl: glsl === "1"}), {signal});
        signal.throwIfAborted();
        this.draw(box, shader);
        this.shown = key;
      } catch (error) {
        if (aborted(error) || signal.aborted) throw error;
        this.shown = "";
        return fill(box, el("div", {class: "tools"}, el("b", {class: "mono"}, hash), this.glsl),
            notice("No text", error.sentence ?? String(error), glsl ? "Its SPIR-V may have one." : ""));
      } finally { clearTimeout(wait); }
    }
    if (line && this.lines) {
      this.hit = Number(line) - 1;
      this.lines.refresh();
      this.lines.reveal(this.hit);
    }
  }

  /** Leads to the picture of a draw with the shader, where its code can be changed. */
  edit(shader) {
    const button = chip("edit", null, async () => {
      const {signal} = this.stop;
      button.disabled = true;
      const at = await drawWith(shader, left.at, {signal}).catch(() => null);
      if (signal.aborted) return;
      if (at)
        go({view: "commands", subject: at, query: {edit: shader.hash}}, {fresh: true});
      else
        button.title = button.textContent = "no draw has it";
    }, {id: "shader-edit", title: "change the code beside the picture of a draw"});
    return button;
  }

  draw(box, shader) {
    const uses = el("dl", {},
        shader.uses.slice(0, 40).map(
            ({object,
              name,
              via,
              stage,
              entry,
              constants}) => [el("dt", {}, stage ? plain(stage, "VK_SHADER_STAGE_").toLowerCase() : "module"),
                el("dd", {}, handle(object), name ? el("span", {class: "label"}, ` “${name}”`) : null,
                    via ? [" via ", handle(via)] : null, entry ? ` ${entry}` : "",
                    constants?.length ? dim(` ${constants.map(({id, value}) => `${id} = ${value}`).join(", ")}`)
                                      : null)]));
    const text = shader.glsl ?? shader.spirv;
    const lines = (text ?? "").replace(/\n$/, "").split("\n");
    const code = el("div", {class: "code", id: "code", tabindex: "0", "aria-label": "Code"});
    fill(box,
        el("div", {class: "tools"}, el("b", {class: "mono"}, shader.hash), dim(`${shader.code}, ${size(shader.bytes)}`),
            shader.code === "spirv" ? [this.glsl, this.edit(shader)] : null, saveShader(shader, text)),
        el("details", {class: "part"}, el("summary", {}, "Used by", dim(count(shader.uses.length, "object"))), uses),
        text ? code : notice("No text", "A driver's binary has none."));
    this.hit = -1;
    this.lines = text ? new Rows(code, {
      extent: LINE,
      make: (row) => el("div", {class: row === this.hit ? "line hit" : "line", data: {n: row + 1}}, colored(lines[row]))
    })
                      : null;
    this.lines?.set(lines.length);
    box.dataset.shader = shader.hash;
  }
}

/** A line of code with its words in colors. */
export function colored(line) {
  const parts = [];
  let end = 0;
  for (const match of line.slice(0, 2000).matchAll(WORDS)) {
    // In GLSL a semicolon ends a statement; in SPIR-V it begins a comment at the front of a line.
    if (match[1]?.startsWith(";") && match.index > 0) continue;
    parts.push(line.slice(end, match.index),
        el("span", {class: CLASSES[match.slice(1).findIndex((group) => group !== undefined)]}, match[0]));
    end = match.index + match[0].length;
  }
  return [...parts, line.slice(end)];
}
