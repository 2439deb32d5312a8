/* What a press of Run sends, all columns or one of them, and how it is stopped. stream.js says what runs. */
(() => {
  const playground = (window.playground = window.playground || {});
  const outputs = () => document.getElementById("outputs");

  /* `host`: document(), columns() with what each leaves out, flush(), clear() of what was refused, go(path, position) to a
     parameter, begun(comparison). */
  playground.sending = (form, host) => {
    const button = document.querySelector("[data-run-button]"), params = document.getElementById("params");
    const limit = Number(form.dataset.limit);
    let force = false;
    const posted = (more = {}) => {
      const columns = host.columns().map(({ source, values, leftOut }) => ({
        ...source, values: { ...values, ...Object.fromEntries(leftOut.map((path) => [path, null])) },
      }));
      return JSON.stringify({ ...host.document(), columns, force, ...more });
    };
    const tooMuch = () => playground.notice(`That is more than one request may carry (${Math.floor(limit / 2 ** 20)} MB). Nothing was sent.`);
    const foldPanel = () => { if (params.matches(":popover-open")) params.hidePopover(); };

    /* --- All columns --- */
    const stopping = () => "running" in form.dataset && !("edited" in form.dataset);
    document.addEventListener("submit", (event) => {
      if (event.target !== form) return;
      host.flush();
      const text = posted();
      force = false;
      if (stopping() || button.disabled || text.length > limit) {
        event.preventDefault();
        event.stopImmediatePropagation();
        if (stopping()) stop();
        else if (!button.disabled) tooMuch();
        return;
      }
      host.clear();
      document.getElementById("document-field").value = text;
      foldPanel();
    }, true);
    let unsay = () => {};
    const run = () => {
      if (stopping()) unsay = playground.toast("It is still running. Esc stops it.");
      else if (!button.disabled) form.requestSubmit();
    };
    document.addEventListener("playground:idle", () => unsay());

    /* --- One column alone: the outputs of the others stay, and so do their requests --- */
    const shownAt = (position) => {
      const at = (outputs().dataset.columnIds || "").split(" ").indexOf(host.document().columns[position].id);
      return at < 0 ? null : outputs().querySelector(`[data-run][data-column="${at}"]:not([data-coordinates])`);
    };
    const runColumn = (position) => {
      if (button.disabled || !host.document().columns[position]) return;
      host.flush();
      const { author, comparison } = outputs().dataset, old = author === "me" ? shownAt(position) : null;
      const more = { only: position };
      if (author === "me") more.into = Number(comparison);
      if (old) more.replaces = Number(old.dataset.run);
      const text = posted(more);
      if (text.length > limit) { tooMuch(); return; }
      host.clear();
      foldPanel();
      playground.announce(`Running column ${playground.letter(position)}`);
      htmx.ajax("POST", form.action, { source: "#run-one", target: "#outputs", swap: "outerHTML", values: { document: text } });
    };
    /* The form's column that an output came from; -1 where there is none any more. */
    const formColumn = (article) => {
      const { columnIds = "", author } = outputs().dataset;
      const id = columnIds.split(" ")[Number(article.dataset.column)];
      return author !== "me" || "coordinates" in article.dataset ? -1 : host.document().columns.findIndex((column) => column.id === id);
    };
    const again = (article) => {
      const position = formColumn(article);
      if (position >= 0) runColumn(position); else article.querySelector("[data-again]").requestSubmit();
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
    document.addEventListener("click", (event) => {
      if (event.target.closest("[data-force]")) { force = true; run(); }
      const wanted = event.target.closest("[data-go-parameter]");
      if (wanted) host.go(wanted.dataset.goParameter, formColumn(wanted.closest("[data-run]")));
    });

    /* --- What runs, and stop --- */
    const setRunning = (running) => {
      if (running) form.dataset.running = running; else { delete form.dataset.running; delete form.dataset.edited; }
    };
    const count = () => setRunning(outputs().querySelectorAll(":is([data-status=queued], [data-status=running])[data-run]").length);
    const edited = () => { if ("running" in form.dataset) form.dataset.edited = ""; };
    const stop = () => {
      const all = document.querySelector("[data-stop-all]");
      if (!all) return;
      all.requestSubmit();
      playground.announce("Stopping");
    };
    const begun = () => {
      delete form.dataset.edited;
      count();
      if (outputs().getBoundingClientRect().top > innerHeight - 240) outputs().scrollIntoView({ block: "start" });
    };
    const columnBegun = (gone) => {
      const articles = [...outputs().querySelectorAll("[data-run]")];
      outputs().querySelectorAll(".colswitch a").forEach((link, at) => { if (articles[at]) link.href = `#${articles[at].id}`; });
      count();
      const fresh = articles.find((each) => each.dataset.column === gone.dataset.column && !document.contains(gone));
      if (fresh && document.activeElement === document.body) fresh.querySelector(".col__body").focus({ preventScroll: true });
    };
    document.addEventListener("htmx:afterSwap", (event) => {
      const { target, requestConfig } = event.detail, verb = requestConfig?.verb; // what comes out of band has none
      const whole = target.id === "outputs";
      if (whole) begun();
      else if (target.matches("[data-run]") && verb === "post") columnBegun(target);
      else return;
      if (verb === "post") host.begun(outputs().dataset.comparison);
    });
    document.addEventListener("playground:running", (event) => setRunning(event.detail.running));
    document.addEventListener("playground:idle", () => setRunning(0));
    return { posted, run, runColumn, again, stop, edited };
  };
})();
