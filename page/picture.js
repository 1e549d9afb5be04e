// SPDX-License-Identifier: MIT
// The picture in the middle: which one the selected command has, how it is asked for, and what is said meanwhile.

import {aborted, api, ApiError} from "./api.js";
import {byId, chip, count, el, fill, later, notice, plain} from "./dom.js";
import {theCode} from "./edit.js";
import {History, pinned, pinOf} from "./history.js";
import {check, item, Segment, Tabs} from "./menu.js";
import {countsOf, kindOf, Kinds} from "./overdraw.js";
import {frameOf, go, route} from "./route.js";
import {Viewer} from "./viewer.js";

const QUIET_MS = 160;   // a picture is asked for once the selection has been quiet so long
const PATIENT_MS = 300; // and says that it waits after so long
export const PRESENTED = "presented";

/** The target for the next command: the one that was chosen last, though this command may lack it. */
export const nextTarget = () => (wish.target === PRESENTED ? null : wish.target);
const wish = {target: null, instead: null};
const wishOf = (position, {target, before, wire, changes, overdraw, edit, as, code}) =>
    [position, target, before, wire, changes, overdraw, code && [edit, as, code]].join();

const sum = (mask) => mask.reduce((all, one) => all + one, 0);

export class Picture {
  constructor(capture, edit) {
    this.capture = capture;
    this.edit = edit;
    this.at = "";
    /**
     * Further tabs, whose views take the place of the picture: {name, title, box, show(position, query, signal), leave()}. The tab
     *  has the address target=NAME, and `title` when the pointer is over it. `box` is an element, which is put in the stage's
     *  place and hidden while another tab is chosen; `show` is called for each position and change of the address, and
     *  `signal` ends with the next call; `leave` is called when nobody looks any more.
     */
    this.views = [];
    this.view = null; // the one that is chosen
    this.viewer = new Viewer("picture");
    this.box = this.viewer.box;
    this.history = new History(() => this.viewer.refit());
    this.viewer.onPin = (texel) => go({query: pinOf(texel, this.viewer.source)}, {replace: true});
    this.ask = later(QUIET_MS, () => this.load());
    this.targets = new Tabs({id: "targets", "aria-label": "What is shown"});
    this.tools();
  }

  tools() {
    const choose = (name) => go({query: {before: name === "before" ? "1" : null, changes: name === "changes" ? "1" : null}}, {replace: true});
    this.side = new Segment([
      {name: "after", text: "after", id: "after", title: "as the command leaves it (b)"},
      {name: "before", text: "before", id: "before"}, {name: "changes", text: "changes", id: "changes"}
    ], choose, {"aria-label": "In which state"});
    const set = (name, value) => go({query: {[name]: value}}, {replace: true});
    this.off = {wire: () => set("wire", null), overdraw: () => set("overdraw", null)};
    this.wire = item("edges of triangles", () => set("wire", route.query.wire === "1" ? null : "1"),
        {title: "edges of what the command draws", id: "wireframe"});
    this.overdraw = item("overdraw", () => set("overdraw", route.query.overdraw ? null : "shaded"),
        {title: "how many fragments each texel has, of the draws of the render pass", id: "overdraw"});
    this.kinds = new Kinds();
    const {menu} = this.viewer;
    menu.popup.prepend(this.wire, this.overdraw, ...this.kinds.items, el("hr"));
    this.viewer.switched = () => this.switchedOn();
    fill(byId("picture-pane"),
        el("div", {class: "tools", id: "picture-tools", role: "toolbar", "aria-label": "Picture"}, this.targets.box,
            this.side.box, this.viewer.controls),
        this.box, this.viewer.line, this.history.box);
  }

  switchedOn() {
    const {query} = route, kind = kindOf(query);
    return [
      query.wire === "1" && {text: "wire", title: "edges of triangles", off: this.off.wire},
      kind && {text: kind === "shaded" ? "overdraw" : kind, title: "overdraw", off: this.off.overdraw}
    ].filter(Boolean);
  }

  get presents() { return this.capture.frames.marked > 0; }
  get isFrame() { return !this.at.includes("."); }

  /** Shows the picture of a position; `query` names the attachment, and whether without the command or as edges. */
  show(position, query) {
    if (query.target !== wish.instead) Object.assign(wish, {target: query.target ?? null, instead: null});
    if (this.chooseView(position, query)) return;
    this.viewer.setPin(pinned(query));
    this.history.show(position, query);
    const wanted = wishOf(position, query);
    if (wanted === this.wanted) return;
    this.wanted = wanted;
    this.at = position;
    this.stop?.abort();
    this.stop = null;
    this.chips();
    this.viewer.old(true);
    this.message();
    this.box.dataset.path = "";
    delete this.box.dataset.failed;
    if (!this.pending) api.enter();
    this.pending = true;
    this.ask();
  }

  /** Shows the view of a further tab, if the address has one. */
  chooseView(position, query) {
    const view = this.views.find(({name}) => name === query.target) ?? null;
    this.viewStop?.abort();
    if (this.view !== view) {
      this.leave();
      this.view = view;
      for (const {box} of this.views) box.hidden = box !== view?.box;
    }
    byId("picture-pane").classList.toggle("other-view", Boolean(view));
    if (!view) return false;
    if (!view.box.isConnected) this.box.before(view.box);
    this.at = position;
    this.wanted = "";
    this.chips();
    this.viewStop = new AbortController();
    view.show(position, query, this.viewStop.signal);
    return true;
  }

  /** Nobody looks any more. A picture that has not come is asked for when somebody looks again. */
  leave() {
    this.viewStop?.abort();
    this.view?.leave();
    this.viewer.leave();
    this.history.leave();
    if (!this.pending) return;
    this.ask.cancel();
    this.stop?.abort();
    this.wanted = "";
    this.pending = false;
    api.leave();
  }

  async load() {
    this.stop = new AbortController();
    const {signal} = this.stop;
    const late = setTimeout(() => {
      if (!signal.aborted) this.waits(null);
    }, PATIENT_MS);
    const options = {
      signal,
      progress: (done, all) => {
        if (!signal.aborted && this.waiting) this.waits(done, all);
      }
    };
    try {
      const other = await this.edit.replacement(route.query, signal);
      const source = await this.choose(other, options);
      await this.viewer.show(source, {signal});
      this.kinds.show(source.unit ? kindOf(route.query) : null);
      this.chips(source.target ?? source.key);
      if (source.unit && this.edit.isOn) this.note("of the trace's own code");
      if (source.lackCounts) this.note(`no counts: ${source.lackCounts}`);
      if (source.without) await this.showChanges(source, options);
      if (source.edges) await this.showEdges(source, options);
      this.message();
      this.edit.say();
      this.box.dataset.loaded = source.png;
      if (source.lacks) this.correct(source);
      if (source.gpu) byId("work").textContent = `pictures by ${source.gpu}`;
    } catch (error) {
      if (!aborted(error) && !signal.aborted)
        this.failed(error);
      else if (this.stopped)
        this.failed(null);
    } finally {
      clearTimeout(late);
      this.stopped = false;
      if (this.stop?.signal === signal && this.pending) {
        this.pending = false;
        api.leave();
      }
    }
  }

  /** The picture, or the counts of fragments in its place. Where nothing can be counted the picture stays. */
  async choose(other, options) {
    const kind = kindOf(route.query), picture = this.find(other, kind ? {signal: options.signal} : options);
    if (!kind) return picture;
    const [counts, found] =
        await Promise.allSettled([countsOf(this.capture, this.at, kind, picture.catch(() => null), options), picture]);
    options.signal.throwIfAborted();
    if (counts.value) return counts.value;
    if (!found.value) throw found.reason;
    if (![404, 501].includes(counts.reason.status)) throw counts.reason;
    return {...found.value, lackCounts: counts.reason.sentence};
  }

  /**
   * The presented image of a frame, the attachments of anything else. A frame that presents nothing has those of its
   *  last draw. other: the code that a shader has instead of its own, or null.
   */
  async find(other, options) {
    const {target} = route.query;
    if (target === PRESENTED || (this.isFrame && !target)) {
      try {
        return await this.findPresented(other, options);
      } catch (error) {
        if (target || !(error.status === 404 || error.status === 501)) throw error;
        return this.findTarget(other, options).catch((second) => { throw second.status === 404 ? error : second; });
      }
    }
    return this.findTarget(other, options);
  }

  async findPresented(other, options) {
    const frame = frameOf(this.at);
    const png = api.path(`/screenshots/${frame}.png`, {replace: route.query.before === "1" ? null : other});
    this.box.dataset.path = png;
    await api.work(png, options).catch((error) => {
      throw error.status === 404 && !other ? new ApiError(404, "No image is presented here.") : error;
    });
    return {png, raw: null, key: PRESENTED, about: `frame ${frame} as presented`};
  }

  async findTarget(other, options) {
    // What comes before is the picture without the command, or that of the shader's own code.
    const before = route.query.before === "1";
    const less = other ? {replace: null} : {skip: this.at};
    const queries = {replace: other, ...(before ? less : {})};
    const {target} = route.query;
    const path = api.path("/framebuffer/" + this.at, queries);
    this.box.dataset.path = path;
    await api.work(path, options);
    this.lines = await api.lines(path, options);
    const found = this.lines.find(({name}) => name === target), line = found ?? this.lines[0];
    if (!line) throw new ApiError(501, "The command draws to no attachment.");
    const png = api.path(`/framebuffer/${this.at}/${line.name}.png`, queries);
    this.box.dataset.path = png;
    const changes = route.query.changes === "1" && !before;
    return {
      ...line,
      without: changes ? {...queries, ...less} : null,
      edges: route.query.wire === "1" ? {replace: queries.replace, wireframe: true, "null-fragment": true} : null,
      format: line.computedAs ?? line.format,
      key: line.name,
      lacks: found ? null : target,
      png,
      raw: api.path(`/framebuffer/${this.at}/${line.name}.raw`, queries),
      long: true
    };
  }

  /** Says that there is no such target, and which one is shown. The next command is asked for the chosen one again. */
  correct({name, lacks}) {
    const query = {...route.query, target: name};
    wish.instead = name;
    this.wanted = wishOf(this.at, query);
    const sentence = [route.says, `There is no target ${lacks}: this is ${name}.`].filter(Boolean).join(" ");
    go({query}, {replace: true, sentence});
  }

  /** Dims the texels whose bytes are the same without the command, or with the shader's own code. */
  async showChanges(source, options) {
    this.viewer.old(true);
    const mask = await this.difference(source, source.raw, source.without, options);
    this.viewer.old(false);
    this.note(`${count(sum(mask), "texel")} changed`);
    await this.viewer.emphasize(mask);
  }

  /**
   * Draws the edges of what the command draws over the picture: texels that it changes where all triangles are lines of one
   *  color. Without them the picture stays.
   */
  async showEdges(source, options) {
    const path = `/framebuffer/${this.at}`, lines = api.path(path, source.edges);
    try {
      const [mask] = await Promise.all([
        this.difference(source, api.path(`${path}/${source.name}.raw`, source.edges), {...source.edges, skip: this.at}, options),
        api.work(lines, options)
      ]);
      const texels = sum(mask);
      this.note(texels ? `${count(texels, "texel")} of edges` : "no edges can be seen");
      this.viewer.outline(mask);
    } catch (error) {
      if (aborted(error) || !(error.status === 404 || error.status === 501)) throw error;
      this.note(error.status === 404 ? "no edges: nothing is drawn here" : `no edges: ${error.sentence}`);
    }
  }

  /** Which texels are others than in another picture: a mask. raw: bytes of theirs; queries: of the other ones. */
  async difference({name, width, height}, raw, queries, options) {
    const path = `/framebuffer/${this.at}`;
    await api.work(api.path(path, queries), options);
    const other = api.path(`${path}/${name}.raw`, queries);
    const [one, two] =
        (await Promise.all([raw, other].map((from) => api.bytes(from, options)))).map((bytes) => new Uint8Array(bytes));
    const mask = new Uint8Array(width * height), bytes = one.length / mask.length;
    for (let i = 0; i < one.length; i++)
      if (one[i] !== two[i]) mask[Math.floor(i / bytes)] = 1;
    return mask;
  }

  note(text) {
    this.viewer.note = [this.viewer.note, text].filter(Boolean).join(", ");
    this.viewer.probe();
  }

  /** The chips of the targets; `shown` is the one that is seen, if it is known. */
  chips(shown) {
    const {target} = route.query;
    const chosen = shown                                ? shown
        : this.isFrame && !target                       ? PRESENTED
        : target === PRESENTED                          ? target
        : this.lines?.some(({name}) => name === target) ? target
                                                        : this.lines?.[0]?.name;
    const make = (name, text, title) => ({
      name,
      text,
      title,
      act: () => {
        Object.assign(wish, {target: name, instead: null});
        go({query: {target: name}}, {replace: true});
      }
    });
    // Of a frame it is not known yet what its last draw draws to.
    const last = this.isFrame && !this.lines ? make("color0", "last draw", "what its last draw draws to") : null;
    this.targets.set([
      last,
      ...(this.lines ?? []).map((line) => make(line.name, line.name.replace(/([a-z])(\d)/g, "$1 $2").replace("-", " "),
                                    `${line.image} ${plain(line.format, "VK_FORMAT_")}`)),
      this.presents ? make(PRESENTED, PRESENTED, "the image that the frame presents") : null,
      ...this.views.map(({name, title}) => make(name, name, title))
    ].filter(Boolean), this.view?.name ?? chosen);
    this.sides(chosen);
  }

  /** Which of the switches can be used with the target that is chosen. */
  sides(chosen) {
    const {query} = route, counts = Boolean(kindOf(query)), isPresented = chosen === PRESENTED;
    const able = {after: true, before: !(isPresented && !this.edit.isOn) && !counts, changes: !isPresented && !counts};
    this.side.set(["before", "changes"].find((name) => query[name] === "1" && able[name]) ?? "after", (name) => able[name]);
    const {after, before, changes} = this.side.buttons;
    after.title = this.edit.isOn ? "with the new code (b)" : "as the command leaves it (b)";
    before.title = this.edit.isOn ? "with the shader's own code (b)" : "as it is without this command (b)";
    changes.title = `dim what the ${this.edit.isOn ? "new code" : "command"} does not change (d)`;
    check(this.wire, query.wire === "1");
    check(this.overdraw, counts);
    this.wire.disabled = isPresented;
    this.viewer.marksOfMenu();
  }

  toggleChanges() { this.toggle("changes"); }
  toggleBefore() { this.toggle("before"); }

  /** Switches to one side, or back. */
  toggle(name) {
    const button = this.side.buttons[route.query[name] === "1" ? "after" : name];
    if (!button.disabled) button.click();
  }

  // What it says

  message(...parts) {
    this.waiting = false;
    this.viewer.message(...parts);
  }

  waits(done, all) {
    if (!this.waiting) {
      this.bar = el("progress", {max: 1});
      this.share = el("span", {class: "dim"});
      this.message(el("div", {class: "waits"}, el("span", {class: "spin"}), el("span", {}, `playing up to ${this.at}`),
          this.bar, this.share, chip("stop", null, () => {
            this.stopped = true;
            this.stop.abort();
          }, {id: "picture-stop"})));
      this.waiting = true;
    }
    if (done === null || !all) return;
    this.bar.value = done / all;
    this.share.textContent = `${Math.round((100 * done) / all)}%`;
  }

  failed(error) {
    this.box.dataset.failed = String(error?.status ?? "stopped");
    const again = chip("try again", null, () => {
      this.wanted = "";
      this.show(this.at, route.query);
    });
    const presented = this.isFrame || route.query.target === PRESENTED || !this.presents
        ? null
        : chip("show the presented frame", null, () => go({query: {target: PRESENTED}}, {replace: true}),
              {id: "show-presented"});
    const next = chip("next draw or dispatch", null, () => document.dispatchEvent(new CustomEvent("next-draw")));
    const say = (title, sentence, hint, ...chips) =>
        this.message(notice(title, sentence, hint, el("div", {class: "chips"}, chips)));
    if (!error) return say("Stopped", "The replay was ended.", null, again, presented);
    const {status} = error, sentence = error.sentence ?? String(error);
    if (this.edit.isOn && [400, 404].includes(status)) {
      this.edit.say(error);
      return say("No picture with this code", theCode(sentence), null, presented);
    }
    if (status === 404)
      return say(this.isFrame ? "No picture of this frame" : "No picture here", sentence,
          this.isFrame ? "Its draws may have pictures." : "Draws, and other commands in render passes, have pictures.",
          presented, next);
    if (status === 501)
      return say("No picture here", sentence,
          "Draws, and other commands in render passes, have pictures, if a device of this machine can play the trace.",
          presented, next);
    if (status === 502)
      return say(
          "The replay crashed", sentence, "Everything but this picture can still be looked at.", again, presented);
    if (status === 503)
      return say("Too much work at once", sentence, "It goes on once other pictures are done.", again);
    if (status === 409) return say("Ended", sentence, "Another window ended this replay.", again, presented);
    say("No picture", sentence, null, again, presented);
  }
}
