// SPDX-License-Identifier: MIT
// Small pictures of images. They are asked for while they are in view, one after the other.

import {aborted, api} from "./api.js";
import {el, fill} from "./dom.js";

const seen = new WeakMap();
const none = new Map();
// A box that is hidden or taken away is out of view, too.
const observer = new IntersectionObserver((entries) => {
  for (const {isIntersecting, target} of entries) seen.get(target)(isIntersecting);
}, {rootMargin: "60px"});

/** What was uploaded into an image at a position. Images that a command computed have no picture without a replay. */
export function thumb(image, at) {
  const box = el("span", {class: "thumb", data: {thumb: image}});
  const path = api.path(`/images/${image}.png`, {at});
  const show = (url) => fill(box, el("img", {src: url, alt: "", decoding: "sync"}));
  const here = api.pictureHere(path);
  if (here) {
    show(here);
    return box;
  }
  let stop = null;
  seen.set(box, async (isSeen) => {
    stop?.abort();
    if (!isSeen) return;
    stop = new AbortController();
    try {
      if (none.has(path)) throw none.get(path);
      show(await api.picture(path, {late: true, signal: stop.signal}));
    } catch (error) {
      if (aborted(error)) return;
      if ([404, 501].includes(error.status) && none.size < 5000) none.set(path, error);
      box.classList.add("none");
      box.title = error.sentence ?? "";
      fill(box, "GPU");
    }
    observer.unobserve(box);
  });
  observer.observe(box);
  return box;
}
