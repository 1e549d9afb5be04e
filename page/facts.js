// SPDX-License-Identifier: MIT
// What never changes about objects: the calls that made them, and the shaders of pipelines. Each is asked for once.

import {aborted, api} from "./api.js";
import {reflect} from "./reflect.js";

const KEPT = 2000;
const made = new Map();

/**
 * Handles are numbers of the whole trace, so the call that made an object is the same wherever one looks. An answer is
 *  never given up: others may wait for it. With `late` it may come after what is seen at once.
 */
function once(key, ask) {
  if (!made.has(key)) {
    const answer = ask();
    made.set(key, answer);
    answer.catch(() => {
      if (made.get(key) === answer) made.delete(key);
    });
    if (made.size > KEPT) made.delete(made.keys().next().value);
  }
  return made.get(key);
}

/** Of the shown capture, or of another one that it is compared with. */
const key = (what, capture = "") => `${capture} ${what}`;

export const forget = () => made.clear();

/**
 * What `lapilli state` says about an object. Members that change are those of the first position that was asked for.
 */
export const objectFacts = (object, at, {late = false, capture} = {}) =>
    once(key(object, capture), () => api.json(api.path(`/objects/${object}`, {at}, capture), {late}));

/** The structure that an object was made from, or null. */
export async function creation(object, at, options) {
  const {creation: call, made: {element}} = await objectFacts(object, at, options);
  for (const [name, value] of Object.entries(call?.args ?? {}))
    if (/^pCreateInfos?$|Info$|Infos$/.test(name)) {
      const info = Array.isArray(value) ? value[element] : value;
      if (info) return info;
    }
  return null;
}

/** The structure that a pipeline was made from; what it has from libraries is filled in. */
export async function pipelineInfo(pipeline, at, {capture, depth = 0} = {}) {
  const info = await creation(pipeline, at, {capture});
  const libraries = info?.pNext?.find(({pLibraries}) => pLibraries)?.pLibraries ?? [];
  if (!libraries.length || depth > 2) return info;
  const whole = {...info};
  for (const library of libraries) {
    const part = await pipelineInfo(library, at, {capture, depth: depth + 1}).catch((error) => {
      if (aborted(error)) throw error; // another trace has libraries of its own
    });
    for (const [name, value] of Object.entries(part ?? {}))
      if (/State$/.test(name)) whole[name] ??= value;
    const dynamic = part?.pDynamicState?.pDynamicStates ?? [];
    if (whole.pDynamicState)
      whole.pDynamicState = {pDynamicStates: [...whole.pDynamicState.pDynamicStates ?? [], ...dynamic]};
  }
  return whole;
}

/** The code of a pipeline: [{hash, stages: [{stage, entry}]}]. */
export const pipelineShaders = (pipeline, at, {capture} = {}) => once(key("shaders of " + pipeline, capture),
    () => api.json(api.path("/shaders", {pipeline, at}, capture)).then((answer) => answer.shaders));

/** What the shaders of a pipeline name: {push, bindings} of all of its stages together. */
export const pipelineNames = (pipeline, at, {capture} = {}) => once(key("names of " + pipeline, capture), async () => {
  const all = {push: null, bindings: new Map()};
  for (const {hash, code} of await pipelineShaders(pipeline, at, {capture})) {
    if (code !== "spirv") continue;
    const {spirv} = await api.json(api.path("/shaders/" + hash, {}, capture));
    const {push, bindings} = reflect(spirv ?? "");
    if ((push?.members.length ?? 0) > (all.push?.members.length ?? 0)) all.push = push;
    for (const [place, one] of bindings)
      if (!all.bindings.get(place)?.name || one.array?.instances) all.bindings.set(place, one);
  }
  return all;
});

/** An image or a buffer in few words, from the call that made it. */
export async function inShort(object, at, options) {
  const info = await creation(object, at, options);
  if (!info) return "";
  if (info.extent) {
    const {width, height, depth} = info.extent;
    return [
      `${width} × ${height}${depth > 1 ? ` × ${depth}` : ""}`, info.format?.replace("VK_FORMAT_", ""),
      info.mipLevels > 1 && `${info.mipLevels} levels`, info.arrayLayers > 1 && `${info.arrayLayers} layers`,
      info.samples !== "VK_SAMPLE_COUNT_1_BIT" && info.samples?.replace(/VK_SAMPLE_COUNT_(\d+)_BIT/, "$1 samples")
    ].filter(Boolean)
        .join(", ");
  }
  return "";
}
