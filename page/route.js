// SPDX-License-Identifier: MIT
// The address of the page: #/CAPTURE/VIEW/SUBJECT?queries. It alone says what is shown, so back, forward and reload
// work.

const STEP_MS = 900;
let last = 0;
const listeners = [];

function parse() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [capture = "", view = "commands", subject = ""] = path.split("/").map(decoded);
  return {capture, view, subject, query: Object.fromEntries(new URLSearchParams(query))};
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch { return part; }
}

export let route = parse();

export function address({capture, view, subject, query}) {
  const text = new URLSearchParams(
      Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== ""))
                   .toString()
                   .replace(/%3A/g, ":")
                   .replace(/%2C/g, ",");
  return `#/${capture}/${view}${subject ? "/" + encodeURIComponent(subject).replace(/%3A/g, ":") : ""}${
      text ? "?" + text : ""}`;
}

/** What of the present query a change keeps; a `fresh` one only what all views have. */
export const kept = (fresh) => fresh ? {gpu: route.query.gpu} : route.query;

/**
 * Goes where `change` differs from here. Its `query` is merged into the present one; null removes a member.
 *  Steps of a view that follow each other quickly are one entry of the history, and so is a `replace`. A `sentence` says what was
 *  wrong with the address, until one goes elsewhere.
 */
export function go(change, {replace = false, fresh = false, sentence = ""} = {}) {
  const next = {...route, ...change, query: {...kept(fresh), ...change.query}};
  const hash = address(next);
  if (hash === address(route)) return;
  const now = performance.now(), here = next.capture === route.capture && next.view === route.view;
  history[replace || (here && now - last < STEP_MS) ? "replaceState" : "pushState"](null, "", hash);
  if (!replace) last = now;
  changed(sentence);
}

export const onRoute = (listener) => listeners.push(listener);

/** `says`: what the page says of the address. */
export function changed(says = "") {
  const before = route;
  route = {...parse(), says};
  for (const listener of listeners) listener(route, before);
}

addEventListener("popstate", () => changed());

/** Compares two positions as they follow each other in the trace. */
export function comparePositions(a, b) {
  const x = a.split("."), y = b.split(".");
  for (let i = 0; i < x.length && i < y.length; i++)
    if (x[i] !== y[i]) return x[i] - y[i];
  return x.length - y.length;
}

export const isPosition = (text) => /^\d+(\.\d+)*$/.test(text);
export const frameOf = (position) => Number(position.split(".")[0]);
/** Positions of commands have an even number of parts. */
export const isCommand = (position) =>
    position.split(".").length % 2 === 0 && position.includes(".") && position.split(".").length >= 4;
