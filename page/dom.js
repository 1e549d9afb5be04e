// SPDX-License-Identifier: MIT
// Makes elements. Whatever comes from a trace becomes text here, never markup.

/**
 * An element with properties and children. Children are nodes, texts, arrays of these; null and false are left out.
 *  `on` are listeners by name, `data` members of the dataset; true and false are attributes that are there or not.
 */
export function el(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on")
      for (const [event, act] of Object.entries(value)) made.addEventListener(event, act);
    else if (name === "data")
      Object.assign(made.dataset, value);
    else if (name === "class")
      made.className = value;
    else
      made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** Replaces what is in an element. */
export function fill(element, ...children) {
  element.replaceChildren(
      ...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const byId = (id) => document.getElementById(id);

const HANDLE = /\b(Vk[A-Z][A-Za-z0-9]*:\d+)\b/;

/**
 * A link to an object. `extra` are queries of its view, like the range of a buffer. The page's one listener opens it.
 */
export function handle(object, extra = {}) {
  return el("a", {
    href: "#",
    class: "handle",
    data: {object, ...(Object.keys(extra).length ? {extra: JSON.stringify(extra)} : {})}
  },
      object);
}

/** A text in which handles are links. */
export function linked(text, extra) {
  return String(text).split(HANDLE).map((part, i) => (i % 2 ? handle(part, extra) : part));
}

/** A link to a position. */
export function place(position, text = position) {
  return el("a", {href: "#", class: "place", data: {at: position}}, text);
}

export function shaderLink(hash, line = 0) {
  return el("a", {href: "#", class: "mono", data: {shader: hash, ...(line ? {line} : {})}}, hash.slice(0, 8));
}

export const dim = (...text) => el("span", {class: "dim"}, ...text);

/** A button of a group; `pressed` may be null for one that only acts. */
export function chip(text, pressed, act, properties = {}) {
  return el("button", {
    type: "button",
    class: "chip",
    "aria-pressed": pressed === null ? null : String(Boolean(pressed)),
    on: {click: act},
    ...properties
  },
      text);
}

export const press = (button, pressed) => button.setAttribute("aria-pressed", String(Boolean(pressed)));

const whole = new Intl.NumberFormat("en", {maximumFractionDigits: 0});
export const number = (value) => (typeof value === "number" ? whole.format(value) : String(value));
export const count = (value, one, many = one + "s") => `${number(value)} ${value === 1 ? one : many}`;

export function size(bytes) {
  if (bytes === null || bytes === undefined) return "";
  const units = ["bytes", "KiB", "MiB", "GiB"];
  let unit = 0;
  while (bytes >= 1024 && unit < 3) {
    bytes /= 1024;
    unit++;
  }
  return unit ? `${bytes.toFixed(bytes < 10 ? 1 : 0)} ${units[unit]}` : count(bytes, "byte");
}

/** A number of a picture or a buffer, as short as it can be told apart. */
export function short(value) {
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 32) return String(value);
  const text = value.toPrecision(6);
  return text.includes("e") ? text.replace(/\.?0+e/, "e") : text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** The end of a name of Vulkan: VK_FORMAT_R8_UNORM becomes R8_UNORM. */
export function plain(name, prefix = "") {
  return String(name)
      .split(" | ")
      .map((one) => one.replace(prefix, "").replace(/^VK_/, "").replace(/_BIT$/, ""))
      .join(" | ");
}

/** What a pane shows while it waits. */
export function skeleton(rows = 6) {
  return el("div", {class: "skeleton", "aria-hidden": "true"}, Array.from({length: rows}, () => el("i")));
}

/** What a pane shows when there is nothing, or no answer. */
export function notice(title, ...more) {
  return el("div", {class: "notice"}, el("strong", {}, title),
      more.map((part) => (part instanceof Node ? part : el("p", {}, part))));
}

/** Asks `act` again only once calls have been quiet for `ms`. */
export function later(ms, act) {
  let timer = 0;
  const wait = (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      timer = 0;
      act(...values);
    }, ms);
  };
  wait.cancel = () => {
    clearTimeout(timer);
    timer = 0;
  };
  return wait;
}
