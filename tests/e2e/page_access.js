// SPDX-License-Identifier: MIT
// What people who see little, or use no mouse, need of the page: each function says what is wrong, as texts.

(() => {
  const seen = (one) => one.checkVisibility({visibilityProperty: true}) && one.getClientRects().length > 0 && !one.closest("[inert]");
  const told = (one) => {
    const {id, className, textContent} = one, role = one.getAttribute("role");
    return [one.tagName.toLowerCase(), id && "#" + id, className && "." + String(className).replaceAll(" ", "."), role && `[${role}]`, ` “${textContent.trim().slice(0, 30)}”`].filter(Boolean).join("");
  };
  const off = (one) => Boolean(one.closest(":disabled, [aria-disabled=true]"));

  // Colors

  const canvas = new OffscreenCanvas(1, 1), context = canvas.getContext("2d", {willReadFrequently: true}), known = new Map();
  const rgba = (text) => {
    if (!known.has(text)) {
      context.clearRect(0, 0, 1, 1);
      context.fillStyle = text;
      context.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
      known.set(text, [r, g, b, a / 255]);
    }
    return known.get(text);
  };
  const over = ([r, g, b, a], below) => [r, g, b].map((value, i) => value * a + below[i] * (1 - a)).concat(1);
  const light = (color) => {
    const [r, g, b] = color.map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [more, less] = [light(a), light(b)].sort((x, y) => y - x);
    return (more + 0.05) / (less + 0.05);
  };
  /** All colors that may be behind what is in an element: a gradient has several. */
  const behind = (one) => {
    if (!one) return [rgba("Canvas")];
    const {backgroundColor, backgroundImage, opacity} = getComputedStyle(one), below = behind(one.parentElement);
    const faint = ([r, g, b, a]) => [r, g, b, a * Number(opacity)];
    const plain = below.map((color) => over(faint(rgba(backgroundColor)), color));
    const layers = backgroundImage.match(/(?:rgba?|color|oklab|oklch)\([^()]*\)/g) ?? [];
    return layers.length ? plain.flatMap((color) => layers.map((layer) => over(faint(rgba(layer)), color))) : plain;
  };
  const opacityOf = (one) => (one ? Number(getComputedStyle(one).opacity) * opacityOf(one.parentElement) : 1);
  const worst = (color, back, opacity = 1) => Math.min(...back.map((one) => contrast(over([...color.slice(0, 3), color[3] * opacity], one), one)));

  const texts = () => {
    const wrong = new Map(), walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const one = walker.currentNode.parentElement;
      if (!walker.currentNode.data.trim() || one.closest("option, script") || !seen(one) || off(one)) continue;
      const {color, fontSize, fontWeight} = getComputedStyle(one), size = parseFloat(fontSize);
      const wants = size >= 24 || (size >= 18.66 && fontWeight >= 700) ? 3 : 4.5, has = worst(rgba(color), behind(one), opacityOf(one));
      if (has < wants) wrong.set(one.className + has, `${has.toFixed(2)} ${told(one)} in ${one.parentElement.className}`);
    }
    return [...wrong.values()];
  };

  const fields = () => [...document.querySelectorAll("input, select, textarea")].filter((one) => seen(one) && !off(one)).flatMap((one) => {
    const {borderTopColor, borderTopWidth} = getComputedStyle(one);
    const has = parseFloat(borderTopWidth) ? worst(rgba(borderTopColor), behind(one.parentElement)) : 3;
    return has < 3 ? [`${has.toFixed(2)} border of ${told(one)}`] : [];
  });

  // Roles

  const OWNS = {listbox: "option", tree: "treeitem", tablist: "tab", grid: "row", row: "gridcell", menu: "[role^=menuitem]", radiogroup: "radio"};
  const STATES = {option: "selected", treeitem: "selected", tab: "selected", radio: "checked", menuitemradio: "checked", menuitemcheckbox: "checked", combobox: "expanded", separator: "valuenow"};
  const roles = () => {
    const wrong = [], all = (selector) => [...document.querySelectorAll(selector)].filter(seen);
    for (const [role, owned] of Object.entries(OWNS)) {
      const inner = owned.startsWith("[") ? owned : `[role=${owned}]`;
      for (const one of all(`[role=${role}]`)) if (!one.querySelector(inner)) wrong.push(`nothing of ${owned} in ${told(one)}`);
      for (const one of all(inner)) if (!one.closest(`[role=${role}]`)) wrong.push(`no ${role} around ${told(one)}`);
    }
    for (const [role, state] of Object.entries(STATES))
      for (const one of all(`[role=${role}]`)) if (!one.hasAttribute("aria-" + state)) wrong.push(`no aria-${state}: ${told(one)}`);
    for (const one of all("[aria-haspopup]")) if (!one.hasAttribute("aria-expanded")) wrong.push(`no aria-expanded: ${told(one)}`);
    for (const one of all("[role=treeitem]")) if (!one.hasAttribute("aria-level")) wrong.push(`no aria-level: ${told(one)}`);
    // The focus is on the list, so it has to say which row is meant.
    for (const one of all("[role=listbox][tabindex='0'], [role=tree], [role=grid]")) {
      const chosen = one.querySelector("[aria-selected=true]"), active = document.getElementById(one.getAttribute("aria-activedescendant"));
      if (chosen && chosen !== active) wrong.push(`aria-activedescendant: ${told(one)}`);
    }
    for (const one of all("[aria-controls]")) if (!document.getElementById(one.getAttribute("aria-controls"))) wrong.push(`aria-controls: ${told(one)}`);
    return wrong;
  };

  /** Targets of a finger: at least 24 pixels, or so far apart. Links in text are exempt, as WCAG has it. */
  const targets = () => {
    const all = [...document.querySelectorAll("button, input, select, summary, nav a, [role=option], [role=treeitem], [role=row], [role=tab]")].filter((one) => seen(one) && !off(one));
    return all.flatMap((one) => {
      const {width, height} = one.getBoundingClientRect();
      return width >= 23.9 && height >= 23.9 ? [] : [`${width.toFixed(1)} x ${height.toFixed(1)}: ${told(one)}`];
    });
  };

  /** What has the focus, and whether that can be seen. */
  const focus = () => {
    const one = document.activeElement, area = one.closest("header, #film, #tree-pane, #picture-tools, .stage, .probe, #state-pane, .splitter, footer");
    if (one === document.body || !area) return {area: one.tagName, ring: true, told: told(one)};
    const {outlineStyle, outlineWidth, outlineColor, boxShadow, backgroundColor} = getComputedStyle(one), back = behind(one.parentElement);
    const ring = outlineStyle !== "none" && parseFloat(outlineWidth) >= 1 ? worst(rgba(outlineColor), behind(one)) : boxShadow !== "none" ? 3 : worst(rgba(backgroundColor), back);
    return {area: area.id || area.className || area.tagName.toLowerCase(), ring: ring >= 3, told: `${told(one)} ${ring.toFixed(2)}`};
  };
  window.access = {texts, fields, roles, targets, focus};
})()
