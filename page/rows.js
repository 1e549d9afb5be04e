// SPDX-License-Identifier: MIT
// A list of which only the rows in view exist. Lists of 10^6 rows scroll, and cost as much as ten.

import {el, later} from "./dom.js";

// Browsers cut elements off beyond some 30 million pixels. Longer lists scroll in larger steps.
const LONGEST = 15e6;
const STILL_MS = 70;
// Where fingers aim at rows, these are at least so high. style.css has the same.
const LARGE = matchMedia("(max-width: 900px), (pointer: coarse)"), FINGER = 24;

export class Rows {
  /**
   * `box` scrolls. `make(index)` gives a row's element. With `across` the rows stand beside each other. `seen`
   *  learns which rows are in view.
   */
  constructor(box, {extent, make, across = false, seen = () => {}}) {
    Object.assign(this, {box, extent, make, across, seen, count: 0, from: -1, to: -1, live: new Map(), moved: 0});
    this.settle = later(STILL_MS, (first, last) => this.seen(first, last));
    this.space = el("div", {class: "rows", role: "presentation"});
    box.append(this.space);
    box.addEventListener("scroll", () => this.draw(), {passive: true});
    new ResizeObserver(() => this.draw()).observe(box);
    LARGE.addEventListener("change", () => this.set(this.count));
  }

  get extent() { return this.choosable && LARGE.matches ? Math.max(this.least, FINGER) : this.least; }
  set extent(value) { this.least = value; }
  get choosable() { return this.box.hasAttribute("role"); }

  get view() { return this.across ? this.box.clientWidth : this.box.clientHeight; }
  get offset() { return this.across ? this.box.scrollLeft : this.box.scrollTop; }
  set offset(value) {
    if (this.across)
      this.box.scrollLeft = value;
    else
      this.box.scrollTop = value;
  }
  get length() { return Math.min(this.count * this.extent, LONGEST); }

  /** How far the first row is above the top. */
  get above() {
    const whole = this.count * this.extent;
    return whole <= LONGEST ? this.offset : (this.offset / (LONGEST - this.view)) * (whole - this.view);
  }

  /** Sets how many rows there are, and draws those in view anew. */
  set(count) {
    this.count = count;
    this.space.style[this.across ? "width" : "height"] = `${this.length}px`;
    this.refresh();
  }

  /** Makes the rows in view anew. */
  refresh() {
    this.live = new Map();
    this.from = -1;
    this.draw();
  }

  /** Makes one row anew, if it is in view. */
  redraw(index) {
    if (this.live.delete(index)) {
      this.from = -1;
      this.draw();
    }
  }

  draw() {
    if (!this.box.isConnected) return; // another trace has the place
    const above = this.above;
    const from = Math.max(0, Math.floor(above / this.extent) - 4);
    const to = Math.min(this.count, Math.ceil((above + this.view) / this.extent) + 4);
    if (from === this.from && to === this.to && this.count * this.extent <= LONGEST) return;
    const shift = this.offset - above;
    const live = new Map();
    for (let i = from; i < to; i++) {
      const row = this.live.get(i) ?? this.make(i);
      row.dataset.row = i;
      row.style[this.across ? "left" : "top"] = `${i * this.extent + shift}px`;
      live.set(i, row);
    }
    this.live = live;
    this.from = from;
    this.to = to;
    this.space.replaceChildren(...live.values());
    this.tell();
    // Where one scrolls fast only the rows where it ends are asked for.
    const now = performance.now();
    if (now - this.moved > STILL_MS)
      this.seen(from, to);
    else
      this.settle(from, to);
    this.moved = now;
  }

  /** The focus is on the box, which says which row is meant. */
  tell() {
    if (!this.choosable) return;
    const row = this.space.querySelector(".here") ?? this.space.querySelector("[aria-selected=true]");
    if (row) {
      row.id ||= `${this.box.id}-chosen`;
      this.box.setAttribute("aria-activedescendant", row.id);
    } else
      this.box.removeAttribute("aria-activedescendant");
  }

  /** Scrolls as little as needed, so that a row is in view. A row far away comes to the middle. */
  reveal(index) {
    const at = index * this.extent, above = this.above, view = this.view;
    let wanted = above;
    const margin = this.extent;
    if (at < above + margin || at + this.extent > above + view - margin) {
      const near = at > above - view / 2 && at < above + view * 1.5;
      wanted = !near            ? at - (view - this.extent) / 2
          : at < above + margin ? at - margin
                                : at + this.extent - view + margin;
    }
    const whole = this.count * this.extent;
    wanted = Math.max(0, Math.min(wanted, whole - view));
    if (wanted !== above) this.offset = whole <= LONGEST ? wanted : (wanted / (whole - view)) * (LONGEST - view);
    this.draw();
  }
}
