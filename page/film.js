// SPDX-License-Identifier: MIT
// The frames as a strip of cells: how much each draws, and its picture where one was taken.

import {aborted, api} from "./api.js";
import {byId, chip, count, el, fill, number, press} from "./dom.js";
import {workOf} from "./lists.js";
import {mark} from "./messages.js";
import {frameOf, go} from "./route.js";
import {Rows} from "./rows.js";
import {milliseconds} from "./times.js";
import {counts} from "./tree.js";

const CELL = 98;
const AT_ONCE = 24; // pictures of one replay
const FIRST = 10;   // of the frames in view, at once
const SOON_MS = 100, IDLE_MS = 1800;
const ROUNDS = 2; // of pictures that are taken unasked: few of those in view, then more
// Longer traces take pictures only when asked: the replay plays everything up to the last of them.
const SHORT_FRAMES = 2500, SHORT_BYTES = 64 << 20;

export class Film {
  constructor(capture, file) {
    Object.assign(this, {capture, file, taken: new Map(), current: 0, round: 0});
    this.box = byId("film-strip");
    this.rows = new Rows(this.box, {
      extent: CELL,
      across: true,
      make: (index) => this.cell(index),
      seen: (from, to) => {
        for (let i = from; i < to; i++) capture.frames.peek(i);
      }
    });
    this.button = chip("pictures", null, () => (this.stop ? this.end() : this.take(this.visible())),
        {id: "film-pictures", title: "take pictures of the frames in view"});
    this.text = el("span", {class: "dim", role: "status"});
    const {times} = capture;
    this.byTime = false;
    this.timing = chip("times", false, () => this.toggleTimes(), {id: "film-times", title: "bars for the time on the GPU, which replays of all frames measure"});
    times.listeners.push(() => this.timesChanged());
    capture.messages.listeners.push(() => capture.messages.running || this.rows.refresh());
    fill(byId("film-tools"), this.text, this.timing, this.button);
    this.box.addEventListener("click", (event) => {
      const cell = event.target.closest("[data-frame]");
      if (cell) this.choose(Number(cell.dataset.frame));
    });
    this.box.addEventListener("keydown", (event) => {
      const to = {Home: 1, End: capture.frames.total}[event.key];
      if (!to || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      this.choose(to);
    });
    this.box.addEventListener("wheel", (event) => {
      if (event.deltaX || event.ctrlKey) return;
      event.preventDefault();
      this.box.scrollLeft += event.deltaMode ? event.deltaY * 30 : event.deltaY;
    }, {passive: false});
    let redraw = 0;
    capture.frames.changed = () => {
      redraw ||= requestAnimationFrame(() => {
        redraw = 0;
        this.rows.set(capture.frames.total);
      });
    };
  }

  toggleTimes() {
    const {times} = this.capture;
    if (times.running && !times.running.frame) return times.stop();
    this.byTime = !this.byTime;
    if (this.byTime && !times.whole) times.measure(0);
    this.timesChanged();
  }

  timesChanged() {
    const {times} = this.capture, measures = Boolean(times.running && !times.running.frame);
    if (this.byTime && !measures && !times.whole) this.byTime = false; // it failed, or was stopped
    press(this.timing, this.byTime);
    this.timing.firstChild.data = measures ? `stop ${Math.round(100 * times.running.share)}%` : "times";
    this.timing.title = times.failed || "bars for the time on the GPU, which replays of all frames measure";
    this.rows.set(this.capture.frames.total);
  }

  choose(frame) { go({view: "commands", subject: String(frame), query: {target: null, before: null}}); }

  show(position) {
    if (position === this.position) return;
    this.position = position;
    const frame = frameOf(position), before = this.current;
    this.current = frame;
    if (frame !== before) this.rows.set(this.capture.frames.total);
    this.rows.reveal(frame - 1);
  }

  /** Nobody looks any more. The pictures that were being taken are taken when somebody looks again. */
  leave() {
    clearTimeout(this.timer);
    this.position = "";
    if (!this.stop) return;
    this.stop.abort();
    this.round--;
  }

  cell(index) {
    const frame = index + 1, node = this.capture.frames.here(index), name = this.capture.frames.name(frame);
    const work = node ? workOf(node) : 0;
    const shot = el("span", {class: "shot"});
    const bar = el("i");
    const time = this.byTime ? this.capture.times.of(String(frame)) : null;
    bar.style.width = time ? `${Math.min(100, (100 * time.ms) / (this.capture.times.most || 1))}%` : `${node ? Math.max(work ? 3 : 0, (100 * work) / this.capture.frames.most) : 0}%`;
    if (this.taken.has(frame)) {
      const show = (url) => fill(shot, el("img", {src: url, alt: "", draggable: "false", decoding: "sync"}));
      const here = api.pictureHere(this.taken.get(frame));
      if (here)
        show(here);
      else
        api.picture(this.taken.get(frame), {late: true}).then(show, () => {});
    }
    return el("div", {
      class: "cell",
      role: "option",
      "aria-selected": String(frame === this.current),
      data: {frame},
      title: [node ? `${name}: ${counts(node) || "nothing"}` : name, time && `${milliseconds(time.ms)} ms`].filter(Boolean).join("\n"),
      "aria-label": name
    },
        shot, el("span", {class: "bar"}, bar), frame > this.capture.frames.marked ? "end" : String(frame),
        time ? ` · ${milliseconds(time.ms)}` : frame === this.current && work ? ` · ${number(work)}` : "",
        mark(this.capture.messages.below(String(frame))));
  }

  visible() {
    const first = Math.max(1, Math.ceil(this.rows.above / CELL) + 1),
          last = Math.min(this.capture.frames.total, Math.floor((this.rows.above + this.rows.view) / CELL));
    const frames = Array.from({length: Math.max(0, last - first + 1)}, (_, i) => first + i)
                       .filter((frame) => !this.taken.has(frame));
    return frames.slice(0, AT_ONCE);
  }

  /** Some frames of the whole trace, evenly chosen. */
  spread() {
    const {total} = this.capture.frames;
    const step = Math.max(1, total / AT_ONCE);
    return [...new Set(
        Array.from({length: Math.min(AT_ONCE, total)}, (_, i) => Math.min(total, Math.round((i + 0.5) * step) || 1)))];
  }

  /** One does not want pictures. */
  end() {
    this.round = ROUNDS;
    this.stop.abort();
  }

  /** Some of the frames in view, evenly chosen, with the one that is shown. */
  first() {
    const frames = this.visible(), step = Math.max(1, frames.length / FIRST);
    const some = Array.from({length: Math.min(FIRST, frames.length)}, (_, i) => frames[Math.floor((i + 0.5) * step)]);
    return frames.includes(this.current) ? [this.current, ...some] : some;
  }

  /** Takes pictures, first few and then more, when nothing else has been going on for a while. */
  idle(busy) {
    clearTimeout(this.timer);
    const {total} = this.capture.frames;
    if (busy || this.stop || this.round >= ROUNDS || !this.capture.frames.marked) return;
    const frames = this.round ? [...this.visible().slice(0, 12), ...this.spread()] : this.first();
    const played = Math.max(0, ...frames);
    const long = played > SHORT_FRAMES || (this.file.bytes * played) / total > SHORT_BYTES;
    this.timer = setTimeout(() => this.take(long ? [] : frames), this.round ? IDLE_MS : SOON_MS);
  }

  async take(frames) {
    this.round++;
    if (this.stop) return;
    frames = [...new Set(frames)].sort((a, b) => a - b);
    if (frames.length === 0) return this.idle(api.running > 0);
    this.stop = new AbortController();
    this.button.firstChild.data = "stop";
    this.text.textContent = "";
    const {signal} = this.stop, path = api.path("/screenshots", {frames: ranges(frames)});
    let had = 0;
    const have = (picture) => {
      const frame = Number(/(\d+)\.png(\?|$)/.exec(picture)?.[1]);
      if (!frame || this.taken.has(frame)) return;
      had++;
      this.taken.set(frame, picture);
      this.rows.redraw(frame - 1);
    };
    try {
      await api.work(path, {
        late: true,
        signal,
        picture: have,
        progress: (done, all) => { this.text.textContent = all ? `${Math.round((100 * done) / all)}%` : ""; }
      });
      const answer = await api.json(path, {late: true, signal});
      for (const frame of answer.frames) have(api.path(`/screenshots/${frame}.png`));
      this.text.textContent = "";
    } catch (error) {
      this.text.textContent = aborted(error) ? count(had, "picture") : "no pictures";
      this.text.title = error.sentence ?? "";
      if (!aborted(error)) this.round = ROUNDS;
    } finally {
      this.stop = null;
      this.button.firstChild.data = "pictures";
      if (!signal.aborted) this.idle(api.running > 0);
    }
  }
}

/** 1,2,3,7 becomes 1-3,7. */
function ranges(frames) {
  const runs = [];
  for (const frame of frames)
    if (runs.at(-1)?.[1] === frame - 1)
      runs.at(-1)[1] = frame;
    else
      runs.push([frame, frame]);
  return runs.map(([first, last]) => (first === last ? first : `${first}-${last}`)).join(",");
}
