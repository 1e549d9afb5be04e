// SPDX-License-Identifier: MIT
// Parameters of calls, as lapilli print has them, as text.

import {el, handle, plain, short} from "./dom.js";

const LINES = 400;
const silent = (name, value) =>
    name === "sType" || (name === "pNext" && value === null) || (name === "flags" && value === "0");
const scalar = (value) => value === null || typeof value !== "object";

export function text(value) {
  if (value === null) return "null";
  if (typeof value === "number") return short(value);
  if (typeof value === "string") return /^VK_[A-Z0-9_ |]+$/.test(value) ? plain(value) : value;
  if (typeof value === "object" && "hash" in value && "bytes" in value && Object.keys(value).length === 2)
    return `${value.bytes} bytes, ${value.hash}`;
  return String(value);
}

/**
 * Leaves with their names, like [["pViewports[0].width", "500"]]. Lists of numbers and short structures are one leaf.
 */
export function flatten(value, prefix = "", out = []) {
  for (const [name, one] of Object.entries(value ?? {})) {
    if (out.length >= LINES) break;
    if (silent(name, one)) continue;
    const label = Array.isArray(value) ? `${prefix}[${name}]` : prefix ? `${prefix}.${name}` : name;
    if (scalar(one) || text(one) !== "[object Object]" && !Array.isArray(one))
      out.push([label, text(one)]);
    else if (Array.isArray(one) ? one.every(scalar) : Object.values(one).every(scalar) && Object.keys(one).length <= 6)
      out.push([
        label,
        Array.isArray(one) ? one.slice(0, 64).map(text).join(", ") + (one.length > 64 ? ", …" : "")
                           : Object.entries(one)
                                 .filter(([key, leaf]) => !silent(key, leaf))
                                 .map(([key, leaf]) => `${key} ${text(leaf)}`)
                                 .join(", ")
      ]);
    else
      flatten(one, label, out);
  }
  return out;
}

// A handle, a number, or a name of Vulkan in capitals. What stands in quotes is text of the program.
const KIND =
    /(“[^”]*”)|\b(Vk[A-Z][A-Za-z0-9]*:\d+)\b|(?<![\w.#-])(-?(?:0x[0-9a-f]+|\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?))(?![\w:])|\b((?:[A-Z][A-Z0-9_]*[A-Z0-9])(?![a-z:]))\b/g;
const WORD = /^(?:true|false|null|on|off)$/;
const LOOK = ["text", "", "number", "enum"];

/** A text whose handles are links, and whose numbers, names of Vulkan and quotes look different. */
export function typed(text, extra) {
  const whole = String(text), parts = [];
  if (WORD.test(whole)) return [el("span", {class: "v-enum"}, whole)];
  let end = 0;
  for (const found of whole.matchAll(KIND)) {
    parts.push(whole.slice(end, found.index));
    const kind = found.slice(1).findIndex((one) => one !== undefined);
    parts.push(kind === 1 ? handle(found[0], extra) : el("span", {class: "v-" + LOOK[kind]}, found[0]));
    end = found.index + found[0].length;
  }
  return [...parts, whole.slice(end)].filter((part) => part !== "");
}

/** What stands for a string of the program, and for any other value. */
const leaf = (value, shown) => typeof value === "string" && shown === value && !/^(?:Vk\w+:\d+|0x[0-9a-f]+|-?\d+|NaN|-?inf\w*)$/i.test(value)
    ? el("span", {class: "v-text"}, shown)
    : typed(shown);

/** A structure in lines, deeper ones indented. Handles are links. */
export function pretty(value) {
  const lines = [];
  const walk = (name, one, depth) => {
    if (lines.length > LINES) return;
    const key = name === "" ? "" : el("span", {class: "key"}, name, " ");
    const inline = scalar(one) ? text(one)
        : Array.isArray(one) && one.every(scalar)
        ? `[${one.slice(0, 256).map(text).join(", ")}${one.length > 256 ? ", …" : ""}]`
        : text(one) !== "[object Object]" && !Array.isArray(one) ? text(one)
                                                                 : null;
    const line = el("div", {}, key, inline === null ? null : leaf(one, inline));
    line.style.paddingLeft = `${depth * 14}px`;
    lines.push(line);
    if (inline === null)
      for (const [child, below] of Object.entries(one))
        if (!silent(child, below)) walk(Array.isArray(one) ? `[${child}]` : child, below, depth + 1);
  };
  for (const [name, one] of Object.entries(value ?? {}))
    if (!silent(name, one)) walk(name, one, 0);
  if (lines.length > LINES) lines.push(el("div", {class: "dim"}, "… and more"));
  return el("div", {class: "pretty"}, lines);
}
