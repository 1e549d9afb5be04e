// SPDX-License-Identifier: MIT
// Small pictures of what each draw of a pass changes. One replay makes those of a pass, once nothing else is asked for.

import {aborted, api} from "./api.js";
import {count, el, fill, number} from "./dom.js";

const TEXELS = 160; // a picture is at most so wide and high
const IDLE_MS = 300;
const KEPT = "lapilli-draw-pictures";
// In longer traces a replay takes long: there they are made once one has asked for them.
const SHORT_FRAMES = 2500, SHORT_BYTES = 64 << 20;

export class Each {
  /** `wanted()` gives the passes of the draws in view, the most wanted one first. `changed()` draws these anew. */
  constructor(capture, file, {wanted, changed}) {
    Object.assign(this, {wanted, changed, passes: new Map(), stop: null});
    const short = capture.frames.total <= SHORT_FRAMES && file.bytes <= SHORT_BYTES;
    this.shown = (kept() ?? (short ? "1" : "")) === "1";
  }

  toggle() {
    this.shown = !this.shown;
    keep(this.shown ? "1" : "");
    for (const [pass, {failed}] of this.passes)
      if (failed) this.passes.delete(pass); // one that asks again means it
    if (!this.shown) this.leave();
    this.idle(false);
  }

  /** Nobody looks any more. The pictures that were being made are made when somebody looks again. */
  leave() {
    clearTimeout(this.timer);
    this.stop?.abort();
  }

  /** Has pictures made, one pass after the other, when nothing else has been going on for a while. */
  idle(busy) {
    clearTimeout(this.timer);
    if (busy || !this.shown || this.stop) return;
    this.timer = setTimeout(() => this.next(), IDLE_MS);
  }

  next() {
    const pass = this.shown && !this.stop && this.wanted().find((one) => !this.passes.has(one));
    if (pass) this.take(pass);
  }

  async take(pass) {
    this.stop = new AbortController();
    const {signal} = this.stop, path = api.path("/each/" + pass, {thumbs: TEXELS});
    const found = {pictures: new Map(), lines: new Map(), failed: ""};
    this.passes.set(pass, found);
    const options = {late: true, signal};
    try {
      await api.work(path, {
        ...options,
        picture: (picture) => {
          found.pictures.set(position(picture), picture);
          this.changed();
        }
      });
      for (const line of await api.lines(path, options)) {
        found.lines.set(line.position, line);
        found.pictures.set(line.position, api.path(`/each/${pass}/${line.file.split("/").pop()}`, {thumbs: TEXELS}));
      }
    } catch (error) {
      if (aborted(error) || signal.aborted)
        this.passes.delete(pass);
      else
        found.failed = error.sentence ?? String(error);
    } finally {
      this.stop = null;
      this.changed();
      if (!signal.aborted) this.next();
    }
  }

  /** The box of a draw's picture, which is there before the picture is, and what is said of the draw. */
  of(pass, draw) {
    const found = this.passes.get(pass), line = found?.lines.get(draw), path = found?.pictures.get(draw);
    const box = el("span", {class: "thumb draw-thumb", data: {thumb: draw}});
    const says = line ? told(line) : found?.failed ?? "";
    if (says) box.title = says;
    if (path) {
      const show = (url) => fill(box, el("img", {src: url, alt: says || "what it changes", decoding: "sync"}));
      const here = api.pictureHere(path);
      if (here)
        show(here);
      else
        api.picture(path, {late: true}).then(show, () => {});
    } else if (found && (found.failed || found.lines.size)) {
      box.classList.add("none");
      fill(box, "–");
    }
    const texels = line?.changed?.texels;
    return {
      box,
      nothing: texels === 0,
      amount: texels === 0 ? "changes nothing" : texels ? number(texels) : "",
      says
    };
  }
}

function told({changed, name, image}) {
  const {texels, x, y, width, height} = changed ?? {};
  return !changed  ? `${name} of ${image}, not compared`
      : texels === 0 ? "changes nothing"
                     : `changes ${count(texels, "texel")} of ${image} in ${width} × ${height} at ${x},${y}`;
}

/** Of a picture's path: .../each/PASS/POSITION-NAME.png?… */
const position = (path) => path.split("?")[0].split("/").pop().split("-")[0];

function keep(value) {
  try {
    localStorage.setItem(KEPT, value);
  } catch { /* storage is off */
  }
}
function kept() {
  try {
    return localStorage.getItem(KEPT);
  } catch { return null; }
}
