// SPDX-License-Identifier: MIT
// The page: the header, which view is shown, the keys, and what is said when nothing can be shown.

import {api} from "./api.js";
import {byId, el, fill, later, number, size} from "./dom.js";
import {forget} from "./facts.js";
import {Film} from "./film.js";
import {forgetViews, left, listenToLinks} from "./links.js";
import {Capture} from "./lists.js";
import {Drawer, Objects} from "./objects.js";
import {Picture} from "./picture.js";
import {changed, go, isPosition, onRoute, route} from "./route.js";
import {Search} from "./search.js";
import {Shaders} from "./shaders.js";
import {State} from "./state.js";
import {Tree, windowPath} from "./tree.js";

const root = document.documentElement;
const TITLE = {
  commands: "Commands",
  objects: "Objects",
  shaders: "Shaders"
};
let parts = null;

const KEYS = [
  ["n p", "next and previous draw, also across frames"], ["[ ] or ← →", "previous and next frame"],
  ["↑ ↓ ← → Home End", "in the commands: move, open, close"], ["/", "search"], ["b", "before and after the command"],
  ["d", "dim what the command does not change"], ["f", "flip the picture"], ["1", "fit, or a texel for a pixel"],
  ["wheel, drag", "zoom and move the picture"], ["click", "pin a texel: its values stay while you step"],
  ["Esc", "close"], ["?", "these keys"]
];

async function boot() {
  const settle = later(60, (busy) => {
    if (root.dataset.state !== "failed") root.dataset.state = busy ? "loading" : "ready";
    parts?.film?.idle(busy || route.view !== "commands");
  });
  api.watchers = {
    busy: (running) => {
      if (running && root.dataset.state === "ready") root.dataset.state = "loading";
      settle(running > 0);
    },
    lost,
    incomplete: (sentence) => {
      byId("incomplete").hidden = false;
      byId("incomplete").title = sentence;
    }
  };
  listen();
  if (!api.takeToken())
    return gate("This page needs its key",
        "Open the address that lapilli serve printed. It has a token in it that lets this browser look into your traces.",
        "http://127.0.0.1:4711/?token=…");
  let captures;
  try {
    ({captures} = await api.json("/v1/captures"));
  } catch (error) {
    return error.status === 401 ? undefined
                                : gate("No answer", error.sentence ?? String(error), "lapilli serve run.lapilli");
  }
  if (captures.length === 0)
    return gate("No trace is open", "Give lapilli serve a trace, or a folder of them.", "lapilli serve run.lapilli");
  const select = byId("captures");
  fill(select, captures.map(({id, file}) => el("option", {value: id}, file)));
  select.hidden = captures.length < 2;
  byId("file").hidden = captures.length > 1;
  select.addEventListener("change", () => go({capture: select.value, view: "commands", subject: ""}, {fresh: true}));
  parts = {captures};
  onRoute(show);
  if (captures.some(({id}) => id === route.capture)) return changed();
  // The one trace that is open may have had another id when the address was kept.
  if (captures.length === 1 && route.capture) return go({capture: captures[0].id}, {replace: true});
  go({capture: captures[0].id, view: "commands", subject: ""}, {replace: true, fresh: true});
}

// While one steps quickly, only the last state is asked for.
const showState = later(50, (position) => parts.state.show(position));

/** Shows what the address says. */
async function show(now) {
  const found = parts.captures.find(({id}) => id === now.capture);
  if (!found) return gate("No such trace", "The server has other traces open than the one of this address.", "");
  if (api.capture !== now.capture && !(await open(found))) return;
  if (now !== route) return;
  byId("gate").hidden = true;
  const {view, subject, query} = now;
  if (!TITLE[view]) return go({view: "commands", subject: ""}, {replace: true, fresh: true});
  if (view === "commands" && !isPosition(subject)) return go({subject: await start()}, {replace: true});
  if (view === "commands") {
    left.at = subject;
    parts.film.show(subject);
  }
  left[view] = {subject, query};
  for (const name of Object.keys(TITLE)) byId(name).hidden = name !== view;
  byId("film").hidden = view !== "commands";
  for (const tab of byId("tabs").children) {
    const current = tab.dataset.view === view &&
        (tab.dataset.type ?? "") ===
            (view === "objects" && ["VkImage", "VkBuffer"].includes(query.type) ? query.type : "");
    if (current)
      tab.setAttribute("aria-current", "page");
    else
      tab.removeAttribute("aria-current");
  }
  document.title = `${subject || TITLE[view]} · ${found.file}`;
  if (view === "commands") {
    parts.tree.show(subject, query.show ?? "work");
    parts.picture.show(subject, query);
    showState(subject);
  } else if (view === "objects")
    parts.objects.show(subject, query, left.at ?? "");
  else
    parts.shaders.show(subject, query);
  parts.drawer.show(view === "commands" ? query.object ?? "" : "", query, subject);
}

/** What the header says of the capture; nothing waits for it. */
async function showFacts(found) {
  const info = await api.json(api.path("/info"));
  if (api.capture !== found.id) return;
  fill(byId("facts"), [
    (info.program ?? "").split("/").pop(), info.recorded_on?.device?.replace(/ \(.*/, ""),
    `${number(info.frames)} frames`, size(info.bytes.file)
  ].filter(Boolean).join(" · "));
  byId("facts").title = [
    info.program, info.recorded_on?.driver, `Vulkan ${info.recorded_on?.api_version}`, info.stopped
  ].filter(Boolean).join("\n");
  if (info.complete === false) api.watchers.incomplete(info.stopped ?? "the trace is incomplete");
}

async function open(found) {
  api.capture = found.id;
  forget();
  forgetViews();
  byId("captures").value = found.id;
  byId("file").textContent = found.file;
  byId("file").title = byId("captures").title = found.path;
  byId("incomplete").hidden = true;
  fill(byId("facts"));
  try {
    const capture = new Capture();
    await capture.frames.part(0).promise;
    showFacts(found).catch(() => {});
    for (const id of ["film-strip", "tree", "object-list", "shader-list"])
      byId(id).replaceWith(byId(id).cloneNode(false));
    Object.assign(parts, {
      capture,
      film: new Film(capture, found),
      tree: new Tree(capture),
      picture: parts.picture ?? new Picture(),
      state: parts.state ?? new State(capture),
      objects: new Objects(capture),
      shaders: new Shaders(),
      drawer: parts.drawer ?? new Drawer(),
      search: parts.search ?? new Search()
    });
    parts.state.capture = capture;
    parts.picture.wanted = parts.state.at = "";
    return true;
  } catch (error) {
    api.capture = "";
    if (![401, 410].includes(error.status)) gate("The trace can't be read", error.sentence ?? String(error), "");
    return false;
  }
}

/** Where one begins to look: the first frame that draws. */
async function start() {
  const {frames} = parts.capture;
  const node = await frames.next(0, 1).catch(() => null);
  if (!node) return "1";
  api.json(windowPath(node.position, 0)).catch(() => {}); // which the tree will ask for
  const draws = await parts.capture.draws(Number(node.position));
  return draws.get(0).then((row) => row.position, () => node.position);
}

async function stepDraw(step) {
  if (!parts?.capture || route.view !== "commands") return;
  // Quick steps count from where the last one goes.
  stepDraw.queue = (stepDraw.queue ?? Promise.resolve())
                       .then(async () => {
                         const row = await parts.capture.neighbour(route.subject, step);
                         if (row)
                           go({
                             subject: row.position,
                             query: {target: route.query.target === "presented" ? null : route.query.target}
                           });
                       })
                       .catch(() => {});
}

function listen() {
  listenToLinks();
  document.addEventListener("next-draw", () => stepDraw(1));
  document.addEventListener("keydown", key);
  byId("keys-open").addEventListener("click", () => byId("keys").showModal());
  fill(byId("keys"), el("strong", {}, "Keys"),
      el("dl", {},
          KEYS.map(([
            keys, text
          ]) => [el("dt", {},
                       keys.split(" ").map(
                           (one) => (/^(or|wheel,|drag|click)$/.test(one) ? ` ${one} ` : [el("kbd", {}, one), " "]))),
                       el("dd", {}, text)])));
  byId("keys").addEventListener("click", (event) => {
    if (event.target === byId("keys")) byId("keys").close();
  });
  for (const splitter of document.querySelectorAll(".splitter")) split(splitter);
}

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || !parts?.film ||
      event.target.closest("input, select, textarea, dialog"))
    return;
  const commands = route.view === "commands";
  const frame = (by) => {
    if (commands) parts.film.step(by);
  };
  const acts = {
    "/": () => byId("search-text").focus(),
    "?": () => byId("keys").showModal(),
    Escape: () => {
      if (!byId("drawer").hidden) parts.drawer.close();
    }
  };
  if (commands)
    Object.assign(acts, {
      n: () => stepDraw(1),
      p: () => stepDraw(-1),
      "[": () => frame(-1),
      "]": () => frame(1),
      ArrowLeft: () => frame(-1),
      ArrowRight: () => frame(1),
      b: () => parts.picture.toggleBefore(),
      d: () => parts.picture.toggleChanges(),
      f: () => parts.picture.viewer.flip(),
      1: () => parts.picture.viewer.toggleSize()
    });
  // With the focus on nothing, what moves up and down moves in the commands.
  if (commands && event.target === document.body && /^(Arrow(Up|Down)|Page(Up|Down)|Home|End)$/.test(event.key))
    return parts.tree.key(event);
  if (event.key.startsWith("Arrow") &&
      event.target.closest("[role=separator], [role=listbox]:not(#film-strip), summary"))
    return;
  if (!acts[event.key]) return;
  event.preventDefault();
  acts[event.key]();
}

/** A line between panes that can be dragged. */
function split(splitter) {
  const name = splitter.dataset.splits, sign = name === "tree" ? 1 : -1;
  const stored = (() => {
    try {
      return Number(localStorage.getItem("lapilli-" + name));
    } catch { return 0; }
  })();
  const set = (width) => {
    const wanted = Math.round(Math.max(200, Math.min(width, innerWidth * 0.5)));
    byId("commands").style.setProperty("--" + name, `${wanted}px`);
    try {
      localStorage.setItem("lapilli-" + name, wanted);
    } catch { /* storage is off */
    }
  };
  if (stored) set(stored);
  const pane = byId(name + "-pane");
  splitter.addEventListener("pointerdown", (event) => {
    const from = event.clientX, width = pane.offsetWidth;
    const move = (next) => set(width + sign * (next.clientX - from));
    splitter.setPointerCapture(event.pointerId);
    splitter.addEventListener("pointermove", move);
    splitter.addEventListener("pointerup", () => splitter.removeEventListener("pointermove", move), {once: true});
  });
  splitter.addEventListener("keydown", (event) => {
    const by = {ArrowLeft: -20, ArrowRight: 20}[event.key];
    if (!by) return;
    set(pane.offsetWidth + sign * by);
    event.preventDefault();
    event.stopPropagation();
  });
}

function lost(error) {
  if (error.status === 410)
    gate("The trace has changed", error.sentence, "",
        el("button", {type: "button", class: "chip", on: {click: () => location.reload()}}, "look again"));
  else
    gate("This page's key does not fit",
        "The server was started again, perhaps. Open the address that lapilli serve printed.",
        "http://127.0.0.1:4711/?token=…");
}

function gate(title, sentence, code, ...more) {
  root.dataset.state = "failed";
  byId("gate").hidden = false;
  fill(byId("gate"),
      el("div", {}, el("img", {src: "icon.svg", alt: ""}), el("h1", {}, title), el("p", {}, sentence),
          code ? el("code", {}, code) : null, more));
}

boot();
