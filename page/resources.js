// SPDX-License-Identifier: MIT
// Textures and buffers of a position: pictures in a grid, or a table; sorted, filtered, and their sums by memory.

import {api} from "./api.js";
import {chip, count, dim, el, fill, number, plain, size} from "./dom.js";
import {Segment} from "./menu.js";
import {go} from "./route.js";
import {thumb} from "./thumb.js";

const CELL = {width: 160, height: 176};
const LINE = {VkImage: 34, VkBuffer: 24};
const NOUN = {VkImage: "image", VkBuffer: "buffer"};
const numberOf = ({object}) => Number(object.split(":")[1]);
const area = ({image, buffer}) => image ? image.extent.reduce((all, one) => all * one, 1) : buffer?.size ?? 0;
const nameOf = ({object, name}) => name || object;
const heapOf = ({memory}) => memory?.heap ?? null;

// By which one sorts; the largest of numbers come first.
const ORDERS = {
  number: (a, b) => numberOf(a) - numberOf(b),
  bytes: (a, b) => (b.bytes ?? -1) - (a.bytes ?? -1),
  size: (a, b) => area(b) - area(a),
  format: (a, b) => format(a).localeCompare(format(b)),
  name: (a, b) => Number(!a.name) - Number(!b.name) || nameOf(a).localeCompare(nameOf(b), "en", {numeric: true})
};

const format = ({image}) => plain(image?.format ?? "", "VK_FORMAT_");
const extent = ({image}) => image ? image.extent.filter((one, i) => i < 2 || one > 1).join(" × ") : "";
const usage = ({image, buffer}) => plain((image ?? buffer)?.usage ?? "", /VK_(IMAGE|BUFFER)_USAGE_/).toLowerCase().replaceAll("_", " ");
const memoryText = ({memory, parent}) => !memory ? (parent?.startsWith("VkSwapchain") ? "of the swapchain" : "none")
    : [memory.heap !== undefined && `heap ${memory.heap}`, memory.type !== undefined && `type ${memory.type}`, memory.properties.toLowerCase().replaceAll("_", " ")]
          .filter(Boolean).join(", ");

/** Columns of a table: title, by which it sorts, and the text of a row. */
const COLUMNS = {
  VkImage: [
    ["image", "number"], ["name", "name", ({name}) => name ?? ""], ["size", "size", extent], ["format", "format", format],
    ["levels", null, ({image}) => image?.levels], ["layers", null, ({image}) => image?.layers],
    ["samples", null, ({image}) => image?.samples], ["bytes", "bytes", ({bytes}) => size(bytes)], ["memory", null, memoryText], ["usage", null, usage]
  ],
  VkBuffer: [
    ["buffer", "number"], ["name", "name", ({name}) => name ?? ""], ["size", "size", ({buffer}) => number(buffer?.size ?? "")],
    ["memory", null, memoryText], ["used", null, (one, unused) => unused === null ? "…" : unused.get(one.object) ?? "yes"], ["usage", null, usage]
  ]
};

export class Resources {
  /** `changed()` learns that other rows are to be shown. */
  constructor(changed) {
    Object.assign(this, {changed, type: "", all: [], items: [], unused: null, text: "", columns: 1});
    this.filter = el("input", {
      type: "search",
      placeholder: "filter by name",
      class: "wide",
      "aria-label": "Filter by name",
      on: {input: () => this.narrow()}
    });
    const menu = (label, name) => el("select", {
      "aria-label": label,
      title: label,
      data: {filter: name},
      on: {change: ({target}) => go({query: {[name]: target.value || null}}, {replace: true})}
    });
    this.formats = menu("format", "format");
    this.sort = menu("sort by", "sort");
    this.onlyUnused = chip("unused", false, () => go({query: {unused: this.query.unused === "1" ? null : "1"}}, {replace: true}),
        {title: "what nothing in the whole trace uses", data: {type: "unused"}});
    this.kind = new Segment([{name: "grid", text: "grid"}, {name: "table", text: "table"}],
        (name) => go({query: {table: name === "table" ? "1" : null}}, {replace: true}), {"aria-label": "How they are listed", id: "resource-kind"});
    this.sums = el("div", {id: "resource-sums"});
    this.head = el("div", {class: "table-head", id: "resource-head"});
  }

  get isGrid() { return this.type === "VkImage" && this.query.table !== "1"; }
  get extent() { return this.isGrid ? CELL.height : LINE[this.type]; }
  get rows() { return Math.ceil(this.items.length / this.columns); }

  /** All objects of a type, and which of them nothing uses: a promise. */
  set(type, all, at) {
    Object.assign(this, {type, all, at, unused: null});
    const path = api.path("/unused", {type});
    const asked = this.asked = api.lines(path, {late: true}).then((lines) => {
      if (this.asked !== asked) return;
      this.unused = new Map(lines.map(({object, why}) => [object, why ?? "never"]));
      this.narrow();
    }).catch(() => {});
    fill(this.sums, sumsOf(all, NOUN[type]));
  }

  /** The parts of its toolbar, for what the address says. */
  show(query) {
    this.query = query;
    const names = [...new Set(this.all.map(format))].filter(Boolean).sort();
    const option = (value, text, chosen) => el("option", {value, selected: value === chosen}, text);
    fill(this.formats, option("", "all formats", query.format ?? ""), names.map((name) => option(name, name, query.format)));
    this.formats.hidden = this.type !== "VkImage";
    fill(this.sort, Object.keys(ORDERS).filter((name) => this.type === "VkImage" || name !== "format" && name !== "bytes")
                        .map((name) => option(name === "number" ? "" : name, `by ${name}`, query.sort ?? "")));
    this.onlyUnused.setAttribute("aria-pressed", String(query.unused === "1"));
    this.kind.set(this.isGrid ? "grid" : "table", () => true);
    this.kind.box.hidden = this.type !== "VkImage";
    this.head.hidden = this.isGrid;
    fill(this.head, COLUMNS[this.type].map(([title, by]) => by
        ? el("button", {type: "button", title: `sort by ${by}`, data: {sort: by}, "aria-pressed": String((query.sort ?? "number") === by),
            on: {click: () => go({query: {sort: by === "number" ? null : by}}, {replace: true})}}, title)
        : el("span", {}, title)));
    this.narrow();
  }

  get tools() { return [this.filter, this.formats, this.onlyUnused, this.sort, this.kind.box]; }

  narrow() {
    const text = this.filter.value.toLowerCase(), {format: wanted, unused, sort} = this.query;
    this.items = this.all.filter((one) => (!text || `${one.object} ${one.name ?? ""}`.toLowerCase().includes(text)) &&
        (!wanted || format(one) === wanted) && (unused !== "1" || this.unused?.has(one.object)));
    this.items.sort(ORDERS[sort] ?? ORDERS.number);
    this.changed();
  }

  /** So many cells have room beside each other. */
  fit(width) { this.columns = this.isGrid ? Math.max(1, Math.floor(width / CELL.width)) : 1; }

  make(row, selected) {
    if (!this.isGrid) return this.line(this.items[row], row, selected);
    const first = row * this.columns;
    const cells = this.items.slice(first, first + this.columns).map((one, i) => this.cell(one, first + i, selected));
    const made = el("div", {class: "row grid", role: "presentation"}, cells);
    made.style.setProperty("--columns", this.columns);
    return made;
  }

  cell(one, index, selected) {
    const {image} = one;
    const more = [image?.levels > 1 && count(image.levels, "level"), image?.layers > 1 && count(image.layers, "layer"),
      image?.samples > 1 && count(image.samples, "sample")].filter(Boolean);
    const unused = this.unused?.has(one.object);
    return el("div", {
      class: "resource",
      role: "option",
      "aria-selected": String(one.object === selected),
      title: [one.object, one.name, `${extent(one)} ${format(one)}`, ...more, usage(one), memoryText(one), unused && "unused"].filter(Boolean).join("\n"),
      data: {listed: one.object, item: index}
    },
        thumb(one.object, this.at), el("span", {class: one.name ? "label" : "what"}, nameOf(one)), el("span", {}, extent(one)),
        el("span", {}, format(one)), el("span", {class: "dim"}, [one.bytes === null ? "swapchain" : size(one.bytes), ...more].join(", "),
            unused ? ", unused" : ""));
  }

  line(one, row, selected) {
    const cells = COLUMNS[this.type].slice(1).map(([title, , text]) => {
      const said = String(text(one, this.unused) ?? "");
      return el("span", {title: said, class: title === "name" ? "label" : null, data: {column: title}}, said);
    });
    return el("div", {class: `row table ${this.type}`, role: "option", "aria-selected": String(one.object === selected), data: {listed: one.object, item: row}},
        el("span", {class: "what"}, this.type === "VkImage" ? thumb(one.object, this.at) : null, one.object), cells);
  }
}

/** Sums by heap, and of each by memory type. Memory that several objects share is counted for each. */
function sumsOf(all, noun) {
  const heaps = Map.groupBy(all.filter(({bytes, memory}) => bytes !== null && memory), heapOf);
  const of = (list) => [list.reduce((sum, {bytes}) => sum + bytes, 0), list.length];
  const parts = [...heaps].sort(([a], [b]) => (a ?? 99) - (b ?? 99)).map(([heap, list]) => {
    const [bytes, many] = of(list), types = [...Map.groupBy(list, ({memory}) => memory.type ?? "")];
    const name = heap === null ? "memory" : list[0].memory.device_local ? "device local" : "host memory";
    return el("span", {data: {heap: heap ?? "", bytes, many}}, el("b", {}, name), ` ${size(bytes)} in ${count(many, noun)} `,
        dim(heap === null ? "" : `heap ${heap}: `, types.map(([type, some], i) => {
          const [sum, number] = of(some), {properties} = some[0].memory;
          return el("span", {title: properties, data: {memoryType: type, bytes: sum, many: number}},
              `${i ? ", " : ""}type ${type}`, types.length > 1 ? ` ${size(sum)} in ${number}` : "", ` ${properties.toLowerCase().replaceAll("_", " ")}`);
        })));
  });
  const rest = all.length - all.filter(({bytes, memory}) => bytes !== null && memory).length;
  return [...parts, rest ? el("span", {}, `${count(rest, noun)} without memory of the program`) : null];
}
