// SPDX-License-Identifier: MIT
// Whether a buffer or an image holds the same at two positions, as far as the trace knows it without a replay. Who wrote
// which range is asked first, and bytes only where that differs.

import {aborted, api} from "./api.js";
import {short} from "./dom.js";
import {creation} from "./facts.js";
import {bytesOf, valuesOf} from "./reflect.js";

const LARGEST = 1 << 20; // bytes that are compared
const VALUES = 64;       // members that differ

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

/** The bytes of a side, {contents, at, capture}, as far as they are compared: {view, begin, unknown}. */
async function bytesOfSide({contents: {buffer, offset, bytes}, at, capture}, options) {
  const path = "/memory/" + buffer, {size} = await api.json(api.path(path, {at, parts: true}, capture), options);
  const many = Math.min(bytes ?? size, size - offset, LARGEST);
  if (many <= 0) return {view: new DataView(new ArrayBuffer(0)), unknown: false};
  const {hex, parts} = await api.json(api.path(path, {at, offset: String(offset), bytes: many}, capture), options);
  return {view: bytesOf(hex), unknown: parts.some((part) => !knows(part) && part.begin < offset + many && part.end > offset)};
}

/** Members that differ as [name, theirs, ours]; where there are none how many bytes do, in the same form. */
function differences(theirs, ours, members) {
  const show = (member, view) => valuesOf(member, view).map((line) => line.map((one) => (one === null ? "?" : short(typeof one === "bigint" ? String(one) : one))).join("  ")).join("; ");
  const named = (members ?? []).map((member) => [member.name, show(member, theirs), show(member, ours)])
                    .filter(([, a, b]) => a !== b);
  if (named.length) return named.slice(0, VALUES);
  const most = Math.min(theirs.byteLength, ours.byteLength), at = [];
  for (let i = 0; i < most; i++)
    if (theirs.getUint8(i) !== ours.getUint8(i)) at.push(i);
  return at.length ? [["bytes", `of ${most}, the first at ${at[0]}`, String(at.length)]] : [];
}

/**
 * What of the contents that two sides have bound differs: null, or {sure, text, values}, where values are
 *  [name, theirs, ours]. A side is {contents, at, capture}; contents are as compareContents takes them.
 */
export async function compareSides(theirs, ours, members, options) {
  const [a, b] = [theirs.contents, ours.contents], same = theirs.capture === ours.capture && JSON.stringify(a) === JSON.stringify(b);
  try {
    if (same || b.view) {
      const found = same ? await compareContents(b, theirs.at, ours.at, options) : unknown("they are in buffer views");
      if (!found?.sure || !b.buffer) return found;
    }
    if (a.buffer && b.buffer) {
      const [x, y] = await Promise.all([theirs, ours].map((side) => bytesOfSide(side, options)));
      const values = differences(x.view, y.view, members);
      if (values.length) return x.unknown || y.unknown ? {...maybe("not all is known"), values} : {...DIFFER, values};
      return same ? DIFFER : x.unknown || y.unknown ? maybe("not all is known") : x.view.byteLength === y.view.byteLength ? null : DIFFER;
    }
    if (!a.image || !b.image) return unknown("they are of other kinds");
    if (theirs.capture === ours.capture) return null; // the row has another image
    const [x, y] = (await Promise.all([theirs, ours].map(({contents, at, capture}) => api.bytes(api.path(`/images/${contents.image}.raw`, {at}, capture), options))))
                       .map((one) => new Uint8Array(one));
    return x.length === y.length && x.every((byte, i) => byte === y[i]) ? null : DIFFER;
  } catch (error) {
    if (aborted(error)) throw error;
    return unknown(error.sentence ?? String(error));
  }
}
