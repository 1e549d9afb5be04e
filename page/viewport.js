// SPDX-License-Identifier: MIT
// The viewports and scissors in force, whichever of pipeline and commands they come from.

import {el, short} from "./dom.js";

/** The commands that set them. */
export const VIEWPORT = /^vkCmdSet(Viewport|Scissor)(WithCount(EXT)?)?$/;

/** Of a kind, "Viewport" or "Scissor": [[number, value]]. */
function inForce(kind, {dynamicState, bound}, info) {
  const dynamic = info?.pDynamicState?.pDynamicStates ?? [];
  const name = "VK_DYNAMIC_STATE_" + kind.toUpperCase();
  const fixed = info?.pViewportState?.[`p${kind}s`];
  if (bound.graphics?.pipeline && fixed && !dynamic.some((one) => one === name || one.startsWith(name + "_WITH_COUNT")))
    return fixed.map((value, i) => [i, value]);
  const found = new Map();
  for (const {name, args, elements} of dynamicState ?? []) {
    if (!name.startsWith("vkCmdSet" + kind) || !VIEWPORT.test(name)) continue;
    const first = args[`first${kind}`] ?? 0, [from, to] = elements ?? [0, Infinity];
    args[`p${kind}s`]?.forEach((value, i) => {
      if (first + i >= from && first + i < to) found.set(first + i, value);
    });
  }
  return [...found].sort(([a], [b]) => a - b);
}

/** Why nothing can be drawn in a scissor, or "". */
function nothing({offset: {x, y}, extent: {width, height}}, area) {
  if (!width || !height) return "empty";
  if (!area) return "";
  const {offset, extent} = area;
  const meets = x < offset.x + extent.width && y < offset.y + extent.height && x + width > offset.x && y + height > offset.y;
  return meets ? "" : "outside of the render area";
}

const rectangle = (x, y, width, height) => `x ${short(x)}  y ${short(y)}  w ${short(width)}  h ${short(height)}`;

export function viewportRows(state, info, row) {
  const area = Object.values(state.pass?.args ?? {}).find((value) => value?.renderArea)?.renderArea;
  const viewports = inForce("Viewport", state, info).map(([i, {x, y, width, height, minDepth, maxDepth}]) => row(
      `viewport ${i}`, `viewport ${i}`, `${rectangle(x, y, width, height)}  depth ${short(minDepth)} to ${short(maxDepth)}`));
  const scissors = inForce("Scissor", state, info).map(([i, one]) => {
    const text = rectangle(one.offset.x, one.offset.y, one.extent.width, one.extent.height), why = nothing(one, area);
    return row(`scissor ${i}`, `scissor ${i}`, why ? `${text}  ${why}` : text,
        why ? () => [text, " ", el("span", {class: "wrong", title: "no texel can be written"}, why)] : null);
  });
  return [...viewports, ...scissors];
}
