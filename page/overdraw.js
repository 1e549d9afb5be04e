// SPDX-License-Identifier: MIT
// How many fragments each texel has: which counts belong to the selected command, and what is said of them.

import {api, ApiError} from "./api.js";
import {count, el, number, place} from "./dom.js";
import {pinOf} from "./history.js";
import {check, item} from "./menu.js";
import {frameOf, go, route} from "./route.js";

// Colors of counts, each from its count up to the next one: those of the server's pictures (replayer/verify/overdraw.c).
const STEPS = [
  [0, "#101018"], [1, "#2040a0"], [2, "#0080c8"], [3, "#00a88c"], [4, "#40b830"], [5, "#bec800"], [7, "#faaa00"],
  [9, "#ff6e00"], [13, "#eb2820"], [17, "#dc008c"], [33, "#f08cf0"], [65, "#ffffff"]
];
const KINDS = {
  shaded: "fragments for which a fragment shader runs",
  rasterized: "also fragments that fail tests in front of the shader"
};

/** Which counts the address asks for: "shaded", "rasterized", or null. */
export const kindOf = ({overdraw}) => overdraw ? (Object.hasOwn(KINDS, overdraw) ? overdraw : "shaded") : null;

/** Items of a menu that choose what is counted. They are there while counts are shown. */
export class Kinds {
  constructor() {
    this.items = Object.entries(KINDS).map(([kind, title]) => item(kind,
        () => go({query: {overdraw: kind}}, {replace: true}),
        {title, class: "menu-item below", hidden: true, radio: true, data: {overdraw: kind}}));
  }

  show(shown) {
    for (const one of this.items) {
      one.hidden = !shown;
      check(one, one.dataset.overdraw === shown);
    }
  }
}

/** Each color with the least count that has it. */
const legend = () => el("span", {class: "legend", id: "overdraw-legend"}, STEPS.map(([from, color], i) => {
  const to = STEPS[i + 1]?.[0] - 1, dark = from < 3 || from === 17;
  const field = el("i", {class: dark ? "dark" : null, title: to > from ? `${from} to ${to}` : to === from ? null : `${from} or more`, data: {from}}, from);
  field.style.background = color;
  return field;
}));

/**
 * Has the fragments counted of the render pass of a draw, or of another place. picture: a promise of the source whose place the
 *  counts take, or of null. A source of a viewer.
 */
export async function countsOf(capture, position, kind, picture, options) {
  const queries = {rasterized: kind === "rasterized"};
  const {line, passes, below} = await counted(await passOf(capture, position), queries, picture, options);
  const file = (ending) => api.path(`/overdraw/${line.position}/${kind}.${ending}`, queries);
  const {width, height, gpu} = line, alike = isLike(line, below);
  const source = {
    ...below, width, height, gpu, png: file("png"), raw: file("raw"), format: "VK_FORMAT_R32_UINT", range: null, nan: 0,
    infinite: 0, without: null, edges: alike ? below.edges : null, target: below?.key, key: "overdraw", unit: "fragment",
    long: true
  };
  return {...source, about: told(line, kind, passes, source), more: legend()};
}

/** The pass of a draw. All else stands for itself. */
async function passOf(capture, position) {
  const draws = position.includes(".") ? await capture.draws(frameOf(position)) : null;
  if (!draws) return position;
  await draws.upTo(position); // then its part of the list is here
  return draws.by.get(position)?.pass ?? position;
}

const isLike = (line, picture) => line.width === picture?.width && line.height === picture.height;

/** The counts of a place: of several passes those of the one with most fragments, of those that are as large as the picture. */
async function counted(at, queries, picture, options) {
  const path = api.path("/overdraw/" + at, queries);
  await api.work(path, options);
  const lines = await api.lines(path, options), below = await picture;
  const like = lines.filter((line) => isLike(line, below));
  const [line] = [...(like.length ? like : lines)].sort((a, b) => b.fragments - a.fragments);
  if (!line) throw new ApiError(404, "nothing is drawn here");
  // A file is one of the place that was asked for.
  if (lines.length > 1) await api.work(api.path("/overdraw/" + line.pass, queries), options);
  return {line, passes: lines.length, below};
}

function told({pass, draws, fragments, covered, most}, kind, passes, source) {
  const pin = () => go({query: pinOf(most, source)}, {replace: true});
  return [
    el("b", {}, kind, " "),
    covered ? [`${Number((fragments / covered).toPrecision(3))} a texel, most `,
      el("a", {href: "#", id: "overdraw-most", title: "pin it", on: {click: (event) => { event.preventDefault(); pin(); }}},
          `${number(most.fragments)} at ${most.x},${most.y}`)] : "nothing",
    ` · ${count(draws, "draw")} of `, place(pass), passes > 1 ? `, one of ${passes} passes` : ""
  ];
}
