/* How outputs are looked at: the view of each column, the prompt before the output, white space. What
   a person has chosen is remembered in the browser. Views come from the server when they are looked
   at; a live run's view is asked for again while it grows. */
(() => {
  const playground = (window.playground = window.playground || {});
  const KEY = "views", AGAIN = 1_500; // ms between two looks at a run that grows
  const LOST = "lost"; // asked for in vain: the next look asks again
  const each = (selector, act, root = document) => root.querySelectorAll(selector).forEach(act);
  const stored = () => { try { return JSON.parse(localStorage.getItem(KEY)) || {}; } catch { return {}; } };
  const state = { together: false, all: "text", by: {}, given: false, marks: false, ...stored() };
  const keep = () => { try { localStorage.setItem(KEY, JSON.stringify(state)); } catch { /* private mode */ } };
  const letter = (column) => { const found = column.querySelector(".letter"); return found ? found.textContent : ""; };
  const byHand = new Set(); // letters whose view was chosen on this page
  /* What is remembered from another page is no reason to show that there are no probabilities. */
  const wanted = (column) => {
    const name = (state.together ? state.all : state.by[letter(column)]) || "text";
    if (name !== "probabilities") return name;
    if (!byHand.has(letter(column)) && !("asksProbabilities" in column.dataset)) return "text";
    /* Nor to hide the text while it streams. */
    column.toggleAttribute("data-held", live(column));
    return live(column) ? "text" : name;
  };
  const live = (column) => ["queued", "running"].includes(column.dataset.status);
  const tabsOf = (column) => [...column.querySelectorAll("[data-views] [data-view]")];
  const shownView = (column) => column.dataset.view || "text";

  /* --- One view of one column --- */
  const panelOf = (column, tab) => {
    const name = tab.dataset.view, found = column.querySelector(`[data-panel="${name}"]`);
    if (found || !tab.dataset.url) return found;
    const panel = document.createElement("div");
    panel.className = "col__body view";
    panel.id = tab.getAttribute("aria-controls");
    panel.dataset.panel = name;
    panel.tabIndex = 0;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", tab.id);
    [...column.querySelectorAll("[data-panel]")].at(-1).after(panel);
    return panel;
  };
  const load = (column, panel, tab) => {
    if (!panel || !tab.dataset.url || panel.dataset.asked === column.dataset.status) return;
    panel.dataset.asked = column.dataset.status;
    htmx.ajax("GET", tab.dataset.url, { source: panel, target: panel, swap: "innerHTML" })
      .then(() => { if (panel.querySelector(".empty--tokens") && !panel.hidden && !byHand.has(letter(column))) show(column, "text"); })
      .catch(() => { panel.dataset.asked = LOST; })
      .then(() => setTimeout(() => again(column, panel, tab), AGAIN));
  };
  document.addEventListener("htmx:responseError", ({ target }) => { if (target.matches?.("[data-panel][data-asked]")) target.dataset.asked = LOST; });
  const again = (column, panel, tab) => {
    if (!panel.isConnected || panel.hidden || panel.querySelector(".empty--tokens") || panel.dataset.asked !== column.dataset.status || !live(column)) return;
    delete panel.dataset.asked;
    load(column, panel, tab);
  };
  /* What is not in sight is not asked for: a sweep has hundreds of columns. */
  const seen = new IntersectionObserver((entries) => entries.forEach((entry) => {
    if (!entry.isIntersecting) return;
    seen.unobserve(entry.target);
    fill(entry.target);
  }));
  const fill = (column) => {
    const tab = tabsOf(column).find((one) => one.dataset.view === shownView(column));
    if (tab) load(column, column.querySelector(`[data-panel="${tab.dataset.view}"]`), tab);
    if (state.given && shownView(column) === "text") askPrompt(column);
  };
  const show = (column, name) => {
    const tabs = tabsOf(column), tab = tabs.find((one) => one.dataset.view === name) || tabs[0];
    if (!tab) return;
    const panel = panelOf(column, tab);
    if (!panel) return;
    column.dataset.view = tab.dataset.view;
    tabs.forEach((one) => { one.setAttribute("aria-selected", String(one === tab)); one.tabIndex = one === tab ? 0 : -1; });
    each("[data-panel]", (one) => { one.hidden = one !== panel; }, column);
    seen.observe(column);
    column.dispatchEvent(new CustomEvent("playground:view", { bubbles: true, detail: { view: tab.dataset.view } }));
  };
  const choose = (column, name, everywhere) => {
    const columns = everywhere ? [...document.querySelectorAll("[data-run]")] : [column];
    columns.forEach((one) => { byHand.add(letter(one)); delete one.dataset.held; state.by[letter(one)] = name; show(one, name); });
    state.all = name;
    keep();
    if (everywhere && columns.length > 1) playground.announce(`All columns show ${name}`);
  };

  /* --- The prompt before the output, white space --- */
  const askPrompt = async (column) => {
    const body = column.querySelector('[data-panel="text"]');
    if (!body || body.querySelector("[data-given]")) return;
    const given = document.createElement("div");
    given.className = "given";
    given.dataset.given = "";
    body.prepend(given);
    try {
      const response = await fetch(`${column.dataset.url}prompt/`, { headers: { "HX-Request": "true" }, credentials: "same-origin" });
      if (!response.ok) throw new Error(String(response.status));
      htmx.swap(given, await response.text(), { swapStyle: "innerHTML" }, { eventInfo: { target: given } });
      given.hidden = !state.given;
      if (state.marks) playground.marks.put(given);
    } catch { given.remove(); }
  };
  const texts = '[data-panel="text"] .out, [data-panel="text"] [data-given]';
  const showGiven = () => {
    each("[data-given]", (given) => { given.hidden = !state.given; });
    if (state.given) each("[data-run]", (column) => seen.observe(column));
  };
  const showMarks = () => {
    playground.marks.on = state.marks;
    each(texts, (element) => (state.marks ? playground.marks.put : playground.marks.take)(element));
  };
  const showSwitches = () => each("[data-view-switch]", (button) => button.setAttribute("aria-pressed", String(Boolean(state[button.dataset.viewSwitch]))));
  const flip = (name) => {
    state[name] = !state[name];
    keep();
    showSwitches();
    if (name === "given") showGiven();
    if (name === "marks") showMarks();
    if (name === "together" && state.together) each("[data-run]", (column) => { byHand.add(letter(column)); show(column, state.all); });
  };

  /* --- Copy --- */
  const exact = async (column, button) => {
    const shown = column.querySelector(`[data-panel="${shownView(column)}"]`);
    const prepared = shown ? [...shown.querySelectorAll("[data-copy-text]")] : [];
    if (prepared.length) return prepared.map((one) => one.textContent).join("\n\n");
    const outs = [...column.querySelectorAll(".out[data-choice]")];
    const all = await Promise.all(outs.map(async (out) => {
      if (!("tail" in out.dataset)) return out.textContent;
      const response = await fetch(`${button.dataset.url}?choice=${out.dataset.choice}`, { credentials: "same-origin" });
      if (!response.ok) throw new Error(String(response.status));
      return response.text();
    }));
    return all.join("\n\n");
  };
  const copy = async (column, button) => {
    let text = "";
    try {
      text = await exact(column, button);
      playground.worked("copy");
    } catch { playground.failed("copy", "The whole text could not be read. Nothing was copied; try again in a moment."); return; }
    try {
      await navigator.clipboard.writeText(text);
      playground.announce(`Copied column ${letter(column)}`);
      button.dataset.done = "";
      setTimeout(() => delete button.dataset.done, 1_500);
    } catch {
      getSelection().selectAllChildren(column.querySelector(`[data-panel="${shownView(column)}"]`));
      playground.announce("Selected; copy it with Control C");
    }
  };

  /* --- Events --- */
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    const column = button.closest("[data-run]");
    if (column && button.dataset.view) choose(column, button.dataset.view, state.together || event.shiftKey || event.altKey);
    if (column && "copyOutput" in button.dataset) copy(column, button);
    if (button.dataset.viewSwitch) flip(button.dataset.viewSwitch);
  });
  document.addEventListener("keydown", (event) => {
    const tab = event.target.closest("[data-views] [data-view]");
    if (tab) {
      const column = tab.closest("[data-run]"), tabs = tabsOf(column), at = tabs.indexOf(tab);
      const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
      if (next === undefined || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      const chosen = tabs[(next + tabs.length) % tabs.length];
      choose(column, chosen.dataset.view, state.together || event.shiftKey || event.altKey);
      chosen.focus();
      return;
    }
    const column = event.target.closest("[data-run]");
    if (event.key !== "y" || !column || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
    event.preventDefault();
    copy(column, column.querySelector("[data-copy-output]"));
  });
  /* New columns get the remembered view; of a run that has ended what was drawn before is stale. */
  const look = () => {
    each("[data-run]", (column) => {
      if (!tabsOf(column).length) return;
      if (column.dataset.view === undefined || !column.querySelector(`[data-panel="${shownView(column)}"]:not([hidden])`) || ("held" in column.dataset && !live(column))) show(column, wanted(column));
      else if (column.querySelector("[data-panel][data-asked]")) seen.observe(column);
      const given = column.querySelector("[data-given]");
      if (state.given && !given) seen.observe(column);
    });
    if (state.marks) showMarks();
    showSwitches();
  };
  const ours = (event) => !event.target.closest || !event.target.closest("[data-panel][data-asked]");
  document.addEventListener("htmx:afterSettle", (event) => { if (ours(event)) look(); });
  document.addEventListener("htmx:oobAfterSwap", () => look());
  playground.views = { show, shownView, live, letter };
  look();
})();
