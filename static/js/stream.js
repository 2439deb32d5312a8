// Live output: follows the runs of the page over one websocket (docs/protocol.md) and hands each its
// text. The final state of a run is HTML from the server, swapped by htmx. State that the page shows
// is in data- attributes; the exact text of a live run is kept in live.js until the record confirms it.
(() => {
  const { LiveRun, trouble } = window.playground;
  const ASK_AGAIN = 1_000; // ms between two follows while text flows
  const SILENCE = 5_000; // ms without a word after which an unfinished run is asked about
  const LONGEST_PAUSE = 10_000; // ms between two tries to connect
  const SESSION_ENDED = 4401;
  const MOST_FETCHED = 1; // ended runs in one request: the swap of several at once would be felt

  const followed = new Map(); // run id (text) → LiveRun
  let socket = null;
  let tries = 0;
  let retry = 0;
  let lastFollow = 0;
  let lastWord = 0;
  let frame = 0;
  const ended = new Map(); // run → how its record is fetched, until it has come
  let fetching = false;

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
      if (known?.element !== element) followed.set(element.dataset.run, new LiveRun(element));
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

  function socketUrl() {
    return new URL(outputs().dataset.socket, location.href);
  }

  function connect() {
    if (socket || retry || !outputs()) return;
    const url = socketUrl();
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const mine = new WebSocket(url);
    socket = mine;
    trouble.since();
    mine.addEventListener("open", () => {
      tries = 0;
      trouble.over();
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
    if (!followed.size || !outputs()) return;
    trouble.since();
    trouble.ask(new URL("../readyz", socketUrl()));
    const pause = Math.min(LONGEST_PAUSE, 250 * 2 ** tries++);
    retry = setTimeout(() => {
      retry = 0;
      if (followed.size) connect();
    }, pause * (0.5 + Math.random()));
  }

  function hangUp() {
    clearTimeout(retry);
    retry = tries = 0;
    trouble.over();
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
    if ("trouble" in message) trouble.hindrance = message.trouble;
    if (message.finished) finish(message.finished);
    if (message.watching) document.dispatchEvent(new CustomEvent("playground:watching", { detail: message.watching }));
    if (message.error && message.run) lose(String(message.run));
    schedule();
  }

  // Made private by its author, or deleted.
  function lose(run) {
    if (!followed.has(run)) return;
    followed.get(run).lost();
    window.playground.notice("This run is private or deleted now. What had come of it stays here until you leave.");
    look();
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

  setInterval(() => {
    if (!followed.size) return;
    const places = queues();
    for (const column of followed.values()) column.tell(places.get(column.run));
    const now = performance.now();
    const flowing = now - lastWord < ASK_AGAIN;
    if (now - lastFollow > (flowing ? ASK_AGAIN : SILENCE)) follow();
    trouble.show(outputs());
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
})();
