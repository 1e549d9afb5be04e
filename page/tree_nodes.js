// SPDX-License-Identifier: MIT
// The nodes of the tree of commands: which are open, which row each has, and runs of uploads folded into one row.

export const WINDOW = 256; // children that are asked for at once
const FOLDED = 3;          // so many neighbours make a fold

/** A node of the tree. `inner` is how many rows stand below it once it is open. */
export class Node {
  constructor(data, parent, index) {
    // changes: children that have more rows than one, or fewer: open ones, and folds.
    Object.assign(this, {data, parent, index, of: null, windows: new Map(), open: false, changes: [], inner: 0});
  }
  get level() { return this.parent ? this.parent.level + 1 : 0; }
  get span() { return 1; }
  get extra() { return (this.open ? this.inner : 0) + 1 - this.span; }
  child(index) { return this.windows.get(Math.floor(index / WINDOW))?.[index % WINDOW]; }
  /** The child whose row stands for a number: a fold, where one begins there. */
  shown(index) {
    const child = this.child(index);
    return child && child.parent !== this ? child.parent : child;
  }

  grow(by) {
    for (let node = this; node; node = node.open ? node.parent : null) node.inner += by;
  }
  /** Counts the rows of a child among those of its neighbours. */
  enter(child) {
    const at = this.changes.findIndex((other) => other.index > child.index);
    this.changes.splice(at < 0 ? this.changes.length : at, 0, child);
  }
  setOpen(open) {
    if (this.open === open) return;
    if (!open) this.parent?.grow(-this.inner);
    this.open = open;
    if (!this.parent) return;
    if (open) this.parent.grow(this.inner);
    if (this.span > 1) return; // a fold counts in any case
    if (open)
      this.parent.enter(this);
    else
      this.parent.changes.splice(this.parent.changes.indexOf(this), 1);
  }
  setOf(of) {
    if (this.of === of) return;
    const by = of - (this.of ?? 0);
    this.of = of;
    this.grow(by);
  }
  /** The child, and the node it belongs to, that stands so many rows below. */
  at(row) {
    let extra = 0;
    for (const one of this.changes) {
      const at = one.index + extra;
      if (row <= at) break;
      if (one.open && row <= at + one.inner) return one.at(row - at - 1);
      extra += one.extra;
    }
    return {parent: this, index: row - extra};
  }
  get row() {
    let row = this.index + (this.parent.parent ? this.parent.row + 1 : 0);
    for (const one of this.parent.changes) {
      if (one.index >= this.index) break;
      row += one.extra;
    }
    return row;
  }

  /** Takes children from `first` on, as a window of them, and folds runs of uploads in it. */
  fill(first, children) {
    const made = children.map((data, i) => new Node(data, this, first + i));
    for (let at = 0; at < made.length; at += WINDOW) {
      const window = made.slice(at, at + WINDOW);
      this.windows.set((first + at) / WINDOW, window);
      for (let from = 0, to; from < window.length; from = to + 1) {
        for (to = from; to < window.length && uploads(window[to].data) && window[to].data.kind === window[from].data.kind;) to++;
        if (to - from < FOLDED) continue;
        this.enter(new Fold(this, window.slice(from, to)));
        this.grow(1 - (to - from));
      }
    }
    return made;
  }
}

/** A run of neighbours in the place of which one row stands. They are its children. */
class Fold extends Node {
  constructor(parent, run) {
    const sums = {};
    for (const {data} of run)
      for (const [name, value] of Object.entries(data))
        if (typeof value === "number") sums[name] = (sums[name] ?? 0) + value;
    super({...sums, kind: "fold", of: run[0].data.kind, position: run[0].data.position}, parent, run[0].index);
    this.run = run;
    this.of = this.inner = run.length;
    run.forEach((node, index) => Object.assign(node, {parent: this, index}));
  }
  get span() { return this.run.length; }
  child(index) { return this.run[index]; }
}

/** A submit or a command buffer that draws and computes nothing. */
const uploads = ({kind, draws, dispatches, traces, others, passes}) =>
    (kind === "submit" || kind === "command buffer") && draws + dispatches + traces + others + passes === 0;
