// SPDX-License-Identifier: MIT
// The report: what is wrong or wasteful, by kind, and what each frame has.

import {aborted, api} from "./api.js";
import {byId, count, dim, el, fill, handle, linked, notice, number, place, plain, size, skeleton} from "./dom.js";
import {report as validation} from "./messages.js";

const COLUMNS = 240; // of a chart; frames that share one show the highest of them
const COLOURS = 8;
const TITLES = {
  wrong: "Wrong",
  validation: "Validation",
  waste: "Waste",
  left: "Left",
  hidden: "Hidden"
};
const OPEN = ["wrong", "validation", "left"];

/** Frames in columns, each with its highest frame by `of`. */
function columns(frames, of) {
  const width = Math.min(COLUMNS, frames.length);
  return Array.from({length: width}, (_, i) => {
    const some = frames.slice(Math.floor(i * frames.length / width), Math.floor((i + 1) * frames.length / width));
    return some.reduce((most, frame) => (of(frame) > of(most) ? frame : most));
  });
}

/** A part of a column. Its height is set here, since the page allows no styles in markup. */
function bar(colour, share) {
  const made = el("i", {class: `c${colour % COLOURS}`});
  made.style.height = `${100 * share}%`;
  return made;
}

/** A chart over frames; each column leads to its frame. parts: of a frame, numbers that are stacked. */
function chart(id, title, frames, parts, say, legend = []) {
  const sum = (frame) => parts(frame).reduce((all, part) => all + part, 0);
  const most = frames.reduce((high, frame) => Math.max(high, sum(frame)), 0);
  if (!most) return null;
  const column = (frame) => {
    const title = `frame ${frame.frame}: ${say(sum(frame))}`;
    return el("a", {href: "#", title, "aria-label": title, data: {at: String(frame.frame)}},
        parts(frame).map((part, i) => (part ? bar(i, part / most) : null)));
  };
  return el("figure", {class: "chart", id},
      el("figcaption", {}, title, " ", dim(`at most ${say(most)}`),
          legend.map((text, i) => el("span", {class: "key"}, el("i", {class: `c${i % COLOURS}`}), text))),
      el("div", {class: "bars"}, columns(frames, sum).map(column)),
      el("div", {class: "axis"}, dim(`frame ${frames[0].frame}`), dim(String(frames.at(-1).frame))));
}

/** Where a finding is: a link where the commands have the place. */
function where({position, frame}) {
  if (position === null) return null;
  if (!position.startsWith("#")) return place(position);
  return [position, frame ? [" ", place(String(frame), `frame ${frame}`)] : null];
}

function finding(one) {
  const at = one.position ? {at: one.position} : {};
  return el("tr", {}, el("td", {class: "at"}, where(one)), el("td", {}, one.command),
      el("td", {}, one.object ? [handle(one.object, at), one.name ? [" ", dim(one.name)] : null] : null),
      el("td", {}, one.vuid ? [dim(one.vuid), " "] : null, one.text ? linked(one.text, at) : null),
      el("td", {class: "t"}, one.bytes ? size(one.bytes) : null));
}

function rule(one) {
  const of = one.of === null ? "" : ` of ${number(one.of)}`;
  return el("details", {class: `part rule ${one.kind}`, open: OPEN.includes(one.kind), data: {rule: one.rule}},
      el("summary", {}, el("span", {}, el("b", {}, number(one.count) + of), " ", one.words), dim(size(one.bytes))),
      el("p", {class: "dim"}, one.unknown,
          one.count > one.findings.length ? ` The first ${one.findings.length} are listed.` : null),
      el("table", {class: "findings"}, el("tbody", {}, one.findings.map(finding))));
}

function rules(all) {
  const found = all.filter((one) => one.count);
  const kinds = Object.keys(TITLES).filter((kind) => found.some((one) => one.kind === kind));
  const clean = all.filter((one) => one.count === 0).map((one) => one.rule);
  return [
    kinds.map((kind) => [el("h3", {}, TITLES[kind]), found.filter((one) => one.kind === kind).map(rule)]),
    found.length ? null : notice("Nothing is wrong or wasteful", "No rule has a finding in this trace."),
    el("p", {class: "dim none"}, "Without findings: ", clean.join(", ")),
    all.filter((one) => one.not_looked && one.kind !== "validation")
        .map((one) => el("p", {class: "dim none"}, `Not looked for ${one.rule}: ${one.not_looked}`))
  ];
}

function peaks(memory, types) {
  if (!types.length) return null;
  const texts = types.map(({type, peak, properties}) =>
                              `type ${type}: ${size(peak.bytes)}${properties ? ` (${plain(properties)})` : ""}`);
  return el("p", {class: "dim none"}, `Most memory: ${size(memory.peak.bytes)} in `,
      place(String(memory.peak.frame), `frame ${memory.peak.frame}`), "; ", texts.join(", "));
}

export class Report {
  constructor(capture) {
    this.messages = capture.messages;
    this.validation = el("section", {id: "validation"});
    this.messages.listeners.push(() => this.say());
    this.say();
  }

  say() { fill(this.validation, validation(this.messages)); }

  async show() {
    this.stop?.abort();
    const {signal} = (this.stop = new AbortController()), box = byId("report-view");
    if (box.dataset.loaded) return;
    fill(box, skeleton(12));
    try {
      const report = await api.json(api.path("/report"), {signal});
      signal.throwIfAborted();
      this.fill(box, report);
      box.dataset.loaded = "1";
    } catch (error) {
      if (!aborted(error) && !signal.aborted) fill(box, notice("No report", error.sentence ?? String(error)));
    }
  }

  fill(box, {rules: all, memory, each_frame: frames}) {
    const types = memory.types.filter((type) => type.peak);
    fill(box, this.validation,
        chart("chart-draws", "Draws of each frame", frames, (frame) => [frame.draws], (most) => count(most, "draw")),
        chart("chart-memory", "Memory at the end of each frame", frames,
            (frame) => types.map(({type}) => frame.type_bytes[type]), size, types.map(({type}) => `type ${type}`)),
        peaks(memory, types), rules(all));
  }

  /** Nobody looks any more. */
  leave() {
    this.stop?.abort();
    this.messages.leave("report");
  }
}
