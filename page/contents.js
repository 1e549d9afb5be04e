// SPDX-License-Identifier: MIT
// Whether a buffer or an image holds the same at two positions, as far as the trace knows it without a replay. Who wrote
// which range is asked first, and bytes only where that differs.

import {aborted, api} from "./api.js";
import {creation} from "./facts.js";

const LARGEST = 1 << 20; // bytes that are compared

const DIFFER = {sure: true, text: "contents differ"};
const maybe = (why) => ({sure: false, text: `contents may differ: ${why}`});
const unknown = (why) => ({sure: false, text: `contents are not compared: ${why}`});

/**
 * What of `one` differs between two positions: null, or {sure, text}. `one` has `image`; or `buffer`, `offset` and
 * `bytes`, null: to its end; or `view`, a buffer view.
 */
export async function compareContents(one, before, now, options) {
  try {
    if (one.image) return await compareImage(one.image, [before, now], options);
    const range = one.view ? await rangeOfView(one.view, now, options) : one;
    return range ? await compareBuffer(range, [before, now], options) : null;
  } catch (error) {
    if (aborted(error)) throw error;
    return unknown(error.sentence ?? String(error));
  }
}

async function rangeOfView(view, at, options) {
  const info = await creation(view, at, options);
  return info && {
    buffer: info.buffer, offset: info.offset, bytes: typeof info.range === "number" ? info.range : null
  };
}

const knows = ({known}) => known === "yes" || known === "nobody";
/** Equal for bytes of the same writer, which are equal. */
const origin = ({known, by, copied}) => JSON.stringify([known, by, copied]);

/** The ranges between two offsets whose writers differ: [{begin, end, parts}]. */
function rewritten(both, begin, end) {
  const edges = both.flat().flatMap((part) => [part.begin, part.end]).filter((at) => at > begin && at < end);
  if (begin >= end) return [];
  const cuts = [...new Set([begin, ...edges, end])].sort((a, b) => a - b);
  const found = [], next = [0, 0];
  for (let i = 0; i + 1 < cuts.length; i++) {
    const parts = both.map((list, side) => {
      while (next[side] < list.length && list[next[side]].end <= cuts[i]) next[side]++;
      return list[next[side]];
    });
    if (parts[0] && parts[1] && origin(parts[0]) !== origin(parts[1]))
      found.push({begin: cuts[i], end: cuts[i + 1], parts});
  }
  return found;
}

async function compareBuffer({buffer, offset, bytes}, positions, options) {
  const path = "/memory/" + buffer;
  const [a, b] = await Promise.all(positions.map((at) => api.json(api.path(path, {at, parts: true}), options)));
  const not = a.not_followed ?? b.not_followed;
  if (not) return unknown(not);
  const others = rewritten([a.parts, b.parts], offset, bytes === null ? b.size : Math.min(b.size, offset + bytes));
  const told = others.filter(({parts}) => parts.every(knows));
  if (told.length) {
    const from = told[0].begin, to = Math.min(told.at(-1).end, from + LARGEST);
    const [x, y] = await Promise.all(positions.map(
        (at) => api.json(api.path(path, {at, offset: String(from), bytes: to - from}), options)));
    const hex = (one, {begin, end}) => one.hex.slice(2 * (begin - from), 2 * (end - from));
    if (told.some((range) => hex(x, range) !== hex(y, range))) return DIFFER;
    if (told.at(-1).end > to) return maybe("written between, too large to compare");
  }
  const {parts} = others.find((one) => !one.parts.every(knows)) ?? {parts: []};
  const by = parts.findLast((part) => !knows(part))?.by;
  if (by) return maybe(`computed by ${by.at ?? "#" + by.packet} ${by.name}`);
  return parts.length ? maybe("not all is known") : null;
}

/** Of the first level and layer. */
async function compareImage(image, positions, options) {
  const [a, b] = await Promise.all(positions.map((at) => api.json(api.path("/images/" + image, {at}), options)
                                                             .catch((error) => {
    const [, writer] = /is written by (.*): only a replay/.exec(error.sentence ?? "") ?? [];
    if (!writer) throw error;
    return {writer};
  })));
  if (a.writer || b.writer) return a.writer === b.writer ? null : maybe(`computed by ${b.writer ?? a.writer}`);
  if (JSON.stringify([a.parts, a.others]) === JSON.stringify([b.parts, b.others]) && !a.others) return null;
  if ([...a.parts, ...b.parts].some((part) => part.bytes > LARGEST)) return maybe("written between, too large to compare");
  const [x, y] = (await Promise.all(positions.map((at) => api.bytes(api.path(`/images/${image}.raw`, {at}), options))))
                     .map((one) => new Uint8Array(one));
  return x.length === y.length && x.every((byte, i) => byte === y[i]) ? null : DIFFER;
}
