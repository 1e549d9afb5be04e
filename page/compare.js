// SPDX-License-Identifier: MIT
// The pictures of two commands, of one trace or of two: how many texels differ, and either of them or where they differ.

import {aborted, api} from "./api.js";
import {chip, count, dim, el, fill, number, press} from "./dom.js";

const DIFFERENT = [255, 43, 255], SHADE = 0.3;

async function pictureOf({capture, at}, target, options) {
  const path = api.path("/framebuffer/" + at, {}, capture);
  await api.work(path, options);
  const lines = await api.lines(path, options), line = lines.find(({name}) => name === target) ?? lines[0];
  const file = (ending) => api.path(`/framebuffer/${at}/${line.name}.${ending}`, {}, capture);
  const [raw, url] = await Promise.all([api.bytes(file("raw"), options), api.picture(file("png"), options)]);
  const image = new Image();
  image.src = url;
  await image.decode();
  return {line, image, raw: new Uint8Array(raw)};
}

/** A mask of the texels whose bytes differ, or null where the pictures can't be compared. */
function differ({line: a, raw: x}, {line: b, raw: y}) {
  if (a.width !== b.width || a.height !== b.height || a.format !== b.format || x.length !== y.length) return null;
  const mask = new Uint8Array(a.width * a.height), bytes = x.length / mask.length;
  for (let i = 0; i < x.length; i++)
    if (x[i] !== y[i]) mask[Math.floor(i / bytes)] = 1;
  return mask;
}

export class Compare {
  constructor() {
    this.canvas = el("canvas", {id: "compare-picture", title: "a click shows the other one", on: {click: () => this.choose(this.which === 1 ? 0 : 1)}});
    this.text = el("span", {id: "compare-says"});
    this.chips = ["other", "this", "difference"].map((name, i) => chip(name, false, () => this.choose(i), {data: {which: name}}));
    this.box = el("div", {class: "compare", id: "compare"}, el("div", {class: "tools"}, this.text, this.chips), this.canvas);
    this.forget();
  }

  /** Ends what it asks, and shows nothing. */
  forget() {
    this.stop?.abort();
    this.found = null;
    this.canvas.hidden = true;
    for (const one of this.chips) one.hidden = true;
    fill(this.text);
    delete this.box.dataset.different;
  }

  say(text) {
    this.forget();
    fill(this.text, text);
  }

  /** The other side first. A side is {capture, at}. */
  async show(sides, target) {
    this.forget();
    const {signal} = (this.stop = new AbortController()), options = {signal, late: true};
    fill(this.text, dim("pictures are being compared"));
    try {
      const pictures = await Promise.all(sides.map((side) => pictureOf(side, target, options)));
      signal.throwIfAborted();
      const mask = differ(...pictures), [, {line}] = pictures;
      this.found = {pictures, mask};
      const many = mask?.reduce((sum, one) => sum + one, 0);
      fill(this.text, mask ? [el("b", {}, line.name), many ? ` ${number(many)} of ${count(mask.length, "texel")} differ` : " the same picture"]
                           : "the pictures have other sizes or formats");
      this.chips.forEach((one, i) => { one.hidden = i === 2 && !many; });
      this.choose(many ? 2 : 1);
      this.box.dataset.different = mask ? many : "";
    } catch (error) {
      if (aborted(error) || signal.aborted) return;
      fill(this.text, dim(`pictures are not compared: ${error.sentence ?? error}`));
      this.box.dataset.different = "";
    }
  }

  choose(which) {
    if (!this.found) return;
    const {pictures, mask} = this.found, {image} = pictures[Math.min(which, 1)];
    this.which = which;
    this.chips.forEach((one, i) => press(one, i === which));
    const {naturalWidth: width, naturalHeight: height} = image;
    Object.assign(this.canvas, {width, height, hidden: false});
    const context = this.canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    if (which < 2) return;
    const pixels = context.getImageData(0, 0, width, height), {data} = pixels;
    mask.forEach((has, i) => {
      const grey = SHADE * (data[4 * i] + data[4 * i + 1] + data[4 * i + 2]) / 3;
      data.set([...has ? DIFFERENT : [grey, grey, grey], 255], 4 * i);
    });
    context.putImageData(pixels, 0, 0);
  }
}
