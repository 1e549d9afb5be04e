// SPDX-License-Identifier: MIT
// The search box and its results.

import {aborted, api} from "./api.js";
import {byId, el, fill, later} from "./dom.js";
import {go, isPosition, route} from "./route.js";

const LIMIT = 100;

export class Search {
  constructor() {
    this.input = byId("search-text");
    this.list = byId("search-list");
    this.items = [];
    this.input.addEventListener("input", later(180, () => this.ask()));
    this.input.addEventListener("focus", () => {
      if (this.items.length) this.open(true);
    });
    this.input.addEventListener("keydown", (event) => {
      const by = {ArrowDown: 1, ArrowUp: -1}[event.key];
      if (by && this.items.length)
        this.select((this.chosen + by + this.items.length) % this.items.length);
      else if (event.key === "Enter")
        this.take(this.chosen);
      else if (event.key === "Escape") {
        this.open(false);
        this.input.blur();
      } else
        return;
      event.preventDefault();
    });
    this.list.addEventListener("pointerdown", (event) => event.preventDefault());
    this.list.addEventListener("click", (event) => {
      const row = event.target.closest("[data-result]");
      if (row) this.take(Number(row.dataset.result));
    });
    this.input.addEventListener("blur", () => this.open(false));
  }

  /** Forgets what was found in another trace. */
  reset() {
    this.stop?.abort();
    this.items = [];
    this.input.value = "";
    fill(this.list);
    this.open(false);
  }

  open(open) {
    this.list.hidden = !open;
    this.input.setAttribute("aria-expanded", String(open));
  }

  async ask() {
    const text = this.input.value.trim();
    this.stop?.abort();
    this.items = [];
    if (!text) return this.open(false);
    const {signal} = (this.stop = new AbortController());
    // What can be gone to at once needs no answer.
    if (isPosition(text)) this.items.push({kind: "go to", position: text, text: "position " + text});
    const object = /^(?:vk)?([a-z]+):(\d+)$/i.exec(text);
    if (object) this.items.push({kind: "go to", object: `Vk${object[1].replace(/^Vk/i, "")}:${object[2]}`, text: ""});
    this.draw(text, "searching…");
    try {
      const found = await api.lines(api.path("/find", {text, limit: LIMIT}), {signal});
      this.items.push(...found);
      this.draw(text, this.items.length ? (found.length >= LIMIT ? `the first ${LIMIT}` : "") : "nothing has that");
    } catch (error) {
      if (!aborted(error)) this.draw(text, error.sentence ?? String(error));
    }
  }

  draw(text, note) {
    this.chosen = 0;
    fill(this.list,
        this.items.map(
            (item, i) => el("div",
                {class: "found", role: "option", id: "found-" + i, "aria-selected": String(i === 0), data: {result: i}},
                el("span", {class: "dim"}, item.kind),
                el("span", {}, marked(item.text || item.object || item.shader || "", text)),
                el("span", {class: "dim"},
                    item.position ?? (item.line ? `${item.shader.slice(0, 8)}:${item.line}`
                                          : item.text ? item.object ?? item.shader?.slice(0, 8)
                                                      : "") ??
                        ""))),
        note ? el("div", {class: "found"}, el("span", {class: "dim"}), el("span", {class: "dim"}, note)) : null);
    this.open(document.activeElement === this.input);
    this.select(0);
  }

  select(index) {
    this.chosen = index;
    for (const row of this.list.querySelectorAll("[data-result]"))
      row.setAttribute("aria-selected", String(Number(row.dataset.result) === index));
    const row = byId("found-" + index);
    row?.scrollIntoView({block: "nearest"});
    if (row)
      this.input.setAttribute("aria-activedescendant", row.id);
    else
      this.input.removeAttribute("aria-activedescendant");
  }

  take(index) {
    const item = this.items[index];
    if (!item) return;
    this.open(false);
    this.input.blur();
    if (item.shader)
      go({view: "shaders", subject: item.shader, query: {line: item.line}}, {fresh: true});
    else if (item.object && route.view === "commands" && item.kind !== "command" && item.kind !== "label")
      go({query: {object: item.object}});
    else if (item.position)
      go({view: "commands", subject: item.position, query: {}}, {fresh: true});
    else if (item.object)
      go({view: "objects", subject: item.object, query: {at: route.query.at}}, {fresh: true});
  }
}

/** A text with what was searched for marked. */
function marked(text, wanted) {
  const at = text.toLowerCase().indexOf(wanted.toLowerCase());
  return at < 0
      ? [text]
      : [text.slice(0, at), el("mark", {}, text.slice(at, at + wanted.length)), text.slice(at + wanted.length)];
}
