// SPDX-License-Identifier: MIT
// The values that a shader of the selected command computed, beside its code: of the pinned texel, of a vertex or of an
// invocation. A replay finds them. The address has the stage, so the next draw has its values, too.

import {aborted, api} from "./api.js";
import {byId, chip, count, dim, el, fill, later, notice, press, shaderLink, short} from "./dom.js";
import {pipelineShaders} from "./facts.js";
import {pinned, swatch} from "./history.js";
import {go, isCommand, route} from "./route.js";
import {Rows} from "./rows.js";
import {colored} from "./shaders.js";

const QUIET_MS = 160; // values are asked for once the selection has been quiet so long
const LINE = 18;
const TOLD = 64; // rounds in a title
export const STAGES = ["fragment", "vertex", "compute"];
export const NO_VALUES = {
  values: null,
  vertex: null,
  instance: null,
  invocation: null,
  text: null
};
// Of outputs that have no name.
const BUILT_IN = {0: "Position", 1: "PointSize", 3: "ClipDistance", 4: "CullDistance", 9: "Layer", 10: "ViewportIndex",
  20: "SampleMask", 22: "FragDepth"};

/** The rows of a text of SPIR-V on which its instructions begin. Texts inside of them may have ends of lines. */
export function beginnings(lines) {
  const found = [];
  let inside = false;
  lines.forEach((line, row) => {
    if (!inside) {
      if (!/^\s*[^\s;]/.test(line)) return;
      found.push(row);
    }
    for (const [mark] of line.matchAll(/\\.|"/g))
      if (mark === "\"") inside = !inside;
  });
  return found;
}

const text = (values) => values.map(short).join(" ");

/** A field of the address; what is typed is asked for when it is complete. */
function field(name, label, what, properties = {}) {
  const input = el("input", {
    id: "debug-" + name,
    "aria-label": label,
    autocomplete: "off",
    on: {change: () => (what.test(input.value) ? go({query: {[name]: input.value || null}}, {replace: true}) : null)},
    ...properties
  });
  return input;
}

/** One of `all`, from 1. */
function stepper(label, now, all, act) {
  const input = el("input", {
    type: "number",
    class: "step",
    min: 1,
    max: all,
    value: now,
    "aria-label": label,
    on: {change: () => act(Math.max(1, Math.min(all, Math.round(Number(input.value)) || 1)))}
  });
  return el("span", {class: "stepper"}, input, dim(`/${all}`));
}

export class Debug {
  constructor() {
    Object.assign(this, {pane: byId("debug-pane"), wanted: "", hash: "", lines: [], starts: [], head: null, runs: []});
    this.title = el("span");
    this.ways = ["spirv", "glsl"].map((way) => chip(way === "glsl" ? "GLSL" : "SPIR-V", false,
        () => go({query: {text: way === "glsl" ? way : null}}, {replace: true}), {data: {text: way}}));
    this.stages = STAGES.map(
        (stage) => chip(stage, false, () => go({query: {values: stage}}, {replace: true}), {data: {stage}}));
    this.places = {
      fragment: el("b", {class: "mono"}),
      vertex: el("span", {}, "vertex ", field("vertex", "VertexIndex", /^\d*$/, {placeholder: "0"}), " instance ",
          field("instance", "InstanceIndex", /^\d*$/, {placeholder: "first"})),
      compute: el("span", {}, "invocation ",
          field("invocation", "GlobalInvocationId", /^(\d+,\d+,\d+)?$/, {placeholder: "0,0,0", class: "wide"}))
    };
    this.says = el("div", {id: "debug-says", role: "status"});
    this.code = el("div", {class: "code valued", id: "debug-code", tabindex: "0", "aria-label": "Code and values"});
    this.outputs = el("dl", {id: "debug-outputs"});
    this.rows = new Rows(this.code, {extent: LINE, make: (row) => this.make(row)});
    fill(this.pane,
        el("h2", {}, this.title, el("span", {class: "chips"}, this.ways,
            chip("close", null, () => go({query: NO_VALUES}), {id: "debug-close"}))),
        el("div", {class: "tools"}, this.stages, el("span", {class: "sep"}), Object.values(this.places)), this.says,
        this.code, this.outputs);
    this.ask = later(QUIET_MS, (...wish) => this.load(...wish));
  }

  /** Shows the values that the address asks for; nothing where it asks for none, or where the code is being changed. */
  show(position, query) {
    const on = STAGES.includes(query.values) && !query.edit;
    byId("commands").classList.toggle("debugs", on);
    this.pane.hidden = !on;
    if (on) byId("state-pane").hidden = true;
    if (!on) return this.leave();
    const {values: stage, pin, vertex, instance, invocation, text: way} = query;
    const wanted = [position, stage, pin, vertex, instance, invocation, way].join();
    if (wanted === this.wanted) return;
    this.leave();
    this.wanted = wanted;
    this.stop = new AbortController();
    for (const button of this.ways) press(button, button.dataset.text === (way ?? "spirv"));
    for (const button of this.stages) press(button, button.dataset.stage === stage);
    for (const [name, place] of Object.entries(this.places)) place.hidden = name !== stage;
    for (const [name, value] of Object.entries({vertex, instance, invocation})) byId("debug-" + name).value = value ?? "";
    fill(this.places.fragment, pin ? `texel ${pin}` : "");
    this.old(true);
    this.ask(position, query, this.stop.signal);
  }

  /** Nobody looks any more. */
  leave() {
    this.ask.cancel();
    this.stop?.abort();
    this.wanted = "";
  }

  /** What is seen is that of another command, until the answer comes. */
  old(old) {
    this.pane.classList.toggle("old", old);
    delete this.pane.dataset.loaded;
    delete this.pane.dataset.failed;
  }

  async load(position, query, signal) {
    const {values: stage, pin} = query;
    try {
      if (!isCommand(position)) return this.none("No command is selected", "Draws and dispatches have values.");
      const shaders = await this.shaders(position, signal);
      if (!shaders) return this.none("No values here", "Draws and dispatches have values.");
      const has = (one) => shaders.find(({stages}) => stages.some((other) => stageOf(other) === one));
      for (const button of this.stages) button.disabled = shaders.length > 0 && !has(button.dataset.stage);
      const shader = has(stage);
      if (shaders.length && !shader)
        return this.none(`No ${stage} shader`, "This command has none.");
      await this.text(shader, stage, query.text === "glsl", signal);
      if (stage === "fragment" && !pinned(query))
        return this.none("No texel is pinned", "A click in the picture pins one: its values stand here.");
      const wish = {
        fragment: {texel: pin},
        vertex: {vertex: query.vertex ?? "0", instance: query.instance},
        compute: {invocation: query.invocation ?? "0,0,0"}
      }[stage];
      await this.find(api.path("/debug/" + position, wish), signal);
    } catch (error) {
      if (!aborted(error) && !signal.aborted) this.failed(error);
    }
  }

  /** Those of the bound pipeline, if there is one. Null: the command has none. */
  async shaders(position, signal) {
    const {command, bound} = await api.json(api.path(`/commands/${position}/state`), {signal});
    if (!/^vkCmd(Draw|Dispatch|TraceRays)/.test(command)) return null;
    const [one] = Object.values(bound);
    const shaders = one?.pipeline ? await pipelineShaders(one.pipeline, position) : [];
    signal.throwIfAborted();
    return shaders;
  }

  /** The code, which stays where it is if the next draw has the same. */
  async text(shader, stage, glsl, signal) {
    const key = `${shader?.hash ?? ""}${glsl}`;
    if (key === this.hash) return;
    const found = shader ? await api.json(api.path("/shaders/" + shader.hash, {glsl}), {signal}) : {};
    signal.throwIfAborted();
    const code = found.glsl ?? found.spirv;
    this.forget();
    fill(this.title, `${stage} shader `, shader ? shaderLink(shader.hash) : null);
    this.hash = key;
    this.glsl = glsl;
    this.lines = code ? code.replace(/\n$/, "").split("\n") : [];
    this.starts = glsl ? [] : beginnings(this.lines);
    // Long names push all lines to the right. Most lines of functions begin in front here.
    const first = this.starts.find((row) => / = OpFunction /.test(this.lines[row])) ?? 0;
    const blanks = (line) => Math.max(0, line.search(/\S/));
    const all = this.lines.slice(first).filter((line) => /^ *%/.test(line)).map(blanks).sort((a, b) => a - b);
    const front = all[all.length >> 2] ?? 0;
    if (!glsl) this.lines = this.lines.map((line) => line.slice(Math.min(front, blanks(line))));
    this.rows.set(this.lines.length);
    this.rows.offset = first * LINE;
  }

  async find(path, signal) {
    const share = dim();
    const progress = (done, all) => {
      if (all && !signal.aborted) share.textContent = `${Math.round((100 * done) / all)}%`;
    };
    fill(this.says, el("span", {class: "spin"}), "playing up to the command ", share);
    await api.work(path, {signal, progress});
    const [head, ...runs] = await api.lines(path, {signal});
    signal.throwIfAborted();
    this.head = head.debug;
    this.runs = runs.map(({invocation}) => invocation);
    this.choose(Math.max(0, this.runs.findLastIndex(({returned}) => returned)));
    this.old(false);
    this.pane.dataset.loaded = path;
  }

  /** Shows one of the invocations. */
  choose(number) {
    const {head, runs} = this, run = runs[number];
    this.run = run;
    // By row; `rounds` are values, `steps` when they were computed, `now` the round that is shown, from 1.
    const all = head.results.map((result) => ({result, rounds: [], steps: [], now: 0}));
    this.computed = new Map(run ? all.map((one) => [this.starts[one.result.instruction], one]) : []);
    run?.steps.forEach(([index, values], step) => {
      all[index].now = all[index].rounds.push(values);
      all[index].steps.push(step);
    });
    this.tell(number);
    fill(this.outputs, run?.outputs.length ? head.outputs.map((output, i) => outputRow(output, run.outputs[i])) : null);
    this.rows.refresh();
  }

  tell(number) {
    const {head, runs, run} = this, what = head.stage === "fragment" ? "fragment" : "run";
    if (!run)
      return fill(this.says, {
        fragment: `No fragment of this command is at texel ${head.at.join()}.`,
        vertex: `This command has no vertex ${head.at[0]} of instance ${head.at[1]}.`,
        compute: `Invocation ${head.at.join()} does not run.`
      }[head.stage]);
    const about = [
      run.primitive !== undefined && run.primitive !== null && `primitive ${run.primitive}`,
      run.front !== undefined && (run.front ? "front" : "back"),
      run.depth !== undefined && `depth ${short(run.depth)}`
    ].filter(Boolean).join(", ");
    const odd = [
      !run.returned && (what === "fragment" ? "discarded" : "did not come to its end"),
      run.cut && "only its first values are kept", head.kept < head.invocations && `of ${head.invocations}`
    ].filter(Boolean).join(", ");
    fill(this.says, runs.length > 1 ? [what, stepper(what, number + 1, runs.length, (one) => {
            this.choose(one - 1);
            this.says.querySelector("input").focus();
          })] : `1 ${what}`, el("span", {}, about), odd ? el("span", {class: "label"}, odd) : null,
        this.glsl ? [dim("Values are those of SPIR-V."), chip("SPIR-V", null, () => this.ways[0].click())] : null);
  }

  make(row) {
    const line = this.lines[row], found = this.computed.get(row), {result, rounds = [], now} = found ?? {};
    const idle = found && !rounds.length && !this.run.cut;
    const title = [
      result && `%${result.id}${result.name ? ` ${result.name}` : ""}: ${result.type}${result.type === "bool" ? "" : result.bits} × ${result.components}`,
      ...rounds.slice(0, TOLD).map((values, i) => `${rounds.length > 1 ? `[${i + 1}] ` : ""}${values.join(" ")}`),
      rounds.length > TOLD && `and ${rounds.length - TOLD} more`
    ].filter(Boolean).join("\n");
    return el("div", {class: idle ? "line idle" : "line", data: {n: row + 1}},
        el("span", {class: "text", title: line.trim()}, colored(line)),
        el("span", {class: "computed", title: title || null},
            rounds.length ? el("span", {class: "value"}, text(rounds[now - 1])) : idle ? dim("not run") : null,
            rounds.length > 1 ? stepper("round", now, rounds.length, (one) => this.round(row, one)) : null));
  }

  /** Shows a round of an instruction. Those in front of it have what they computed last before, those behind it what next. */
  round(row, now) {
    const step = this.computed.get(row).steps[now - 1];
    for (const [other, one] of this.computed) {
      const at = other > row ? one.steps.findIndex((when) => when > step) : one.steps.findLastIndex((when) => when < step);
      if (one.steps.length) one.now = other === row ? now : at >= 0 ? at + 1 : other > row ? one.steps.length : 1;
    }
    this.rows.refresh();
    this.code.querySelector(`[data-row="${row}"] input`)?.focus();
  }

  forget() {
    Object.assign(this, {head: null, runs: [], run: null, computed: new Map()});
    fill(this.outputs);
    this.rows.refresh();
  }

  none(...sentences) {
    this.forget();
    this.old(false);
    fill(this.says, el("strong", {}, `${sentences[0]}.`), " ", sentences.slice(1).join(" "));
    this.pane.dataset.failed = "none";
  }

  failed(error) {
    this.none("No values", error.sentence ?? String(error));
    if (error.status >= 502 || error.status === 409)
      this.says.append(chip("try again", null, () => {
        this.leave();
        this.show(route.subject, route.query);
      }));
    this.pane.dataset.failed = String(error.status ?? "");
  }
}

const stageOf = ({stage}) => stage.replace(/^VK_SHADER_STAGE_(.*)_BIT$/, "$1").toLowerCase();

function outputRow(output, values) {
  const {location, built_in: builtIn, name, type, component, index} = output;
  const place = location === null ? BUILT_IN[builtIn] ?? `built-in ${builtIn}`
                                  : `location ${location}${component ? `.${component}` : ""}${index ? ` index ${index}` : ""}`;
  return [
    el("dt", {title: name ?? place}, place),
    el("dd", {title: values.join(" "), data: {output: location ?? ""}},
        location === 0 && type === "float" ? swatch({values}) : null, text(values), name ? dim(` ${name}`) : null)
  ];
}
