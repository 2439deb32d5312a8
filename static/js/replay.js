/* The stream of the outputs as a picture, and its replay at the recorded speed. Nothing is sent to any
   backend: the times come from the record, the text is the one in the page, and at the end it is the
   page's own again. */
(() => {
  const playground = window.playground;
  const MOST = 32; // columns in one picture
  const CALM = 1_000; // ms between two pictures where motion is unwelcome
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const card = () => document.querySelector("[data-replay]");
  const columns = () => [...document.querySelectorAll("#outputs [data-run]")];
  let record = null; // {run id: {end, choices}}
  let shown = []; // {times, offsets, text, drawn, element, original} of each output while it is replayed
  const others = new Map(); // column → its view, where that is not its text
  let at = 0, speed = 1, playing = false, last = 0, timer = 0, drawnFor = "";

  const span = () => Number(card().dataset.span);
  const said = (ms) => (ms / 1000).toFixed(2);

  /* Offsets in the page's text, in its own units, of the end of each piece; a very long text is in
     the page only with its end. */
  const prepare = (original, arrivals) => {
    const text = original.textContent, signs = Array.from(text);
    const total = arrivals.reduce((sum, [, count]) => sum + count, 0);
    const ends = [0];
    signs.forEach((sign, i) => ends.push(ends[i] + sign.length));
    let count = signs.length - total;
    const offsets = arrivals.map(([, more]) => { count += more; return ends[Math.min(Math.max(count, 0), signs.length)]; });
    const element = document.createElement("div");
    element.className = "out out--replay";
    element.dir = "auto";
    element.setAttribute("aria-live", "off");
    original.before(element);
    original.hidden = true;
    return { times: arrivals.map(([ms]) => ms), offsets, text, drawn: 0, element, original };
  };
  const begin = () => {
    if (shown.length) return;
    columns().forEach((column) => {
      const found = record[column.dataset.run];
      if (!found) return;
      const view = playground.views.shownView(column);
      if (view !== "text") { playground.views.show(column, "text"); others.set(column, view); }
      column.querySelectorAll(".out[data-choice]").forEach((original) => {
        const arrivals = found.choices[original.dataset.choice];
        if (arrivals && arrivals.length) shown.push(prepare(original, arrivals));
      });
    });
  };
  const restore = () => {
    shown.forEach(({ element, original }) => { element.remove(); original.hidden = false; });
    shown = [];
    const back = [...others];
    others.clear();
    back.forEach(([column, view]) => { if (column.isConnected) playground.views.show(column, view); });
  };
  const reached = (times, ms) => {
    let low = 0, high = times.length;
    while (low < high) { const middle = (low + high) >> 1; if (times[middle] <= ms) low = middle + 1; else high = middle; }
    return low;
  };
  /* White space may be shown or hidden meanwhile, which makes other nodes of the same text. */
  const append = (element, text) => {
    const { marks } = playground, last = element.lastChild;
    if (marks.on) element.append(marks.fragment(text));
    else if (last?.nodeType === Node.TEXT_NODE) last.appendData(text);
    else element.append(text);
  };
  const write = (one) => {
    const count = reached(one.times, at), end = count ? one.offsets[count - 1] : 0;
    if (end === one.drawn) return;
    if (end < one.drawn) { one.element.replaceChildren(); one.drawn = 0; }
    append(one.element, one.text.slice(one.drawn, end));
    one.drawn = end;
    const body = one.element.closest(".col__body");
    if (playing) body.scrollTop = body.scrollHeight;
  };
  const draw = () => {
    const here = card();
    if (!here) return;
    const over = at >= span();
    if (over) restore(); else { begin(); shown.forEach(write); }
    const x = span() ? (300 * at) / span() : 0;
    here.querySelectorAll("[data-played]").forEach((rect) => rect.setAttribute("width", over ? 304 : x + 2));
    here.querySelectorAll("[data-playhead]").forEach((path) => path.setAttribute("d", over ? "" : `M${x.toFixed(1)} 0V36`));
    const scrub = here.querySelector("[data-scrub]");
    scrub.value = at;
    scrub.setAttribute("aria-valuetext", `${said(at)} seconds of ${said(span())}`);
    scrub.style.setProperty("--fill", `${span() ? (100 * at) / span() : 100}%`);
    here.querySelector("[data-at]").textContent = `${said(at)} s`;
  };
  const step = (now) => {
    if (!playing || !card()) return;
    at = Math.min(span(), at + (now - last) * speed);
    last = now;
    draw();
    if (at >= span()) { pause(); playground.announce("Replay finished"); } else next();
  };
  const next = () => {
    if (calm.matches) timer = setTimeout(() => step(performance.now()), CALM);
    else timer = requestAnimationFrame(() => step(performance.now()));
  };
  const pause = () => {
    playing = false;
    clearTimeout(timer);
    cancelAnimationFrame(timer);
    showButton();
  };
  const showButton = () => {
    const button = card() && card().querySelector("[data-play]");
    if (!button) return;
    button.setAttribute("aria-pressed", String(playing));
    button.querySelector("[data-play-label]").textContent = playing ? "Pause" : at < span() ? "Go on" : "Replay";
  };
  const showSpeed = () => card().querySelectorAll("[data-speed]").forEach((one) => one.setAttribute("aria-pressed", String(Number(one.dataset.speed) === speed)));
  const load = async () => {
    if (record) return true;
    const asked = drawnFor, ids = columns().slice(0, MOST).map((column) => column.dataset.run);
    try {
      const response = await fetch(`${card().dataset.arrivals}?ids=${ids.join(",")}`, { credentials: "same-origin" });
      if (!response.ok) throw new Error(String(response.status));
      const found = (await response.json()).runs;
      if (asked === drawnFor) record = found;
      playground.worked("times");
    } catch { playground.failed("times", "The times of the stream could not be loaded. Try again in a moment."); }
    return Boolean(record);
  };
  const play = async () => {
    if (playing) { pause(); return; }
    if (!(await load())) return;
    if (at >= span()) at = 0;
    playing = true;
    last = performance.now();
    showButton();
    draw();
    next();
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-replay] button");
    if (!button) return;
    if ("play" in button.dataset) play();
    if (button.dataset.speed) {
      speed = Number(button.dataset.speed);
      showSpeed();
    }
  });
  document.addEventListener("input", async (event) => {
    if (!event.target.matches("[data-replay] [data-scrub]")) return;
    const wanted = Number(event.target.value), most = Number(event.target.max);
    if (!(await load())) return;
    at = wanted >= most ? span() : wanted;
    draw();
    showButton();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== " " || !card() || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const { target } = event, free = target === document.body || target.id === "main" || target.matches("[data-scrub]");
    if (!free || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    play();
  });

  /* The picture belongs to the columns of the page once all have ended. */
  const look = () => {
    const place = document.querySelector("[data-timeline]"), all = columns();
    if (!place) return;
    const key = all.map((column) => column.dataset.run).join(",");
    if (key === drawnFor && place.childElementCount) return;
    if (!all.length || all.length > MOST || all.some((column) => playground.views.live(column))) return;
    if (key === drawnFor) return;
    pause();
    restore();
    drawnFor = key;
    record = null;
    htmx.ajax("GET", `${place.dataset.timeline}?ids=${key}`, { source: place, target: place, swap: "innerHTML" })
      .then(() => { if (card()) { at = span(); draw(); showButton(); showSpeed(); } })
      .catch(() => { drawnFor = ""; });
  };
  /* Somebody looks at another view, or a column is drawn again: the page's own text comes back. */
  document.addEventListener("playground:view", (event) => {
    others.delete(event.target);
    if (!shown.length || event.detail.view === "text") return;
    pause();
    at = span();
    draw();
    showButton();
  });
  document.addEventListener("htmx:afterSettle", look);
  document.addEventListener("htmx:oobAfterSwap", look);
  look();
})();
