// SPDX-License-Identifier: MIT
// The history of the pinned texel: which commands of the frame wrote it, from what to what. A replay finds it.

import {aborted, api} from "./api.js";
import {chip, count, el, fill, handle, place, plain, press, short} from "./dom.js";
import {comparePositions, frameOf, go, route} from "./route.js";
import {Rows} from "./rows.js";

const ROW = 22;
const PATIENT_MS = 300;

/** What the address says of a pin, {x, y}, or null. */
export function pinned({pin = ""}) {
  const found = /^(\d+),(\d+)$/.exec(pin);
  return found && {x: Number(found[1]), y: Number(found[2])};
}

/** What the address gets when a texel is pinned in the picture of a source. */
export function pinOf(texel, source) {
  if (!texel) return {pin: null, of: null, aspect: null};
  const {image, level, layer, name} = source ?? {};
  const aspect = name === "depth" || name === "stencil" ? name : null;
  return {
    pin: `${texel.x},${texel.y}`,
    of: image ? image + (level || layer ? `,${level ?? 0},${layer ?? 0}` : "") : null,
    aspect
  };
}

export class History {
  /** `resized()` makes the picture fit at once, so that the next click is where it seems to be. */
  constructor(resized) {
    Object.assign(this, {resized, path: "", lines: [], shown: [], at: "", end: null, texel: null, open: false});
    this.title = el("span");
    this.share = el("span", {class: "dim"});
    this.all = chip("all", false, () => go({query: {all: route.query.all === "1" ? null : "1"}}, {replace: true}),
        {title: "also commands that leave the texel as it is", id: "history-all"});
    const step = (text, by, title) => chip(text, null, () => this.step(by), {title, "aria-label": title});
    this.list = el("div", {
      id: "history-list",
      role: "listbox",
      tabindex: "0",
      "aria-label": "History of the texel",
      on: {keydown: (event) => this.key(event), click: (event) => this.click(event)}
    });
    this.says = el("div", {id: "history-says", role: "status", hidden: true});
    this.box = el("section", {id: "history", "aria-label": "History of the texel", hidden: true},
        el("div", {class: "history-head"}, this.title, this.share,
            el("span", {class: "chips"}, step("‹", -1, "previous command that changed it (,)"),
                step("›", 1, "next command that changed it (.)"), this.all,
                chip("close", null, () => this.close(), {title: "unpin (Esc)", id: "history-close"}))),
        this.says, this.list);
    this.rows = new Rows(this.list, {extent: ROW, make: (row) => this.make(this.shown[row])});
  }

  /** Shows the history of what the address has pinned at a position. */
  show(position, query) {
    const texel = pinned(query);
    this.at = position;
    // It stays where it is while one pins other texels, so the picture does, too.
    this.setOpen(this.open || Boolean(texel));
    if (!texel) return this.clear();
    press(this.all, query.all === "1");
    const frame = frameOf(position);
    // All rows are asked for: the replay is the same.
    const path = api.path(
        "/pixel/" + frame, {target: query.of, aspect: query.aspect, all: true, xy: `${texel.x},${texel.y}`});
    if (path === this.path && this.whole === (query.all === "1")) return this.mark();
    this.whole = query.all === "1";
    if (path === this.path) return this.list.hidden ? undefined : this.fill();
    this.leave();
    this.path = path;
    this.load(path, texel, frame);
  }

  /** Nobody looks any more. */
  leave() {
    this.stop?.abort();
    this.stop = null;
    this.path = "";
    this.lines = [];
  }

  clear() {
    this.leave();
    delete this.box.dataset.loaded;
    delete this.box.dataset.failed;
    fill(this.title, el("span", {class: "dim"}, "a click pins a texel: what painted it is listed here"));
    fill(this.share);
    this.say();
  }

  setOpen(open) {
    if (open === this.open) return;
    this.open = open;
    this.box.hidden = !open;
    this.resized();
  }

  /** Closes the list, and unpins. */
  close() {
    this.setOpen(false);
    go({query: pinOf(null)}, {replace: true});
  }

  async load(path, texel, frame) {
    this.stop = new AbortController();
    const {signal} = this.stop;
    delete this.box.dataset.loaded;
    delete this.box.dataset.failed;
    fill(this.title, el("b", {}, `texel ${texel.x},${texel.y}`));
    fill(this.share);
    this.say();
    const late = setTimeout(() => this.say(el("div", {class: "waits"}, el("span", {class: "spin"}),
                                       `playing frame ${frame} for the history of the texel`,
                                       chip("stop", null, () => {
                                         this.stop?.abort();
                                         this.failed(null);
                                       }, {id: "history-stop"}))), PATIENT_MS);
    try {
      const progress = (done, all) => {
        if (all && !signal.aborted) fill(this.share, `${Math.round((100 * done) / all)}%`);
      };
      await api.work(path, {signal, progress});
      const lines = await api.lines(path, {signal});
      signal.throwIfAborted();
      this.texel = lines.find((line) => line.texel)?.texel;
      this.end = lines.find((line) => line.end)?.end;
      this.lines = lines.filter((line) => line.position);
      fill(this.share);
      this.say();
      this.fill();
      this.box.dataset.loaded = path;
    } catch (error) {
      if (!aborted(error) && !signal.aborted) this.failed(error);
    } finally { clearTimeout(late); }
  }

  failed(error) {
    this.box.dataset.failed = String(error?.status ?? "stopped");
    fill(this.share);
    this.say(error?.sentence ?? (error ? String(error) : "The replay was ended."), " ", chip("try again", null, () => {
      this.leave();
      this.show(this.at, route.query);
    }));
  }

  say(...parts) {
    this.says.hidden = parts.length === 0;
    this.list.hidden = !this.says.hidden || this.lines.length === 0;
    fill(this.says, parts);
  }

  fill() {
    const {texel, end} = this, changed = this.lines.filter((line) => line.changed).length;
    this.shown = this.whole ? this.lines : this.lines.filter((line) => line.changed);
    const level = texel.level || texel.layer ? ` level ${texel.level} layer ${texel.layer}` : "";
    fill(this.title, `${number(changed)} of ${count(this.lines.length, "command")} changed `,
        el("b", {}, `texel ${texel.x},${texel.y}`), " of ", handle(texel.image), level,
        texel.aspect === "color" ? "" : ` ${texel.aspect}`,
        el("span", {class: "dim"}, ` ${plain(texel.format, "VK_FORMAT_")} in frame ${texel.frame}`));
    this.title.title = this.title.textContent;
    this.list.style.setProperty("--at", `${Math.max(8, ...this.shown.map(({position}) => position.length))}ch`);
    this.list.classList.toggle("with-depth", this.shown.some(({depth, stencil}) => depth || stencil));
    const left = end?.left_out ?? [];
    this.list.hidden = false;
    this.rows.set(this.shown.length);
    if (left.length) this.says.hidden = false;
    fill(this.says, left.map((sentence) => el("div", {class: "dim"}, sentence)),
        this.shown.length ? null : el("div", {class: "dim"}, this.lines.length ? "No command changed it." : "No command writes it."));
    if (!this.shown.length) this.says.hidden = false;
    this.mark();
  }

  /** Marks the row of the selected command. */
  mark() {
    const at = this.shown.findIndex(({position}) => position === this.at);
    this.rows.refresh();
    if (at >= 0) this.rows.reveal(at);
  }

  make(line) {
    const {position, command, kind, load, label, pipeline, from, depth, stencil, changed} = line;
    const beside = [depth && ["depth", depth], stencil && ["stencil", stencil]].filter(Boolean).map(
        ([name, {before, after}]) => `${name} ${before === null || before === after ? "" : value(before) + " → "}${value(after)}`);
    const shortly = [depth && "z " + value(depth.after, 3), stencil && "s " + value(stencil.after, 3)].filter(Boolean);
    const how = {clear: "cleared ", load: "loaded "}[load] ?? "";
    const change = `${line.before ? text(line.before) + " → " : ""}${text(line.after)}`;
    return el("div", {
      class: `row history-row${changed ? "" : " nothing-changed"}`,
      role: "option",
      id: "texel-" + position,
      "aria-selected": String(position === this.at),
      data: {texel: position},
      title: [`${position} ${command}`, kind, pipeline, label, `${change}  (${line.after?.bytes ?? ""})`, ...beside]
                 .filter(Boolean)
                 .join("\n")
    },
        place(position), el("span", {class: "what"}, command),
        el("span", {class: "change"}, line.before && changed ? [swatch(line.before), "→ "] : null, swatch(line.after),
            el("span", {class: "value"}, changed ? how + text(line.after, 3) : "changes nothing")),
        el("span", {class: "dim beside"}, shortly.join(", ")),
        el("span", {}, from ? ["from ", handle(from), " "] : null,
            label ? el("span", {class: "label"}, label) : el("span", {class: "dim"}, pipeline ?? "")));
  }

  click(event) {
    const row = event.target.closest("[data-texel]");
    if (!row || event.target.closest("[data-object]") || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.choose(row.dataset.texel);
  }

  /** The target stays, which the texel may be one of. */
  choose(position) {
    const {target} = route.query;
    go({subject: position, query: {target: target === "presented" ? null : target, before: null}});
  }

  key(event) {
    const by = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.walk(this.shown, by);
  }

  /** To the previous or next command that changed the texel. The end of a frame is behind all of them. */
  step(by) {
    if (this.open) this.walk(this.lines.filter((line) => line.changed), by);
  }

  walk(lines, by) {
    const whole = !this.at.includes(".");
    const next = by < 0
        ? lines.findLast(({position}) => whole || comparePositions(position, this.at) < 0)
        : lines.find(({position}) => whole || comparePositions(position, this.at) > 0);
    if (next) this.choose(next.position);
  }
}

const number = (one) => one.toLocaleString("en");
/** A value of depth or stencil: a number, or as those of colors. */
const value = (one, digits = 4) => (one !== null && typeof one === "object" ? text(one, digits) : rounded(one, digits));
const rounded = (one, digits) =>
    Number.isInteger(one) || typeof one !== "number" ? String(one) : short(Number(one.toPrecision(digits)));
const text = (one, digits = 4) => (one?.values ?? []).map((part) => rounded(part, digits)).join(" ");

/** A square with the color of values. */
export function swatch(one) {
  const made = el("i", {class: "swatch"}), {values = []} = one ?? {};
  const byte = (part) => Math.round(255 * Math.min(1, Math.max(0, Number(part) || 0)));
  const [r = 0, g = values.length === 1 ? r : 0, b = values.length === 1 ? r : 0] = values;
  made.style.background = `rgb(${byte(r)}, ${byte(g)}, ${byte(b)})`;
  return made;
}
