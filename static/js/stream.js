// Live output: follows the runs of the page over one websocket (docs/protocol.md) and appends their
// text. The final state of a run is HTML from the server, swapped by htmx. State that the page shows
// is in data- attributes; the exact text of a live run is kept here until the record confirms it.

const FRAME_BLOCK = 2_000; // characters after which a block ends at the next line end
const LONGEST_BLOCK = 6_000; // characters after which it ends anywhere: layout grows with the block
const SHOWN = 200_000; // characters of one output that stay in the page; the rest is in the record
const AT_ONCE = 30_000; // characters of one output that one frame takes: what comes at once would halt the page
const ASK_AGAIN = 1_000; // ms between two follows while text flows
const SILENCE = 5_000; // ms without a word after which an unfinished run is asked about
const TROUBLE_AFTER = 3_000; // ms without a connection after which the page says so
const LONGEST_PAUSE = 10_000; // ms between two tries to connect
const SESSION_ENDED = 4401;
const MOST_FETCHED = 1; // ended runs in one request: the swap of several at once would be felt

const followed = new Map(); // run id (text) → Column
let socket = null;
let tries = 0;
let retry = 0;
let lostAt = 0;
let lastFollow = 0;
let lastWord = 0;
let frame = 0;
let hindrance = ""; // what the server says stands in the way of live output
let reason = ""; // why there is no connection, where the server can still be asked
let answers = true; // whether it can
const ended = new Map(); // run → how its record is fetched, until it has come
let fetching = false;

// --- one output -------------------------------------------------------------------------------

// Appends text to an element in blocks, so that a browser lays out only the last one.
class Output {
  constructor(element) {
    this.element = element;
    this.pieces = []; // everything that came, for the check at the end
    this.waiting = []; // not in the page yet
    this.shown = 0; // characters in the page
    this.block = null;
    this.node = null; // the last text node of the block, where nothing was drawn around it since
    this.size = 0; // characters of the block
  }

  add(text) {
    this.pieces.push(text);
    this.waiting.push(text);
  }

  // Whether there is more for the next frame.
  draw() {
    if (!this.waiting.length) return false;
    let text = this.waiting.join("");
    this.waiting = [];
    if (text.length > SHOWN) text = this.cut(text);
    if (text.length > AT_ONCE) {
      const end = wordEnd(text, AT_ONCE);
      this.waiting.push(text.slice(end));
      text = text.slice(0, end);
    }
    for (const part of blocksOf(text, this.size)) {
      if (part.fresh || !this.block) this.open();
      this.write(part.text);
      this.size += part.text.length;
      this.shown += part.text.length;
    }
    while (this.shown > SHOWN && this.element.childElementCount > 1) this.drop();
    return this.waiting.length > 0;
  }

  // Only the end of a very long piece ever enters the page.
  cut(text) {
    this.element.replaceChildren();
    this.shown = this.size = 0;
    this.block = this.node = null;
    this.mark();
    return text.slice(-SHOWN);
  }

  drop() {
    const first = this.element.firstElementChild;
    this.shown -= first.textContent.length;
    first.remove();
    this.mark();
  }

  mark() {
    this.element.dataset.tail = "";
    if (this.element.previousElementSibling?.matches("[data-long]")) return;
    const note = document.createElement("p");
    note.className = "long small quiet";
    note.dataset.long = "";
    note.textContent = "The end of a very long text; all of it is kept.";
    this.element.before(note);
  }

  open() {
    this.block = document.createElement("span");
    this.block.className = "out__block";
    this.node = null;
    this.size = 0;
    this.element.append(this.block);
  }

  write(text) {
    if (window.playground?.marks?.on) {
      this.block.append(window.playground.marks.fragment(text));
      this.node = null;
      return;
    }
    if (!this.node || this.node !== this.block.lastChild) {
      this.node = document.createTextNode("");
      this.block.append(this.node);
    }
    this.node.appendData(text);
  }

  get text() {
    return this.pieces.join("");
  }
}

// Parts of `text` and whether each begins a new block, for a block that holds `size` already.
function* blocksOf(text, size) {
  let fresh = false;
  while (size + text.length > FRAME_BLOCK) {
    let end = text.indexOf("\n", Math.max(0, FRAME_BLOCK - size)) + 1;
    if (!end || size + end > LONGEST_BLOCK) {
      if (size + text.length <= LONGEST_BLOCK) break;
      end = wordEnd(text, Math.max(1, LONGEST_BLOCK - size));
    }
    yield { text: text.slice(0, end), fresh };
    text = text.slice(end);
    fresh = true;
    size = 0;
  }
  if (text) yield { text, fresh };
}

// At a blank near `end`, never between the halves of a character.
function wordEnd(text, end) {
  const blank = text.lastIndexOf(" ", end);
  if (blank > end / 2) return blank + 1;
  const half = text.charCodeAt(end - 1);
  return half >= 0xd800 && half <= 0xdbff ? end + 1 : end;
}

// --- one run ----------------------------------------------------------------------------------

class Column {
  constructor(element) {
    this.element = element;
    this.run = element.dataset.run;
    this.seq = 0;
    this.outputs = new Map(); // "text 0" → Output
    this.cell = element.classList.contains("cell"); // of a grid: small, and fetched at its end
    this.body = element.querySelector(this.cell ? ".cell__body" : ".col__body");
    this.atEnd = true;
    this.began = performance.now() - Number(element.dataset.elapsed || 0); // its turn, or its press while it waits
    this.first = null; // ms until the first text, by the server's clock
    this.last = 0;
    this.chunks = 0;
    this.usage = null;
    this.sentAt = element.dataset.status === "running" ? this.began : 0; // when its turn came, by ours; a cell only
    if (!this.cell) this.body.addEventListener("scroll", () => this.scrolled(), { passive: true });
  }

  // Only the row that follows on the last one; a gap means that something was lost on the way.
  take(row) {
    if (row.seq <= this.seq) return true;
    if (row.seq > this.seq + 1) return false;
    this.seq = row.seq;
    this.element.dataset.seq = row.seq;
    for (const [kind, choice, data, at] of row.events) this.apply(kind, choice, data, at);
    return true;
  }

  apply(kind, choice, data, at) {
    if (this.element.dataset.status === "queued") this.status("running");
    if (kind === "text" || kind === "reasoning") {
      this.output(kind, choice).add(data);
      this.chunks += at.length;
      if (this.first === null) {
        this.first = at[0][0];
        this.began = Math.min(this.began, performance.now() - this.first);
      }
      this.last = at[at.length - 1][0];
    } else if (kind === "usage") {
      this.usage = data;
    } else if (kind === "finish") {
      this.metric("finish", data);
    }
  }

  output(kind, choice) {
    const key = `${kind} ${choice}`;
    if (!this.outputs.has(key)) this.outputs.set(key, new Output(this.place(kind, choice)));
    return this.outputs.get(key);
  }

  place(kind, choice) {
    const found = this.body.querySelector(`.out[data-${kind === "text" ? "choice" : kind}="${choice}"]`);
    if (found) return found;
    const element = document.createElement("div");
    element.className = kind === "text" ? "out" : "out out--reasoning";
    element.dir = "auto";
    element.dataset[kind === "text" ? "choice" : kind] = choice;
    const later = [...this.body.querySelectorAll(".out[data-choice]")].find(
      (other) => Number(other.dataset.choice) > choice || (kind !== "text" && Number(other.dataset.choice) === choice),
    );
    this.body.insertBefore(kind === "text" ? element : folded(element), later ?? this.body.querySelector("[data-endings]"));
    return element;
  }

  draw() {
    return [...this.outputs.values()].map((output) => output.draw()).includes(true);
  }

  async drawAll() {
    while (this.draw()) {
      this.keepUp();
      await nextFrame();
    }
    this.keepUp();
  }

  keepUp() {
    if (this.atEnd) this.body.scrollTop = this.body.scrollHeight;
  }

  scrolled() {
    this.atEnd = this.body.scrollTop + this.body.clientHeight >= this.body.scrollHeight - 24;
    const jump = this.element.querySelector(".jump");
    if (this.atEnd) jump?.remove();
    else if (!jump) this.offerJump();
  }

  offerJump() {
    const jump = document.createElement("button");
    jump.type = "button";
    jump.className = "btn btn--sm jump";
    jump.textContent = "To the end";
    jump.addEventListener("click", () => {
      this.body.scrollTop = this.body.scrollHeight;
      this.body.focus();
    });
    this.body.after(jump);
  }

  status(status) {
    this.element.dataset.status = status;
    const badge = this.element.querySelector(".badge");
    if (badge) badge.dataset.status = status;
    if (status === "running") this.began = performance.now();
  }

  metric(name, text) {
    const cell = this.element.querySelector(`[data-metric="${name}"]`);
    if (!cell || cell.textContent === text) return;
    cell.textContent = text;
    cell.classList.remove("nil");
  }

  // Timers run by our clock, everything measured comes from the server's.
  // `before`: how many runs of its connection wait before it, below 0 for one that is sent.
  tell(before = 0) {
    const badge = this.element.querySelector("[data-badge]");
    const queued = this.element.dataset.status === "queued";
    const elapsed = performance.now() - this.began;
    if (this.cell && this.first === null) {
      if (badge && !("stopping" in this.element.dataset)) badge.textContent = this.turn(before);
      return;
    }
    const stopping = "stopping" in this.element.dataset;
    if (badge && stopping) badge.textContent = "Stopping";
    if (this.first === null) {
      if (badge && !stopping) badge.textContent = `${queued ? "Queued" : "Waiting"} ${seconds(elapsed)}`;
      this.metric(queued ? "wait" : "total", seconds(elapsed));
      if (queued) this.element.querySelector(".waited")?.removeAttribute("hidden");
      return;
    }
    if (badge && !stopping) badge.textContent = seconds(elapsed);
    this.metric("first", duration(this.first));
    this.metric("total", seconds(elapsed));
    const tokens = this.usage?.completion_tokens ?? this.chunks;
    this.metric("tokens", `${this.usage?.prompt_tokens ?? "?"} / ${this.usage ? "" : "~"}${tokens}`);
    if (this.chunks > 1 && this.last > this.first) {
      this.metric("speed", `~${(((this.chunks - 1) * 1000) / (this.last - this.first)).toFixed(1)} tok/s`);
    }
  }

  turn(before) {
    if (before > 0) return `Waits, ${before} before it`;
    if (before === 0) return "Next";
    this.sentAt ||= performance.now();
    return `Sent ${seconds(performance.now() - this.sentAt)}`;
  }

  // Whether the page holds exactly what the record holds.
  async agrees(end) {
    const texts = [...this.outputs].filter(([key]) => key.startsWith("text "));
    const written = new Map(texts.map(([key, output]) => [Number(key.slice(5)), output.text]));
    if (end.choices.some((choice) => choice.length && !written.has(choice.index))) return false;
    if ([...written.keys()].some((index) => !end.choices.some((choice) => choice.index === index))) return false;
    for (const choice of end.choices) {
      if (!(await sameText(written.get(choice.index) ?? "", choice))) return false;
    }
    return true;
  }
}

function folded(element) {
  const details = document.createElement("details");
  details.className = "reasoning";
  details.open = true;
  const summary = document.createElement("summary");
  summary.textContent = "Reasoning";
  details.append(summary, element);
  return details;
}

// Without a secure context there is no digest: then the record is fetched, to be sure.
async function sameText(text, choice) {
  if (!choice.length) return text === "";
  if (!crypto.subtle) return false;
  const bytes = new TextEncoder().encode(text);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const hex = [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex === choice.sha256;
}

function seconds(ms) {
  return `${(ms / 1000).toFixed(1)} s`;
}

function duration(ms) {
  return ms < 995 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(2)} s`;
}

// --- the page ---------------------------------------------------------------------------------

function outputs() {
  return document.getElementById("outputs");
}

// Follow the live runs that are in the page now, and only those.
function look() {
  const found = new Set();
  for (const element of document.querySelectorAll("[data-run]")) {
    if (element.dataset.status !== "queued" && element.dataset.status !== "running") continue;
    found.add(element.dataset.run);
    const known = followed.get(element.dataset.run);
    if (known?.element !== element) followed.set(element.dataset.run, new Column(element));
  }
  for (const run of followed.keys()) if (!found.has(run)) followed.delete(run);
  if (followed.size) connect();
  else hangUp();
  follow();
  tellRunning();
}

let told = -1;

function tellRunning() {
  const running = followed.size;
  const progress = outputs()?.querySelector("[data-progress]");
  const all = Number(outputs()?.dataset.total) || document.querySelectorAll("#outputs [data-run]").length;
  const said = outputs()?.dataset.total ? `${all - running} of ${all} done` : `${running} of ${all} running`;
  if (progress) progress.textContent = running && all > 1 ? said : "";
  const stop = outputs()?.querySelector("[data-stop-all]");
  if (stop) stop.hidden = !running;
  if (running === told) return;
  if (running && told < 1) say("announce", running > 1 ? `${running} columns started` : `${nameOf([...followed.values()][0])} started`);
  told = running;
  document.dispatchEvent(new CustomEvent(running ? "playground:running" : "playground:idle", { detail: { running } }));
}

// --- the socket -------------------------------------------------------------------------------

function connect() {
  if (socket || retry || !outputs()) return;
  const url = new URL(outputs().dataset.socket, location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  const mine = new WebSocket(url);
  socket = mine;
  lostAt ||= performance.now();
  mine.addEventListener("open", () => {
    tries = 0;
    lostAt = 0;
    hindrance = reason = "";
    trouble("");
    follow();
  });
  mine.addEventListener("message", (event) => {
    if (socket === mine) receive(JSON.parse(event.data));
  });
  mine.addEventListener("close", (event) => {
    if (socket !== mine) return;
    socket = null;
    if (event.code === SESSION_ENDED) location.reload();
    else again();
  });
}

// With a random delay: after a restart not all pages come at once.
function again() {
  if (!followed.size) return;
  lostAt ||= performance.now();
  askWhy();
  const pause = Math.min(LONGEST_PAUSE, 250 * 2 ** tries++);
  retry = setTimeout(() => {
    retry = 0;
    if (followed.size) connect();
  }, pause * (0.5 + Math.random()));
}

// A server without its database refuses sockets, and can still say so.
async function askWhy() {
  try {
    const answer = await fetch(new URL("../readyz", new URL(outputs().dataset.socket, location.href)));
    reason = (await answer.json()).problems[0] ?? "";
    answers = true;
  } catch {
    reason = "";
    answers = false;
  }
}

function hangUp() {
  clearTimeout(retry);
  retry = tries = lostAt = 0;
  hindrance = reason = "";
  trouble("");
  const mine = socket;
  socket = null;
  mine?.close();
}

function follow() {
  if (socket?.readyState !== WebSocket.OPEN || !followed.size) return;
  lastFollow = performance.now();
  const positions = [...followed.values()].map((column) => [column.run, column.seq]);
  socket.send(JSON.stringify({ follow: Object.fromEntries(positions) }));
}

function receive(message) {
  lastWord = performance.now();
  for (const row of message.events ?? []) {
    const column = followed.get(String(row.run));
    if (column && !column.take(row)) return reconnect();
  }
  if ("trouble" in message) hindrance = message.trouble;
  if (message.finished) finish(message.finished);
  if (message.watching) document.dispatchEvent(new CustomEvent("playground:watching", { detail: message.watching }));
  if (message.error && message.run) followed.delete(String(message.run));
  schedule();
}

// The server's cursor is ahead of what arrived here; a new socket starts at our position.
function reconnect() {
  const mine = socket;
  socket = null;
  mine.close();
  connect();
}

// A hidden tab gets no frames: it draws now and then, so that what waits does not pile up.
function schedule() {
  if (frame) return;
  frame = document.hidden ? setTimeout(draw, 1_000) : requestAnimationFrame(draw);
}

function draw() {
  frame = 0;
  const columns = [...followed.values()];
  const more = columns.map((column) => column.draw()).includes(true);
  for (const column of columns) column.keepUp(); // after all writing, so that the page is laid out once
  if (more) schedule();
}

function nextFrame() {
  return new Promise((go) => (document.hidden ? setTimeout(go, 16) : requestAnimationFrame(go)));
}

async function finish(ends) {
  const cells = [];
  for (const end of ends) {
    const column = followed.get(String(end.run));
    if (!column || ended.has(end.run)) continue;
    if (column.cell) {
      column.draw();
      column.keepUp();
      cells.push(end.run);
      continue;
    }
    ended.set(end.run, "asked");
    await column.drawAll();
    ended.set(end.run, (await column.agrees(end)) ? "ends" : "ids");
    announce(column, end);
  }
  if (cells.length) document.dispatchEvent(new CustomEvent("playground:ended", { detail: { runs: cells } }));
  fetchEnds();
}

// `ends` swaps head, endings and foot around a text that is right already; `ids` whole columns. One
// at a time, so that no swap is felt. The runs stay followed until the swap has come: of a
// request that failed the server says again that they have ended.
async function fetchEnds() {
  if (fetching) return;
  fetching = true;
  for (;;) {
    const some = [...ended].filter(([, how]) => how === "ends" || how === "ids").slice(0, MOST_FETCHED);
    if (!some.length) break;
    const url = new URL(outputs().dataset.runs, location.href);
    for (const kind of ["ends", "ids"]) {
      url.searchParams.set(kind, some.filter(([, how]) => how === kind).map(([run]) => run).join(","));
    }
    try {
      await htmx.ajax("GET", url.pathname + url.search, { source: outputs(), swap: "none" });
    } catch {
      // site.js says so
    }
    for (const [run] of some) ended.delete(run);
  }
  fetching = false;
}

// How many runs of its connection wait before each one of the page; they go in their order.
function queues() {
  const lines = new Map();
  for (const { run, element } of followed.values()) {
    const { queue, room } = element.dataset;
    if (!queue) continue;
    if (!lines.has(queue)) lines.set(queue, { room: Number(room), runs: [] });
    lines.get(queue).runs.push(Number(run));
  }
  const found = new Map();
  for (const { room, runs } of lines.values()) {
    runs.sort((a, b) => a - b).forEach((run, at) => found.set(String(run), at - room));
  }
  return found;
}

// --- what is said -----------------------------------------------------------------------------

function nameOf(column) {
  return column.element.querySelector(".letter")?.textContent ?? "Run";
}

function say(id, text) {
  const place = document.getElementById(id);
  if (place) place.textContent = text;
}

function announce(column, end) {
  const failed = end.status === "failed" || end.status === "interrupted";
  const tokens = column.usage?.completion_tokens ?? column.chunks;
  const words = { completed: `finished, ${tokens} tokens`, cancelled: "stopped" }[end.status] ?? end.status;
  say(failed ? "announce-error" : "announce", `${nameOf(column)} ${words}`);
}

function trouble(text) {
  let notice = document.getElementById("live-trouble");
  if (!text) {
    notice?.remove();
  } else if (!notice) {
    notice = document.createElement("p");
    notice.id = "live-trouble";
    notice.className = "notice notice--warn notice--sm";
    notice.setAttribute("role", "status");
    notice.textContent = text;
    outputs()?.querySelector(".outputs__bar")?.after(notice);
  } else if (notice.textContent !== text) {
    notice.textContent = text;
  }
}

// What stands above the outputs while something is in the way.
function standing(now) {
  if (!lostAt || now - lostAt <= TROUBLE_AFTER) return hindrance;
  if (reason) return `${reason} The live connection is tried again. What is running goes on, and what arrives is kept.`;
  if (!answers) return "The server cannot be reached; it is tried again. What is shown here is saved. Whether the run goes on is seen then.";
  return (
    "The live connection failed; it is tried again. The server is there, so your run goes on and is kept: reload to see it. " +
    "If this stays, a proxy may block websockets, or PUBLIC_URL may not be this address."
  );
}

setInterval(() => {
  if (!followed.size) return;
  const places = queues();
  for (const column of followed.values()) column.tell(places.get(column.run));
  const now = performance.now();
  const flowing = now - lastWord < ASK_AGAIN;
  if (now - lastFollow > (flowing ? ASK_AGAIN : SILENCE)) follow();
  trouble(standing(now));
}, 250);

// Stop was pressed: said at once; the proof comes with the end of the run.
document.addEventListener("htmx:beforeRequest", (event) => {
  const form = event.target;
  if (!form.matches?.("[data-stop], [data-stop-all]")) return;
  const columns = form.matches("[data-stop]") ? [form.closest("[data-run]")] : outputs()?.querySelectorAll("[data-run]") ?? [];
  for (const column of columns) if (followed.has(column?.dataset.run)) column.dataset.stopping = "";
});
document.addEventListener("htmx:afterRequest", (event) => {
  if (!event.target.matches?.("[data-stop], [data-stop-all]") || event.detail.successful) return;
  for (const column of document.querySelectorAll("[data-stopping]")) delete column.dataset.stopping;
});
// One answer may swap a hundred cells: they are looked at together.
let looking = false;
function lookSoon() {
  if (looking) return;
  looking = true;
  queueMicrotask(() => {
    looking = false;
    look();
  });
}

document.addEventListener("htmx:afterSettle", lookSoon);
document.addEventListener("htmx:oobAfterSwap", lookSoon);
document.addEventListener("htmx:historyRestore", look);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) schedule();
});
window.addEventListener("online", () => {
  if (retry) {
    clearTimeout(retry);
    retry = 0;
    connect();
  }
});
look();
