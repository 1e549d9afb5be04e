// SPDX-License-Identifier: MIT
// Buttons that save what is shown as files: pictures, bytes, rows, code.

import {aborted, api} from "./api.js";
import {byId, chip, el} from "./dom.js";

const ROWS = 4096; // of one request

/** Saves bytes or text under a name. */
function save(name, content, type = "application/octet-stream") {
  const url = typeof content === "string" && content.startsWith("blob:") ? content : URL.createObjectURL(new Blob([content], {type}));
  el("a", {href: url, download: name}).click();
  if (url !== content) setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** The name of a file, like stk-2.289.1.8-color0. */
const named = (...words) => [byId("file").textContent.replace(/\.lapilli$/, ""), ...words].filter(Boolean).join("-").replace(/[^\w.-]+/g, "-");

/** The same of what a path below the capture answers. */
function nameOf(path) {
  const [, below, text = ""] = /\/captures\/[^/]+\/([^?]*)\??(.*)/.exec(path), query = new URLSearchParams(text);
  const [first, ...rest] = decodeURIComponent(below).replace(/\.(png|raw)$/, "").split("/");
  const how = [first === "screenshots" && "frame"].filter(Boolean), more = [query.get("skip") && "before", query.get("replace") && "edited"];
  return named(query.get("at"), ...how, ...rest, ...["mip", "layer", "slice"].map((one) => query.get(one) && one + query.get(one)), ...more);
}

/** A button that makes a file. While it does, and where it can't, it says so. */
function button(text, title, act, name) {
  const made = chip(text, null, async () => {
    made.disabled = true;
    try {
      await act();
      made.title = title;
    } catch (error) {
      if (!aborted(error)) made.title = `not saved: ${error.sentence ?? error}`;
    } finally {
      made.disabled = false;
      made.classList.toggle("failed", made.title !== title);
    }
  }, {title, data: {save: name}});
  return made;
}

/** Saves a text that the page made. */
export const saveText = (words, ending, text, type) => save(named(...words) + ending, text, type);

/** For a picture: `source()` has {png, raw, long}, as the viewer shows it. */
export function savePicture(source) {
  const png = button("PNG", "save the picture", async () => save(nameOf(source().png) + ".png", await api.picture(source().png)), "png");
  const raw = button("raw", "save the bytes of the texels", async () => {
    const {raw: path, long} = source();
    if (!path) throw new Error("there are no bytes");
    if (long) await api.work(path);
    save(nameOf(path) + ".raw", await api.bytes(path));
  }, "raw");
  return el("span", {class: "saves"}, png, raw);
}

/** For rows of a buffer: {object, at, columns, step, begin, end} as `view` has them when one saves, and rowsAt(offset, bytes). */
export function saveRows(view) {
  const name = (what) => `${named(view.at, view.object)}${what}`;
  const csv = button("CSV", "save the rows", async () => {
    const {columns, step, begin = 0, end} = view;
    const lines = [["offset", ...columns ? columns.map(({label}) => label) : ["bytes"]].join()];
    for (let offset = begin; offset < end; offset += ROWS * step) {
      const bytes = Math.min(end - offset, ROWS * step);
      const rows = await view.rowsAt(offset, bytes);
      rows.forEach((row, i) => lines.push([offset + i * step, ...row.map((value) => value ?? "")].join()));
    }
    save(name(".csv"), lines.join("\r\n") + "\r\n", "text/csv");
  }, "csv");
  return el("span", {class: "saves"}, csv);
}

/** For a shader: its code, and the text that is shown. */
export function saveShader({hash, code, glsl}, text) {
  const ending = code === "spirv" ? ".spv" : ".bin";
  return el("span", {class: "saves"},
      button(ending, "save the code", async () => save(named(hash) + ending, await api.bytes(api.path(`/shaders/${hash}.spv`))), "code"),
      text ? button("text", "save the text", async () => save(named(hash) + (glsl ? ".glsl" : ".spvasm"), text, "text/plain"), "text") : null);
}
