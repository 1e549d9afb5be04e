// SPDX-License-Identifier: MIT
// The command of another frame, or of another trace, that stands where one stands: the same path, or the same number of
// a draw in the same pass.

import {api} from "./api.js";
import {comparePositions, frameOf, isCommand} from "./route.js";

const WHOLE = 20000; // so many draws of a frame are looked at
const PASSES = 64;   // whose targets are looked at

const stateOf = (at, capture) => api.json(api.path(`/commands/${at}/state`, {}, capture));
const pipelines = (state) => Object.values(state.bound).map(({pipeline}) => pipeline ?? null);

/** Null where there is no such place. */
const ifThere = (promise) => promise.catch((error) => {
  if (error.status === 404) return null;
  throw error;
});

/** All draws, dispatches and ray traces of a frame; none of one that has too many. */
async function rowsOf(frame, capture) {
  const {nodes: [node]} = await api.json(api.path("/tree", {at: frame, depth: 1, children: "1-1"}, capture));
  const many = node.draws + node.dispatches + node.traces;
  return many && many <= WHOLE ? api.lines(api.path("/draws", {at: frame}, capture)) : [];
}

/** The passes of rows in their order: [{begin, rows}]. */
function passesOf(rows) {
  const passes = new Map();
  for (const row of rows) {
    if (!row.pass) continue;
    if (!passes.has(row.pass)) passes.set(row.pass, {begin: row.pass, rows: []});
    passes.get(row.pass).rows.push(row);
  }
  return [...passes.values()];
}

/** What a pass draws to, in two keys: with the images, and without them, since those of a swapchain take turns. */
async function targetsOf({rows}, capture) {
  const {pass} = await stateOf(rows[0].position, capture);
  const area = Object.values(pass?.args ?? {}).find((value) => value?.renderArea)?.renderArea;
  const key = (exact) => JSON.stringify([
    area?.extent, pass?.attachments.map(({role, number, format, level, layer, image}) => [role, number, format, level, layer, exact && image])
  ]);
  return {exact: key(true), alike: key(false)};
}

/** The pass of other ones that has the place of one of these among those with the same targets. */
async function samePass(passes, index, others, captures) {
  const known = await Promise.all(passes.slice(0, PASSES).map((pass) => targetsOf(pass, captures[0])));
  const found = await Promise.all(others.slice(0, PASSES).map((pass) => targetsOf(pass, captures[1])));
  if (!known[index]) return null;
  for (const key of ["exact", "alike"]) {
    const order = known.slice(0, index).filter((one) => one[key] === known[index][key]).length;
    const same = others.filter((_, i) => found[i]?.[key] === known[index][key]);
    if (same[order]) return same[order];
  }
  return null;
}

/**
 * Where one comes from a position to a frame: {position, how}. `how`: "path", "draw", "pass" or "frame". `from` and `to` are
 *  captures, the shown one without them. Handles of two captures say nothing of each other.
 */
export async function counterpart(position, frame, from, to) {
  const whole = {position: String(frame), how: "frame"};
  if (!position.includes(".")) return whole;
  const path = frame + position.slice(position.indexOf("."));
  if (!isCommand(position))
    return await ifThere(api.json(api.path("/tree", {at: path, depth: 1, children: "1-1"}, to))) ? {position: path, how: "path"} : whole;
  const state = await stateOf(position, from), same = async (at) => {
    const other = await ifThere(stateOf(at, to));
    return other?.command === state.command && (from !== to || pipelines(other).join() === pipelines(state).join());
  };
  if (await same(path)) return {position: path, how: "path"};
  const [rows, others] = await Promise.all([rowsOf(frameOf(position), from), rowsOf(frame, to)]);
  const begin = state.pass?.begin, passes = passesOf(rows);
  const index = passes.findIndex((pass) => pass.begin === begin);
  if (index < 0) return begin ? whole : outside(position, rows, others) ?? whole;
  const pass = await samePass(passes, index, passesOf(others), [from, to]);
  if (!pass) return whole;
  // A command that is no draw stands in front of one.
  const at = passes[index].rows.findIndex((row) => comparePositions(row.position, position) >= 0);
  const draw = pass.rows[at];
  if (!draw) return {position: pass.begin, how: "pass"};
  const front = lastPart(passes[index].rows[at].position) - lastPart(position);
  const near = front && draw.position.replace(/\d+$/, (part) => Math.max(part - front, 0));
  return {position: near && await same(near) ? near : draw.position, how: "draw"};
}

const lastPart = (position) => Number(position.slice(position.lastIndexOf(".") + 1));

/** Of a dispatch or a ray trace: the one with the same pipeline whose order among them is the same. */
function outside(position, rows, others) {
  const row = rows.find((one) => one.position === position);
  const alike = (one) => one.command === row.command && one.pipeline === row.pipeline;
  const found = row && others.filter(alike)[rows.filter(alike).indexOf(row)];
  return found ? {position: found.position, how: "draw"} : null;
}
