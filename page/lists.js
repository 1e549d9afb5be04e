// SPDX-License-Identifier: MIT
// The frames of a capture and the draws of a frame, of which only the parts that are looked at are asked for.

import {api} from "./api.js";
import {Messages} from "./messages.js";
import {comparePositions, frameOf} from "./route.js";
import {Times} from "./times.js";

const CHUNK = 500;
const NEAR = 100, BUSY = 0.9;

export const workOf = (node) => node.draws + node.dispatches + node.traces;

/**
 * A list whose parts arrive when they are wanted. `load(first, last)` gives the items from `first` to `last`, both
 * counted from 1.
 */
class Parts {
  constructor(load) {
    this.load = load;
    this.total = 0;
    this.parts = new Map();
    this.changed = () => {};
  }

  part(number) {
    if (!this.parts.has(number)) {
      const part = {items: null};
      part.promise =
          this.load(number * CHUNK + 1, Math.min((number + 1) * CHUNK, Math.max(this.total, CHUNK))).then((items) => {
            part.items = items;
            this.changed();
            return items;
          });
      part.promise.catch(() => this.parts.delete(number));
      this.parts.set(number, part);
    }
    return this.parts.get(number);
  }

  /** An item from 0 if it is here, else undefined. */
  here(index) { return this.parts.get(Math.floor(index / CHUNK))?.items?.[index % CHUNK]; }
  /** The same, and what is not here is asked for. */
  peek(index) { return this.part(Math.floor(index / CHUNK)).items?.[index % CHUNK]; }
  async get(index) { return (await this.part(Math.floor(index / CHUNK)).promise)[index % CHUNK]; }
}

/** The frames of the capture: item 0 is frame 1. */
export class Frames extends Parts {
  constructor() {
    super(async (first, last) => {
      const answer = await api.json(api.path("/tree", {depth: 1, children: `${first}-${last}`}));
      this.total = answer.of;
      this.marked = answer.frames;
      for (const node of answer.nodes) this.most = Math.max(this.most, workOf(node));
      return answer.nodes;
    });
    this.most = 1;
  }

  /** What stands at a number: what is behind the last frame is counted as one more, and is no frame. */
  name(number) {
    return number <= this.marked ? `frame ${number}` : this.marked ? "behind the last frame" : "no frames";
  }

  async frame(number) {
    await this.part(0).promise;
    return number >= 1 && number <= this.total ? this.get(number - 1) : null;
  }

  /**
   * A frame near the start that draws about as much as its neighbours: games begin with frames that only load. Of the
   *  first part alone; null: none of it draws.
   */
  async busy() {
    const drawing = (await this.part(0).promise).filter((node) => workOf(node) > 0).slice(0, NEAR);
    const middle = drawing.map(workOf).sort((a, b) => a - b)[drawing.length >> 1];
    return drawing.find((node) => workOf(node) >= BUSY * middle) ?? null;
  }

  /** The next frame that draws, in the direction `step`. */
  async next(number, step) {
    for (let i = number + step; i >= 1 && i <= this.total; i += step) {
      const node = await this.get(i - 1);
      if (workOf(node) > 0) return node;
    }
    return null;
  }
}

/** The draws, dispatches and ray traces of a frame, in their order. */
export class Draws extends Parts {
  constructor(frame) {
    super(async (first, last) => {
      const rows = await api.lines(api.path("/draws", {at: frame.position, rows: `${first}-${last}`}));
      for (const row of rows) this.by.set(row.position, row);
      return rows;
    });
    // bound: by position with what they find bound; begins: the first one of a render pass, by the pass's position
    Object.assign(this, {frame, by: new Map(), bound: new Map(), begins: new Map(), boundParts: new Map(), looked: new Set()});
    this.total = workOf(frame);
  }

  /** Asks once for what the draws of a small part find bound: part `number`, of `length` draws. */
  boundPart(number, length) {
    if (!this.boundParts.has(number)) {
      const path = api.path("/draws", {at: this.frame.position, rows: `${number * length + 1}-${(number + 1) * length}`, state: true});
      const part = api.lines(path).then((rows) => {
        for (const row of rows) {
          this.bound.set(row.position, row);
          if (row.pass && !this.begins.has(row.pass.begin)) this.begins.set(row.pass.begin, row);
        }
      });
      part.catch(() => this.boundParts.delete(number));
      this.boundParts.set(number, part);
    }
    return this.boundParts.get(number);
  }

  /** The last draw of the last part, or the last of all. */
  async last() {
    const items = await this.part(Math.floor(Math.max(0, this.total - 1) / CHUNK)).promise;
    return items.findLast(({command}) => /Draw/.test(command)) ?? items.at(-1);
  }

  /** How many of them stand at or before a position. */
  async upTo(position) {
    let low = 0, high = this.total;
    while (low < high) {
      const middle = (low + high) >> 1;
      const row = await this.get(middle);
      if (row && comparePositions(row.position, position) <= 0)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
}

/** Knows the lists of the capture that is shown. */
export class Capture {
  constructor() {
    this.frames = new Frames();
    this.lists = new Map();
    this.times = new Times();
    this.messages = new Messages();
  }

  async draws(number) {
    if (!this.lists.has(number)) {
      const frame = await this.frames.frame(number);
      if (!frame) return null;
      this.lists.set(number, new Draws(frame));
      if (this.lists.size > 40) this.lists.delete(this.lists.keys().next().value);
    }
    return this.lists.get(number);
  }

  /** The draw that follows a position, or with `step` -1 the one before it; null at the end of the trace. */
  async neighbour(position, step) {
    const list = await this.draws(frameOf(position));
    if (!list) return null;
    const upTo = await list.upTo(position);
    const exact = upTo > 0 && (await list.get(upTo - 1))?.position === position;
    const index = step > 0 ? upTo : upTo - (exact ? 2 : 1);
    if (index >= 0 && index < list.total) return list.get(index);
    const frame = await this.frames.next(frameOf(position), step);
    const other = frame && await this.draws(Number(frame.position));
    return other ? other.get(step > 0 ? 0 : other.total - 1) : null;
  }
}
