// SPDX-License-Identifier: MIT
// Small pictures of images. They are asked for when they come into view, one after the other.

import { api } from "./api.js";
import { el, fill } from "./dom.js";

const waiting = new WeakMap();
const none = new Map();
const observer = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries)
    if (isIntersecting) {
      observer.unobserve(target);
      waiting.get(target)();
    }
}, { rootMargin: "60px" });

/** What was uploaded into an image at a position. Images that a command computed have no picture without a replay. */
export function thumb(image, at) {
  const box = el("span", { class: "thumb", data: { thumb: image } });
  waiting.set(box, async () => {
    const path = api.path(`/images/${image}.png`, { at });
    try {
      if (none.has(path)) throw none.get(path);
      fill(box, el("img", { src: await api.picture(path, { late: true }), alt: "" }));
    } catch (error) {
      if (none.size < 5000) none.set(path, error);
      box.classList.add("none");
      box.title = error.sentence ?? "";
      fill(box, "GPU");
    }
  });
  observer.observe(box);
  return box;
}
