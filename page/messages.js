// SPDX-License-Identifier: MIT
// Messages of the validation layer: a replay finds them, so they are asked for by a button, and kept. Which commands
// have them, which places have them below, and their looks.

import {aborted, api} from "./api.js";
import {chip, count, dim, el, handle, linked, number} from "./dom.js";
import {comparePositions, frameOf} from "./route.js";

const OF_EACH = 1000; // messages of a VUID that are asked for
const NAMED = 6;      // VUIDs in a title
const FIRST = 20;     // messages of a list that are there at once

const isCall = (position) => position.startsWith("#");
/** The call that a position is in. */
const callOf = (position) => position.split(".")[0];
/** What stands at a place or in it, a run of commands up to `end`. */
const upTo = (end) => ({position}) => comparePositions(position, end) <= 0 || position.startsWith(end + ".");

export class Messages {
  constructor() {
    // vuids: null: nobody has asked. list: those of commands and submits, in their order. at: all, by their places.
    Object.assign(this, {vuids: null, all: [], list: [], at: new Map(), calls: new Map(), running: null, failed: "", listeners: []});
  }

  tell() {
    for (const listener of this.listeners) listener();
  }

  stop() { this.running?.stop.abort(); }
  /** Ends what somebody began in a view. */
  leave(view) {
    if (this.running?.view === view) this.stop();
  }

  async validate(view) {
    if (this.running || this.vuids) return;
    const running = this.running = {view, stop: new AbortController(), share: 0}, {signal} = running.stop;
    const path = api.path("/validation", {messages: OF_EACH});
    this.failed = "";
    this.tell();
    try {
      await api.work(path, {
        signal,
        progress: (done, all) => {
          running.share = done / all;
          this.tell();
        }
      });
      this.take(await api.json(path, {signal}));
    } catch (error) {
      if (!aborted(error)) this.failed = error.sentence ?? String(error);
    } finally {
      this.running = null;
      this.tell();
    }
  }

  take({vuids, rules}) {
    this.vuids = vuids;
    this.all = rules.find(({rule}) => rule === "message").findings;
    const put = (map, key, one) => {
      if (!map.has(key)) map.set(key, []);
      map.get(key).push(one);
    };
    for (const one of this.all) {
      const {position, frame} = one;
      if (!position) continue;
      put(this.at, isCall(position) ? callOf(position) : position, one);
      if (isCall(position)) put(this.calls, frame, one);
    }
    this.list = this.all.filter(({position}) => position && !isCall(position)).sort((a, b) => comparePositions(a.position, b.position));
  }

  /** Messages at a place itself. */
  of(position) { return this.at.get(position) ?? []; }

  /** Those at a place and in it, and up to `end` and in that; of a frame also those of its calls. */
  below(position, end = position) {
    const first = this.search((one) => comparePositions(one.position, position) < 0);
    const found = this.list.slice(first, this.search(upTo(end)));
    return position.includes(".") ? found : [...found, ...this.calls.get(frameOf(position)) ?? []];
  }

  /** How many of the list fulfil what the first ones fulfil. */
  search(holds) {
    let low = 0, high = this.list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (holds(this.list[middle]))
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

  /** How many there are of each severity, also of those that are not listed. */
  get counts() {
    const sum = (severity) => (this.vuids ?? []).filter((one) => one.severity === severity).reduce((all, one) => all + one.count, 0);
    return {errors: sum("error"), warnings: sum("warning")};
  }
  get says() { return words(this.counts); }
}

const words = ({errors, warnings}) =>
    [errors && count(errors, "error"), warnings && count(warnings, "warning")].filter(Boolean).join(", ") || "no messages";

/** A sign of its own shape for each severity, with a number. */
function signs({errors, warnings}) {
  return [errors ? el("span", {class: "sign error"}, `✕ ${number(errors)}`) : null,
          warnings ? el("span", {class: "sign warning"}, `△ ${number(warnings)}`) : null];
}

function countsOf(messages) {
  const errors = messages.filter(({severity}) => severity === "error").length;
  return {errors, warnings: messages.length - errors};
}

/** A small mark of a row, or null. */
export function mark(messages) {
  if (!messages.length) return null;
  const vuids = new Map();
  for (const {vuid} of messages) vuids.set(vuid, (vuids.get(vuid) ?? 0) + 1);
  const named = [...vuids].slice(0, NAMED).map(([vuid, times]) => (times > 1 ? `${vuid} (${number(times)})` : vuid));
  const title = [words(countsOf(messages)), ...named, vuids.size > NAMED ? `and ${count(vuids.size - NAMED, "other")}` : ""].filter(Boolean).join("\n");
  return el("span", {class: "marks", role: "img", title, "aria-label": title}, signs(countsOf(messages)));
}

/** A link to a place; a call of a frame is in its list of calls. */
function leads({position, frame}) {
  if (!position) return dim("at no command");
  if (!isCall(position)) return el("a", {href: "#", class: "place", data: {at: position}}, position);
  return el("a", {href: "#", class: "place", data: {at: String(frame), call: callOf(position).slice(1)}}, position);
}

/** The objects that a message names, as far as its text does not have them. */
const others = ({objects, text, position}) => objects.filter(({object}) => !new RegExp(`${object}\\b`).test(text))
    .map(({object, name}) => [" ", handle(object, position && !isCall(position) ? {at: position} : {}), name ? dim(` ${name}`) : null]);

/** A message in full. */
function whole(one) {
  return el("div", {class: `message ${one.severity}`},
      el("div", {}, el("span", {class: `sign ${one.severity}`}, one.severity === "error" ? "✕ error" : "△ warning"), " ",
          el("code", {class: "vuid", title: "the name of the rule; a click selects it"}, one.vuid)),
      el("div", {class: "text"}, linked(one.text)), el("div", {class: "objects"}, others(one)));
}

/** What stands above the state of a place. */
export function messagesOf(messages, position) {
  const here = messages.of(position), frame = /^\d+$/.test(position) ? messages.calls.get(Number(position)) ?? [] : [];
  return [...here, ...frame.filter((one) => !here.includes(one))].slice(0, FIRST).map((one) => (isCall(one.position) && !isCall(position) ?
      el("div", {class: `message ${one.severity}`}, leads(one), " ", one.command, " ", mark([one]), " ", dim(one.vuid)) : whole(one)));
}

/** The messages of a VUID, each with its place. */
function group(all, {vuid, severity, count: times}) {
  const listed = all.filter((one) => one.vuid === vuid && one.severity === severity);
  const text = (one, i) => (listed[i - 1]?.text === one.text ? dim("the same") : linked(one.text));
  const rows = (from, to) => listed.slice(from, to).map((one, i) => el("tr", {}, el("td", {class: "at"}, leads(one)), el("td", {class: "at"}, one.command),
      el("td", {}, text(one, from + i), others(one))));
  const body = el("tbody", {}, rows(0, FIRST));
  const more = listed.length > FIRST ? chip(`${number(listed.length - FIRST)} more`, null, () => {
    body.append(...rows(FIRST));
    more.remove();
  }) : null;
  return el("details", {class: `part rule ${severity}`, open: true, data: {vuid}},
      el("summary", {}, el("span", {}, signs(severity === "error" ? {errors: times} : {warnings: times}), " ", el("b", {}, vuid)), dim(severity)),
      times > listed.length ? el("p", {class: "dim"}, `The first ${number(listed.length)} of ${number(times)} are listed.`) : null,
      el("table", {class: "findings"}, body), more);
}

/** The part of the report: a button, how far the replay is, or the messages. */
export function report(messages) {
  const {running, failed, vuids, all} = messages;
  if (running)
    return [el("h3", {}, "Validation"), el("p", {}, el("progress", {value: running.share, max: 1, "aria-label": "replay"}), " ",
        chip("stop", null, () => messages.stop(), {id: "validate-stop"}))];
  const button = chip(failed ? "try again" : "validate", null, () => messages.validate("report"), {id: "validate"});
  if (!vuids)
    return [el("h3", {}, "Validation"), el("p", {class: failed ? "failed" : "dim"}, failed || "A replay under the Khronos validation layer says which rules of Vulkan the calls break.", " ", button)];
  return [el("h3", {}, "Validation ", dim(messages.says)),
      vuids.length ? vuids.map((one) => group(all, one)) : el("p", {class: "dim"}, "The validation layer has no messages.")];
}
