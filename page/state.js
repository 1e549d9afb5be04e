// SPDX-License-Identifier: MIT
// What a command finds bound, and what of it differs from the draw before it.

import {aborted, api} from "./api.js";
import {callsPath} from "./calls.js";
import {Compare} from "./compare.js";
import {compareContents, compareSides} from "./contents.js";
import {STAGES} from "./debug.js";
import {
  byId,
  chip,
  count,
  dim,
  el,
  fill,
  handle,
  linked,
  notice,
  number,
  place,
  plain,
  shaderLink,
  short,
  size,
  skeleton
} from "./dom.js";
import {NO_EDIT} from "./edit.js";
import {creation, pipelineInfo, pipelineNames, pipelineShaders} from "./facts.js";
import {messagesOf} from "./messages.js";
import {bytesOf, valuesOf} from "./reflect.js";
import {frameOf, go, isCommand, route} from "./route.js";
import {counterpart} from "./step.js";
import {thumb} from "./thumb.js";
import {counts} from "./tree.js";
import {flatten, pretty, typed} from "./values.js";
import {viewportRows, VIEWPORT} from "./viewport.js";

const FIRST = 100; // rows of a part that are there at once
const CALLS = 200;
const SOON_MS = 150;
const CONTENTS = 32; // buffers and images whose contents are compared

export class State {
  constructor(capture) {
    Object.assign(this, {capture, changedOnly: false, held: null, trace: null, closed: new Set(["Dynamic state"])});
    this.box = byId("state");
    this.messages = el("div", {id: "state-messages"});
    this.chips = {
      changed: chip("changed", false, () => this.choose(true),
          {title: "only what differs from the draw before", id: "state-changed"}),
      all: chip("all", true, () => this.choose(false), {id: "state-all"}),
      hold: chip(
          "compare", false, () => this.hold(), {title: "compare what is selected next with this", id: "state-hold"}),
    };
    this.pictures = new Compare();
    this.traces = el("select", {id: "state-trace", "aria-label": "Trace to compare with", hidden: true, title: "compare with the same place of another trace", on: {change: () => this.with(this.traces.value)}});
    fill(byId("state-modes"), this.chips.changed, this.chips.all, this.chips.hold, this.traces);
    this.box.addEventListener("toggle", (event) => {
      const {part} = event.target.dataset;
      if (part) this.closed[event.target.open ? "delete" : "add"](part);
    }, true);
  }

  choose(changedOnly) {
    this.changedOnly = changedOnly;
    this.chips.changed.setAttribute("aria-pressed", String(changedOnly));
    this.chips.all.setAttribute("aria-pressed", String(!changedOnly));
    this.box.classList.toggle("only-changed", changedOnly);
  }

  /** The other traces that commands can be compared with: [{id, file}]. */
  offer(captures) {
    fill(this.traces, el("option", {value: ""}, "this trace"), captures.map(({id, file}) => el("option", {value: id}, file)));
    this.traces.hidden = captures.length === 0;
    this.trace = null;
    this.others = captures;
  }

  with(id) {
    this.trace = this.others.find((one) => one.id === id) ?? null;
    this.keep(null);
    this.show(this.at, true);
  }

  /** Whether somebody has chosen what is compared. */
  get chosen() { return Boolean(this.trace || (this.held && this.held !== this.at)); }

  hold() {
    this.keep(this.held ? null : this.at);
    if (!this.held) this.show(this.at, true);
  }

  /** Keeps a command to compare others with; null: none. */
  keep(position) {
    this.held = position;
    this.chips.hold.setAttribute("aria-pressed", String(Boolean(this.held)));
    this.chips.hold.firstChild.data = this.held ? `with ${this.held}` : "compare";
  }

  /** Nobody looks any more. A state that has not come is asked for when somebody looks again. */
  leave() {
    this.pictures.stop?.abort();
    if (!this.stop) return;
    this.stop.abort();
    this.at = "";
  }

  /** Forgets another trace. */
  reset() {
    this.leave();
    this.at = "";
    this.keep(null);
    fill(byId("state-title"));
    fill(this.box);
    for (const name of Object.keys(this.box.dataset)) delete this.box.dataset[name];
  }

  /** Messages of what is shown have come. */
  say() { fill(this.messages, this.at ? messagesOf(this.capture.messages, this.at) : []); }

  async show(position, again = false) {
    if (position === this.at && !again) return;
    this.stop?.abort();
    this.stop = new AbortController();
    const {signal} = this.stop;
    this.at = position;
    this.pictures.forget();
    this.say();
    fill(byId("state-title"), el("span", {class: "mono"}, position));
    const command = isCommand(position);
    for (const button of Object.values(this.chips)) button.hidden = !command;
    this.traces.hidden = !command || !this.others?.length;
    const wait = setTimeout(() => {
      if (!signal.aborted && this.box.dataset.at !== position) fill(this.box, skeleton(9));
    }, 120);
    try {
      if (command)
        await this.showCommand(position, signal);
      else if (position.startsWith("#"))
        await this.showCall(position, signal);
      else
        await this.showPlace(position, signal);
    } catch (error) {
      if (aborted(error) || signal.aborted) return;
      fill(this.box, notice("No state", error.sentence ?? String(error)));
    } finally {
      clearTimeout(wait);
      if (this.stop?.signal === signal) this.stop = null;
    }
  }

  async showCommand(position, signal) {
    const options = {signal};
    const parts = await this.parts(position, options);
    signal.throwIfAborted();
    const compared = this.compared(position, options);
    compared.catch(() => {});
    // What it is compared with is often here already; then nothing flickers.
    const soon = await Promise.race([compared, new Promise((go) => setTimeout(go, SOON_MS))]);
    signal.throwIfAborted();
    const scroll = this.box.scrollTop;
    if (!soon?.parts) this.draw(position, parts, null, null);
    this.box.scrollTop = scroll;
    const {other, parts: before} = await compared;
    signal.throwIfAborted();
    if (!before && this.trace) this.pictures.say(`${this.trace.file} has no command like this one`);
    if (!before) return;
    if (this.chosen) this.pictures.show([{capture: this.trace?.id, at: other}, {at: position}], route.query.target);
    // Parameters of another command say nothing about this one's.
    const comparable = (part) => part.title !== "Parameters" || before.command === parts.command;
    const was = new Map(before.filter(comparable)
                            .flatMap((part) => part.rows.map((row) => [part.title + "/" + row.key, row.text])));
    const theirs = new Map(before.flatMap((part) => part.rows.map((row) => [part.title + "/" + row.key, row.contents])));
    const draw = (contents) => this.draw(position, parts, was, other, comparable, contents);
    draw(null);
    this.box.scrollTop = scroll;
    const contents = await (this.chosen ? this.sides(position, other, parts, theirs, options)
                                              : this.contents(position, other, parts, was, options));
    signal.throwIfAborted();
    if (contents.size === 0) return this.summarize(other, was, contents);
    const now = this.box.scrollTop;
    draw(contents);
    this.box.scrollTop = now;
  }

  /** What differs in the contents of what both have bound: {sure, text} by the keys of rows. */
  async contents(position, other, parts, was, options) {
    const rows = parts.flatMap(
        (part) => part.rows.filter(({key, text, contents}) => contents && was.get(part.title + "/" + key) === text)
                      .map((row) => ({key: part.title + "/" + row.key, contents: row.contents})));
    const asked = new Map();
    for (const {contents} of rows) {
      const key = JSON.stringify(contents);
      if (asked.has(key)) continue;
      asked.set(key, asked.size < CONTENTS
          ? compareContents(contents, other, position, {...options, late: true})
          : {sure: false, text: "contents are not compared: there are many"});
    }
    const found =
        await Promise.all(rows.map(async ({key, contents}) => [key, await asked.get(JSON.stringify(contents))]));
    return new Map(found.filter(([, one]) => one));
  }

  /** The same of what has been chosen to be compared: bytes of buffers in other ranges, and of other traces, too. */
  async sides(position, other, parts, theirs, options) {
    const rows = parts.flatMap((part) => part.rows.map((row) => ({...row, key: part.title + "/" + row.key})))
                     .filter(({key, contents}) => contents && theirs.get(key));
    const capture = this.trace?.id;
    const found = await Promise.all(rows.map(async ({key, contents, members}, i) => [
      key, i < CONTENTS ? await compareSides({contents: theirs.get(key), at: other, capture}, {contents, at: position}, members, {...options, late: true})
                        : {sure: false, text: "contents are not compared: there are many"}
    ]));
    return new Map(found.filter(([, one]) => one));
  }

  async compared(position, options) {
    if (this.trace) {
      const {position: other, how} = await counterpart(position, frameOf(position), undefined, this.trace.id);
      return {other, parts: how === "pass" || isCommand(other) ? await this.parts(other, options, this.trace.id) : null};
    }
    const other =
        this.held && this.held !== position ? this.held : (await this.capture.neighbour(position, -1))?.position;
    return {other, parts: other ? await this.parts(other, options) : null};
  }

  async parts(position, options, capture) {
    const state = await api.json(api.path(`/commands/${position}/state`, {}, capture), options);
    const [, bound] = Object.entries(state.bound)[0] ?? [];
    const none = () => null;
    const [info, shaders, pass, names] = await Promise.all([
      bound?.pipeline ? pipelineInfo(bound.pipeline, position, {capture}).catch(none) : null,
      bound?.pipeline ? pipelineShaders(bound.pipeline, position, {capture}).catch(none) : null,
      state.pass?.renderPass ? creation(state.pass.renderPass, position, {capture}).catch(none) : null,
      bound?.pipeline ? pipelineNames(bound.pipeline, position, {capture}).catch(none) : null,
    ]);
    options.signal.throwIfAborted();
    return describe(state, {info, shaders, pass, names});
  }

  /** `contents`: null while they are being compared. */
  draw(position, parts, before, other, comparable, contents = null) {
    const name = parts.command;
    fill(byId("state-title"), el("span", {class: "mono", title: `${position} ${name}`}, position, " ", name));
    let changes = 0;
    const made = parts.map((part) => {
      const row = (one) => {
        const was = before?.get(part.title + "/" + one.key);
        const changed = before && comparable(part) && !this.equal(was, one.text);
        const inside = contents?.get(part.title + "/" + one.key);
        const mark = changed || inside?.sure ? "ch" : null;
        return [
          el("dt", {class: mark, title: one.title ?? one.label}, one.label),
          el("dd", {class: mark, data: {key: one.key}}, looks(one.make ? one.make() : one.text),
              changed && was !== undefined ? el("span", {class: "was"}, typed(was)) : null,
              inside ? [el("span", {class: "inside"}, inside.text), differing(inside)] : null)
        ];
      };
      const list = el("dl", {}, part.rows.slice(0, FIRST).map(row));
      for (const one of part.rows) {
        const key = part.title + "/" + one.key;
        if (before && comparable(part) && (!this.equal(before.get(key), one.text) || contents?.get(key)?.sure)) changes++;
      }
      const more = part.rows.length > FIRST ? chip(`${number(part.rows.length - FIRST)} more`, null, (event) => {
        const shown = list.childElementCount / 2;
        list.append(...part.rows.slice(shown, shown + 500).flatMap(row));
        if (list.childElementCount / 2 >= part.rows.length)
          event.target.remove();
        else
          event.target.firstChild.data = `${number(part.rows.length - list.childElementCount / 2)} more`;
      }) : null;
      return el("details", {class: "part", open: !this.closed.has(part.title), data: {part: part.title}},
          el("summary", {}, part.title, dim(linked(part.about ?? ""))), list,
          more ? el("div", {class: "tools"}, more) : null);
    });
    const against = other ? el("div", {class: "tools dim", id: "state-against"}) : null;
    fill(this.box, this.messages, against, this.chosen ? this.pictures.box : null, made, el("div", {class: "nothing"}, before ? "" : "There is no draw before it."));
    this.box.dataset.at = position;
    this.box.dataset.against = other ?? "";
    this.box.dataset.changes = changes;
    if (other) this.summarize(other, before, contents);
  }

  /** Handles of two traces say nothing of each other: what they stand for is compared. */
  equal(was, text) {
    const neutral = (one) => one?.replace(/\b(Vk\w+):\d+/g, "$1");
    return this.trace ? neutral(was) === neutral(text) : was === text;
  }

  /** Says how many differences there are, and what is still being compared. */
  summarize(other, before, contents) {
    const changes = Number(this.box.dataset.changes);
    const unsure = [...contents?.values() ?? []].filter(({sure}) => !sure).length;
    this.box.dataset.compared = contents ? "contents" : before ? "bindings" : "";
    const found = changes ? count(changes, "difference") : contents ? "no difference" : "no other bindings";
    fill(byId("state-against"), el("span", {}, found, changes || contents ? " from " : " than ", this.trace ? `${this.trace.file} ${other}` : place(other),
                                    contents ? "" : before ? ", contents are being compared" : "",
                                    unsure ? `, contents of ${number(unsure)} may differ` : ""));
  }

  /** A frame, a submit or a command buffer: how much is in it, and its own calls. */
  async showPlace(position, signal) {
    const kind = ["frame", "submit", "command buffer"][Math.min(position.split(".").length - 1, 2)];
    fill(byId("state-title"), el("span", {class: "mono"},
                                kind === "frame" ? this.capture.frames.name(Number(position)) : `${kind} ${position}`));
    const {nodes: [node]} = await api.json(api.path("/tree", {at: position, depth: 1, children: "1-1"}), {signal});
    const rows = [
      ["submits", node.submits], ["buffers", node.buffers], ["passes", node.passes], ["draws", node.draws],
      ["dispatches", node.dispatches], ["ray traces", node.traces], ["transfers", node.transfers],
      ["others", node.others], ["commands", node.commands]
    ].filter(([, value]) => value);
    const made = [el("details", {class: "part", open: true, data: {part: "Contents"}},
        el("summary", {}, "Contents", dim(node.object ? linked(node.object) : "")),
        rows.length ? el("dl", {}, rows.map(([label, value]) => [el("dt", {}, label), el("dd", {}, number(value))]))
                    : el("div", {class: "tools dim"}, "Nothing is drawn here, and there are no commands."))];
    const links =
        el("div", {class: "tools"}, el("a", {href: "#", data: {view: "objects", when: position}}, "what lives here"));
    fill(this.box, this.messages, made, links);
    this.box.dataset.at = position;
    if (kind === "frame")
      await this.showDiff(Number(position), signal);
    else if (kind === "submit") {
      const calls = await api.lines(api.path("/commands/" + position), {signal});
      signal.throwIfAborted();
      const call = calls.find((line) => !("command" in line));
      if (call)
        this.box.append(el("details", {class: "part", open: true}, el("summary", {}, call.name, dim(`#${call.index}`)),
            pretty(call.args)));
    }
  }

  /** A call outside of command buffers. */
  async showCall(position, signal) {
    const call = (await api.lines(callsPath(position), {signal})).find((line) => !("command" in line));
    fill(byId("state-title"), el("span", {class: "mono"}, position, " ", call.name));
    const rows = [["thread", call.thread], ["frame", call.frame], ["result", call.result]].filter(([, value]) => value !== undefined);
    fill(this.box, this.messages, el("details", {class: "part", open: true, data: {part: "Call"}}, el("summary", {}, "Call"),
            el("dl", {}, rows.map(([label, value]) => [el("dt", {}, label), el("dd", {}, typed(value))]))),
        el("details", {class: "part", open: true, data: {part: "Parameters"}}, el("summary", {}, "Parameters"), pretty(call.args)));
    this.box.dataset.at = position;
  }

  async showDiff(frame, signal) {
    if (frame < 2) return;
    const diff = await api.json(api.path(`/diff/${frame - 1}/${frame}`), {signal}).catch((error) => {
      if (aborted(error)) throw error;
      return null;
    });
    signal.throwIfAborted();
    if (!diff) return;
    for (const [title, list] of [["Made", diff.made], ["Ended", diff.ended], ["Changed", diff.changed]]) {
      if (!list.length) continue;
      const text = ({written, updated, recorded, memory, name}) => [written &&
              `written ${count(written.count, "time")}, ${size(written.bytes)}`,
          updated && `updated ${count(updated.count, "time")}`, recorded && `recorded ${count(recorded.count, "time")}`,
          memory && "memory", name && "name"].filter(Boolean).join(", ");
      this.box.append(el("details", {class: "part", open: title !== "Ended"},
          el("summary", {}, title, dim(`since frame ${frame - 1}: ${count(list.length, "object")}`)),
          el("dl", {class: "names"},
              list.slice(0, CALLS).map(
                  (one) => [el("dt", {}, handle(one.object)), el("dd", {class: "dim"}, text(one))])),
          list.length > CALLS ? el("div", {class: "tools dim"}, `and ${number(list.length - CALLS)} more`) : null));
    }
  }
}

/** The values of a block, or bytes, that differ. */
const differing = ({values}) => values && el("div", {class: "differing"},
    values.map(([name, was, now]) => el("div", {}, dim(name, " "), typed(now), el("span", {class: "was"}, typed(was)))));

/** Texts among what a row shows get the looks of their types. */
const looks = (shown) => [shown].flat(9).map((part) => (typeof part === "string" ? typed(part) : part));

/** The state as parts of rows. Each row has a key that is the same for other commands, and a text to compare. */
export function describe(state, {info, shaders, pass, names}) {
  const parts = [];
  const {at} = state;
  const part = (title, about, rows) => {
    if (rows.length) parts.push({title, about, rows});
  };
  const row = (key, label, text, make, contents) => ({key, label, text: String(text), make, contents});
  const args = flatten(state.args).filter(([label]) => label !== "commandBuffer");
  part("Parameters", "", args.map(([label, text]) => row(label, label, text, null, indirect(label, state))));
  for (const [point, bound] of Object.entries(state.bound)) {
    if (bound.pipeline || state.shaders?.length)
      part("Pipeline",
          bound.pipeline ? `${point === "graphics" ? "" : point + " "}${bound.pipeline}` : "shader objects",
          pipelineRows(state, bound, info, shaders, row));
    if (point === "graphics") part("Viewport", "", viewportRows(state, info, row));
    descriptors(state, bound, names, part, row);
  }
  if (!state.bound.graphics) part("Viewport", "", viewportRows(state, info, row));
  const setInput = state.dynamicState?.find(({name}) => name === "vkCmdSetVertexInputEXT");
  const input = setInput?.args ?? info?.pVertexInputState;
  const inputs =
      (state.vertexBuffers ?? [])
          .map(
              (one) => row("vertex " + one.binding, `vertex ${one.binding}`,
                  `${one.buffer} at ${number(one.offset)}${stride(one, input) ? `, stride ${stride(one, input)}` : ""}`,
                  () => [handle(one.buffer, layoutOfVertices(one, input, state.args)), ` at ${number(one.offset)}`,
                      stride(one, input) ? `, stride ${stride(one, input)}` : ""],
                  one.buffer && {buffer: one.buffer, offset: one.offset, bytes: one.size}));
  if (state.indexBuffer) {
    const {buffer, offset, type, size: bytes} = state.indexBuffer;
    const as = {VK_INDEX_TYPE_UINT16: "u16", VK_INDEX_TYPE_UINT32: "u32"}[type] ?? "u8";
    inputs.push(row("index", "index", `${buffer} at ${number(offset)}, ${plain(type, "VK_INDEX_TYPE_")}`,
        () => [handle(buffer, {offset: offset + (state.args.firstIndex ?? 0) * Number(as.slice(1)) / 8, as}),
                 ` at ${number(offset)}, ${plain(type, "VK_INDEX_TYPE_")}`],
        buffer && {buffer, offset, bytes}));
  }
  for (const one of state.transformFeedbackBuffers ?? [])
    inputs.push(row("feedback " + one.binding, `feedback ${one.binding}`, `${one.buffer} at ${number(one.offset)}`));
  part("Input", count(inputs.length, "buffer"), inputs);
  if (state.pass) part("Pass", state.pass.renderPass ?? "dynamic rendering", passRows(state.pass, pass, at, row));
  part("Push constants", names?.push?.name ?? "", pushRows(state.pushConstants ?? [], names?.push, row));
  part("Dynamic state", count(state.dynamicState?.filter(({name}) => !VIEWPORT.test(name)).length ?? 0, "command"),
      (state.dynamicState ?? [])
          .filter(({name}) => !VIEWPORT.test(name))
          .flatMap((one) => flatten(
                       one.args).filter(([label]) => !["commandBuffer"].includes(label) && !/Count$|^first/.test(label))
                                .map(([label, text]) =>
                                         row(`${one.name} ${label}`, label.replace(/^p([A-Z])/, "$1"), text))));
  const rest = [];
  if (state.labels?.length) rest.push(row("labels", "labels", state.labels.join(" / ")));
  for (const query of state.queries ?? [])
    rest.push(row("query " + query.pool, "query", `${query.query} of ${query.pool}`));
  if (state.condition)
    rest.push(row("condition", "condition",
        typeof state.condition === "string" ? state.condition : JSON.stringify(state.condition)));
  if (state.transformFeedback) rest.push(row("feedback", "feedback", "active"));
  const named = Object.entries(state.names ?? {});
  for (const [object, name] of named.slice(0, FIRST)) rest.push(row("name " + object, object, name));
  part("More", "", rest);
  parts.command = state.command;
  return parts;
}

const STAGE = /^VK_SHADER_STAGE_(.*)_BIT(_\w+)?$/;
const stageName = (stage) => (STAGE.exec(stage)?.[1] ?? stage).toLowerCase().replaceAll("_", " ");

const ORDER = ["VERTEX", "TESSELLATION_CONTROL", "TESSELLATION_EVALUATION", "TASK", "MESH", "GEOMETRY", "FRAGMENT"];

/** PRIMITIVE_TOPOLOGY_TRIANGLE_LIST becomes TRIANGLE_LIST, and true and false on and off. */
const lastPart = (text) =>
    ({true: "on", false: "off"}[text] ?? text.replace(/^(PRIMITIVE_TOPOLOGY|CULL_MODE|COMPARE_OP|FRONT_FACE)_/, ""));

function pipelineRows(state, bound, info, shaders, row) {
  const rows = [];
  if (bound.pipeline) rows.push(row("pipeline", "pipeline", bound.pipeline));
  const code = (shaders ?? [])
                   .flatMap(({hash, code: kind, stages, names}) => stages.slice(0, 8).map((one) => ({...one, hash, kind, names})))
                   .sort((a, b) => ORDER.indexOf(STAGE.exec(a.stage)?.[1]) - ORDER.indexOf(STAGE.exec(b.stage)?.[1]));
  for (const {hash, kind, stage, entry, names} of code)
    rows.push(row(stage, stageName(stage), `${hash} ${entry}`, () => [
      shaderLink(hash), ` ${entry}`, names[0] ? dim(` ${names[0]}`) : null,
      kind === "spirv" ? chip("edit", null, () => go({query: {...NO_EDIT, edit: hash}}), {class: "chip edit-here", data: {edit: hash}})
                       : null,
      kind === "spirv" && STAGES.includes(stageName(stage)) ? chip("values", null, () => go({query: {...NO_EDIT, values: stageName(stage)}}),
                                              {class: "chip edit-here", data: {values: stageName(stage)}})
                                        : null
    ]));
  for (const one of state.shaders ?? []) rows.push(row(one.stage, stageName(one.stage), String(one.shader)));
  if (!info) return rows;
  const dynamic = new Set(info.pDynamicState?.pDynamicStates ?? []);
  const fixed = (name, label, text) => {
    if (!dynamic.has("VK_DYNAMIC_STATE_" + name)) return rows.push(row(label, label, text));
    // The command that sets it has the name of the state.
    const command = "vkCmdSet" + name.toLowerCase().replace(/(?:^|_)([a-z])/g, (_, letter) => letter.toUpperCase());
    const set = state.dynamicState?.find((one) => one.name.startsWith(command));
    const values = flatten(set?.args).filter(([key]) => key !== "commandBuffer").map(([key, value]) =>
        key === "cullMode" && value === "0" ? "NONE" : lastPart(value));
    rows.push(row(label, label, `${values.join(", ") || "not set"}, dynamic`));
  };
  const {
    pInputAssemblyState: input,
    pRasterizationState: raster,
    pMultisampleState: samples,
    pDepthStencilState: depth,
    pColorBlendState: blend,
    pTessellationState: patches
  } = info;
  if (input)
    fixed("PRIMITIVE_TOPOLOGY", "topology",
        plain(input.topology, "VK_PRIMITIVE_TOPOLOGY_") + (input.primitiveRestartEnable ? ", restart" : ""));
  if (patches) rows.push(row("patch", "patch", count(patches.patchControlPoints, "point")));
  if (raster) {
    const cull = plain(raster.cullMode, "VK_CULL_MODE_").replace(/^0$/, "NONE");
    const front = raster.frontFace.includes("COUNTER") ? "counter-clockwise" : "clockwise";
    fixed("CULL_MODE", "cull", `${cull}, front ${front}`);
    if (raster.polygonMode !== "VK_POLYGON_MODE_FILL")
      rows.push(row("polygon", "polygon", plain(raster.polygonMode, "VK_POLYGON_MODE_")));
    if (raster.depthBiasEnable)
      fixed("DEPTH_BIAS", "depth bias",
          `${short(raster.depthBiasConstantFactor)}, slope ${short(raster.depthBiasSlopeFactor)}`);
    if (raster.rasterizerDiscardEnable) rows.push(row("discard", "discard", "all"));
  }
  if (samples && samples.rasterizationSamples !== "VK_SAMPLE_COUNT_1_BIT")
    rows.push(row("samples", "samples", samples.rasterizationSamples.replace(/\D+(\d+)\D*/, "$1")));
  if (depth) {
    fixed("DEPTH_TEST_ENABLE", "depth",
        depth.depthTestEnable ? `test ${plain(depth.depthCompareOp, "VK_COMPARE_OP_")}${
                                    depth.depthWriteEnable ? ", write" : ", no write"}`
                              : "off");
    if (depth.stencilTestEnable)
      for (const face of ["front", "back"])
        rows.push(row("stencil " + face, `stencil ${face}`,
            `${plain(depth[face].compareOp, "VK_COMPARE_OP_")}, pass ${plain(depth[face].passOp, "VK_STENCIL_OP_")}`));
  }
  blend?.pAttachments?.forEach(
      (one, i) => rows.push(row("blend " + i, `blend ${i}`,
          (one.blendEnable ? `${factor(one.srcColorBlendFactor)} ${plain(one.colorBlendOp, "VK_BLEND_OP_")} ${
                                 factor(one.dstColorBlendFactor)}`
                           : "off") +
              mask(one.colorWriteMask))));
  if (info.layout) rows.push(row("layout", "layout", info.layout));
  return rows;
}

const factor = (name) => plain(name, "VK_BLEND_FACTOR_");
function mask(flags) {
  const letters = [..."RGBA"].filter((letter) => flags.includes(`COMPONENT_${letter}_`)).join("");
  return letters === "RGBA" ? "" : letters ? `, writes ${letters}` : ", writes nothing";
}

const SHORT = {
  "combined image sampler": "image",
  "uniform buffer": "uniform",
  "uniform buffer dynamic": "uniform",
  "storage buffer": "storage",
  "storage buffer dynamic": "storage"
};

function descriptors(state, bound, names, part, row) {
  for (const set of bound.sets ?? []) {
    const rows = [];
    const about = set.set ?? (set.descriptorBuffer ? `in ${set.descriptorBuffer}` : set.pushed ? "pushed" : "");
    const dynamic = [...set.dynamicOffsets ?? []];
    if (set.compatible === false) rows.push(row("compatible", "layout", `${set.layout} does not fit the pipeline's`));
    if (set.set) rows.push(row("set", "set", set.set));
    for (const binding of set.bindings ?? []) {
      const kind = plain(binding.type, "VK_DESCRIPTOR_TYPE_").toLowerCase().replaceAll("_", " ");
      const place = `${set.number}.${binding.binding}`, known = names?.bindings.get(place);
      const title = `binding ${binding.binding}: ${kind}`;
      for (const element of binding.elements ?? []) {
        const one = kind.endsWith("dynamic") ? {...element, dynamic: dynamic.shift() ?? 0} : element;
        const index = binding.count > 1 ? `[${one.element}]` : "";
        const first = elementOf(known?.array, state.args, one);
        const block = first ?? (known?.block ? {as: "block", block: `${bound.pipeline}/${place}`} : {});
        const label = `${binding.binding}${index} ${known?.name || SHORT[kind] || kind}`;
        rows.push({
          ...row(`${binding.binding} ${one.element}`, label, descriptorText(one),
              () => descriptor(one, state.at, state.names, block, first ? `element ${state.args.firstInstance}` : ""), contentsOf(one)),
          members: known?.block?.members,
          title
        });
      }
      if (binding.bytes)
        rows.push(row(`${binding.binding} inline`, `${binding.binding} inline`,
            binding.bytes.map(({offset, bytes}) => `at ${offset}: ${bytes}`).join(", ")));
      if (binding.elements?.length === 0 && !binding.bytes) {
        // Bindings of one kind without names are one row.
        const last = rows.at(-1)?.empty, number = binding.binding;
        const joins = !known?.name && last?.kind === kind && last.to === number - 1;
        if (joins) rows.pop();
        const empty = {kind: known?.name ? "" : kind, from: joins ? last.from : number, to: number};
        const label = `${joins ? `${empty.from}–` : ""}${number} ${known?.name || SHORT[kind] || kind}`;
        rows.push({...row(`${empty.from} none`, label, "nothing was written"), empty, title});
      }
    }
    part(`Set ${set.number}`, about, rows);
  }
}

/** What compareContents takes. */
function contentsOf({object, image, offset, range, dynamic}) {
  if (image) return {image};
  if (object?.startsWith("VkBuffer:")) return {buffer: object, offset: offset + (dynamic ?? 0), bytes: range};
  return object?.startsWith("VkBufferView:") ? {view: object} : undefined;
}

/** The same of a buffer that the parameters of an indirect command name. */
function indirect(label, {command, args}) {
  if (label !== "buffer" || !/Indirect/.test(command) || !args.buffer) return undefined;
  const many = args.drawCount ?? args.maxDrawCount ?? 1, one = command === "vkCmdDispatchIndirect" ? 12 : 20;
  return {buffer: args.buffer, offset: args.offset, bytes: many ? (many - 1) * (args.stride ?? 0) + one : 0};
}

function descriptorText({object, image, layout, offset, range, sampler, dynamic}) {
  return [
    image, object === undefined || object === image ? null : object ?? "VK_NULL_HANDLE",
    offset !== undefined ? ` ${extent(offset, range, dynamic)}` : null, sampler,
    layout && !/SHADER_READ_ONLY/.test(layout) ? plain(layout, "VK_IMAGE_LAYOUT_") : null
  ].filter(Boolean)
      .join(" ");
}

function extent(offset, range, dynamic) {
  return `at ${number(offset)}${dynamic ? ` + ${number(dynamic)}` : ""}, ${
      range === null ? "to its end" : size(range)}`;
}

/** Queries for the element where a draw begins in an array that has one for each instance; null: there is no such array. */
function elementOf(array, {firstInstance}, {offset, range, dynamic}) {
  if (!array?.instances || !firstInstance) return null;
  const inside = array.offset + firstInstance * array.stride;
  return {
    offset: offset + (dynamic ?? 0) + inside,
    ...(range > inside ? {bytes: range - inside} : {}),
    as: array.as ?? "vec4",
    stride: array.stride
  };
}

/** A descriptor with its picture and links; `block` are queries of what the shader calls it, `title` is the link's. */
export function descriptor(one, at, names = {}, block = {}, title = "") {
  const {object, image, layout, offset, range, sampler, dynamic} = one;
  const parts = [];
  const name = names[image] ?? names[object];
  if (image)
    parts.push(thumb(image, at), handle(image), name ? el("span", {class: "label"}, ` “${name}”`) : null,
        object && object !== image ? [" ", dim(linked(object))] : null);
  else if (object) {
    const link = handle(object,
        offset === undefined ? {} : {offset: offset + (dynamic ?? 0), ...(range ? {bytes: range} : {}), as: "vec4", ...block});
    if (title) link.title = title;
    parts.push(link, name ? el("span", {class: "label"}, ` “${name}”`) : null);
  } else if (object === null)
    parts.push("VK_NULL_HANDLE");
  if (offset !== undefined) parts.push(" " + extent(offset, range, dynamic));
  if (sampler) parts.push(" ", dim(linked(sampler)));
  if (layout && !/SHADER_READ_ONLY/.test(layout)) parts.push(" ", dim(plain(layout, "VK_IMAGE_LAYOUT_")));
  return parts;
}

function passRows(pass, info, at, row) {
  const rows = [];
  if (pass.begin) rows.push(row("begin", "begins", pass.name, () => [place(pass.begin), " ", dim(pass.name)]));
  if (pass.framebuffer) rows.push(row("framebuffer", "framebuffer", pass.framebuffer));
  if (pass.renderPass && (info?.pSubpasses?.length ?? 2) > 1) rows.push(row("subpass", "subpass", pass.subpass));
  const begin = Object.values(pass.args ?? {}).find((value) => value?.renderArea);
  if (begin) {
    const {offset, extent} = begin.renderArea;
    rows.push(row("area", "area",
        `${extent.width} × ${extent.height}${offset.x || offset.y ? ` at ${offset.x}, ${offset.y}` : ""}`));
  }
  const subpass = info?.pSubpasses?.[pass.subpass];
  const lists = {
    color: subpass?.pColorAttachments,
    resolve: subpass?.pResolveAttachments,
    input: subpass?.pInputAttachments
  };
  const dynamic = {
    color: begin?.pColorAttachments,
    depth: [begin?.pDepthAttachment],
    stencil: [begin?.pStencilAttachment]
  };
  for (const one of pass.attachments) {
    const reference =
        lists[one.role]?.[one.number] ?? (one.role.startsWith("depth") ? subpass?.pDepthStencilAttachment : null);
    const how = info ? info.pAttachments?.[reference?.attachment] : dynamic[one.role]?.[one.number];
    const ops =
        how ? `${plain(how.loadOp, "VK_ATTACHMENT_LOAD_OP_")}, ${plain(how.storeOp, "VK_ATTACHMENT_STORE_OP_")}` : "";
    const which = [
      one.level ? `level ${one.level}` : "",
      one.layer || one.layers > 1 ? `layer ${one.layer}${one.layers > 1 ? ` to ${one.layer + one.layers - 1}` : ""}`
                                                                        : ""
    ].filter(Boolean).join(" ");
    const label = one.role === "depth-stencil"
        ? "depth"
        : `${one.role}${["depth", "stencil"].includes(one.role) ? "" : " " + one.number}`;
    const format = one.format ? plain(one.format, "VK_FORMAT_") : "";
    rows.push(
        row(`${one.role} ${one.number}`, label, [one.image ?? one.view, which, format, ops].filter(Boolean).join(" "),
            () => [one.image ? handle(one.image) : linked(one.view ?? "none"), " ", which ? which + " " : "", format,
                ops ? dim(` ${ops}`) : null]));
  }
  return rows;
}

/** Push constants as the shader names them, else as words. */
function pushRows(runs, block, row) {
  const end = Math.max(0, ...runs.map(({offset, size: bytes}) => offset + bytes));
  const known = new Uint8Array(end), all = new Uint8Array(end);
  for (const {offset, bytes} of runs) {
    const view = bytesOf(bytes);
    for (let i = 0; i < view.byteLength; i++) {
      all[offset + i] = view.getUint8(i);
      known[offset + i] = 1;
    }
  }
  const members = (block?.members ?? []).filter((member) => known[member.offset]);
  if (!members.length)
    return runs.map(({offset, bytes}) => row("push " + offset, `at ${offset}`, words(bytesOf(bytes))));
  const view = new DataView(all.buffer);
  return members.map((member) => {
    const lines = valuesOf(member, view, (at) => known[at]).map((line) => line.map(value).join("  "));
    const make = () => lines.map((line) => el("div", {}, line));
    return {
      ...row("push " + member.name, member.name, lines.join("; "), make),
      title: `${member.type} at ${member.offset}`
    };
  });
}

const value = (one) => (one === null ? "?" : short(typeof one === "bigint" ? String(one) : one));

/** Bytes as words: as floats where they look like ones. */
function words(view) {
  const out = [];
  for (let i = 0; i + 4 <= view.byteLength && i < 1024; i += 4) {
    const float = view.getFloat32(i, true), bits = view.getUint32(i, true), much = Math.abs(float);
    const isFloat = float === 0 || (much > 1e-6 && much < 1e9);
    out.push(isFloat ? short(float) : bits < 65536 ? String(bits) : "0x" + bits.toString(16).padStart(8, "0"));
  }
  return out.join("  ");
}

function stride(one, input) {
  return one.stride ?? input?.pVertexBindingDescriptions?.find(({binding}) => binding === one.binding)?.stride ?? 0;
}

/** The element of a vertex buffer where a draw begins. An index is added to its offset of vertices. */
function firstElement({binding}, input, {firstVertex, vertexOffset, firstInstance}) {
  const rate = input?.pVertexBindingDescriptions?.find((one) => one.binding === binding)?.inputRate;
  return rate === "VK_VERTEX_INPUT_RATE_INSTANCE" ? firstInstance ?? 0 : Math.max(firstVertex ?? vertexOffset ?? 0, 0);
}

/** How the pipeline reads a vertex buffer, as `lapilli memory --as` has it, from the draw's first element on. */
function layoutOfVertices(one, input, args) {
  const base = {offset: one.offset + firstElement(one, input, args) * stride(one, input)};
  const attributes = (input?.pVertexAttributeDescriptions ?? [])
                         .filter(({binding}) => binding === one.binding)
                         .sort((a, b) => a.offset - b.offset);
  const types = [];
  let end = 0;
  for (const {format, offset} of attributes) {
    const parts = [...format.matchAll(/[RGBA](\d+)/g)].map(([, bits]) => Number(bits));
    if (!parts.length || offset < end || /PACK/.test(format) && !/PACK32/.test(format)) return base;
    if (offset > end) types.push(`x8x${offset - end}`);
    const letter = /FLOAT/.test(format) ? "f" : /SINT|SNORM|SSCALED/.test(format) ? "i" : "u";
    const type = /PACK32/.test(format) ? "x32" : `${letter}${parts[0]}`;
    const many = /PACK32/.test(format) ? 1 : parts.length;
    types.push(many > 1 ? `${type}x${many}` : type);
    end = offset + (many * Number(type.slice(1))) / 8;
  }
  const step = stride(one, input);
  return types.length ? {...base, as: types.join(","), ...(step && step >= end ? {stride: step} : {})} : base;
}
