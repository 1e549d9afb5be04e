// SPDX-License-Identifier: MIT
// The calls of a frame outside of command buffers, as a list: what makes objects, maps memory, submits, waits, presents.

import {api} from "./api.js";
import {dim, el} from "./dom.js";
import {mark} from "./messages.js";
import {flatten} from "./values.js";

const SHORT = 6; // parameters that a row shows

/** The path of a call, or of those of a frame. */
export const callsPath = (at) => api.path(`/commands/${encodeURIComponent(at)}`, {"no-blocks": true});

/** Rows of a frame, in the order of the calls. `place`: of a submit its position. */
export async function callsOf(frame, options) {
  const lines = await api.lines(callsPath(String(frame)), options);
  let submits = 0;
  const isSubmit = ({name, result}) => /^vkQueueSubmit2?(KHR)?$/.test(name) && (result ?? "VK_SUCCESS") === "VK_SUCCESS";
  return lines.filter((line) => !("command" in line)).map((call) => {
    const position = "#" + (call.index ?? "");
    return {position, place: isSubmit(call) ? `${frame}.${++submits}` : position, call};
  });
}

/** The parameters in few words, without the device. */
const shortOf = ({args}) => flatten(args).filter(([name]) => name !== "device").slice(0, SHORT).map(([name, text]) => `${name} ${text}`).join(", ");

/** A row; `chosen`: the number of the call that the address has. */
export function callRow({position, index, of, call}, chosen, messages) {
  const {name, thread, result} = call.call;
  return el("div", {
    class: "row call",
    role: "treeitem",
    id: "row-" + position,
    "aria-level": 1,
    "aria-setsize": of,
    "aria-posinset": index + 1,
    "aria-selected": String(position === "#" + chosen),
    title: `${position}, thread ${thread}`,
    data: {position}
  },
      el("span", {class: "n"}, position), el("span", {class: "what"}, name), dim(shortOf(call.call)),
      result && result !== "VK_SUCCESS" ? el("span", {class: "label"}, result.replace("VK_", "")) : null,
      el("span", {class: "t"}, String(thread)), mark(messages.of(call.place)));
}
