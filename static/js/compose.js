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
  const undo = playground.takenBack({ document: () => doc, put: (found) => put(found) });

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
    run: (position) => sending.runColumn(position),
    use: (position) => taking.column(position),
    undo,
    settled: () => settled(),
    memory: (column) => ((memories[column.connection] || {})[(column.model || "").trim()] || {}).model,
    changed,
  });
  const error = (path, message) => refused.field(path, message);
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

  const flush = () => { labels.flush(); panel.flush(); };
  const refused = playground.refused({
    document: () => doc,
    control: (path, message) => (path === "labels" ? labels.control : path === "variables" ? variables.control : prompts.controls[path] || messages.control(message)),
    columns,
    panel,
    side,
  });
  const sending = playground.sending(form, {
    document: () => doc,
    columns: () => views().map((view) => ({ ...view, leftOut: panel.leftOut(view) })),
    flush,
    clear: refused.clear,
    go: (path, position) => goTo(path, position >= 0 && doc.columns.length > 1 ? position : null),
    begun: (comparison) => drafts.begun(comparison),
  });

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
    posted: () => sending.posted(),
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

  const edited = () => { undo.withdraw(); sending.edited(); doubt(); refused.forgive(); if (drafts) drafts.touch(); };
  /* The input itself has changed: its variables may be others now. */
  const reread = () => { variables.refresh(); showPlan(); edited(); };

  /* --- Help while composing --- */
  const goTo = (path, positions) => { side.open(); panel.setScope(positions); panel.focus(path); };
  const view = () => { flush(); return sending.posted(); };
  playground.codeDialog({ posted: view, columns: views, column: () => panel.column() });
  playground.pasteDialog({ document: () => { flush(); return doc; }, connection: () => doc.columns[0] && doc.columns[0].connection, put: (found) => { put(found); columns.doubt(0); }, wrong: (path, sentence) => panel.showError(path, sentence), undo });
  doubt = playground.doubts({ posted: () => sending.posted(), wanted: () => doc.columns.length && prompts.filled() && (doc.columns.length > 1 || doc.mode !== "text" || panel.touched() || doc.columns.some((column) => Object.keys(column.values).length)) });

  /* --- The table of all columns, presets --- */
  const snapshot = () => { flush(); return JSON.parse(JSON.stringify(doc)); };
  const taking = playground.taking({ document: () => doc, flush, snapshot, put: (found) => put(found), undo });
  const settled = () => { panel.reload(); columns.refresh(); showPlan(); edited(); };
  playground.overview({
    columns: views,
    connection: (column) => (columns.connectionOf(column) || { name: "none" }).name,
    panel: () => panel,
    edit: (positions, path) => goTo(path, positions),
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
    goOn: () => sending.run(),
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
    refused.clear();
    Object.keys(doc).forEach((key) => delete doc[key]);
    Object.assign(doc, JSON.parse(JSON.stringify(found)));
    columns.render();
    panel.reload();
    show();
  };
  samples = playground.samples(form, { document: () => doc, put: (found) => put(found), snapshot, undo });
  playground.composeKeys(form, { columns, side, sending, growing: () => growing });
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
