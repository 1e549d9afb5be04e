// SPDX-License-Identifier: MIT
// The page: the header, which view is shown, the keys, and what is said when nothing can be shown.

import {aborted, api, TOKEN} from "./api.js";
import {byId, chip, count, el, fill, later, number, size} from "./dom.js";
import {Debug} from "./debug.js";
import {Edit} from "./edit.js";
import {forget} from "./facts.js";
import {Film} from "./film.js";
import {askForGpus, lacksGpu, showGpu} from "./gpus.js";
import {forgetViews, left, listenToLinks} from "./links.js";
import {Capture} from "./lists.js";
import {Mesh} from "./mesh.js";
import {Drawer, Objects} from "./objects.js";
import {nextTarget, Picture, PRESENTED} from "./picture.js";
import {Report} from "./report.js";
import {address, changed, frameOf, go, isPosition, onRoute, route} from "./route.js";
import {Search} from "./search.js";
import {Shaders} from "./shaders.js";
import {State} from "./state.js";
import {counterpart} from "./step.js";
import {Tree, windowPath} from "./tree.js";

const root = document.documentElement;
const TITLE = {
  commands: "Commands",
  objects: "Objects",
  shaders: "Shaders",
  report: "Report"
};
// What the page has for each view. All that is left stops to ask.
const VIEWS = {
  commands: ["film", "tree", "picture", "state", "edit", "debug"],
  objects: ["objects"],
  shaders: ["shaders"],
  report: ["report"]
};
// Elements without listeners whose contents are of one trace.
const OF_TRACE = [
  "facts", "work", "film-tools", "tree-title", "tree-modes", "tree-message", "picture-pane", "edit-pane", "debug-pane",
  "objects-title",
  "object-types", "object-message", "object-view", "shader-tools", "shader-message", "shader-view",
  "report-view"
];
let parts = null;
let opening = null; // the last trace; false: it can't be shown

const KEYS = [
  ["n p", "next and previous draw, also across frames"], ["[ ] or ← →", "the same command in the previous and next frame"],
  ["↑ ↓ ← → Home End", "in the commands: move, open, close"], ["/", "search"], ["b", "before and after the command, or the change of a shader"],
  ["d", "dim what it does not change"], ["f", "flip the picture"], ["1", "fit, or a texel for a pixel"],
  ["wheel, drag", "zoom and move the picture"], ["click", "pin a texel: its values stay while you step, and its history is listed"],
  [", .", "previous and next command that changed the pinned texel"], ["Esc", "close, unpin"], ["?", "these keys"]
];

const settle = later(60, () => {
  const busy = api.running > 0;
  if (root.dataset.state !== "failed") root.dataset.state = busy ? "loading" : "ready";
  const away = busy || route.view !== "commands";
  parts?.film?.idle(away);
  parts?.tree?.idle(away);
});

function boot() {
  api.watchers = {
    busy: (running) => {
      if (running && root.dataset.state === "ready") root.dataset.state = "loading";
      settle();
    },
    lost,
    incomplete: (sentence) => {
      byId("incomplete").hidden = false;
      byId("incomplete").title = sentence;
    }
  };
  listen();
  onRoute(show);
  if (api.takeToken()) {
    changed();
    begin();
  } else {
    api.keepPlace();
    gate("This page needs its key",
        "Open the address that lapilli serve printed. It has a token in it that lets this browser look into your traces.",
        `http://${location.host}/?token=…`);
  }
}

/** The address of a trace that has got another id since the link was copied has the name of its file, too. */
function byFile({query}) {
  const found = parts.captures.filter(({file}) => query.file === file);
  return found.length === 1 ? found[0].id : null;
}

/** Asks which traces there are, and shows what the address says; again where the server did not answer. */
async function begin() {
  let captures;
  try {
    ({captures} = await api.json("/v1/captures"));
  } catch (error) {
    if (![0, 401].includes(error.status))
      gate("No answer", error.sentence ?? String(error), "lapilli serve run.lapilli");
    return;
  }
  if (captures.length === 0)
    return gate("No trace is open", "Give lapilli serve a trace, or a folder of them.", "lapilli serve run.lapilli");
  const select = byId("captures");
  fill(select, captures.map(({id, file}) => el("option", {value: id}, file)));
  select.hidden = captures.length < 2;
  byId("file").hidden = captures.length > 1;
  reset("");
  askForGpus();
  parts = {...parts, captures};
  if (captures.some(({id}) => id === route.capture)) return changed(route.says);
  if (byFile(route)) return go({capture: byFile(route), query: {file: null}}, {replace: true});
  const [{id, file}] = captures, options = {replace: true};
  if (route.capture) options.sentence = `There is no trace ${route.capture}: this is ${file}.`;
  // The one trace that is open may have had another id when the address was kept.
  if (captures.length === 1 && route.capture) return go({capture: id}, options);
  go({capture: id, view: "commands", subject: ""}, {...options, fresh: true});
}

// While one steps quickly, only the last state is asked for.
const showState = later(50, (position) => parts.state.show(position));

/** Shows what the address says. */
async function show(now) {
  if (!parts) return;
  const found = parts.captures.find(({id}) => id === now.capture);
  if (!found && byFile(now)) return go({capture: byFile(now), query: {file: null}}, {replace: true});
  if (found && now.query.file) return go({query: {file: null}}, {replace: true, sentence: now.says});
  if (!found) {
    leave("");
    byId("captures").value = "";
    return gate("No such trace", "The server has other traces open than the one of this address.", "");
  }
  const {gpu = ""} = now.query, lacked = gpu && await lacksGpu(gpu);
  if (now !== route) return;
  if (lacked) return go({query: {gpu: null}}, {replace: true, sentence: [now.says, lacked].filter(Boolean).join(" ")});
  if (api.capture !== now.capture || api.gpu !== gpu) opening = open(found, gpu);
  if (!(await opening) || now !== route) return;
  byId("gate").hidden = true;
  if (root.dataset.state === "failed") root.dataset.state = "loading";
  settle();
  byId("captures").value = found.id;
  const {view, subject, query, says} = now;
  if (!TITLE[view])
    return go({view: "commands", subject: ""},
        {replace: true, fresh: true, sentence: `There is no view ${view}: these are the commands.`});
  if (view === "commands" && !isPosition(subject)) {
    const first = await start();
    const sentence = subject ? `There is no command ${subject}: this is ${first.subject}.` : says;
    return now === route ? go(first, {replace: true, sentence}) : undefined;
  }
  leave(view);
  byId("said").hidden = !says;
  byId("said").textContent = says;
  if (view === "commands") left.at = subject;
  left[view] = {subject, query: {...query}};
  delete left[view].query.gpu; // that is the same in all views
  for (const name of Object.keys(TITLE)) byId(name).hidden = name !== view;
  byId("film").hidden = view !== "commands" || !parts.capture.frames.marked;
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
    parts.film.show(subject);
    parts.tree.show(subject, query.show ?? "work");
    parts.edit.show(query);
    parts.debug.show(subject, query);
    parts.picture.show(subject, query);
    showState(query.show === "calls" && query.call ? "#" + query.call : subject);
  } else if (view === "objects")
    parts.objects.show(subject, query, left.at ?? "");
  else if (view === "report")
    parts.report.show();
  else
    parts.shaders.show(subject, query);
  parts.drawer.show(view === "commands" ? query.object ?? "" : "", query, subject);
}

/** What the header says of the capture: only the first view waits for it. */
async function showFacts(found) {
  const info = await api.json(api.path("/info"));
  if (api.capture !== found.id) return info;
  fill(byId("facts"), [
    (info.program ?? "").split("/").pop(), info.recorded_on?.device?.replace(/ \(.*/, ""),
    info.frames ? `${number(info.frames)} frame${info.frames > 1 ? "s" : ""}` : "no frames", size(info.bytes.file)
  ].filter(Boolean).join(" · "));
  byId("facts").title = [
    info.program, info.recorded_on?.driver, `Vulkan ${info.recorded_on?.api_version}`, info.stopped
  ].filter(Boolean).join("\n");
  if (info.complete === false) api.watchers.incomplete(info.stopped ?? "the trace is incomplete");
  return info;
}

/** All views but one stop to ask. */
function leave(view) {
  if (view !== "commands") showState.cancel();
  for (const [name, views] of Object.entries(VIEWS))
    if (name !== view)
      for (const one of views) parts?.[one]?.leave();
}

/** Takes away what the page shows of a trace and asks about it, before it comes to another one. */
function reset(capture, gpu) {
  leave("");
  api.open(capture, gpu);
  showGpu();
  forget();
  forgetViews();
  const {captures, state, drawer, search} = parts ?? {};
  parts = {captures, state, drawer, search};
  state?.reset();
  search?.reset();
  drawer?.show("", {}, "");
  for (const id of ["film-strip", "tree", "object-list", "shader-list"])
    byId(id).replaceWith(byId(id).cloneNode(false));
  for (const id of OF_TRACE) {
    fill(byId(id));
    for (const name of Object.keys(byId(id).dataset)) delete byId(id).dataset[name];
  }
  byId("incomplete").hidden = byId("said").hidden = true;
}

async function open(found, gpu) {
  reset(found.id, gpu);
  byId("captures").value = found.id;
  byId("file").textContent = found.file;
  byId("file").title = byId("captures").title = found.path;
  try {
    const capture = new Capture(), edit = new Edit();
    await capture.frames.part(0).promise;
    const facts = showFacts(found);
    facts.catch(() => {});
    Object.assign(parts, {
      capture,
      facts,
      film: new Film(capture, found),
      tree: new Tree(capture, found),
      edit,
      debug: new Debug(),
      picture: new Picture(capture, edit),
      state: parts.state ?? new State(capture),
      objects: new Objects(capture),
      shaders: new Shaders(),
      report: new Report(capture),
      drawer: parts.drawer ?? new Drawer(),
      search: parts.search ?? new Search()
    });
    parts.picture.views.push(new Mesh());
    parts.state.capture = capture;
    capture.messages.listeners.push(() => parts.state?.say());
    parts.state.offer(parts.captures.filter(({id}) => id !== found.id));
    return true;
  } catch (error) {
    if (aborted(error)) return false; // another one is opened
    api.open("");
    if (![0, 401, 410].includes(error.status)) gate("The trace can't be read", error.sentence ?? String(error), "");
    return false;
  }
}

/** Where one begins to look: the last draw of a busy frame, with what the frame presents. */
async function start() {
  const {frames} = parts.capture;
  const node = await frames.busy().catch(() => null) ?? await frames.next(0, 1).catch(() => null);
  if (!node) return {subject: "1"};
  api.json(windowPath(node.position, 0)).catch(() => {}); // which the tree will ask for
  const draws = await parts.capture.draws(Number(node.position));
  const last = await draws.last().catch(() => null);
  const presents = await parts.facts.then((info) => info.uses?.extensions?.includes("VK_KHR_swapchain"), () => false);
  return {subject: last?.position ?? node.position, query: {target: presents && frames.marked ? PRESENTED : null}};
}

async function stepDraw(step) {
  if (!parts?.capture || route.view !== "commands") return;
  // Quick steps count from where the last one goes.
  stepDraw.queue = (stepDraw.queue ?? Promise.resolve())
                       .then(async () => {
                         const {capture, subject} = route;
                         const row = await parts.capture.neighbour(subject, step);
                         if (row && route.capture === capture && route.view === "commands")
                           go({subject: row.position, query: {target: nextTarget()}});
                       })
                       .catch(() => {});
}

/** Goes to the command of another frame that stands at the same place. Target, pin and view stay. */
async function stepFrame(step) {
  if (!parts?.capture || route.view !== "commands") return;
  stepFrame.queue = (stepFrame.queue ?? Promise.resolve()).then(async () => {
    const {capture, subject} = route, frame = frameOf(subject) + step;
    if (frame < 1 || frame > parts.capture.frames.total) return;
    // Where a frame lacks the command, the next one may have it again.
    const from = stepFrame.lost?.at === subject && stepFrame.lost.capture === capture ? stepFrame.lost.from : subject;
    const {position, how} = await counterpart(from, frame);
    if (route.capture !== capture || route.view !== "commands") return;
    const exact = how === "path" || how === "draw" || !from.includes(".");
    stepFrame.lost = exact ? null : {at: position, from, capture};
    const sentence = exact ? "" : `Frame ${frame} has no command like ${from}: this is ${how === "pass" ? "its pass" : "the frame"}.`;
    go({subject: position, query: {target: nextTarget()}}, {sentence});
  }).catch(() => {});
}

function listen() {
  listenToLinks();
  document.addEventListener("next-draw", () => stepDraw(1));
  document.addEventListener("keydown", key);
  // Another window has got a token.
  addEventListener("storage", ({key}) => {
    if (key === TOKEN && root.dataset.state === "failed" && api.newerToken()) begin();
  });
  byId("copy-link").addEventListener("click", copyLink);
  const select = byId("captures");
  select.addEventListener("change", () => go({capture: select.value, view: "commands", subject: ""}, {fresh: true}));
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

/** A link to what is shown, without the token. It has the name of the file, since ids change with the files and the programs. */
async function copyLink({currentTarget: button}) {
  const link = `${location.origin}/${address({...route, query: {...route.query, file: byId("file").textContent}})}`;
  button.dataset.link = link;
  const done = await navigator.clipboard.writeText(link).then(() => true, () => false);
  button.firstChild.data = done ? "copied" : "copy the address";
  setTimeout(() => { button.firstChild.data = "copy link"; }, 2000);
}

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || !parts?.film ||
      event.target.closest("input, select, textarea, dialog"))
    return;
  const commands = route.view === "commands";
  const acts = {
    "/": () => byId("search-text").focus(),
    "?": () => byId("keys").showModal(),
    Escape: () => {
      if (!byId("drawer").hidden)
        parts.drawer.close();
      else if (commands && parts.picture.history.open)
        parts.picture.history.close();
    }
  };
  if (commands)
    Object.assign(acts, {
      n: () => stepDraw(1),
      p: () => stepDraw(-1),
      "[": () => stepFrame(-1),
      "]": () => stepFrame(1),
      ArrowLeft: () => stepFrame(-1),
      ArrowRight: () => stepFrame(1),
      b: () => parts.picture.toggleBefore(),
      d: () => parts.picture.toggleChanges(),
      ",": () => parts.picture.history.step(-1),
      ".": () => parts.picture.history.step(1),
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
  new ResizeObserver(() => { splitter.ariaValueNow = Math.round(100 * pane.offsetWidth / innerWidth); }).observe(pane);
  splitter.addEventListener("pointerdown", (event) => {
    const from = event.clientX, width = pane.offsetWidth;
    const move = (next) => set(width + sign * (next.clientX - from));
    splitter.setPointerCapture(event.pointerId);
    splitter.addEventListener("pointermove", move);
    for (const name of ["pointerup", "pointercancel"])
      splitter.addEventListener(name, () => splitter.removeEventListener("pointermove", move), {once: true});
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
    gate("The trace has changed", error.sentence, "", chip("look again", null, () => location.reload()));
  else if (error.status === 0)
    gate("The server does not answer", "Has lapilli serve ended?", "",
        chip("try again", null, begin, {id: "begin"}));
  else if (api.newerToken())
    begin();
  else {
    api.keepPlace();
    gate("This page's key does not fit",
        "The server was started again, perhaps. Open the address that lapilli serve printed. It leads to this place.",
        `http://${location.host}/?token=…`);
  }
}

function gate(title, sentence, code, ...more) {
  root.dataset.state = "failed";
  byId("gate").hidden = false;
  fill(byId("gate"),
      el("div", {}, el("img", {src: "icon.svg", alt: ""}), el("h1", {}, title), el("p", {}, sentence),
          code ? el("code", {}, code) : null, more));
}

boot();
