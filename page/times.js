// SPDX-License-Identifier: MIT
// How long the GPU takes: of one frame, or of all. Replays measure it, so it is asked for by a button, and kept.

import {aborted, api} from "./api.js";
import {chip, count, dim, el, handle, notice, plain} from "./dom.js";

export class Times {
  constructor() {
    this.frames = new Map(); // number: {ms, spread, at: by position, list: the longest first, draws: whether they are there}
    this.listeners = [];
    this.forget();
  }

  forget() { Object.assign(this, {running: null, failed: "", whole: false, most: 0, about: ""}); }

  /** Whether it is measured, or null: nothing is. A `frame` of 0 is all of them. */
  has(frame) { return frame ? this.frames.has(frame) : this.whole; }

  /** The time of a position: {ms, share, title}, or null. */
  of(position) {
    const frame = this.frames.get(Number(position.split(".")[0]));
    if (!frame) return null;
    const found = position.includes(".") ? frame.at.get(position) : {ms: frame.ms, spread: frame.spread};
    return found ? {...found, share: frame.ms ? found.ms / frame.ms : 0} : null;
  }

  tell() {
    for (const listener of this.listeners) listener();
  }

  stop() { this.running?.stop.abort(); }

  /** Of all frames passes and labels; of one frame draws, too, after these. */
  async measure(frame) {
    if (this.running) return;
    const running = this.running = {frame, stop: new AbortController(), share: 0};
    const frames = frame ? `${frame}-${frame}` : "";
    this.failed = "";
    this.tell();
    try {
      const asked = frame ? [false, true] : [false];
      for (const [i, draws] of asked.entries()) {
        const path = api.path("/profile", {frames, draws}), {signal} = running.stop;
        await api.work(path, {
          signal,
          progress: (done, all) => {
            running.share = (i + done / all) / asked.length;
            this.tell();
          }
        });
        this.take(await api.json(path, {signal}), draws);
        this.whole ||= !frame;
        this.tell();
      }
    } catch (error) {
      if (!aborted(error)) this.failed = error.sentence ?? String(error);
    } finally {
      this.running = null;
      this.tell();
    }
  }

  take(answer, draws) {
    this.about = answer.device_type === "cpu"
        ? `${answer.gpu} computes on the CPU: these are the times of its threads, and other programs make them longer.`
        : `on ${answer.gpu}, median of ${count(answer.loops, "replay")}`;
    for (const {frame, gpu_ms: ms, parts} of answer.each_frame) {
      // Each timestamp takes time itself, so those of single draws say nothing of what is around them.
      const found = this.frames.get(frame) ?? {ms, spread: answer.frame.gpu_ms.spread, at: new Map(), list: [], draws: false};
      found.draws ||= draws;
      for (const {part, position, gpu_ms} of parts) {
        if (found.at.has(position)) continue;
        const one = {position, ms: gpu_ms, spread: answer.parts[part].gpu_ms.spread, part: answer.parts[part]};
        found.at.set(position, one);
        if (!draws && one.part.kind !== "commands") found.list.push(one);
      }
      found.list.sort((a, b) => b.ms - a.ms);
      this.frames.set(frame, found);
    }
    const all = [...this.frames.values()].map(({ms}) => ms).sort((a, b) => a - b);
    this.most = Math.min(all.at(-1) ?? 0, 3 * (all[all.length >> 1] ?? 0)); // one long frame makes no bar of others invisible
  }

  /** What stands in the place of a list of times that is not there. */
  instead(frame, name) {
    if (this.running) {
      const bar = el("progress", {value: this.running.share, max: 1});
      return notice("Measuring", el("p", {}, bar), "Several replays play the trace, one after the other.",
          chip("stop", null, () => this.stop(), {id: "times-stop"}));
    }
    if (this.failed)
      return notice("The times can't be measured", this.failed,
          chip("try again", null, () => this.measure(frame), {id: "times-measure"}));
    return notice("How long does the GPU take?", "Several replays measure passes, labels, commands and draws. They take seconds.",
        chip(`measure ${name}`, null, () => this.measure(frame), {id: "times-measure"}));
  }
}

export function milliseconds(ms) {
  return ms >= 100 ? ms.toFixed(0) : ms >= 10 ? ms.toFixed(1) : ms >= 1 ? ms.toFixed(2) : ms.toFixed(3);
}

/** A column: the time, and a bar for its share of the frame. */
export function timeColumn(time) {
  const box = el("span", {class: "ms"}, time ? milliseconds(time.ms) : "");
  if (time) {
    box.style.setProperty("--share", `${Math.min(100, 100 * time.share)}%`);
    box.title = `${milliseconds(time.ms)} ± ${milliseconds(time.spread)} ms, ${(100 * time.share).toFixed(1)} % of the frame`;
  }
  return box;
}

/** What a row of the list says besides its time, in two lines. */
export function timedWhat({part: {kind, name, command, draws, dispatches}, position}) {
  const text = kind === "label" ? `“${name}”` : kind === "pass" ? name ?? "render pass" : command ?? "work";
  const amount = draws ? count(draws, "draw") : dispatches ? count(dispatches, "dispatch", "dispatches") : "";
  return el("span", {class: "first"}, el("span", {class: kind === "label" ? "what label" : "what"}, text), dim(position),
      el("span", {class: "t"}, kind === "work" ? "" : amount));
}

export function timedMore({part: {targets = [], pipeline}}) {
  const [first] = targets;
  const formats = targets.map(({format}) => plain(format, /^VK_FORMAT_/)).join(", ");
  return el("span", {class: "second"}, first?.width ? el("span", {class: "dim size"}, `${first.width} × ${first.height}`) : null,
      formats ? el("span", {class: "dim", title: formats}, formats) : null, first?.image ? handle(first.image) : null,
      pipeline ? handle(pipeline) : null);
}
