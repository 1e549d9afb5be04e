// SPDX-License-Identifier: MIT
// Controls of a toolbar: a menu with switches, a group of which one is chosen, and tabs.

import {chip, el, fill} from "./dom.js";

let menus = 0;

/** A button that opens a menu, and beside it chips of what is switched on. A click on a chip switches it off. */
export class Menu {
  constructor(text, {id, title}) {
    const popup = `menu-${++menus}`;
    this.button = el("button", {
      type: "button",
      class: "menu-button",
      id,
      title,
      "aria-haspopup": "menu",
      "aria-expanded": "false",
      "aria-controls": popup,
      on: {click: () => this.setOpen(this.popup.hidden), keydown: (event) => this.openByKey(event)}
    },
        text);
    this.popup = el("div", {
      class: "menu",
      id: popup,
      role: "menu",
      "aria-label": title,
      hidden: true,
      on: {keydown: (event) => this.key(event), focusout: (event) => this.left(event.relatedTarget)}
    });
    this.chips = el("span", {class: "menu-chips"});
    this.box = el("span", {class: "menu-box"}, this.button, this.chips, this.popup);
    this.outside = (event) => this.left(event.target);
  }

  /** `on`: what is switched on, [{text, title, off()}]. */
  says(on) {
    const key = JSON.stringify(on);
    if (key === this.said) return;
    this.said = key;
    fill(this.chips, on.map(({text, title, off}) => chip(text, null, off, {title: `${title ?? text}: switch it off`})));
    this.chips.title = on.map(({text}) => text).join(", ");
  }

  setOpen(open) {
    if (open !== this.popup.hidden) return;
    this.popup.hidden = !open;
    this.button.setAttribute("aria-expanded", String(open));
    document[open ? "addEventListener" : "removeEventListener"]("pointerdown", this.outside, true);
    if (open) this.stops()[0]?.focus({focusVisible: false});
  }

  /** Closes where the focus or a click is elsewhere. */
  left(to) {
    if (to && !this.popup.contains(to) && !this.button.contains(to)) this.setOpen(false);
  }

  stops() { return [...this.popup.querySelectorAll("button, input")].filter((one) => !one.disabled && !one.hidden); }

  openByKey(event) {
    if (event.key === "Escape" && !this.popup.hidden) return this.key(event);
    if (event.key !== "ArrowDown") return;
    take(event);
    this.setOpen(true);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      take(event);
      this.setOpen(false);
      this.button.focus({focusVisible: false});
      return;
    }
    // In a field these keys move in its text.
    if (event.target.matches("input") && /^(ArrowLeft|ArrowRight|Home|End)$/.test(event.key)) return event.stopPropagation();
    const stops = this.stops(), to = nextOf(event.key, stops.indexOf(document.activeElement), stops.length);
    if (to === null) return;
    take(event);
    stops[to].focus();
  }
}

/** A line of a menu that is on or off; with `radio` it is one of several. */
export function item(text, act, {radio = false, key, ...properties} = {}) {
  return el("button", {
    type: "button",
    class: "menu-item",
    role: radio ? "menuitemradio" : "menuitemcheckbox",
    "aria-checked": "false",
    on: {click: act},
    ...properties
  },
      text, key ? el("kbd", {}, key) : null);
}

export const check = (one, on) => one.setAttribute("aria-checked", String(Boolean(on)));

/** Buttons beside each other of which one is chosen: [{name, text, ...properties}]. `choose` learns the name of the one. */
export class Segment {
  constructor(choices, choose, properties) {
    this.buttons = Object.fromEntries(choices.map(({name, text, ...rest}) => [name, el("button", {
      type: "button",
      role: "radio",
      "aria-checked": "false",
      on: {click: () => choose(name)},
      ...rest
    },
        text)]));
    this.box = el("span", {class: "segment", role: "radiogroup", on: {keydown: (event) => byArrows(event, "button")}, ...properties},
        Object.values(this.buttons));
  }

  /** Of `able` one can choose. */
  set(chosen, able) {
    for (const [name, button] of Object.entries(this.buttons)) {
      check(button, name === chosen);
      button.disabled = !able(name);
      button.tabIndex = name === chosen ? 0 : -1;
    }
  }
}

/** Tabs, of which those that find no room are scrolled to. */
export class Tabs {
  constructor(properties) {
    this.box = el("span", {
      class: "tabs",
      role: "tablist",
      on: {keydown: (event) => byArrows(event, "button"), scroll: () => this.mark()},
      ...properties
    });
    new ResizeObserver(() => this.mark()).observe(this.box);
  }

  /** `tabs`: [{name, text, title, act()}]. */
  set(tabs, chosen) {
    const focused = this.box.contains(document.activeElement);
    fill(this.box, tabs.map(({name, text, title, act}) => el("button", {
      type: "button",
      role: "tab",
      title,
      "aria-selected": String(name === chosen),
      tabindex: name === chosen ? "0" : "-1",
      data: {target: name},
      on: {click: act}
    },
        text)));
    const one = this.box.querySelector("[aria-selected=true]") ?? this.box.firstElementChild;
    if (!one) return;
    one.tabIndex = 0;
    if (focused) one.focus();
    this.box.scrollLeft = Math.min(one.offsetLeft, Math.max(this.box.scrollLeft, one.offsetLeft + one.offsetWidth - this.box.clientWidth));
    this.mark();
  }

  mark() {
    const {scrollLeft, clientWidth, scrollWidth} = this.box;
    this.box.classList.toggle("more", scrollLeft + clientWidth < scrollWidth - 1);
  }
}

/** Arrows choose the next one of a group. */
function byArrows(event, selector) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const all = [...event.currentTarget.querySelectorAll(selector)].filter((one) => !one.disabled);
  const to = nextOf(event.key, all.indexOf(event.target), all.length);
  if (to === null) return;
  take(event);
  all[to].focus();
  all[to].click();
}

/** Where a key leads from `now`, in circles; null: nowhere. */
function nextOf(key, now, many) {
  const to = {ArrowDown: now + 1, ArrowRight: now + 1, ArrowUp: Math.max(now, 0) - 1, ArrowLeft: Math.max(now, 0) - 1, Home: 0, End: many - 1}[key];
  return to === undefined || !many ? null : (to + many) % many;
}

function take(event) {
  event.preventDefault();
  event.stopPropagation();
}
