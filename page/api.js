// SPDX-License-Identifier: MIT
// All requests to the server go through here: the token, a cache of answers, and limits on how many run at once.

/** An answer that says no. `sentence` is the server's. */
export class ApiError extends Error {
  constructor(status, sentence, log = "") {
    super(sentence);
    this.status = status;
    this.log = log; // what a compiler said
    this.sentence = sentence.replace(/^error: /, "");
  }
}

export const TOKEN = "lapilli-token";
const PLACE = "lapilli-place";
const CACHE_BYTES = 96 << 20;
const PICTURE_BYTES = 128 << 20;
const PLAYS = /^\/(framebuffer|each|overdraw|pixel|debug|mesh|profile|screenshots|check|validation)\b|^\/memory\/[^/]+\/after\//;

/** Lets `limit` of its tasks run at once, the others in their order. */
class Gate {
  constructor(limit) {
    this.free = limit;
    this.waiting = [];
  }
  async run(task, signal) {
    if (this.free > 0)
      this.free--;
    else
      await this.turn(signal);
    try {
      signal.throwIfAborted();
      return await task();
    } finally {
      const next = this.waiting.shift();
      if (next)
        next();
      else
        this.free++;
    }
  }
  /** Who gives up leaves the queue at once. */
  turn(signal) {
    return new Promise((go, fail) => {
      this.waiting.push(go);
      signal.addEventListener("abort", () => {
        const at = this.waiting.indexOf(go);
        if (at < 0) return;
        this.waiting.splice(at, 1);
        fail(signal.reason);
      }, {once: true});
    });
  }
}

/** Keeps the answers that were used last, up to a sum of sizes. */
class Lru {
  constructor(limit, drop = () => {}) {
    this.limit = limit;
    this.drop = drop;
    this.sum = 0;
    this.map = new Map();
  }
  get(key) {
    const entry = this.map.get(key);
    if (!entry) return undefined;
    this.map.delete(key);
    this.map.set(key, entry);
    return entry.value;
  }
  set(key, value, bytes) {
    if (this.map.has(key)) this.sum -= this.map.get(key).bytes;
    this.map.delete(key);
    this.map.set(key, {value, bytes});
    this.sum += bytes;
    for (const [oldest, entry] of this.map) {
      if (this.sum <= this.limit || oldest === key) break;
      this.map.delete(oldest);
      this.sum -= entry.bytes;
      this.drop(entry.value);
    }
  }
}

class Api {
  constructor() {
    this.capture = "";
    this.gpu = ""; // that replays are asked for; "": none is named
    this.opened = new AbortController();
    this.token = "";
    this.cache = new Lru(CACHE_BYTES);
    this.pictures = new Lru(PICTURE_BYTES, (url) => setTimeout(() => URL.revokeObjectURL(url), 10000));
    this.flights = new Map();
    // A browser opens six connections to a server. Three may wait for replays: one of these is for pictures that may be
    // late, which hold nothing else up.
    this.gates = {now: new Gate(3), late: new Gate(1), long: new Gate(2), lateLong: new Gate(1)};
    this.running = 0;
    this.watchers = {busy: () => {}, incomplete: () => {}, lost: () => {}};
  }

  /**
   * Takes the token out of the address, or finds the one of an earlier visit. An address without a place is completed by the
   *  one that was kept.
   */
  takeToken() {
    const query = new URLSearchParams(location.search);
    const given = query.get("token");
    if (given) {
      this.token = given;
      keep(sessionStorage, given);
      keep(localStorage, given);
      const place = location.hash.length > 2 ? location.hash : read(localStorage, PLACE) ?? "";
      drop(localStorage, PLACE);
      history.replaceState(null, "", location.pathname + place);
    } else
      this.token = read(sessionStorage) || read(localStorage) || "";
    return this.token !== "";
  }

  /** Takes the token that another window has got since. False: there is none but this one. */
  newerToken() {
    const found = read(localStorage);
    if (!found || found === this.token) return false;
    this.token = found;
    keep(sessionStorage, found);
    return true;
  }

  /** Keeps the place of the address for the window that is opened with a token. */
  keepPlace() {
    if (location.hash.length > 2) keep(localStorage, location.hash, PLACE);
  }

  /** Chooses a capture, and the GPU that plays it. All that was asked about the one before is ended. */
  open(capture, gpu = "") {
    this.opened.abort();
    this.opened = new AbortController();
    this.capture = capture;
    this.gpu = gpu;
  }

  /** Ends with `signal`, and with the chosen capture. */
  until(signal) { return signal ? AbortSignal.any([signal, this.opened.signal]) : this.opened.signal; }

  /**
   * A path below the chosen capture, or another one, with its queries; those without a value are left out. Replays have the chosen
   *  GPU.
   */
  path(below, queries = {}, capture = this.capture) {
    const text =
        Object.entries(PLAYS.test(below) ? {...queries, gpu: this.gpu} : queries)
            .filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false)
            .map(([name, value]) => `${name}=${
                     encodeURIComponent(value === true ? "1" : value).replace(/%2C/g, ",").replace(/%3A/g, ":")}`)
            .join("&");
    return `/v1/captures/${capture}${below}${text ? "?" + text : ""}`;
  }

  /** An answer that is of no capture, and is asked for anew each time. */
  async now(path) {
    const response = await this.send(path, new AbortController().signal, "*/*");
    return response.json();
  }

  json(path, options) { return this.ask(path, {...options, as: "json"}); }
  lines(path, options) { return this.ask(path, {...options, as: "lines"}); }
  bytes(path, options) { return this.ask(path, {...options, as: "bytes"}); }
  /** The address of a blob with the picture. It stays good while the picture is among the last 128 MiB. */
  picture(path, options) { return this.ask(path, {...options, as: "picture"}); }
  /** The same if it is here, or undefined. */
  pictureHere(path) { return this.pictures.get("picture" + path); }

  /**
   * An answer, from the cache if it is there. The same question is asked once at a time, and ended when nobody waits.
   */
  ask(path, {as, signal, late = false}) {
    const key = as + path;
    const store = as === "picture" ? this.pictures : this.cache;
    const cached = store.get(key);
    if (cached !== undefined) return Promise.resolve(cached);
    const until = this.until(signal);
    if (until.aborted) return Promise.reject(until.reason);
    let flight = this.flights.get(key);
    if (!flight) {
      const end = new AbortController();
      flight = {
        end,
        waiters: 0,
        answer: this.fetch(path, as, end.signal, late).finally(() => {
          if (this.flights.get(key) === flight) this.flights.delete(key);
        })
      };
      this.flights.set(key, flight);
    }
    flight.waiters++;
    return new Promise((resolve, reject) => {
      const leave = () => {
        reject(until.reason);
        if (--flight.waiters > 0) return;
        flight.end.abort();
        if (this.flights.get(key) === flight) this.flights.delete(key);
      };
      until.addEventListener("abort", leave);
      flight.answer.then(resolve, reject).finally(() => until.removeEventListener("abort", leave));
    });
  }

  fetch(path, as, signal, late) {
    return this.gates[late ? "late" : "now"].run(() => this.counted(late, async () => {
      const response = await this.send(path, signal, "*/*");
      if (as === "picture") {
        const blob = await this.given(response.blob(), signal), url = URL.createObjectURL(blob);
        this.pictures.set(as + path, url, blob.size);
        return url;
      }
      const read = await this.given(as === "bytes" ? response.arrayBuffer() : response.text(), signal);
      const value = as === "json" ? JSON.parse(read) : as === "lines" ? parseLines(read) : read;
      // What a capture is never changes; the list of captures does.
      if (path.split("/").length > 4) this.cache.set(as + path, value, 2 * (read.length ?? read.byteLength));
      return value;
    }), signal);
  }

  async send(path, signal, accept, more = {}) {
    const headers = {Accept: accept, Authorization: "Bearer " + this.token};
    const response = await this.given(fetch(path, {signal, headers, ...more}), signal);
    const incomplete = response.headers.get("Lapilli-Incomplete");
    if (incomplete) this.watchers.incomplete(incomplete);
    if (!response.ok) {
      const {error, log} = await response.json().catch(() => ({error: response.statusText}));
      throw this.lose(new ApiError(response.status, error, log));
    }
    return response;
  }

  /** What comes from the server. It fails where `signal` or the server ends it. */
  async given(promise, signal) {
    try {
      return await promise;
    } catch (error) {
      if (signal.aborted) throw error;
      throw this.lose(new ApiError(0, "the server does not answer: has lapilli serve ended?"));
    }
  }

  /** Without a server, its key or the trace nothing can be shown any more. */
  lose(error) {
    if ([0, 401, 410].includes(error.status)) this.watchers.lost(error);
    return error;
  }

  /**
   * Has the server make an answer that takes long, and says how far it is. The answer itself is asked for afterwards.
   *  An abort of `signal` ends the work.
   */
  work(path, {signal, progress = () => {}, picture = () => {}, late = false} = {}) {
    const until = this.until(signal);
    return this.gates[late ? "lateLong" : "long"].run(() => this.counted(late, async () => {
      const response = await this.send(path, until, "text/event-stream");
      if (!response.headers.get("Content-Type")?.startsWith("text/event-stream")) return void response.body?.cancel();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for await (const {event, data} of events(() => this.given(reader.read(), until))) {
        if (event === "progress")
          progress(data.done, data.all);
        else if (event === "picture")
          picture(data.path);
        else if (event === "failed")
          throw this.lose(new ApiError(data.status, data.error, data.log));
        else if (event === "done")
          return;
      }
      throw new ApiError(0, "the server ended its answer early");
    }), until);
  }

  /** Gives the server code of a shader; `kind` as the server has it. Its name there. */
  sendCode(kind, text, signal) {
    const until = this.until(signal);
    return this.gates.now.run(() => this.counted(false, async () => {
      const response = await this.send("/v1/code/" + kind, until, "application/json", {method: "POST", body: text});
      return (await this.given(response.json(), until)).code;
    }), until);
  }

  async counted(late, task) {
    if (late) return task();
    this.enter();
    try {
      return await task();
    } finally { this.leave(); }
  }

  /** Something that the page waits for begins, and ends. */
  enter() { this.watchers.busy(++this.running); }
  leave() { this.watchers.busy(--this.running); }
}

function keep(storage, value, name = TOKEN) {
  try {
    storage.setItem(name, value);
  } catch { /* storage is off: the token lasts as long as the page */
  }
}
function read(storage, name = TOKEN) {
  try {
    return storage.getItem(name);
  } catch { return null; }
}
function drop(storage, name) {
  try {
    storage.removeItem(name);
  } catch { /* storage is off */
  }
}

const parseLines = (text) => text.split("\n").filter((line) => line).map((line) => JSON.parse(line));

/** The server-sent events of a body that `read` gives in pieces. */
async function* events(read) {
  let rest = "";
  for (;;) {
    const {done, value} = await read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split("\n").map(
          (line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]));
      if (fields.data) yield {event: fields.event, data: JSON.parse(fields.data)};
    }
  }
}

export const api = new Api();
export const aborted = (error) => error?.name === "AbortError";
