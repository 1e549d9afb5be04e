// SPDX-License-Identifier: MIT
// Links to objects, positions, shaders and views: where each leads from what is shown now.

import {address, go, kept, route} from "./route.js";

const LINK = "a[data-object], a[data-at], a[data-shader], a[data-view]";

/** What an object's view may have in the address, to be left out for the next object. */
export const NO_RANGE = {
  offset: null,
  bytes: null,
  as: null,
  block: null,
  stride: null,
  mip: null,
  layer: null,
  slice: null
};

/** How each view was left: {subject, query} by its name, and `at`, the last position. */
export const left = {};

export function forgetViews() {
  for (const name of Object.keys(left)) delete left[name];
}

/** A call stands in the list of calls, a command does not. */
const shown = (call, {show}) => (call ? {show: "calls", call} : {call: null, ...(show === "calls" ? {show: null} : {})});

/** What `go` needs for a link: a change, and its options. */
function target(link) {
  const {object, extra, at, call, shader, line, view, type, when} = link.dataset;
  const more = JSON.parse(extra ?? "{}");
  const {query} = route;
  if (object && route.view === "commands") return [{query: {...NO_RANGE, object, ...more}}];
  if (object) {
    const kind = route.view === "objects" ? query.type : null;
    return [{view: "objects", subject: object, query: {at: query.at ?? left.at, type: kind, ...more}}, {fresh: true}];
  }
  if (at)
    return [
      {view: "commands", subject: at, query: {...NO_RANGE, object: null, target: null, ...shown(call, query)}},
      {fresh: route.view !== "commands"}
    ];
  if (shader) return [{view: "shaders", subject: shader, query: {line, glsl: query.glsl}}, {fresh: true}];
  if (view === "objects") return [{view, subject: "", query: {type, at: when ?? left.at}}, {fresh: true}];
  const {subject, query: before} = left[view] ?? {};
  return [{view, subject: (view === "commands" ? left.at : subject) ?? "", query: before}, {fresh: true}];
}

/** Makes links work. Their addresses are set when the pointer or the focus comes to them, so new tabs open, too. */
export function listenToLinks() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest(LINK);
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(...target(link));
  });
  for (const name of ["pointerover", "focusin"])
    document.addEventListener(name, (event) => {
      const link = event.target.closest?.(LINK);
      if (!link) return;
      const [change, options] = target(link);
      const query = {...kept(options?.fresh), ...change.query};
      link.href = address({...route, ...change, query});
    });
}
