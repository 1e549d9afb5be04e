// SPDX-License-Identifier: MIT
// Small pictures of images. They are asked for when they come into view, one after the other.

import {api} from "./api.js";
import {el, fill} from "./dom.js";

const waiting = new WeakMap();
const none = new Map();
const observer = new IntersectionObserver((entries) => {
  for (const {isIntersecting, target} of entries)
    if (isIntersecting) {
      observer.unobserve(target);
      waiting.get(target)();
    }
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
  waiting.set(box, async () => {
    try {
      if (none.has(path)) throw none.get(path);
      show(await api.picture(path, {late: true}));
    } catch (error) {
      if ([404, 501].includes(error.status) && none.size < 5000) none.set(path, error);
      box.classList.add("none");
      box.title = error.sentence ?? "";
      fill(box, "GPU");
    }
  });
  observer.observe(box);
  return box;
}
