// SPDX-License-Identifier: MIT
// Objects: the list of what lives at a position, and the view of one, which is also in the drawer beside the commands.

import {aborted, api} from "./api.js";
import {
  byId,
  chip,
  count,
  dim,
  el,
  fill,
  handle,
  linked,
  notice,
  number,
  place,
  plain,
  shaderLink,
  size,
  skeleton
} from "./dom.js";
import {inShort, objectFacts, pipelineShaders} from "./facts.js";
import {NO_RANGE} from "./links.js";
import {Memory} from "./memory.js";
import {Resources} from "./resources.js";
import {go, route} from "./route.js";
import {Rows} from "./rows.js";
import {descriptor} from "./state.js";
import {thumb} from "./thumb.js";
import {pretty} from "./values.js";
import {Viewer} from "./viewer.js";

const MANY = 60; // objects of a kind that are named at once
const USES = 300;

export class Objects {
  constructor(capture) {
    Object.assign(this, {capture, key: "", items: []});
    this.box = byId("object-list");
    this.rows = new Rows(this.box, {extent: 34, make: (row) => this.lists ? this.resources.make(row, this.selected) : this.row(row)});
    this.resources = new Resources(() => this.drawResources());
    this.lists = false; // textures or buffers
    new ResizeObserver(() => {
      if (this.lists && this.resources.isGrid) this.drawResources();
    }).observe(this.box);
    this.view = new ObjectView(byId("object-view"));
    this.filter = el("input", {
      type: "search",
      placeholder: "filter by name",
      class: "wide",
      "aria-label": "Filter by name",
      on: {input: () => this.narrow()}
    });
    this.box.addEventListener("click", (event) => {
      const row = event.target.closest("[data-item], [data-row]:not(.grid)");
      if (row) this.choose(Number(row.dataset.item ?? row.dataset.row));
    });
    this.box.addEventListener("keydown", (event) => {
      const now = this.items.findIndex(({object}) => object === this.selected);
      const down = this.lists ? this.resources.columns : 1;
      const to = {
        ArrowDown: now + down,
        ArrowUp: now - down,
        ...(down > 1 ? {ArrowRight: now + 1, ArrowLeft: now - 1} : {}),
        Home: 0,
        End: this.items.length - 1,
        PageDown: now + 15,
        PageUp: now - 15
      }[event.key];
      if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      this.choose(Math.max(0, Math.min(to, this.items.length - 1)));
    });
  }

  choose(row) {
    if (this.items[row]) go({subject: this.items[row].object, query: NO_RANGE});
  }

  async show(subject, query, lastAt) {
    this.stop?.abort();
    const {signal} = (this.stop = new AbortController());
    const at = query.at ?? (lastAt || String(this.capture.frames.total));
    this.at = at;
    this.selected = subject;
    const key = `${at} ${query.type ?? ""}`;
    this.view.show(
        subject, {...query, at}, () => notice("Choose an object", "Its creation, contents and uses stand here."));
    try {
      byId("objects").classList.toggle("alone", ["VkImage", "VkBuffer"].includes(query.type) && !subject);
      if (key !== this.key) await this.load(at, query.type ?? "", signal);
      this.key = key;
      if (this.lists) this.resources.show(query);
      this.rows.refresh();
      const row = this.items.findIndex(({object}) => object === subject);
      if (row >= 0) this.rows.reveal(this.lists ? Math.floor(row / this.resources.columns) : row);
    } catch (error) {
      if (aborted(error) || signal.aborted) return;
      this.message(notice("No objects", error.sentence ?? String(error)));
    }
  }

  /** Nobody looks any more. */
  leave() {
    this.stop?.abort();
    this.view.leave();
  }

  message(...parts) {
    byId("object-message").hidden = !parts.length;
    this.box.hidden = parts.length > 0;
    fill(byId("object-message"), parts);
  }

  async load(at, type, signal) {
    this.message(skeleton(8));
    this.lists = ["VkImage", "VkBuffer"].includes(type);
    byId("objects-title").closest("section").classList.toggle("lists", this.lists);
    if (this.lists) return this.loadResources(at, type, signal);
    for (const part of [this.resources.sums, this.resources.head]) part.remove();
    const {counts} = await api.json(api.path("/objects", {at, count: true}), {signal});
    const types = Object.entries(counts);
    const all = types.reduce((sum, [, many]) => sum + many, 0);
    fill(byId("objects-title"), "Objects that live at ",
        at.startsWith("#") ? at : place(at, at.includes(".") ? at : `frame ${at}`));
    const one = (name, text, many) =>
        chip(`${text} ${number(many)}`, name === type, () => go({query: {type: name || null}}), {data: {type: name}});
    fill(byId("object-types"), one("", "all", all),
        types.map(([name, many]) => one(name, name.replace(/^Vk/, ""), many)),
        chip("unused", type === "unused", () => go({query: {type: "unused"}}),
            {title: "what nothing in the whole trace uses", data: {type: "unused"}}),
        this.filter);
    if (type === "unused")
      this.all = await api.lines(api.path("/unused"), {signal});
    else
      ({objects: this.all} = await api.json(api.path("/objects", {at, type}), {signal}));
    signal.throwIfAborted();
    this.narrow();
    if (this.all.length === 0)
      this.message(
          notice("Nothing", type === "unused" ? "Every object is used." : `No ${type || "object"} lives at ${at}.`));
    else
      this.message();
    // Rows of types that have no pictures are lower.
    const low = type !== "" && type !== "VkImage" && type !== "unused";
    this.box.classList.toggle("low", low);
    this.rows.extent = low ? 24 : 34;
    this.rows.set(this.items.length);
  }

  /** Textures or buffers. */
  async loadResources(at, type, signal) {
    const {objects} = await api.json(api.path("/objects", {at, type}), {signal}), {resources} = this;
    signal.throwIfAborted();
    this.all = objects;
    fill(byId("objects-title"), type === "VkImage" ? "Textures at " : "Buffers at ",
        at.startsWith("#") ? at : place(at, at.includes(".") ? at : `frame ${at}`));
    fill(byId("object-types"), resources.tools);
    this.box.before(resources.sums, resources.head);
    resources.set(type, objects, at);
    if (objects.length)
      this.message();
    else
      this.message(notice("Nothing", `No ${type} lives at ${at}.`));
  }

  drawResources() {
    if (!this.lists || !this.resources.query) return;
    this.resources.fit(this.box.clientWidth);
    this.items = this.resources.items;
    this.box.classList.remove("low");
    this.rows.extent = this.resources.extent;
    this.rows.set(this.resources.rows);
  }

  narrow() {
    const text = this.filter.value.toLowerCase();
    this.items = text
        ? this.all.filter(({object, name}) => object.toLowerCase().includes(text) || name?.toLowerCase().includes(text))
        : this.all;
    this.rows.set(this.items.length);
  }

  row(index) {
    const {object, name, made, parent, why, bytes} = this.items[index];
    const about = dim(why ?? "");
    const texture = object.startsWith("VkImage:");
    if (texture || object.startsWith("VkBuffer:"))
      this.later(index, async () => {
        about.textContent = [
          texture ? await inShort(object, this.at, {late: true}) : size(await bufferSize(object, this.at)), why
        ].filter(Boolean).join(" · ");
      });
    return el("div",
        {class: "row", role: "option", "aria-selected": String(object === this.selected), data: {listed: object}},
        texture ? thumb(object, this.at) : null, el("span", {class: "what"}, object),
        name ? el("span", {class: "label"}, `“${name}”`) : null, about,
        el("span", {class: "t"}, bytes ? size(bytes) + " " : "", parent ?? "", ` #${made}`));
  }

  /** Looks a row up once it has stayed in view. */
  later(index, act) {
    setTimeout(() => {
      if (this.rows.live.get(index)?.isConnected) act().catch(() => {});
    }, 150);
  }
}

async function bufferSize(object, at) {
  const {creation} = await objectFacts(object, at, {late: true});
  return creation?.args?.pCreateInfo?.size;
}

export class Drawer {
  constructor() {
    this.box = byId("drawer");
    this.view = new ObjectView(byId("drawer-view"));
    byId("drawer-close").addEventListener("click", () => this.close());
    byId("drawer-whole").addEventListener("click", (event) => {
      event.preventDefault();
      const {object, ...rest} = route.query;
      go({
        view: "objects",
        subject: object,
        query: {at: route.subject, offset: rest.offset, as: rest.as, stride: rest.stride}
      },
          {fresh: true});
    });
  }

  close() { go({query: {...NO_RANGE, object: null}}); }

  show(object, query, at) {
    const opens = this.box.hidden && object;
    if (!this.box.hidden && !object && this.box.contains(document.activeElement)) this.back?.focus();
    if (opens) this.back = document.activeElement;
    this.box.hidden = !object;
    this.view.show(object, {...query, at});
    if (opens) byId("drawer-close").focus({focusVisible: false});
  }
}

/** All about one object at a position. */
class ObjectView {
  constructor(box) {
    this.box = box;
    this.key = "";
  }

  async show(object, query, empty = () => "") {
    const {at} = query;
    const key = object ? `${object} ${at}` : "";
    if (key === this.key && object) return this.content?.show?.(query);
    this.key = key;
    this.stop?.abort();
    const {signal} = (this.stop = new AbortController());
    delete this.box.dataset.object;
    this.content = null;
    if (!object) return fill(this.box, empty());
    const wait = setTimeout(() => {
      if (!signal.aborted) fill(this.box, skeleton(8));
    }, 120);
    try {
      const facts = await api.json(api.path("/objects/" + object, {at}), {signal});
      signal.throwIfAborted();
      this.draw(facts, query, signal);
      this.box.dataset.object = object;
    } catch (error) {
      if (aborted(error) || signal.aborted) return;
      const sentence = error.sentence ?? String(error);
      // The sentence says when it lives, if it ever does.
      const when = /made at (#\d+)/.exec(sentence)?.[1];
      const look = () => go({view: "objects", subject: object, query: {at: when}}, {fresh: true});
      fill(this.box,
          notice(`${object} is not there`, sentence,
              when ? el("div", {class: "chips"}, chip(`look at it at ${when}`, null, look)) : ""));
    } finally { clearTimeout(wait); }
  }

  /** Nobody looks any more. What is not there yet is asked for when somebody looks again. */
  leave() {
    if (this.box.dataset.object && !api.running) return;
    this.stop?.abort();
    this.key = "";
  }

  draw(facts, query, signal) {
    const {object} = facts, {at} = query;
    const head = el("div", {class: "object-head"}, el("h3", {}, object),
        facts.name ? el("span", {class: "label"}, `“${facts.name}”`) : null, dim("at ", at));
    const rows = [];
    const row = (label, ...value) => rows.push(el("dt", {}, label), el("dd", {}, value));
    row("made", `#${facts.made.packet} in frame `, place(String(facts.made.frame)),
        facts.creation ? ` by ${facts.creation.name}` : "");
    row("ends",
        facts.ends ? [`#${facts.ends.packet} in frame `, place(String(facts.ends.frame)), ` by ${facts.ends.name}`]
                   : "with the trace");
    if (facts.parent) row("parent", handle(facts.parent));
    for (const one of facts.memory ?? [])
      row("memory", one.memory ? handle(one.memory) : linked(one.swapchain ?? "of a swapchain"),
          one.offset ? ` at ${number(one.offset)}` : "", one.size ? `, ${size(one.size)}` : "",
          one.properties ? dim(" " + plain(one.properties, /VK_MEMORY_PROPERTY_/g)) : "");
    if (facts.allocation)
      row("allocation",
          `${size(facts.allocation.size)}, type ${facts.allocation.type}${facts.allocation.mapped ? ", mapped" : ""}`);
    for (const what of ["written", "updated", "recorded", "changed"])
      if (facts[what])
        row(what, `${count(facts[what].count, "time")}, last #${facts[what].last}`,
            facts[what].bytes ? `, ${size(facts[what].bytes)}` : "", facts[what].by ? ` by ${facts[what].by}` : "");
    if (facts.layouts) {
      if (facts.layouts.obstacle) row("layouts", facts.layouts.obstacle);
      for (const one of facts.layouts.ranges?.slice(0, 8) ?? [])
        row("layout", plain(one.layout, "VK_IMAGE_LAYOUT_"),
            facts.layouts.ranges.length > 1
                ? dim(` level ${one.level}${one.levels > 1 ? ` to ${one.level + one.levels - 1}` : ""}, layer ${
                      one.layer}${one.layers > 1 ? ` to ${one.layer + one.layers - 1}` : ""}`)
                                                 : "");
    }
    if (facts.sync)
      for (const [label, value] of Object.entries(facts.sync))
        if (value !== null && typeof value !== "object") row(label, String(value));
    if (facts.sync?.by)
      row("by", facts.sync.by.position ? place(facts.sync.by.position) : `#${facts.sync.by.packet}`, " ",
          facts.sync.by.name);
    if (facts.bound?.length) row("holds", list(facts.bound));
    for (const [type, many] of Object.entries(facts.has ?? {})) row("has", count(many, type));
    if (facts.used_by?.length) row("part of", list(facts.used_by));
    fill(this.box, head, el("dl", {}, rows));
    const [type] = object.split(":");
    if (type === "VkImage")
      this.content = new Texture(this.box, facts, query, signal);
    else if (type === "VkBuffer")
      this.content = new Memory(this.box, facts, query, signal);
    if (type === "VkPipeline") this.shaders(object, at, signal);
    if (facts.bindings?.length) this.box.append(bindings(facts.bindings, at));
    if (facts.creation)
      this.box.append(el("details", {class: "part", open: type !== "VkPipeline" || undefined},
          el("summary", {}, facts.creation.name, dim(`#${facts.creation.index}`)), pretty(facts.creation.args)));
    this.box.append(this.uses(object, at, signal));
  }

  async shaders(pipeline, at, signal) {
    const rows = el("dl", {});
    this.box.append(el("details", {class: "part", open: true}, el("summary", {}, "Shaders"), rows));
    const shaders = await pipelineShaders(pipeline, at, {signal}).catch(() => []);
    fill(rows,
        shaders.flatMap(({hash, stages, bytes}) => stages.slice(0, 16).map(
                            ({stage, entry}) => [el("dt", {}, plain(stage, "VK_SHADER_STAGE_").toLowerCase()),
                                el("dd", {}, shaderLink(hash), ` ${entry}`, dim(` ${size(bytes)}`))])));
  }

  /** A part that is filled when it is opened. */
  lazily(title, name, about, make) {
    const body = el("div");
    const part = el("details", {class: "part", data: {part: name}}, el("summary", {}, title, about), body);
    part.addEventListener("toggle", async () => {
      if (!part.open || part.dataset.asked) return;
      part.dataset.asked = "1";
      fill(body, el("span", {class: "spin"}));
      try {
        fill(body, await make());
      } catch (error) {
        if (!aborted(error)) fill(body, error.sentence ?? String(error));
      }
    });
    return part;
  }

  /** What uses it in the whole trace, and where its layouts change. */
  uses(object, at, signal) {
    const about = dim("in the whole trace"), image = object.startsWith("VkImage:");
    const ask = async () => {
      const path = `/objects/${object}/uses`, frame = at.split(".")[0];
      try {
        return [await api.lines(api.path(path), {signal}), "in the whole trace"];
      } catch (error) {
        if (error.status !== 413) throw error;
        return [await api.lines(api.path(path, {at: frame}), {signal}), `at ${frame}`]; // there are too many in the whole trace
      }
    };
    const uses = this.lazily("Uses", "uses", about, async () => {
      const [all, where] = await ask();
      about.textContent = `${count(all.length, "use")} ${where}`;
      return usesByFrame(all, at.split(".")[0]);
    });
    return image ? el("div", {}, this.lazily("Barriers and layouts", "barriers", dim("in their order"), async () => timeline((await ask())[0])), uses)
                 : uses;
  }
}

const where = ({position}) => position.startsWith("#") ? dim(position) : place(position);

/** Rows of a long list, of which a button adds more. */
function inParts(all, make, properties) {
  const box = el("div", properties);
  let shown = 0;
  const more = () => {
    box.append(...all.slice(shown, shown + USES).flatMap(make));
    shown = Math.min(shown + USES, all.length);
    button.hidden = shown === all.length;
    button.firstChild.data = `${number(all.length - shown)} more`;
  };
  const button = chip("more", null, more);
  more();
  return [box, button.hidden ? null : el("div", {class: "tools"}, button)];
}

/** Uses, the frames of which are closed but for the present one. */
function usesByFrame(all, frame) {
  const row = (use) => [el("span", {}, where(use)), el("span", {}, use.command),
    el("span", {class: use.access?.includes("write") ? "w" : use.access ? "r" : "dim"}, use.access ?? "–"),
    el("span", {}, use.how, use.through.length ? [dim(" through "), linked(use.through.join(" / "))] : null)];
  const frames = [...Map.groupBy(all, ({position}) => position.startsWith("#") ? "calls" : position.split(".")[0])];
  return inParts(frames, ([name, some]) => {
    const writes = some.filter(({access}) => access?.includes("write")).length;
    const box = el("details", {class: "frame-uses", data: {frame: name}},
        el("summary", {}, name === "calls" ? "calls" : `frame ${name}`, dim(` ${count(some.length, "use")}${writes ? `, ${count(writes, "write")}` : ""}`)));
    const open = () => {
      if (box.open && box.childElementCount === 1) box.append(...inParts(some, row, {class: "uses"}).filter(Boolean));
    };
    box.addEventListener("toggle", open);
    box.open = name === frame || frames.length === 1;
    open();
    return box;
  });
}

/** Where layouts change, and barriers that keep them, in their order. */
function timeline(uses) {
  const barriers = uses.filter(({layouts}) => layouts);
  if (!barriers.length) return el("div", {class: "texture dim"}, "No barrier names it: render passes may change its layout.");
  const short = (layout) => plain(layout ?? "?", "VK_IMAGE_LAYOUT_");
  return inParts(barriers, (use) => {
    const [before, after] = use.layouts;
    return [el("span", {}, where(use)), el("span", {class: before === after ? "dim" : null, data: {barrier: use.position}},
        before === after ? `stays ${short(after)}` : [dim(short(before), " → "), short(after)]), el("span", {class: "dim"}, use.command)];
  }, {class: "uses timeline"});
}

function list(objects) {
  return [
    objects.slice(0, MANY).map((object, i) => [i ? ", " : "", handle(object)]),
    objects.length > MANY ? dim(` and ${number(objects.length - MANY)} more`) : null
  ];
}

function bindings(all, at) {
  const rows = all.flatMap(
      (binding) => (binding.elements ?? [])
                       .map((one) => [el("dt", {},
                                          `${binding.binding}${binding.count > 1 ? `[${one.element}]` : ""} ${
                                              plain(binding.type, "VK_DESCRIPTOR_TYPE_").toLowerCase()}`),
                                el("dd", {}, descriptor(one, at))]));
  const shown = el("dl", {}, rows.slice(0, 100));
  const more = rows.length > 100 ? chip(`${number(rows.length - 100)} more`, null, () => {
    shown.append(...rows.slice(shown.childElementCount / 2, shown.childElementCount / 2 + 500).flat());
    more.hidden = shown.childElementCount / 2 >= rows.length;
    more.firstChild.data = `${number(rows.length - shown.childElementCount / 2)} more`;
  }) : null;
  return el("details", {class: "part", open: true},
      el("summary", {}, "Descriptors", dim(count(rows.length, "descriptor"))), shown,
      more ? el("div", {class: "tools"}, more) : null);
}

/** The picture of an image, of one level and layer. */
class Texture {
  constructor(box, facts, query, signal) {
    Object.assign(this, {object: facts.object, at: query.at, signal});
    const info = Object.values(facts.creation?.args ?? {}).find((value) => value?.extent) ?? {};
    this.viewer = new Viewer("");
    this.origin = el("div", {class: "dim"});
    const select = (name, text, many) => many > 1
        ? el("label", {}, `${text} `,
              el(
                  "select", {
                    data: {select: name},
                    on: {
                      change: (event) =>
                          go({query: {[name]: event.target.value === "0" ? null : event.target.value}}, {replace: true})
                    }
                  },
                  Array.from({length: Math.min(many, 2048)}, (_, i) => el("option", {value: String(i)}, String(i)))))
        : null;
    const depth = info.imageType === "VK_IMAGE_TYPE_3D" ? info.extent?.depth ?? 1 : 1;
    this.controls = [
      select("mip", "level", info.mipLevels ?? 1), select("layer", "layer", info.arrayLayers ?? 1),
      select("slice", "slice", depth)
    ].filter(Boolean);
    const about = dim();
    box.append(el("details", {class: "part", open: true}, el("summary", {}, "Picture", about),
        el("div", {class: "tools"}, this.controls, this.viewer.controls),
        el("div", {class: "texture"}, this.viewer.box, this.viewer.line, this.origin)));
    inShort(this.object, this.at).then((text) => { about.textContent = text; }, () => {});
    this.show(query);
  }

  async show({mip, layer, slice}) {
    const key = [mip, layer, slice].join();
    if (key === this.key) return;
    this.key = key;
    for (const control of this.controls) {
      const menu = control.querySelector("select");
      menu.value = {mip, layer, slice}[menu.dataset.select] ?? "0";
    }
    const queries = {at: this.at, mip, layer, slice}, {signal} = this;
    this.viewer.old(true);
    try {
      const about = await api.json(api.path(`/images/${this.object}`, queries), {signal});
      const path = (kind, more) => api.path(`/images/${this.object}${kind}`, {...queries, ...more});
      if (this.key !== key) return;
      if (!about.parts.every(({known}) => known === "yes" || known === "nobody")) return this.showReplayed(key, about.parts);
      await this.viewer.show({
        ...about,
        name: about.aspect,
        key: about.aspect,
        png: path(".png"),
        raw: path(".raw"),
        alpha: /A\d|BC[237]|RGBA|A1_|A8|ASTC/.test(about.format) ? path(".png", {channels: "a"}) : null
      },
          {signal});
      this.viewer.box.dataset.loaded = key;
      fill(this.origin, origins(about.parts));
    } catch (error) {
      if (aborted(error) || this.key !== key) return;
      if (error.status === 501) return this.showReplayed(key, error.sentence);
      this.viewer.message(notice("No picture", error.sentence ?? String(error)));
      fill(this.origin);
    }
  }

  /** Shows the picture of a replay, for texels that the trace alone does not tell. from: origins, or a sentence. */
  async showReplayed(key, from) {
    const [mip, layer, slice] = key.split(","), {signal, at} = this;
    const queries = {image: [this.object, mip || 0, layer || slice || 0].join()};
    const path = api.path("/framebuffer/" + at, queries);
    this.viewer.message(el("div", {class: "waits"}, el("span", {class: "spin"}), el("span", {}, `playing up to ${at}`)));
    const why = () => el("div", {}, typeof from === "string" ? linked(from) : origins(from));
    fill(this.origin, why());
    try {
      await api.work(path, {signal});
      const [line] = await api.lines(path, {signal});
      if (this.key !== key) return;
      const file = (kind) => api.path(`/framebuffer/${at}/${line.name}.${kind}`, queries);
      const format = line.computedAs ?? line.format, name = /_D\d|_X8_D/.test(format) ? "depth" : /_S8/.test(format) ? "stencil" : "color";
      await this.viewer.show({...line, format, name, key: "replay", png: file("png"), raw: file("raw"), long: true}, {signal});
      this.viewer.box.dataset.loaded = key;
      fill(this.origin, why(), el("div", {}, `This is as a replay on ${line.gpu} has it behind `, place(line.position), "."));
    } catch (error) {
      if (aborted(error) || this.key !== key) return;
      this.viewer.message(notice("No picture", error.sentence ?? String(error)));
    }
  }
}

const origins = (parts) => parts.slice(0, 8).map((part) => el("div", {}, origin(part)));

/** Where bytes come from. */
export function origin({bytes, begin, end, known, by, copied}) {
  const many = bytes ?? end - begin;
  const what = {yes: "written", nobody: "never written: zeroes", device: "computed", no: "not followed"}[known] ??
      known;
  const where = ({at, packet}) => (at ? place(at) : `#${packet}`);
  return [
    size(many), " ", what,
    by ? [
      " by ", where(by), " ", by.name, by.object ? [" ", handle(by.object)] : "",
      by.more ? `, or ${count(by.more, "command")} before` : ""
    ] : "",
    copied ? [", copied by ", where(copied), copied.object ? [" from ", handle(copied.object)] : ""] : ""
  ];
}
