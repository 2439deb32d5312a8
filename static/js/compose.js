/* The compose page. The document (what is posted) is the state; the fields only show it. */
(() => {
  const { playground } = window;
  const bench = document.querySelector("[data-bench]");
  const form = document.getElementById("compose");
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const doc = read("document");
  const connections = read("connections");
  const $ = (selector, from = bench) => from.querySelector(selector);
  const $$ = (selector, from = bench) => [...from.querySelectorAll(selector)];
  const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

  const memories = read("memories");

  /* --- Panel and columns share the document --- */
  const views = () => doc.columns.map((column, position) => {
    const connection = columns.connectionOf(column);
    return {
      letter: playground.letter(position),
      api: connection ? connection.apis[column.operation] : "",
      title: connection ? connection.title : "no backend",
      provider: connection ? connection.provider : "other",
      model: column.model || "",
      values: column.values,
      memories: (memories[column.connection] || {})[(column.model || "").trim()] || {},
      get source() { return column; },
    };
  });
  let samples = null, growing = null, panel = null, prompts = null, variables = null, messages = null, repeats = null, planner = null, drafts = null, doubt = () => {};
  const changed = () => {
    if (panel) panel.refresh();
    columns.refresh();
    if (prompts) prompts.recount();
    if (messages) messages.say();
    if (repeats) repeats.refresh();
    showPlan();
    edited();
  };
  doc.columns.forEach((column) => { column.values = column.values || {}; });
  const columns = playground.columns(form, connections, {
    document: () => doc,
    changes: (position) => (panel ? panel.changes(position) : []),
    edit: (position) => { side.open(); panel.setScope(position); },
    scope: () => (panel ? panel.scope() : null),
    choose: (positions) => panel.setScope(positions),
    run: (position) => runColumn(position),
    use: (position) => useColumn(position),
    undo: (text, before) => undo(text, before),
    settled: () => settled(),
    memory: (column) => ((memories[column.connection] || {})[(column.model || "").trim()] || {}).model,
    changed,
  });
  const error = (path, message) => fieldError(path, message);
  const labels = playground.labels(form, { document: () => doc, changed, error });
  const params = document.getElementById("params"), side = playground.side(bench, params);
  panel = playground.panel(params, read("support"), {
    document: () => doc,
    columns: views,
    follow: () => labels.asPulze(),
    tokens: (position, asked) => { const column = doc.columns[position]; return playground.tokens(column && columns.connectionOf(column), column ? column.model : "", asked); },
    reset: (position) => { doc.columns[position].values = {}; },
    resetting: () => undo("The parameters are reset.", snapshot()),
    scoped: () => { columns.refresh(); if (panel.scope() && panel.scope().length === 1) columns.become(panel.column()); },
    changed: () => { columns.refresh(); showPlan(); edited(); if (prompts) prompts.recount(); },
  });
  playground.offered = playground.parametersIn(side, panel);

  /* --- The input --- */
  const first = () => {
    const column = doc.columns[0], connection = column && columns.connectionOf(column);
    return { connection, model: column ? column.model || "" : "", title: connection ? connection.title : "" };
  };
  const touched = () => reread();
  prompts = playground.prompts(form, { document: () => doc, first, changed: touched, replan: () => { if (messages.settle()) changed(); reread(); }, error });
  messages = playground.messages(form, { document: () => doc, changed: touched, error });
  variables = playground.variables(form, { document: () => doc, changed: () => { showPlan(); edited(); }, error });
  repeats = playground.repeats(form, { document: () => doc, changed: () => { showPlan(); edited(); } });
  planner = playground.plan(form, {
    document: () => doc,
    posted: () => posted(),
    rows: () => panel.rows(),
    multiplies: () => variables.any() || repeats.any(),
    refused: () => Boolean(document.getElementById("plan").dataset.refusal),
  });
  form.addEventListener("change", (event) => { if (event.target.name === "visibility") { doc.visibility = event.target.value; edited(); } });

  /* What a run has just taught is known at its field at once, not only on the next page. */
  const learn = () => {
    let fresh = false;
    $$("[data-lesson]").forEach(({ dataset: { lesson, kind, sentence, lessonModel: model, lessonConnection: connection, seen } }) => {
      const models = (memories[connection] = memories[connection] || {});
      const paths = (models[model] = models[model] || {});
      if (paths[lesson] && paths[lesson].sentence === sentence && paths[lesson].seen === seen) return;
      paths[lesson] = { kind, sentence, seen };
      fresh = true;
    });
    // A run ends in several swaps; drawing all the fields again is worth it only for news.
    if (fresh) { panel.refresh(); columns.refresh(); }
  };
  document.addEventListener("htmx:oobAfterSwap", learn);

  /* --- What a press of Run means --- */
  const completions = () => prompts.count() * doc.columns.reduce((sum, _, position) => sum + Math.max(1, Number(panel.value("n", position)) || 1), 0);
  const showPlan = () => {
    const refusal = document.getElementById("plan").dataset.refusal;
    const requests = doc.columns.length, all = completions();
    $("[data-plan]").textContent = refusal || plural(requests, "request");
    const of = requests > 1 ? `${plural(requests, "column")} = ${plural(requests, "request")}` : "";
    $("[data-plan-detail]").textContent = refusal ? "" : [of, all > requests ? plural(all, "completion") : ""].filter(Boolean).join(", ");
    if (!refusal && requests > 1) $("[data-plan]").textContent = "";
    $("[data-run-label]").textContent = requests > 1 ? `Run ${requests}` : "Run";
    if (planner) planner.show();
    const count = panel.count(), shown = $("[data-set-count]");
    shown.textContent = count;
    shown.hidden = !count;
  };

  /* --- Errors --- */
  const INPUTS = ["prompt", "prompts", "ids", "messages", "labels", "variables"];
  const fieldError = (path, message) => {
    const shown = $(`[data-error-for=${path}]`);
    shown.textContent = message;
    shown.hidden = !message;
    const control = path === "labels" ? labels.control : path === "variables" ? variables.control : prompts.controls[path] || messages.control();
    if (message) control.setAttribute("aria-invalid", "true"); else control.removeAttribute("aria-invalid");
    return control;
  };
  const clearErrors = () => {
    INPUTS.forEach((path) => fieldError(path, ""));
    columns.clearErrors();
    panel.clearErrors();
  };
  /* What a path holds, to see whether it is still what was refused. */
  const heldAt = (path) => {
    const whole = { extra_body: "extra" }[path] || path, input = path === "variables" ? [doc.table, doc.prompt, doc.prompts, doc.messages] : [];
    return JSON.stringify([doc.mode, input, doc[whole], (doc.values || {})[path], doc.columns.map(({ id, values, ...column }) => [id, column[path], values[path]])]);
  };
  let refused = new Map(); // path → what it held when it was refused
  const forgive = () => {
    const list = $$("#problems [data-problem]");
    list.filter(({ dataset }) => refused.has(dataset.problem) && refused.get(dataset.problem) !== heldAt(dataset.problem)).forEach((line) => line.remove());
    if (list.length && !$("#problems li")) document.getElementById("problems").replaceChildren();
  };
  const showErrors = (errors) => {
    refused = new Map(errors.map(({ path }) => [path, heldAt(path)]));
    const said = new Set();
    const own = errors.find(({ column, path }) => column !== null && path in doc.columns[column].values);
    panel.setScope(own ? own.column : null);
    const controls = errors.map(({ column, path, message }) => {
      if (INPUTS.includes(path)) return fieldError(path, message);
      if (["connection", "model", "operation"].includes(path)) return columns.showError(column || 0, path, message);
      const where = doc.columns.length > 1 && errors.filter((each) => each.path === path && each.message === message).length < doc.columns.length ? `${playground.letter(column || 0)}: ` : "";
      if (said.has(path + where + message)) return null;
      said.add(path + where + message);
      return panel.showError(path, where + message);
    });
    const first = controls.find(Boolean);
    playground.announce(`Nothing was sent. ${errors.map((each) => each.message).join(" ")}`, true);
    if (!first) return;
    if (params.contains(first)) side.open();
    first.focus();
  };

  /* --- Run --- */
  let force = false;
  const posted = (more = {}) => {
    const found = views().map((view) => {
      const values = { ...view.values };
      panel.leftOut(view).forEach((path) => { values[path] = null; });
      return { ...view.source, values };
    });
    return JSON.stringify({ ...doc, columns: found, force, ...more });
  };
  const tooMuch = () => playground.notice(`That is more than one request may carry (${Math.floor(form.dataset.limit / 2 ** 20)} MB). Nothing was sent.`);
  const stopping = () => "running" in form.dataset && !("edited" in form.dataset);
  document.addEventListener("submit", (event) => {
    if (event.target !== form) return;
    labels.flush();
    panel.flush();
    const text = posted();
    force = false;
    if (stopping() || $("[data-run-button]").disabled || text.length > Number(form.dataset.limit)) {
      event.preventDefault();
      event.stopImmediatePropagation();
      if (stopping()) stop();
      else if (!$("[data-run-button]").disabled) tooMuch();
      return;
    }
    clearErrors();
    document.getElementById("document-field").value = text;
    if (params.matches(":popover-open")) params.hidePopover();
  }, true);
  /* One column alone: the outputs of the others stay, and so do their requests. */
  const shownAt = (position) => {
    const outputs = document.getElementById("outputs");
    const at = (outputs.dataset.columnIds || "").split(" ").indexOf(doc.columns[position].id);
    return at < 0 ? null : $(`[data-run][data-column="${at}"]:not([data-coordinates])`, outputs);
  };
  const runColumn = (position) => {
    if ($("[data-run-button]").disabled || !doc.columns[position]) return;
    labels.flush();
    panel.flush();
    const outputs = document.getElementById("outputs"), old = outputs.dataset.author === "me" ? shownAt(position) : null;
    const more = { only: position };
    if (outputs.dataset.author === "me") more.into = Number(outputs.dataset.comparison);
    if (old) more.replaces = Number(old.dataset.run);
    const text = posted(more);
    if (text.length > Number(form.dataset.limit)) { tooMuch(); return; }
    clearErrors();
    if (params.matches(":popover-open")) params.hidePopover();
    playground.announce(`Running column ${playground.letter(position)}`);
    htmx.ajax("POST", form.action, { source: "#run-one", target: "#outputs", swap: "outerHTML", values: { document: text } });
  };
  const formColumn = (article) => {
    const { columnIds = "", author } = document.getElementById("outputs").dataset;
    const id = columnIds.split(" ")[Number(article.dataset.column)];
    return author !== "me" || "coordinates" in article.dataset ? -1 : doc.columns.findIndex((column) => column.id === id);
  };
  /* "Run again" at a column sends what the form says of it now; else the same request again. */
  document.addEventListener("submit", (event) => {
    const article = event.target.matches("[data-again]") && event.target.closest("[data-run]");
    const position = article ? formColumn(article) : -1;
    if (position < 0) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    runColumn(position);
  }, true);

  const goTo = (path, position) => {
    side.open();
    panel.setScope(position >= 0 && doc.columns.length > 1 ? position : null);
    panel.focus(path);
  };

  /* --- "Use this one" --- */
  const use = (found, letter) => {
    const before = snapshot();
    const { values, extra, headers, column } = JSON.parse(JSON.stringify(found));
    put({ ...before, values, extra, headers, columns: [{ ...column, values: {} }] });
    undo(`The form has the settings of column ${letter}.`, before);
  };
  const useColumn = (position) => {
    panel.flush();
    const { values, ...column } = doc.columns[position];
    const merged = Object.fromEntries(Object.entries({ ...doc.values, ...values }).filter(([, raw]) => raw !== null));
    use({ values: merged, extra: doc.extra, headers: doc.headers, column }, playground.letter(position));
  };
  const useRun = async (button) => {
    const article = button.closest("[data-run]"), letter = $(".letter", article).textContent;
    const response = await fetch(button.dataset.use, { headers: { "HX-Request": "true" }, credentials: "same-origin" }).catch(() => null);
    if (!response || !response.ok) { playground.failed("settings", "The settings of this column could not be loaded."); return; }
    playground.worked("settings");
    const { values, extra, headers, columns: [column] } = await response.json();
    const id = (document.getElementById("outputs").dataset.columnIds || "").split(" ")[Number(article.dataset.column)];
    use({ values, extra, headers, column: { ...column, ...(id ? { id } : {}) } }, letter);
  };

  let unsay = () => {};
  const run = () => {
    if (stopping()) unsay = playground.toast("It is still running. Esc stops it.");
    else if (!$("[data-run-button]").disabled) form.requestSubmit();
  };
  document.addEventListener("playground:idle", () => unsay());
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-force]")) { force = true; run(); }
    const using = event.target.closest("[data-use]");
    if (using) useRun(using);
    const wanted = event.target.closest("[data-go-parameter]");
    if (wanted) goTo(wanted.dataset.goParameter, formColumn(wanted.closest("[data-run]")));
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    const { target } = event.detail;
    if (target.id === "problems") {
      const errors = document.getElementById("errors");
      if (errors) showErrors(JSON.parse(errors.textContent));
    } else if (target.id === "outputs") {
      const outputs = document.getElementById("outputs");
      delete form.dataset.edited;
      setRunning($$(":is([data-status=queued], [data-status=running])[data-run]", outputs).length);
      if (outputs.getBoundingClientRect().top > innerHeight - 240) outputs.scrollIntoView({ block: "start" });
      if (event.detail.requestConfig.verb === "post") drafts.begun(outputs.dataset.comparison);
    } else if (target.matches("[data-run]") && event.detail.requestConfig.verb === "post") {
      const outputs = document.getElementById("outputs"), articles = $$("[data-run]", outputs);
      $$(".colswitch a", outputs).forEach((link, at) => { if (articles[at]) link.href = `#${articles[at].id}`; });
      setRunning($$(":is([data-status=queued], [data-status=running])[data-run]", outputs).length);
      const fresh = articles.find((each) => each.dataset.column === target.dataset.column && !document.contains(target));
      if (fresh && document.activeElement === document.body) $(".col__body", fresh).focus({ preventScroll: true });
      drafts.begun(outputs.dataset.comparison);
    }
  });

  /* --- Running and stop: stream.js says when --- */
  const setRunning = (running) => {
    if (running) form.dataset.running = running; else { delete form.dataset.running; delete form.dataset.edited; }
  };
  const edited = () => { if ("running" in form.dataset) form.dataset.edited = ""; doubt(); forgive(); if (drafts) drafts.touch(); };
  /* The input itself has changed: its variables may be others now. */
  const reread = () => { variables.refresh(); showPlan(); edited(); };
  const stop = () => {
    const all = document.querySelector("[data-stop-all]");
    if (!all) return;
    all.requestSubmit();
    playground.announce("Stopping");
  };
  document.addEventListener("playground:running", (event) => setRunning(event.detail.running));
  document.addEventListener("playground:idle", () => setRunning(0));

  /* --- Alt keys, by where they are on the keyboard; true where one was meant --- */
  const inOutputs = () => document.activeElement.closest("#outputs [data-run]");
  const alt = ({ code, repeat, shiftKey }) => {
    if (shiftKey) return false;
    if (code === "KeyC") { if (!repeat) columns.add(); return true; }
    if (code === "KeyP") { if (!repeat) side.find(); return true; }
    if (code === "KeyW") { if (!repeat) columns.remove(columns.current()); return true; }
    const grow = { KeyZ: "undo", KeyA: "append", KeyG: "preview" }[code];
    if (grow) { if (!repeat) growing[grow](); return true; }
    if (code === "Enter" || code === "NumpadEnter") {
      const article = inOutputs(), position = article ? formColumn(article) : columns.current();
      if (!repeat) { if (position >= 0) runColumn(position); else $("[data-again]", article).requestSubmit(); }
      return true;
    }
    const digit = /^Digit([1-9])$/.exec(code);
    if (!digit) return false;
    const at = Number(digit[1]) - 1, bodies = $$("#outputs .col__body");
    if (inOutputs() && bodies[at]) { bodies[at].focus(); bodies[at].scrollIntoView({ block: "nearest", inline: "start" }); }
    else columns.focus(at);
    return true;
  };

  /* --- Keys: never while an input method composes --- */
  document.addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229 || event.defaultPrevented || document.querySelector("dialog[open]")) return;
    if (event.altKey && !event.ctrlKey && !event.metaKey && !event.getModifierState("AltGraph") && alt(event)) { event.preventDefault(); return; }
    const meant = event.ctrlKey || event.metaKey || (event.shiftKey && form.contains(event.target));
    if (event.key === "Enter" && meant && !event.altKey) { event.preventDefault(); if (!event.repeat) run(); }
    if (event.key === "Escape" && "running" in form.dataset && !document.querySelector(":popover-open")) { event.preventDefault(); stop(); }
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest(".colswitch a");
    if (!link) return;
    event.preventDefault();
    $$("a", link.parentElement).forEach((each) => { if (each === link) each.setAttribute("aria-current", "true"); else each.removeAttribute("aria-current"); });
    document.querySelector(link.getAttribute("href")).scrollIntoView({ block: "nearest", inline: "start" });
  });

  /* --- Help while composing --- */
  const view = () => { labels.flush(); panel.flush(); return posted(); };
  playground.codeDialog({ posted: view, columns: views, column: () => panel.column() });
  playground.pasteDialog({ document: () => { labels.flush(); panel.flush(); return doc; }, connection: () => doc.columns[0] && doc.columns[0].connection, put: (found) => { put(found); columns.doubt(0); } });
  doubt = playground.doubts({ posted, wanted: () => doc.columns.length && prompts.filled() && (doc.columns.length > 1 || doc.mode !== "text" || panel.touched() || doc.columns.some((column) => Object.keys(column.values).length)) });

  /* --- The table of all columns, presets --- */
  const snapshot = () => { panel.flush(); labels.flush(); return JSON.parse(JSON.stringify(doc)); };
  const undo = (text, before) => playground.toast(text, () => { put(before); playground.announce("The form is as it was before."); });
  const settled = () => { panel.reload(); columns.refresh(); showPlan(); edited(); };
  playground.overview({
    columns: views,
    connection: (column) => (columns.connectionOf(column) || { name: "none" }).name,
    panel: () => panel,
    edit: (positions, path) => { side.open(); panel.setScope(positions); panel.focus(path); },
    go: (position, path) => columns.focus(position, path === "model" ? "[data-model]" : "[data-connection]"),
  });
  playground.presets({ panel: () => panel, columns: views, document: () => doc, settled, undo, snapshot });

  /* --- The prompt grows by outputs; samples --- */
  const planned = () => Number((/\d+/.exec($("[data-run-label]").textContent) || [1])[0]);
  const putPrompt = (text) => { doc.prompt = text; prompts.show(); reread(); growing.show(); samples.show(); };
  const previewed = (position, most, label) => {
    panel.flush();
    const column = doc.columns[position], silent = { n: null, best_of: null, echo: null, logprobs: null, max_completion_tokens: null };
    const own = ["max_tokens", "max_completion_tokens"].map((path) => String(panel.value(path, position) ?? "").trim());
    const limits = own.filter((raw) => raw !== "").map(Number).filter((limit) => limit >= 0); // below 0 means none
    const values = { ...column.values, ...silent, max_tokens: String(Math.min(most, ...limits)) };
    return JSON.stringify({ ...doc, columns: [{ ...column, values, repeat: 1 }], labels: [label], visibility: "private", force: true });
  };
  growing = playground.growing(form, {
    document: () => doc,
    current: () => columns.current(),
    multiplies: () => variables.any() || planned() > doc.columns.reduce((sum, column) => sum + (column.repeat || 1), 0),
    put: putPrompt,
    replace: (text) => { const before = snapshot(); putPrompt(text); drafts.keep(); undo("The prompt is the one that the output goes on from.", before); },
    filled: () => variables.filled(),
    previewed,
    goOn: () => run(),
  });

  /* --- Show the document --- */
  const show = () => {
    $$("[name=visibility]", form).forEach((radio) => { radio.checked = radio.value === doc.visibility; });
    prompts.show();
    messages.show();
    labels.show();
    columns.refresh();
    variables.show();
    repeats.refresh();
    showPlan();
    samples.show();
    growing.show();
    edited();
  };
  /* Another document in the place of this one. */
  const put = (found) => {
    clearErrors();
    Object.keys(doc).forEach((key) => delete doc[key]);
    Object.assign(doc, JSON.parse(JSON.stringify(found)));
    columns.render();
    panel.reload();
    show();
  };
  samples = playground.samples(form, { document: () => doc, put: (found) => put(found), snapshot, undo });
  show();
  const GIVEN = ["prompt", "messages", "prompts", "ids", "variables", "table"]; // the input, which New empties
  drafts = playground.drafts(read("draft"), {
    document: () => doc,
    put,
    blank: () => read("blank"),
    emptied: () => { const blank = read("blank"); return { ...snapshot(), ...Object.fromEntries(GIVEN.map((part) => [part, blank[part]])) }; },
    write: () => $("[role=tabpanel]:not([hidden]) textarea", form)?.focus(),
    undo,
    compose: document.querySelector(".wordmark").href,
  });

  /* --- What the palette asks for in the address: a preset, a model for the column --- */
  const asked = () => {
    const [, kind, pk, name] = /^#(preset|model)-(\d+)(?:-(.*))?$/.exec(location.hash) || [];
    if (!kind) return;
    history.replaceState(history.state, "", location.pathname + location.search);
    if (kind === "preset") playground.applyPreset(pk);
    else useModel(Number(pk), decodeURIComponent(name || ""));
  };
  const useModel = (connection, model) => {
    const before = snapshot(), position = Math.min(columns.current(), doc.columns.length - 1), column = doc.columns[position];
    if (!column || !connections.some((each) => each.id === connection)) { playground.notice("This connection is not there any more."); return; }
    Object.assign(column, { connection, model });
    columns.render();
    changed();
    undo(`Column ${playground.letter(position)} asks ${model}.`, before);
  };
  window.addEventListener("hashchange", asked);
  asked();
  /* Who comes to write can write. On glass a focus would bring up the keys. */
  const begin = () => { if (document.activeElement === document.body && doc.mode === "text" && !doc.prompt && matchMedia("(hover: hover)").matches) document.getElementById("prompt").focus({ preventScroll: true }); };
  begin();
})();
