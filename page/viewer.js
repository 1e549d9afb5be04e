// SPDX-License-Identifier: MIT
// Shows a picture: channels, range, zoom, and the texel under the pointer. Values come from the bytes of the texels,
// which are fetched when a control or the pointer wants them; where these can't be decoded, from the picture itself.

import {aborted, api} from "./api.js";
import {chip, count, el, fill, handle, plain, press, short} from "./dom.js";
import {savePicture} from "./export.js";
import {decode, layoutOf, paint, rangeOf, stored, toLinear} from "./formats.js";
import {check, item, Menu} from "./menu.js";
import {pinch} from "./pinch.js";

const LARGEST = 64; // pixels of the screen for a texel
const GRID = 6;     // from so many on a texel gets a frame
const MARGIN = 12;
const DIMMED = 0.2, GREY = 40; // what is left of texels that are not emphasized
const EDGE = 0xffff2bff, BORDER = 0xb4000000; // alpha, blue, green, red
const WIDEST = 6;                             // texels of an edge, where a pixel shows many
const NAMES = {
  R: "red",
  G: "green",
  B: "blue",
  A: "alpha"
};

/** What the picture of a server is worth where its texels can't be decoded: eight bits a channel. */
const EIGHT = {
  kind: "norm",
  suffix: "UNORM",
  channels: "RGB",
  parts: [0, 1, 2].map((place) => ({place, bits: 8})),
  ofPicture: true
};

/**
 * A source has: png, its path; raw, the path of its bytes, or null; alpha, the path of a picture of its alpha, or
 * null; long, whether the bytes may need a replay; key, which is the same for pictures that share a range; image, name,
 * format, range, nan, infinite as lapilli image has them; about, a text instead; unit, of which each texel has a number:
 * then the picture has more below `height`, about is elements, and more one behind the values.
 */
export class Viewer {
  constructor(id) {
    Object.assign(this, {
      source: null,
      values: null,
      range: null,
      channels: "RGB",
      view: {scale: 1, x: 0, y: 0},
      fitted: true,
      flipped: false,
      pinned: null,
      hover: null,
      onPin: () => {}, // learns which texel a click pins, or null
      ranges: new Map(),
      switched: () => [], // what else than its own switches the chips of the menu say
      ...(id ? kept(id) : {})
    });
    this.id = id;
    this.canvas = el("canvas", {id: id ? id + "-canvas" : null, width: 1, height: 1, hidden: true});
    this.marks = {
      texel: el("i", {class: "mark", hidden: true}),
      pin: el("i", {class: "mark pin", hidden: true}),
      bounds: el("i", {class: "mark bounds", hidden: true})
    };
    this.over = el("canvas", {class: "over", id: id ? id + "-edges" : null, width: 1, height: 1, hidden: true});
    this.says = el("div", {class: "says", hidden: true});
    this.box = el("div", {class: "stage", id, tabindex: "0", "aria-label": "Picture"}, this.canvas, this.over, this.marks.texel,
        this.marks.pin, this.marks.bounds, this.says);
    this.line = el("div", {class: "probe", id: id ? id + "-probe" : null});
    this.saves = savePicture(() => this.source);
    this.context = this.canvas.getContext("2d", {willReadFrequently: true});
    this.tools(id);
    this.pointer();
    new ResizeObserver(() => this.refit()).observe(this.box);
  }

  /** Shows the picture of a source once it is here. */
  async show(source, {signal} = {}) {
    const image = await load(await api.picture(source.png, {signal}));
    signal?.throwIfAborted();
    const before = this.source;
    const {naturalWidth: width, naturalHeight: height} = image;
    this.source = {...source, width, height: source.unit ? source.height : height};
    this.canvas.width = this.source.width;
    this.canvas.height = this.source.height;
    this.context.drawImage(image, 0, 0);
    this.canvas.hidden = false;
    this.stop?.abort();
    this.stop = new AbortController();
    this.old(false);
    this.values = this.natural = this.mask = this.bounds = this.edges = null;
    this.note = "";
    this.layout = (source.raw && layoutOf(source.format, source.name)) || EIGHT;
    if (before?.key !== source.key) this.range = this.ranges.get(source.key) ?? null;
    if (this.fitted || before?.width !== this.source.width || before.height !== this.source.height)
      this.fit();
    else
      this.place();
    this.limits();
    this.message();
    if (this.changed)
      this.repaint();
    else if (this.pinned || this.hover)
      this.texels().then(() => this.probe());
    this.probe();
  }

  /** Says whether what is seen is still what is chosen. Of what is not, nothing more is fetched. */
  old(old) {
    this.canvas.classList.toggle("old", old);
    this.isOld = old;
    if (old) this.stop?.abort();
  }

  /** Nobody looks any more: texels that have not come are not waited for. */
  leave() {
    this.stop?.abort();
    this.stop = new AbortController();
  }

  message(...parts) {
    this.says.hidden = parts.length === 0;
    fill(this.says, parts);
  }

  // The texels

  /** Whether a control asks for something else than the server's picture. */
  get changed() { return this.range !== null || (this.channels !== "RGB" && !this.source?.unit); }

  /** Dims all texels but those that `mask` has, and frames these. */
  emphasize(mask) {
    this.mask = mask;
    let left = Infinity, top = Infinity, right = -1, bottom = -1;
    mask.forEach((has, i) => {
      if (!has) return;
      const x = i % this.source.width, y = Math.floor(i / this.source.width);
      [left, top, right, bottom] = [Math.min(left, x), Math.min(top, y), Math.max(right, x), Math.max(bottom, y)];
    });
    this.bounds = right < 0 ? null : {x: left, y: top, width: right - left + 1, height: bottom - top + 1};
    this.place();
    return this.repaint();
  }

  /** Draws edges over the picture, whose texels stay what they are: those that `mask` has. */
  outline(mask) {
    this.edges = mask;
    this.edgeWidth = 0;
    this.place();
  }

  /** Each edge is so many texels wide, and has a dark border, so that it is seen on any picture. */
  drawEdges(wide) {
    const {width, height} = this.source;
    const core = grown(this.edges, width, wide >> 1), border = grown(core, width, wide);
    Object.assign(this.over, {width, height});
    const context = this.over.getContext("2d"), pixels = context.createImageData(width, height);
    const words = new Uint32Array(pixels.data.buffer);
    for (let i = 0; i < words.length; i++)
      if (border[i]) words[i] = core[i] ? EDGE : BORDER;
    context.putImageData(pixels, 0, 0);
    this.edgeWidth = wide;
  }

  /** Fetches the values of all texels, once for each picture. False where there are none. */
  async texels() {
    const {source} = this;
    if (!source || this.isOld) return false;
    source.texels ??= this.read(source).catch((error) => {
      if (aborted(error)) source.texels = undefined;
      return null;
    });
    const found = await source.texels;
    if (!found || source !== this.source) return false;
    if (this.values !== found.values) {
      this.values = found.values;
      this.layout = found.layout;
      this.natural = rangeOf(found.layout, found.values);
      this.limits();
    }
    return true;
  }

  async read(source) {
    const layout = source.raw && layoutOf(source.format, source.name);
    if (layout) {
      try {
        const {signal} = this.stop;
        if (source.long) await api.work(source.raw, {signal});
        const values = decode(layout, await api.bytes(source.raw, {signal}), source.width * source.height);
        if (values) return {layout, values};
      } catch (error) {
        if (aborted(error) || source.unit) throw error;
      }
    }
    const values = new Float32Array(source.width * source.height * 4);
    const add = async (path, places) => {
      const pixels = await this.pixels(path, source);
      for (let i = 0; i < values.length; i += 4)
        for (const [to, from] of places) values[i + to] = pixels[i + from] / 255;
    };
    values.fill(1);
    await add(source.png, [[0, 0], [1, 1], [2, 2]]);
    const alpha = source.alpha && (await add(source.alpha, [[3, 0]]).then(() => true, () => false));
    return {values, layout: alpha ? {...EIGHT, channels: "RGBA", parts: [...EIGHT.parts, {place: 3, bits: 8}]} : EIGHT};
  }

  async pixels(path, {width, height}) {
    const canvas = new OffscreenCanvas(width, height);
    const context = canvas.getContext("2d", {willReadFrequently: true});
    context.drawImage(await load(await api.picture(path)), 0, 0);
    return context.getImageData(0, 0, width, height).data;
  }

  async repaint() {
    const {source} = this;
    if (!source) return;
    if (this.changed) {
      if (!(await this.texels()) || source !== this.source || !this.changed) return this.probe();
      const pixels = this.context.createImageData(source.width, source.height);
      paint(this.layout, this.values, this.range ?? this.natural, this.channels, pixels.data);
      this.context.putImageData(pixels, 0, 0);
    } else {
      const image = await load(await api.picture(source.png));
      if (source !== this.source || this.changed) return;
      this.context.drawImage(image, 0, 0);
    }
    if (this.mask) this.dim(this.mask);
    this.probe();
  }

  dim(mask) {
    const {width, height} = this.source;
    const pixels = this.context.getImageData(0, 0, width, height);
    for (let i = 0; i < mask.length; i++)
      if (!mask[i])
        for (let c = 0; c < 3; c++) pixels.data[i * 4 + c] = pixels.data[i * 4 + c] * DIMMED + GREY;
    this.context.putImageData(pixels, 0, 0);
  }

  // Controls

  tools(id) {
    const named = (name) => (id ? `${id}-${name}` : null);
    this.buttons = {
      flip: item("flip", () => this.flip(), {title: "upside down (f)", id: named("flip"), key: "f"}),
      fit: item("fit", () => this.fit(), {title: "the whole picture (1)", id: named("fit"), key: "1", radio: true}),
      real: item("1:1", () => this.real(), {title: "a texel is a pixel (1)", id: named("real"), key: "1", radio: true}),
    };
    this.letters = [..."RGBA"].map(
        (letter) => chip(letter, letter !== "A", (event) => this.toggle(letter, event.shiftKey || event.detail === 2),
            {title: `${NAMES[letter]}; twice or with Shift: alone`, data: {channel: letter}}));
    const input = (name, text) => el("input", {
      id: named(name),
      "aria-label": text,
      title: text,
      inputmode: "decimal",
      on: {change: () => this.setRange(), input: (event) => fitField(event.target)}
    });
    this.low = input("low", "the value that is black");
    this.high = input("high", "the value that is white");
    this.auto = chip("auto", true, () => this.take(null), {title: "the range of the values", id: named("auto")});
    this.menu = new Menu("view", {id: named("menu"), title: "how the picture is shown"});
    const group = (text, ...parts) =>
        el("div", {class: "menu-group", role: "group", "aria-label": text}, el("span", {class: "dim"}, text), parts);
    this.menu.popup.append(group("channels", this.letters), group("range", this.low, "to", this.high, this.auto), el("hr"),
        this.buttons.flip, this.buttons.fit, this.buttons.real);
    this.controls = [this.menu.box];
  }

  /** Has the chips beside the menu say what is switched on. */
  marksOfMenu() {
    const {channels, range, view, fitted, source} = this, pixels = view.scale * devicePixelRatio;
    const on = [...this.switched()];
    if (channels !== "RGB" && !source?.unit)
      on.push({text: channels.length === 1 ? `${channels} only` : channels, title: "channels", off: () => this.channel("RGB")});
    if (range) on.push({text: `${short(range[0])} to ${short(range[1])}`, title: "range", off: () => this.take(null)});
    if (this.flipped) on.push({text: "flip", off: () => this.flip()});
    if (!fitted) on.push({text: pixels === 1 ? "1:1" : `${Number((100 * pixels).toPrecision(2))}%`, title: "zoom", off: () => this.fit()});
    this.menu.says(on);
  }

  limits() {
    const {source, layout} = this;
    const [low, high] = this.range ?? this.natural ?? source?.range ?? [0, 1];
    if (document.activeElement !== this.low) this.low.value = short(low);
    if (document.activeElement !== this.high) this.high.value = short(high);
    press(this.auto, this.range === null);
    const channels = layout?.ofPicture && source?.alpha ? "RGBA" : layout?.channels ?? "";
    for (const button of this.letters) {
      const {channel} = button.dataset;
      press(button, this.channels.includes(channel) && channels.includes(channel));
      button.hidden = Boolean(source?.unit);
      button.disabled = !source || channels.length === 1 || !channels.includes(channel);
    }
    for (const control of [this.low, this.high, this.auto]) control.disabled = !source;
    fitField(this.low);
    fitField(this.high);
    this.marksOfMenu();
  }

  setRange() {
    const low = Number(this.low.value), high = Number(this.high.value);
    if (this.low.value.trim() === "" || this.high.value.trim() === "" || !Number.isFinite(low) ||
        !Number.isFinite(high))
      return this.limits();
    this.take([low, high]);
  }

  /** Shows a range of values, or all of them: null. Pictures of the same key get it again. */
  take(range) {
    this.range = range;
    if (this.source) this.ranges.set(this.source.key, range);
    this.limits();
    this.repaint();
  }

  toggle(letter, alone) {
    const next = alone                   ? letter
        : this.channels.includes(letter) ? this.channels.replace(letter, "")
                                         : this.channels + letter;
    this.channel([..."RGBA"].filter((one) => next.includes(one)).join("") || "RGB");
  }

  channel(letters) {
    this.channels = letters;
    this.keep();
    this.limits();
    this.repaint();
  }

  flip() {
    this.flipped = !this.flipped;
    this.keep();
    this.place();
  }

  /** A reload has the same switches. */
  keep() {
    if (this.id) keepAs(this.id, {channels: this.channels, flipped: this.flipped});
  }

  toggleSize() {
    if (this.fitted)
      this.real();
    else
      this.fit();
  }

  // Where it stands

  fit() {
    this.fitted = true;
    if (!this.source) return;
    const {clientWidth, clientHeight} = this.box;
    const room =
        Math.min((clientWidth - 2 * MARGIN) / this.source.width, (clientHeight - 2 * MARGIN) / this.source.height);
    // Small pictures grow by whole steps, so that all texels are as large.
    this.center(room >= 2 ? Math.min(Math.floor(room), 16) : Math.max(room, 0.01));
  }

  refit() {
    if (this.fitted) this.fit();
  }

  real() {
    this.fitted = false;
    if (this.source) this.center(1 / devicePixelRatio);
  }

  center(scale) {
    this.view = {
      scale,
      x: Math.round((this.box.clientWidth - this.source.width * scale) / 2),
      y: Math.round((this.box.clientHeight - this.source.height * scale) / 2)
    };
    this.place();
  }

  place() {
    const {scale, x, y} = this.view;
    check(this.buttons.flip, this.flipped);
    check(this.buttons.fit, this.fitted);
    check(this.buttons.real, !this.fitted && scale === 1 / devicePixelRatio);
    this.marksOfMenu();
    if (!this.source) return;
    const bottom = y + this.source.height * scale, pixels = scale * devicePixelRatio;
    this.canvas.style.transform = this.flipped ? `translate(${x}px, ${bottom}px) scale(${scale}, ${- scale})`
                                               : `translate(${x}px, ${y}px) scale(${scale})`;
    this.canvas.style.imageRendering = pixels >= 2 || Number.isInteger(pixels) ? "pixelated" : "auto";
    this.over.hidden = !this.edges;
    if (this.edges) {
      const wide = Math.min(Math.max(Math.round(1 / pixels), 1), WIDEST);
      if (wide !== this.edgeWidth) this.drawEdges(wide);
      Object.assign(this.over.style, {transform: this.canvas.style.transform, imageRendering: this.canvas.style.imageRendering});
    }
    this.mark(this.marks.texel, scale >= GRID ? this.hover : null);
    this.mark(this.marks.pin, this.pinned);
    this.mark(this.marks.bounds, this.bounds);
  }

  /** Puts a frame around texels; a small one stays large enough to be seen. */
  mark(frame, texels) {
    const {scale, x, y} = this.view, {width: across = 1, height: down = 1} = texels ?? {};
    frame.hidden = !texels || texels.x >= this.source.width || texels.y >= this.source.height;
    if (frame.hidden) return;
    const row = this.flipped ? this.source.height - down - texels.y : texels.y;
    const width = Math.max(across * scale, 7), height = Math.max(down * scale, 7);
    frame.style.width = `${width}px`;
    frame.style.height = `${height}px`;
    const left = x + texels.x * scale + (across * scale - width) / 2,
          top = y + row * scale + (down * scale - height) / 2;
    frame.style.transform = `translate(${left}px, ${top}px)`;
  }

  zoom(factor, x, y) {
    const scale = Math.min(LARGEST, Math.max(1 / 32, this.view.scale * factor));
    const by = scale / this.view.scale;
    this.fitted = false;
    this.view = {scale, x: x - (x - this.view.x) * by, y: y - (y - this.view.y) * by};
    this.place();
  }

  // The pointer

  under(event) {
    const box = this.box.getBoundingClientRect();
    const x = Math.floor((event.clientX - box.left - this.view.x) / this.view.scale);
    const row = Math.floor((event.clientY - box.top - this.view.y) / this.view.scale);
    const y = this.flipped ? this.source.height - 1 - row : row;
    return x >= 0 && y >= 0 && x < this.source.width && y < this.source.height ? {x, y} : null;
  }

  pointer() {
    let drag = null;
    const drop = () => {
      drag = null;
      this.box.classList.remove("drags");
    };
    const on = (name, act, options) => this.box.addEventListener(name, (event) => {
      if (this.source) act(event);
    }, options);
    on("wheel", (event) => {
      event.preventDefault();
      const box = this.box.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.06 : 0.002)), event.clientX - box.left,
          event.clientY - box.top);
    }, {passive: false});
    pinch(this.box, (factor, x, y, dx, dy) => {
      if (!this.source) return;
      this.view = {...this.view, x: this.view.x + dx, y: this.view.y + dy};
      this.zoom(factor, x, y);
    });
    on("pointerenter", () => this.texels().then(() => this.probe()));
    on("pointerdown", (event) => {
      if (event.target.closest(".says > *")) return;
      drag = {x: event.clientX, y: event.clientY, from: this.view, moved: false};
      this.box.setPointerCapture(event.pointerId);
    });
    on("pointermove", (event) => {
      if (drag) {
        const x = event.clientX - drag.x, y = event.clientY - drag.y;
        drag.moved ||= Math.hypot(x, y) > 3;
        if (drag.moved) {
          this.box.classList.add("drags");
          this.fitted = false;
          this.view = {...drag.from, x: drag.from.x + x, y: drag.from.y + y};
        }
      }
      this.hover = this.under(event);
      this.place();
      this.probe();
    });
    on("pointerup", (event) => {
      if (drag && !drag.moved) this.pin(this.under(event));
      drop();
    });
    on("pointercancel", drop);
    on("pointerleave", () => {
      this.hover = null;
      this.place();
      this.probe();
    });
    on("dblclick", () => this.toggleSize());
  }

  pin(texel) {
    const again = texel && this.pinned && texel.x === this.pinned.x && texel.y === this.pinned.y;
    this.setPin(again ? null : texel);
    this.onPin(this.pinned);
  }

  setPin(texel) {
    if (this.pinned?.x === texel?.x && this.pinned?.y === texel?.y) return;
    this.pinned = texel;
    this.place();
    this.texels().then(() => this.probe());
    this.probe();
  }

  /** Says what the picture is, and the texel under the pointer or the pinned one. */
  probe() {
    const texel = this.hover ?? this.pinned;
    const {source, layout} = this;
    if (!source) return fill(this.line);
    const extent = `${source.width} × ${source.height}`;
    const about = source.unit ? source.about
        : source.image        ? [handle(source.image), " ", el("b", {}, `${extent} ${plain(source.format, "VK_FORMAT_")}`)]
                              : el("b", {}, `${source.about}, ${extent}`);
    const odd = [source.nan && count(source.nan, "NaN"), source.infinite && count(source.infinite, "infinite value")]
                    .filter(Boolean)
                    .join(", ");
    const more = odd || this.note ? el("span", {class: "label"}, [this.note, odd].filter(Boolean).join(", ")) : null;
    // Two lines, so that the picture stays where it is when the pointer comes.
    const say = (...rest) => fill(this.line, el("div", {}, el("span", {}, about), more, this.saves), el("div", {}, rest, source.more));
    if (!texel || texel.x >= source.width || texel.y >= source.height)
      return say(el("span", {}, "a click pins a texel, the wheel zooms"));
    const [r, g, b] = this.context.getImageData(texel.x, texel.y, 1, 1).data;
    const swatch = el("i", {class: "swatch"});
    swatch.style.background = `rgb(${r}, ${g}, ${b})`;
    const index = texel.y * source.width + texel.x;
    const values = this.values ? [...layout.channels].map(
                                     (letter) => el("span", {class: "value", data: {channel: letter}},
                                         source.unit ? count(this.value(index, letter), source.unit)
                                                     : `${letter} ${short(this.value(index, letter))}`))
                               : "";
    const note = !this.values ? "…"
        : layout.ofPicture    ? `${stored(layout, this.values, index)} of the picture`
                              : stored(layout, this.values, index);
    say(el("span", {class: "at"}, swatch, this.pinned && !this.hover ? "pinned " : "", "x ", el("b", {}, texel.x), " y ",
            el("b", {}, texel.y)),
        values, note ? el("span", {}, note) : null);
  }

  /** A value as shaders read it: colors of sRGB formats are linear to them. */
  value(index, letter) {
    const place = letter === "A" ? 3 : this.layout.channels.length === 1 ? 0 : "RGB".indexOf(letter);
    const value = this.values[index * 4 + place];
    return this.layout.suffix === "SRGB" && letter !== "A" ? toLinear(value) : value;
  }
}

/** A field is as wide as its number. */
const fitField = (field) => { field.style.width = `calc(${Math.max(field.value.length, 2)}ch + 14px)`; };

function keepAs(id, switches) {
  try {
    sessionStorage.setItem("lapilli-" + id, JSON.stringify(switches));
  } catch { /* storage is off */
  }
}

function kept(id) {
  try {
    const {channels, flipped} = JSON.parse(sessionStorage.getItem("lapilli-" + id)) ?? {};
    return {channels: /^R?G?B?A?$/.test(channels || "-") ? channels : "RGB", flipped: flipped === true};
  } catch { return {}; }
}

/** A mask with all texels that are at most `by` away. */
function grown(mask, width, by) {
  if (!by) return mask;
  const across = new Uint8Array(mask.length), out = new Uint8Array(mask.length);
  mask.forEach((has, i) => {
    const x = i % width;
    if (has) across.fill(1, i - Math.min(x, by), i + Math.min(width - 1 - x, by) + 1);
  });
  across.forEach((has, i) => {
    if (!has) return;
    for (let down = -by; down <= by; down++) out[i + down * width] = 1; // outside of the array that does nothing
  });
  return out;
}

async function load(url) {
  const image = new Image();
  image.src = url;
  await image.decode();
  return image;
}
