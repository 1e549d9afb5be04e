// SPDX-License-Identifier: MIT
// The picture in the middle: which one is wanted, how it is shown, and the texel under the pointer.

import { aborted, api } from "./api.js";
import { byId, chip, count, el, fill, handle, later, notice, plain, press, short } from "./dom.js";
import { decode, layoutOf, paint, rangeOf, stored, toLinear } from "./formats.js";
import { frameOf, go, route } from "./route.js";

const QUIET_MS = 160;     // a picture is asked for once the selection has been quiet so long
const PATIENT_MS = 300;   // and says that it waits after so long
const LARGEST = 64;       // pixels of the screen for a texel
const PRESENTED = "presented";

export class Picture {
  constructor(capture) {
    Object.assign(this, { capture, at: "", shown: null, values: null, range: null, channels: "RGB", view: { scale: 1, x: 0, y: 0 }, fitted: true, flipped: false, pinned: null });
    this.box = byId("picture");
    this.canvas = byId("canvas");
    this.context = this.canvas.getContext("2d", { willReadFrequently: true });
    this.ask = later(QUIET_MS, () => this.load());
    this.tools();
    this.pointer();
    new ResizeObserver(() => { if (this.fitted) this.fit(); }).observe(this.box);
  }

  // What is wanted

  get before() { return route.query.before === "1"; }
  get wire() { return route.query.wire === "1"; }
  get isFrame() { return !this.at.includes("."); }

  show(position, query) {
    const wanted = [position, query.target, query.before, query.wire].join();
    if (wanted === this.wanted) return;
    this.wanted = wanted;
    this.at = position;
    this.stop?.abort();
    this.stop = null;
    this.chips();
    this.canvas.classList.add("old");
    this.message();
    this.box.dataset.path = "";
    delete this.box.dataset.failed;
    if (!this.pending) api.enter();
    this.pending = true;
    this.ask();
  }

  async load() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    const late = setTimeout(() => { if (!signal.aborted) this.waits(null); }, PATIENT_MS);
    const progress = (done, all) => { if (!signal.aborted && this.waiting) this.waits(done, all); };
    const options = { signal, progress };
    try {
      const found = this.isFrame || route.query.target === PRESENTED ? await this.findPresented(options) : await this.findTarget(options);
      const image = await load(await api.picture(found.path, { signal }));
      signal.throwIfAborted();
      this.take(found, image);
      this.message();
    } catch (error) {
      if (!aborted(error) && !signal.aborted) this.failed(error);
      else if (this.stopped) this.failed(null);
    } finally {
      clearTimeout(late);
      this.stopped = false;
      if (this.stop?.signal === signal && this.pending) {
        this.pending = false;
        api.leave();
      }
    }
  }

  async findPresented(options) {
    const frame = frameOf(this.at);
    const path = api.path(`/screenshots/${frame}.png`);
    this.box.dataset.path = path;
    await api.work(path, options);
    this.lines = this.isFrame ? null : this.lines;
    this.chips();
    return { path, key: PRESENTED, line: null };
  }

  async findTarget(options) {
    const queries = { skip: this.before ? this.at : null, wireframe: this.wire };
    const lines = api.path("/framebuffer/" + this.at, queries);
    this.box.dataset.path = lines;
    await api.work(lines, options);
    this.lines = await api.lines(lines, options);
    if (this.lines.length === 0) throw Object.assign(new Error(), { status: 501, sentence: "the command draws to no attachment" });
    const line = this.lines.find(({ name }) => name === route.query.target) ?? this.lines[0];
    this.chips();
    const path = api.path(`/framebuffer/${this.at}/${line.name}.png`, queries);
    this.box.dataset.path = path;
    return { path, raw: api.path(`/framebuffer/${this.at}/${line.name}.raw`, queries), key: line.name, line };
  }

  take(found, image) {
    const before = this.shown;
    this.shown = { ...found, width: image.naturalWidth, height: image.naturalHeight };
    this.canvas.width = this.shown.width;
    this.canvas.height = this.shown.height;
    this.context.drawImage(image, 0, 0);
    this.canvas.hidden = false;
    this.canvas.classList.remove("old");
    this.values = this.natural = null;
    this.layout = found.line ? layoutOf(found.line.computedAs ?? found.line.format, found.line.name) : null;
    if (this.range && before?.key !== found.key) this.range = null;
    if (this.fitted || before?.width !== this.shown.width || before.height !== this.shown.height) this.fit();
    else this.place();
    this.limits();
    this.box.dataset.loaded = found.path;
    if (this.changed) this.repaint();
    else if (this.pinned || this.hover) this.texels().then(() => this.probe());
    this.probe();
  }

  // The bytes behind it

  /** Whether a control asks for something else than the server's picture. */
  get changed() { return this.range !== null || this.channels !== "RGB"; }

  /** Fetches and decodes the texels once; false where that can't be. */
  async texels() {
    const shown = this.shown;
    if (!shown?.raw || !this.layout) return false;
    shown.texels ??= (async () => {
      const { signal } = this.stop;
      await api.work(shown.raw, { signal });
      const values = decode(this.layout, await api.bytes(shown.raw, { signal }), shown.width * shown.height);
      if (shown !== this.shown || !values) return false;
      this.values = values;
      this.natural = rangeOf(this.layout, values);
      this.limits();
      return true;
    })().catch((error) => { shown.texels = aborted(error) ? undefined : Promise.resolve(false); if (!aborted(error)) shown.why = error.sentence; return false; });
    return shown.texels;
  }

  async repaint() {
    const shown = this.shown;
    if (!shown) return;
    if (this.changed) {
      if (!(await this.texels()) || shown !== this.shown) return this.probe();
      const pixels = this.context.createImageData(shown.width, shown.height);
      paint(this.layout, this.values, this.range ?? this.natural, this.channels, pixels.data);
      this.context.putImageData(pixels, 0, 0);
    } else {
      const image = await load(await api.picture(shown.path));
      if (shown === this.shown) this.context.drawImage(image, 0, 0);
    }
    this.probe();
  }

  // Controls

  tools() {
    this.targets = el("span", { class: "tools-group", id: "targets" });
    const toggle = (name) => () => go({ query: { [name]: route.query[name] === "1" ? null : "1" } }, { replace: true });
    this.buttons = {
      before: chip("before", false, toggle("before"), { title: "as it is without this command (b)", id: "before" }),
      wire: chip("wire", false, toggle("wire"), { title: "edges of triangles", id: "wireframe" }),
      flip: chip("flip", false, () => this.flip(), { title: "upside down (f)", id: "flip" }),
      fit: chip("fit", true, () => this.fit(), { title: "the whole picture (1)", id: "fit" }),
      real: chip("1:1", false, () => this.real(), { title: "a texel is a pixel (1)", id: "real" }),
    };
    this.letters = [..."RGBA"].map((letter) => chip(letter, letter !== "A", (event) => this.toggle(letter, event.shiftKey || event.detail === 2),
      { title: `${{ R: "red", G: "green", B: "blue", A: "alpha" }[letter]}; twice or with Shift: alone`, data: { channel: letter } }));
    const input = (id, text) => el("input", { id, "aria-label": text, title: text, inputmode: "decimal", on: { change: () => this.setRange() } });
    this.low = input("range-low", "the value that is black");
    this.high = input("range-high", "the value that is white");
    this.auto = chip("auto", true, () => { this.range = null; this.limits(); this.repaint(); }, { title: "the range of the values", id: "range-auto" });
    const gap = () => el("span", { class: "sep" });
    fill(byId("picture-tools"), this.targets, gap(), this.buttons.before, this.buttons.wire, gap(), this.letters, gap(), this.low, this.high, this.auto, gap(),
      this.buttons.flip, this.buttons.fit, this.buttons.real);
  }

  chips() {
    const target = this.isFrame ? PRESENTED : route.query.target ?? this.lines?.[0]?.name;
    const make = (name, text, title) => chip(text, name === target, () => go({ query: { target: name } }, { replace: true }), { title, data: { target: name } });
    const known = !this.isFrame && this.lines ? this.lines.map((line) => make(line.name, line.name.replace(/(\D)(\d)/, "$1 $2").replace("-", " "),
      `${line.image} ${plain(line.format, "VK_FORMAT_")}`)) : [];
    fill(this.targets, known, make(PRESENTED, PRESENTED, "the image that the frame presents"));
    press(this.buttons.before, this.before);
    press(this.buttons.wire, this.wire);
    this.buttons.before.disabled = this.buttons.wire.disabled = target === PRESENTED;
  }

  limits() {
    const can = Boolean(this.layout && this.shown?.raw);
    const [low, high] = this.range ?? this.natural ?? this.shown?.line?.range ?? [0, 1];
    if (document.activeElement !== this.low) this.low.value = short(low);
    if (document.activeElement !== this.high) this.high.value = short(high);
    press(this.auto, this.range === null);
    for (const button of this.letters) {
      press(button, this.channels.includes(button.dataset.channel));
      button.disabled = !can || this.layout.channels.length === 1 || !this.layout.channels.includes(button.dataset.channel);
    }
    for (const input of [this.low, this.high, this.auto]) input.disabled = !can;
    const why = can ? "" : this.shown?.line ? `${plain(this.shown.line.format, "VK_FORMAT_")} is not decoded here` : "";
    byId("picture-tools").title = why;
  }

  setRange() {
    const low = Number(this.low.value), high = Number(this.high.value);
    if (this.low.value.trim() === "" || this.high.value.trim() === "" || !Number.isFinite(low) || !Number.isFinite(high)) return this.limits();
    this.range = [low, high];
    this.limits();
    this.repaint();
  }

  toggle(letter, alone) {
    const next = alone ? letter : this.channels.includes(letter) ? this.channels.replace(letter, "") : this.channels + letter;
    this.channels = [..."RGBA"].filter((one) => next.includes(one)).join("") || "RGB";
    this.limits();
    this.repaint();
  }

  toggleBefore() { if (!this.buttons.before.disabled) this.buttons.before.click(); }
  flip() { this.flipped = !this.flipped; press(this.buttons.flip, this.flipped); this.place(); }
  toggleSize() { if (this.fitted) this.real(); else this.fit(); }

  // Where it stands

  fit() {
    this.fitted = true;
    if (!this.shown) return;
    const { clientWidth, clientHeight } = this.box;
    const room = Math.min((clientWidth - 24) / this.shown.width, (clientHeight - 24) / this.shown.height);
    // Small pictures grow by whole steps, so that all texels are as large.
    const scale = room > 1 ? Math.min(Math.floor(room), 16) : Math.max(room, 0.01);
    this.center(room < 2 ? Math.max(Math.min(room, 16), 0.01) : scale);
  }

  real() { this.fitted = false; if (this.shown) this.center(1 / devicePixelRatio); }

  center(scale) {
    this.view = { scale, x: Math.round((this.box.clientWidth - this.shown.width * scale) / 2), y: Math.round((this.box.clientHeight - this.shown.height * scale) / 2) };
    this.place();
  }

  place() {
    const { scale, x, y } = this.view;
    press(this.buttons.fit, this.fitted);
    press(this.buttons.real, !this.fitted && scale === 1 / devicePixelRatio);
    if (!this.shown) return;
    const bottom = y + this.shown.height * scale;
    this.canvas.style.transform = this.flipped ? `translate(${x}px, ${bottom}px) scale(${scale}, ${-scale})` : `translate(${x}px, ${y}px) scale(${scale})`;
    this.canvas.style.imageRendering = scale * devicePixelRatio >= 1 ? "pixelated" : "auto";
    this.mark(byId("texel"), this.hover);
    this.mark(byId("pin"), this.pinned);
  }

  mark(box, texel) {
    const { scale, x, y } = this.view;
    box.hidden = !texel || !this.shown || texel.x >= this.shown.width || texel.y >= this.shown.height || (box.id === "texel" && scale < 6);
    if (box.hidden) return;
    const row = this.flipped ? this.shown.height - 1 - texel.y : texel.y;
    const extent = Math.max(scale, 5), shift = (scale - extent) / 2;
    box.style.width = box.style.height = `${extent}px`;
    box.style.transform = `translate(${x + texel.x * scale + shift}px, ${y + row * scale + shift}px)`;
  }

  zoom(factor, x, y) {
    const scale = Math.min(LARGEST, Math.max(1 / 32, this.view.scale * factor));
    const by = scale / this.view.scale;
    this.fitted = false;
    this.view = { scale, x: x - (x - this.view.x) * by, y: y - (y - this.view.y) * by };
    this.place();
  }

  // The pointer

  under(event) {
    const box = this.box.getBoundingClientRect();
    const x = Math.floor((event.clientX - box.left - this.view.x) / this.view.scale);
    const row = Math.floor((event.clientY - box.top - this.view.y) / this.view.scale);
    const y = this.flipped ? this.shown.height - 1 - row : row;
    return x >= 0 && y >= 0 && x < this.shown.width && y < this.shown.height ? { x, y } : null;
  }

  pointer() {
    let drag = null;
    this.box.addEventListener("wheel", (event) => {
      if (!this.shown) return;
      event.preventDefault();
      const box = this.box.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.06 : 0.002)), event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
    this.box.addEventListener("pointerenter", () => this.texels().then(() => this.probe()));
    this.box.addEventListener("pointerdown", (event) => {
      if (!this.shown || event.target.closest("#picture-message > *")) return;
      drag = { x: event.clientX, y: event.clientY, from: this.view, moved: false };
      this.box.setPointerCapture(event.pointerId);
    });
    this.box.addEventListener("pointermove", (event) => {
      if (!this.shown) return;
      if (drag) {
        const x = event.clientX - drag.x, y = event.clientY - drag.y;
        drag.moved ||= Math.hypot(x, y) > 3;
        if (drag.moved) {
          this.box.classList.add("drags");
          this.fitted = false;
          this.view = { ...drag.from, x: drag.from.x + x, y: drag.from.y + y };
        }
      }
      this.hover = this.under(event);
      this.place();
      this.probe();
    });
    this.box.addEventListener("pointerup", (event) => {
      if (drag && !drag.moved) this.pin(this.under(event));
      drag = null;
      this.box.classList.remove("drags");
    });
    this.box.addEventListener("pointercancel", () => { drag = null; this.box.classList.remove("drags"); });
    this.box.addEventListener("pointerleave", () => { this.hover = null; this.place(); this.probe(); });
    this.box.addEventListener("dblclick", () => this.toggleSize());
  }

  pin(texel) {
    this.pinned = texel && this.pinned && texel.x === this.pinned.x && texel.y === this.pinned.y ? null : texel;
    this.place();
    this.probe();
    this.texels().then(() => this.probe());
  }

  probe() {
    const texel = this.hover ?? this.pinned;
    const { shown } = this;
    if (!shown) return fill(byId("probe"));
    const { line } = shown;
    const about = line ? [handle(line.image), el("b", {}, ` ${shown.width} × ${shown.height} ${plain(line.computedAs ?? line.format, "VK_FORMAT_")}`)]
      : [el("b", {}, `frame ${frameOf(this.at)} presented, ${shown.width} × ${shown.height}`)];
    const more = line && (line.nan || line.infinite) ? el("span", { class: "label" }, [line.nan && count(line.nan, "NaN"), line.infinite && count(line.infinite, "infinite value")].filter(Boolean).join(", ")) : null;
    if (!texel || texel.x >= shown.width || texel.y >= shown.height)
      return fill(byId("probe"), el("span", {}, about), more, el("span", {}, "click pins a texel, wheel zooms"));
    const [r, g, b] = this.context.getImageData(texel.x, texel.y, 1, 1).data;
    const swatch = el("i", { class: "swatch" });
    swatch.style.background = `rgb(${r}, ${g}, ${b})`;
    const index = texel.y * shown.width + texel.x;
    const values = this.values ? [..."RGBA"].map((_, i) => this.values[index * 4 + i]) : null;
    const text = values ? this.layout.channels.split("").map((letter, i) => `${letter} ${short(this.read(values, letter, i))}`).join("  ")
      : `R ${r}  G ${g}  B ${b}`;
    const note = values ? stored(this.layout, this.values, index) : shown.raw && this.layout && !shown.why ? "…" : "of the picture, 8 bits";
    fill(byId("probe"), el("span", {}, about), el("span", { id: "probe-at" }, this.pinned && !this.hover ? "pinned " : "", "x ", el("b", {}, texel.x), " y ", el("b", {}, texel.y)),
      el("span", { class: "values", id: "probe-values" }, swatch, text), el("span", {}, note), more);
  }

  /** A value as shaders read it: colors of sRGB formats are linear to them. */
  read(values, letter, i) {
    const value = values[letter === "A" ? 3 : this.layout.channels.length === 1 ? 0 : i];
    return this.layout.suffix === "SRGB" && letter !== "A" ? toLinear(value) : value;
  }

  // What it says

  message(...parts) {
    this.waiting = false;
    const box = byId("picture-message");
    box.hidden = parts.length === 0;
    fill(box, parts);
  }

  waits(done, all) {
    if (!this.waiting) {
      this.bar = el("progress", { max: 1 });
      this.share = el("span", { class: "dim" });
      this.message(el("div", { class: "waits" }, el("span", { class: "spin" }), el("span", {}, `playing up to ${this.at}`), this.bar, this.share,
        chip("stop", null, () => { this.stopped = true; this.stop.abort(); }, { id: "picture-stop" })));
      this.waiting = true;
    }
    if (done === null || !all) return;
    this.bar.value = done / all;
    this.share.textContent = `${Math.round((100 * done) / all)}%`;
  }

  failed(error) {
    this.box.dataset.failed = String(error?.status ?? "stopped");
    const target = route.query.target;
    const again = chip("try again", null, () => { this.wanted = ""; this.show(this.at, route.query); });
    const presented = this.isFrame || target === PRESENTED ? null : chip("show the presented image", null, () => go({ query: { target: PRESENTED } }, { replace: true }), { id: "show-presented" });
    const next = chip("next draw", null, () => document.dispatchEvent(new CustomEvent("next-draw")));
    const actions = (...chips) => el("div", { class: "chips" }, chips);
    if (!error) return this.message(notice("Stopped", "The replay was ended.", actions(again, presented)));
    const { status } = error, sentence = error.sentence ?? String(error);
    if (status === 404 || status === 501)
      return this.message(notice(this.isFrame ? "No picture of this frame" : "No picture here", sentence,
        this.isFrame ? "Frames that present nothing have none. Their draws may have pictures." : "Draws, and commands in render passes that draw, have pictures.", actions(presented, next)));
    if (status === 502) return this.message(notice("The replay crashed", sentence, "The trace can be read further; its other pictures may work.", actions(again, presented)));
    if (status === 503) return this.message(notice("Too much work", sentence, actions(again)));
    this.message(notice("No picture", sentence, actions(again, presented)));
  }
}

async function load(url) {
  const image = new Image();
  image.src = url;
  await image.decode();
  return image;
}
