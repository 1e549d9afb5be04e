// SPDX-License-Identifier: MIT
// The commands of a frame as a tree, or its draws as a list. Only rows in view exist; children come in windows.

import {aborted, api} from "./api.js";
import {byId, chip, count, dim, el, fill, notice, number, press} from "./dom.js";
import {callRow, callsOf} from "./calls.js";
import {Each} from "./each.js";
import {workOf} from "./lists.js";
import {mark} from "./messages.js";
import {nextTarget} from "./picture.js";
import {comparePositions, frameOf, go, route} from "./route.js";
import {Rows} from "./rows.js";
import {milliseconds, timeColumn, timedMore, timedWhat} from "./times.js";
import {RowFacts} from "./tree_facts.js";
import {Node, WINDOW} from "./tree_nodes.js";

const ROW = 22, TALL = 34; // with pictures of what draws change

/** The path of a window of children; `all`: with commands that are no work. */
export function windowPath(position, number, all = false) {
  return api.path(
      "/tree", {at: position, depth: 1, all, children: `${number * WINDOW + 1}-${(number + 1) * WINDOW}`});
}
const WHOLE = 20000;      // so many commands of a frame are asked for at once
const OPEN_AT_FIRST = 100; // a frame opens until so many rows are there

const MODES = [
  ["work", "work", "submits, passes, labels, and what draws, computes or copies"],
  ["draws", "draws", "the draws as a list"],
  ["dispatches", "dispatches", "dispatches and ray traces as a list"],
  ["passes", "passes", "command buffers, render passes and labels alone"],
  ["all", "all", "every command"],
  ["calls", "calls", "calls outside of command buffers: submits, waits, creates, updates, maps"],
  ["time", "time", "passes, labels and commands outside of passes, the longest first"],
];

export class Tree {
  constructor(capture, file) {
    this.capture = capture;
    this.mode = "work";
    this.frame = 0;
    this.selected = "";
    this.box = byId("tree");
    this.rows =
        new Rows(this.box, {extent: ROW, make: (row) => this.make(row), seen: (from, to) => this.want(from, to)});
    this.chips = {};
    fill(byId("tree-modes"), MODES.map(([mode, text, title]) => {
      this.chips[mode] =
          chip(text, false, () => go({query: {show: mode === "work" ? null : mode}}), {title, data: {mode}});
      return this.chips[mode];
    }));
    let redraw = 0;
    const changed = () => {
      redraw ||= requestAnimationFrame(() => {
        redraw = 0;
        this.rows.refresh();
      });
    };
    this.facts = new RowFacts(capture, changed);
    this.each = new Each(capture, file, {wanted: () => this.passes(), changed});
    this.pictures = chip("pictures", false, () => {
      this.each.toggle();
      this.size();
    }, {id: "tree-pictures", title: "small pictures of what each draw changes, by a replay for each pass"});
    this.validate = chip("validate", null, () => this.askMessages(), {id: "tree-validate"});
    byId("tree-modes").append(this.pictures, this.validate);
    capture.messages.listeners.push(() => this.messagesChanged());
    this.messagesChanged();
    capture.times.listeners.push(() => this.timesChanged());
    this.size();
    this.box.addEventListener("keydown", (event) => this.key(event));
    this.box.addEventListener("click", (event) => this.click(event));
  }

  /** Shows a position, in the mode that the address names. */
  async show(position, mode = "work") {
    this.stop?.abort();
    this.stop = new AbortController();
    const {signal} = this.stop;
    this.selected = position;
    this.fold = null;
    this.rows.refresh();
    try {
      if (frameOf(position) !== this.frame || mode !== this.mode || !this.loaded)
        await this.load(frameOf(position), mode, signal);
      await this.reveal(position, signal);
    } catch (error) {
      if (aborted(error) || signal.aborted) return;
      this.frame = 0;
      this.message(notice("The commands can't be shown", error.sentence ?? String(error)));
    }
  }

  /** Nobody looks any more. */
  leave() {
    this.stop?.abort();
    this.each.leave();
    this.capture.messages.leave("commands");
  }

  idle(busy) { this.each.idle(busy); }

  /** Begins to look for messages, or ends it. What came of it stands in the report. */
  askMessages() {
    const {messages} = this.capture;
    if (messages.running)
      messages.stop();
    else if (messages.vuids || messages.failed)
      go({view: "report", subject: ""}, {fresh: true});
    else
      messages.validate("commands");
  }

  messagesChanged() {
    const {running, vuids, failed, says} = this.capture.messages;
    this.validate.firstChild.data = running ? `stop ${Math.round(100 * running.share)}%` : vuids ? says : failed ? "no validation" : "validate";
    this.validate.title = failed || (vuids ? "all messages" : "messages of the validation layer at their commands, by a replay");
    if (this.box.isConnected && this.loaded && !running) this.rows.refresh();
  }

  /** The mark of a row: of a command its messages, of any other place those in it, too. */
  markOf({data, draw, position}) {
    const {messages} = this.capture;
    return mark(draw || data.kind === "command" ? messages.of(position) : messages.below(position, data.end));
  }

  /** The times of what is shown are here, or on their way. */
  timesChanged() {
    if (!this.box.isConnected || !this.loaded) return;
    if (this.mode === "time")
      this.fillTimes();
    else
      this.rows.refresh();
    this.entitle();
  }

  entitle() {
    const time = this.capture.times.of(String(this.frame)), text = this.capture.frames.name(this.frame);
    fill(byId("tree-title"), text.replace(/^./, (letter) => letter.toUpperCase()),
        time ? dim(` · ${milliseconds(time.ms)} ms`) : null);
    byId("tree-title").title = [this.about, time && this.capture.times.about].filter(Boolean).join("\n");
  }

  fillTimes() {
    const {times} = this.capture, list = times.frames.get(this.frame)?.list ?? [];
    // The last row has the button for draws, which times of all frames lack.
    const more = list.length && !times.frames.get(this.frame).draws && !times.running ? 1 : 0;
    this.flat = {count: list.length, at: (row) => list[row], rows: list};
    if (!times.has(this.frame))
      this.message(times.instead(this.frame, `frame ${this.frame}`));
    else if (list.length)
      this.message();
    else
      this.message(notice("The GPU does nothing here that is timed"));
    this.rows.set(list.length + more);
  }

  /** Makes rows as high as what they show. What is selected stays in view. */
  size() {
    const {shown} = this.each, now = this.current, tall = this.mode !== "calls" && (shown || this.mode === "time");
    press(this.pictures, shown);
    this.box.classList.toggle("pictured", tall);
    this.rows.extent = tall ? TALL : ROW;
    this.rows.set(this.rows.count);
    if (now >= 0) this.rows.reveal(now);
  }

  /** The passes of the draws in view, that of the selected one first. */
  passes() {
    const rows = [...this.rows.space.children].map((row) => this.item(Number(row.dataset.row))).filter((item) => item);
    const chosen = ({position}) => position === this.selected;
    return [...rows.filter(chosen), ...rows].map((item) => this.passOf(item)).filter((pass) => pass);
  }

  /** The render pass of a draw, or of a clear in it; null: it is no such command, or in none. */
  passOf(item) {
    if (look(item) !== "draw" && item.name !== "vkCmdClearAttachments") return null;
    const draw = item.draw ?? this.capture.lists.get(this.frame)?.by.get(item.position);
    if (draw) return draw.pass;
    let above = item.node.parent;
    while (above && above.data.kind !== "render pass") above = above.parent;
    return above?.data.position ?? null;
  }

  message(...parts) {
    byId("tree-message").hidden = parts.length === 0;
    this.box.hidden = parts.length > 0;
    fill(byId("tree-message"), parts);
  }

  async load(frame, mode, signal) {
    const node = await this.capture.frames.frame(frame);
    signal.throwIfAborted();
    this.root = this.flat = null;
    this.loaded = false;
    this.rows.set(0);
    this.mode = mode;
    this.size();
    this.frame = frame;
    for (const [name, button] of Object.entries(this.chips)) press(button, name === mode);
    if (!node) {
      const {total} = this.capture.frames;
      if (total) return instead(this.selected, String(frame < 1 ? 1 : total));
      fill(byId("tree-title"), "Commands");
      return this.message(notice("There are no commands", "The trace has no frames."));
    }
    this.about = counts(node) || "no commands";
    this.entitle();
    const list = await this.capture.draws(frame);
    list.changed = () => this.rows.refresh();
    signal.throwIfAborted();
    this.message();
    if (mode === "time") {
      this.loaded = true;
      return this.fillTimes();
    }
    if (mode === "calls") {
      const rows = await callsOf(frame, {signal});
      this.flat = {count: rows.length, at: (row) => rows[row], rows};
      this.loaded = true;
      return this.rows.set(rows.length);
    }
    await (mode === "draws" || mode === "dispatches" ? this.loadFlat(node, list, mode, signal)
                                                     : this.loadTree(node, list, mode, signal));
    this.loaded = true;
  }

  async loadTree(node, list, mode, signal) {
    this.root = new Node(node, null, 0);
    this.root.open = true;
    if (mode === "passes") {
      if (node.commands > WHOLE)
        return this.message(notice("Too many commands",
            `This frame has ${number(node.commands)}; this list looks at up to ${number(WHOLE)}.`,
            "The tree under “work” has the passes, too."));
      const answer = await api.json(api.path("/tree", {at: node.position, depth: 64}), {signal});
      this.take(this.root, answer.nodes[0].children);
    } else {
      await this.window(this.root, 0, signal);
      this.rows.set(this.root.inner);
      await this.openFirst(signal);
    }
    this.rows.set(this.root.inner);
    if (this.root.inner === 0)
      this.message(
          notice("Nothing is submitted here", "Its calls are in the trace: they make objects, map memory, or wait.",
              el("p", {}, "See ", el("a", {href: "#", data: {view: "objects"}}, "what lives here"), ".")));
    else if (list.total > 0)
      list.peek(0);
  }

  async loadFlat(node, list, mode, signal) {
    const wanted = mode === "draws" ? node.draws : node.dispatches + node.traces;
    if (wanted === 0)
      return this.message(notice(mode === "draws" ? "This frame draws nothing" : "This frame dispatches nothing",
          counts(node) || "It has no commands."));
    this.flat = {count: list.total, at: (row) => list.here(row), list};
    if (wanted < list.total && list.total <= WHOLE) {
      // Both kinds are in one list of the server.
      const all = await Promise.all(Array.from({length: list.total}, (_, i) => list.get(i)));
      signal.throwIfAborted();
      const rows = all.filter((row) => /Draw/.test(row.command) === (mode === "draws"));
      this.flat = {count: rows.length, at: (row) => rows[row], rows};
    }
    this.rows.set(this.flat.count);
  }

  /** Takes children that an answer had with all below them, containers alone. */
  take(node, children) {
    const made = node.fill(0, children.filter((child) => child.kind !== "command"));
    node.setOf(made.length);
    for (const child of made) {
      this.take(child, child.data.children);
      if (child.of) child.setOpen(true);
    }
  }

  /** Asks for a window of children. */
  async window(node, number, signal) {
    if (node.run || node.windows.has(number)) return; // a fold has its children
    const answer = await api.json(windowPath(node.data.position, number, this.mode === "all"), {signal});
    if (node.windows.has(number)) return;
    node.setOf(answer.of ?? answer.nodes[0].children.length);
    node.fill(number * WINDOW, answer.nodes[0].children);
  }

  /** Opens what is in the frame, level by level, while it stays easy to overlook. */
  async openFirst(signal) {
    let level = [this.root];
    while (level.length && this.root.inner < OPEN_AT_FIRST) {
      const next = [];
      for (const parent of level)
        for (let i = 0, looked = 0, node; looked < 12 && (node = parent.shown(i)); i += node.span, looked++)
          if (node.span === 1 && this.opens(node) && this.root.inner < OPEN_AT_FIRST) {
            await this.window(node, 0, signal);
            node.setOpen(true);
            next.push(node);
          }
      level = next;
    }
  }

  /** A node has something below it that this mode shows. */
  opens({data, of}) {
    if (of !== null) return of > 0;
    if (data.kind === "command") return false;
    if (this.mode === "all" || data.kind === "submit" || data.kind === "execution")
      return data.commands > (data.kind === "execution" ? 1 : 0);
    return workOf(data) + data.transfers + data.others + data.passes > 0;
  }

  async toggle(node, open = !node.open) {
    if (!this.opens(node)) return;
    if (open && node.of === null) await this.window(node, 0, this.stop.signal).catch(() => {}); // it stays closed then
    if (node.of === null) return;
    node.setOpen(open);
    this.rows.set(this.root.inner);
  }

  /** Opens the way to a position, and scrolls there. */
  async reveal(position, signal) {
    if (this.mode === "calls") {
      const at = this.flat?.rows.findIndex((row) => row.position === "#" + route.query.call) ?? -1;
      return at < 0 ? undefined : this.rows.reveal(at);
    }
    if (this.flat) {
      const at = this.flat.rows
          ? (this.mode === "time"
                 ? this.flat.rows.findIndex((row) => row.position === position)
                 : this.flat.rows.findLastIndex((row) => comparePositions(row.position, position) <= 0))
          : await this.flat.list.upTo(position) - 1;
      if (at >= 0) this.rows.reveal(at);
      this.rows.refresh();
      if (this.mode === "time") return; // it has not all commands
      const near = this.flat.at(at)?.position ?? String(this.frame);
      return near === position ? undefined : this.check(position, near, signal);
    }
    if (!this.root || position === String(this.frame)) return;
    let node = this.root, near = this.root;
    while (node.of) {
      const child = await this.childAt(node, position, signal);
      near = child ?? near;
      if (!child || child.data.position === position) {
        node = child ?? node;
        break;
      }
      const {kind, position: place} = child.data;
      if ((kind === "submit" || kind === "command buffer") && !position.startsWith(place + ".")) break;
      if (!this.opens(child)) break;
      if (child.of === null) await this.window(child, 0, signal);
      node = child;
    }
    signal.throwIfAborted();
    if (node.data.position !== position) {
      if (!await this.check(position, near.data.position, signal)) return;
      if (this.mode === "work") return go({query: {show: "all"}}, {replace: true, sentence: route.says});
    }
    for (let above = node.parent; above?.parent; above = above.parent) above.setOpen(true);
    this.rows.set(this.root.inner);
    if (node.parent) this.rows.reveal(node.row);
    this.rows.refresh();
  }

  /** Whether the trace has a position that no row shows. If it has not, `near` is shown. */
  async check(position, near, signal) {
    try {
      await api.json(windowPath(position, 0), {signal});
      return true;
    } catch (error) {
      if (error.status !== 404) throw error;
      instead(position, near);
      return false;
    }
  }

  /** The last child that does not stand behind a position. */
  async childAt(node, position, signal) {
    let low = 0, high = node.of;
    while (low < high) {
      const middle = (low + high) >> 1;
      await this.window(node, Math.floor(middle / WINDOW), signal);
      const child = node.child(middle);
      if (child && comparePositions(child.data.position, position) <= 0)
        low = middle + 1;
      else
        high = middle;
    }
    return low ? node.child(low - 1) : null;
  }

  /** What a row shows: an item, or null while it is on its way. */
  item(row) {
    if (this.flat) {
      const draw = this.flat.at(row);
      if (draw?.call) return {position: draw.position, level: 1, of: this.flat.count, index: row, call: draw};
      if (draw?.part) return {position: draw.position, level: 1, of: this.flat.count, index: row, timed: draw};
      return draw ? {position: draw.position, level: 1, of: this.flat.count, index: row, draw, name: draw.command}
                  : null;
    }
    const {parent, index} = this.root.at(row);
    const node = parent.shown(index);
    if (node)
      return {position: node.data.position, level: node.level, of: parent.of, index, node, name: node.data.name};
    return null;
  }

  /** Asks for what rows in view lack. */
  want(from, to) {
    this.each.idle(api.running > 0);
    this.facts.want(this.list, this.rowsWithFacts(from, to));
    if (this.flat) {
      for (let row = from; row < to; row++) this.flat.list?.peek(row);
      return;
    }
    const asked = new Set();
    for (let row = from; this.root && row < to; row++) {
      const {parent, index} = this.root.at(row), number = Math.floor(index / WINDOW);
      const key = `${parent.data.position} ${number}`;
      if (parent.child(index) || asked.has(key)) continue;
      asked.add(key);
      this.window(parent, number, this.stop.signal).then(() => this.rows.set(this.root?.inner ?? 0), () => {});
    }
  }

  get list() { return this.capture.lists.get(this.frame); }

  /** The positions of draws and render passes in view. */
  rowsWithFacts(from, to) {
    if (!this.root && !this.flat || this.mode === "time") return [];
    return Array.from({length: to - from}, (_, i) => this.item(from + i))
        .filter((item) => item && (/^(draw|compute)$/.test(look(item)) || item.node?.data.kind === "render pass"))
        .map(({position}) => position);
  }

  make(row) {
    const item = this.item(row);
    if (!item && this.mode === "time")
      return el("div", {class: "row"},
          chip("measure draws, too", null, () => this.capture.times.measure(this.frame), {id: "times-draws"}));
    if (!item) return el("div", {class: "row waiting"}, el("i"));
    if (item.call) return callRow(item, route.query.call, this.capture.messages);
    if (item.timed) return this.makeTimed(item);
    if (item.node?.run) return this.makeFold(item);
    const {node, position} = item;
    const data = node?.data;
    const draw = item.draw ?? this.list?.by.get(position);
    const opens = node ? this.opens(node) : false;
    const chosen = position === this.selected;
    const pass = this.each.shown ? this.passOf(item) : null, small = pass ? this.each.of(pass, position) : null;
    const isPass = data?.kind === "render pass", {list} = this;
    const facts = draw ? this.facts.ofDraw(list, position) : isPass ? this.facts.ofPass(list, position) : null;
    const about = draw                                                                    ? dim(facts?.amount ?? drawn(draw))
        : data?.object && item.level && data.kind !== "command buffer" && data.kind !== "submit" && !facts ? dim(data.object)
                                                                                                           : null;
    const named = facts?.shader ?? facts?.target, more = facts?.texture ?? (facts && [facts.size, facts.formats].filter(Boolean).join(" "));
    const first = named ? el("span", {class: "dim named", title: named}, named) : null;
    const second = [about, more ? el("span", {class: "dim more", title: more}, more) : null];
    const label = draw?.labels.length && this.flat ? el("span", {class: "label t"}, draw.labels.at(-1)) : null;
    const end = small?.amount              ? el("span", {class: "t amount"}, small.amount)
        : data && data.kind !== "command" ? el("span", {class: "t"}, amount(data))
                                          : null;
    const made = el("div", {
      class: `row ${look(item)}${small?.nothing ? " nothing-changed" : ""}`,
      role: "treeitem",
      id: "row-" + position,
      "aria-level": item.level,
      "aria-setsize": item.of,
      "aria-posinset": item.index + 1,
      "aria-selected": String(chosen),
      "aria-expanded": opens ? String(node.open) : null,
      data: {position},
      title: [position, data ? counts(data) : "", small?.says].filter(Boolean).join("  ")
    },
        el("span", {class: "twist", "aria-hidden": "true"}, opens ? (node.open ? "▾" : "▸") : ""),
        el("span", {class: "n"}, this.flat || item.level < 3 ? position : "." + position.split(".").pop()), small?.box,
        small || (this.each.shown && facts)
            ? el("span", {class: "two"}, el("span", {class: "first"}, name(item), first), el("span", {class: "second"}, second, label, end))
            : [name(item), first, second, label, end]);
    const marks = this.markOf({data, draw: item.draw, position});
    if (marks) made.append(marks);
    if (this.capture.times.has(this.frame)) made.append(timeColumn(this.capture.times.of(position)));
    made.style.paddingLeft = `${4 + (item.level - 1) * 13}px`;
    return made;
  }

  /** A run of uploads. It is no place of the trace, so the keys can stand on it, and the address does not name it. */
  makeFold({node, level, of, index}) {
    const {data} = node, here = node === this.fold;
    const made = el("div", {
      class: `row fold${here ? " here" : ""}`,
      role: "treeitem",
      id: "row-fold-" + data.position,
      "aria-level": level,
      "aria-setsize": of,
      "aria-posinset": index + 1,
      "aria-selected": "false",
      "aria-expanded": String(node.open),
      data: {fold: data.position},
      title: `${data.position} to ${node.run.at(-1).data.position}  ${counts(data)}`
    },
        el("span", {class: "twist", "aria-hidden": "true"}, node.open ? "▾" : "▸"),
        el("span", {class: "n"}, data.position), el("span", {class: "what"}, count(node.run.length, data.of)),
        el("span", {class: "t"}, amount(data)), mark(this.capture.messages.below(data.position, node.run.at(-1).data.position)));
    made.style.paddingLeft = `${4 + (level - 1) * 13}px`;
    return made;
  }

  makeTimed({timed, position, of, index}) {
    const chosen = position === this.selected, {kind, command} = timed.part;
    const colour = kind !== "work" ? "holds" : /Dispatch|Trace/.test(command) ? "compute" : /Draw/.test(command) ? "draw" : "copies";
    const made = el("div", {
      class: `row timed ${colour}`,
      role: "treeitem",
      id: "row-" + position,
      "aria-level": 1,
      "aria-setsize": of,
      "aria-posinset": index + 1,
      "aria-selected": String(chosen),
      data: {position}
    },
        timeColumn(this.capture.times.of(position)), el("span", {class: "two"}, timedWhat(timed), timedMore(timed)));
    return made;
  }

  click(event) {
    const row = event.target.closest("[data-position], [data-fold]");
    if (!row) return;
    const item = this.item(Number(row.dataset.row));
    if (item?.node?.run) return this.stand(item.node), void this.toggle(item.node);
    if (event.target.closest(".twist") && item?.node) return void this.toggle(item.node);
    this.choose(row.dataset.position);
  }

  choose(position) {
    if (position.startsWith("#")) return go({query: {call: position.slice(1)}});
    go({view: "commands", subject: position, query: {target: nextTarget()}});
  }

  /** The keys go on from a fold. */
  stand(fold) {
    this.fold = fold;
    this.rows.refresh();
  }

  /** The row of what is selected, or -1. */
  get current() {
    if (this.fold) return this.fold.row;
    const chosen = this.mode === "calls" ? "#" + route.query.call : this.selected;
    for (const row of this.rows.space.children)
      if (row.dataset.position === chosen) return Number(row.dataset.row);
    if (this.place?.position === this.selected) return this.place.row;
    return -1;
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.rows.count) return;
    const now = this.current;
    const page = Math.max(1, Math.floor(this.box.clientHeight / this.rows.extent) - 1);
    const node = now >= 0 && this.root ? this.item(now)?.node : null;
    const moves = {
      ArrowDown: now + 1,
      ArrowUp: now - 1,
      PageDown: now + page,
      PageUp: now - page,
      Home: 0,
      End: this.rows.count - 1
    };
    if (event.key === "ArrowRight" && node && this.opens(node)) {
      if (!node.open)
        this.toggle(node);
      else
        this.step(now + 1);
    } else if (event.key === "ArrowLeft" && node && (node.open || node.parent.parent)) {
      if (node.open)
        this.toggle(node);
      else
        this.step(node.parent.row);
    } else if (event.key in moves)
      this.step(moves[event.key]);
    else if ((event.key === " " || event.key === "Enter") && node)
      this.toggle(node);
    else
      return;
    event.preventDefault();
    event.stopPropagation();
  }

  async step(row) {
    row = Math.max(0, Math.min(row, this.rows.count - 1));
    this.rows.reveal(row);
    if (this.flat)
      this.flat.list && await this.flat.list.get(row);
    else {
      const {parent, index} = this.root.at(row);
      await this.window(parent, Math.floor(index / WINDOW), this.stop.signal).catch(() => {});
    }
    const item = this.item(row);
    if (!item) return;
    if (item.node?.run) return this.stand(item.node);
    this.place = {position: item.position, row};
    if (this.fold) this.stand(null);
    this.choose(item.position);
  }
}

/** Goes to a place that the trace has, and says that it has not the one of the address. */
function instead(position, place) {
  const noun = position.includes(".") ? "command" : "frame";
  go({subject: place}, {replace: true, sentence: `There is no ${noun} ${position}: this is ${place}.`});
}

function look({node, draw, name: command}) {
  if (!node && !draw) return "";
  if (draw) return /Draw/.test(draw.command) ? "draw" : "compute";
  const {kind, draws, dispatches, traces} = node.data;
  if (kind === "label") return "labelled";
  if (kind !== "command") return "holds";
  return draws                                  ? "draw"
      : dispatches || traces                    ? "compute"
      : node.data.transfers                     ? "copies"
      : /^vkCmd(End|Begin)/.test(command ?? "") ? "edge"
                                                : "sets";
}

function name({node, draw}) {
  if (draw) return el("span", {class: "what"}, draw.command);
  const {kind, name: text, object} = node.data;
  if (kind === "label") return el("span", {class: "what label"}, `“${text}”`);
  const around = node.data.labels?.length ? el("span", {class: "label"}, ` in “${node.data.labels.join(" / ")}”`) : null;
  if (kind === "submit") return el("span", {class: "what"}, "submit ", dim(object ?? ""), around);
  if (kind === "command buffer") return el("span", {class: "what"}, object ?? "command buffer", around);
  if (kind === "render pass") return el("span", {class: "what", title: text}, "render pass");
  return el("span", {class: "what"}, text ?? kind);
}

/** What a draw draws, in few words. */
export function drawn({vertices, instances, groups, command}) {
  if (groups) return groups.join(" × ");
  if (vertices === null) return /Indirect/.test(command) ? "indirect" : "";
  const noun = /Indexed/.test(command) ? "indices" : "vertices";
  return `${number(vertices)} ${noun}${instances > 1 ? ` × ${number(instances)}` : ""}`;
}

function amount(node) {
  const work = workOf(node);
  return work ? number(work) : node.transfers ? count(node.transfers, "copy", "copies") : "";
}

export function counts(node) {
  return [
    ["submits", "submit"], ["buffers", "command buffer"], ["passes", "render pass", "render passes"], ["draws", "draw"],
    ["dispatches", "dispatch", "dispatches"], ["traces", "ray trace"], ["transfers", "transfer"],
    ["commands", "command"]
  ].filter(([key]) => node[key])
      .map(([key, ...words]) => count(node[key], ...words))
      .join(", ");
}
