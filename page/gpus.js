// SPDX-License-Identifier: MIT
// The GPUs of this machine: a menu of them where there are several, and which of them an address means.

import {api} from "./api.js";
import {byId, el, fill} from "./dom.js";
import {go, route} from "./route.js";

let gpus = []; // as lapilli replay --list-gpus --json has them; none: they are not known
let asked = Promise.resolve();

/** Asks which there are. No picture waits for the answer, unless the address names one. */
export function askForGpus() {
  asked = api.now("/v1/devices").then((answer) => {
    gpus = answer.gpus;
    offer();
  }, () => {});
}

/** Those that a text may mean, as --gpu of lapilli replay takes it. */
function meant(text) {
  const wanted = text.toLowerCase(), uuid = wanted.replace(/-/g, "");
  const by = [({uuid: own}) => own === uuid, ({number}) => /^\d+$/.test(text) && number === Number(text), ({name}) => name === text,
    ({name}) => !/^\d+$/.test(text) && name.toLowerCase().includes(wanted)];
  return by.map((is) => gpus.filter(is)).find((found) => found.length) ?? [];
}

/** The shortest text that means it and no other one. */
const textOf = ({name, uuid, number}) =>
    [name.replace(/ *\(.*/, ""), name, uuid].find((text) => text && meant(text).length === 1) ?? String(number);

/** A sentence, where the text means none of this machine. */
export async function lacksGpu(text) {
  api.enter();
  await asked;
  api.leave();
  return gpus.length && !meant(text).length ? `This machine has no GPU ${text}: replays choose one.` : "";
}

function offer() {
  byId("gpu").hidden = gpus.length < 2;
  fill(byId("gpus"), el("option", {value: "", title: "the one of the recording, if it is here, or that of lapilli serve --gpu"}, "usual"),
      gpus.map((gpu) => el("option", {value: gpu.number, title: gpu.driver}, textOf(gpu))));
  byId("gpus").onchange = ({target: {value}}) =>
      go({query: {gpu: value && textOf(gpus.find(({number}) => number === Number(value)))}});
  showGpu();
}

/** Shows the one that is chosen. */
export function showGpu() {
  const found = route.query.gpu ? meant(route.query.gpu) : [], gpu = found.length === 1 ? found[0] : null;
  byId("gpus").value = gpu?.number ?? "";
  byId("gpu").title = gpu ? `${gpu.name}\n${gpu.driver}` : "replays choose a GPU";
}
