/* The parameter panel: groups of rows, one row for each path of the table, for all columns or for one.
   values.js reads and writes the document that compose.js owns; parameterrow.js draws a row. */
(() => {
  const playground = (window.playground = window.playground || {});
  const { unestablished } = playground.support;

  /* `host`: document(), columns() [{letter, api, title, provider, model, values, memories}],
     follow(part) → raw value or undefined, tokens(position, asked), reset(position), resetting() before
     a reset, scoped() after other columns are chosen, changed(). */
  playground.panel = (root, support, host) => {
    /* The rows of a closed group wait in its template, where the page pays nothing for them. */
    const groups = [...root.querySelectorAll("[data-group]")].map((element) => {
      const template = element.querySelector("template");
      return { element, template, rows: [...(template ? template.content : element).querySelectorAll("[data-path]")] };
    });
    const rows = groups.flatMap((group) => group.rows);
    const row = new Map(rows.map((each) => [each.dataset.path, each]));
    const editors = new Map(); // control → its editor
    const find = root.querySelector("[data-find]");

    const values = playground.values(rows, support, host);

    /* --- All rows --- */
    const words = () => find.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const matches = (element) => words().every((word) => element.dataset.words.toLowerCase().includes(word));
    const { refresh: refreshRow, showError, controlOf } = playground.parameterRows(values, support, host, editors, (element) => !matches(element));
    const showGroups = () => {
      groups.forEach((group) => {
        const { element, rows: inside } = group, set = inside.filter((each) => values.isSet(each.dataset.path)).length;
        element.querySelector("[data-group-count]").textContent = set ? `${set} set` : "";
        element.hidden = inside.every((each) => each.hidden);
        if (find.value && !element.hidden) open(group);
      });
      root.querySelector("[data-none]").hidden = rows.some((each) => !each.hidden);
      const total = rows.filter((each) => values.isSet(each.dataset.path)).length;
      const shown = root.querySelector("[data-set-total]");
      shown.textContent = `${total} set`;
      shown.hidden = !total;
    };
    const scopes = playground.scopes(root, { columns: host.columns, scope: values.scope, choose: (at) => setScope(at) });
    const unsure = new Set(Object.values(support).flatMap((entries) => Object.keys(entries).filter((api) => entries[api].status === "unestablished")));
    const showUnestablished = () => {
      const columns = host.columns(), found = columns.filter((column) => unsure.has(column.api));
      const place = root.querySelector("[data-unestablished]");
      place.hidden = !found.length;
      place.textContent = found.length ? unestablished(found.length < columns.length ? found.map((column) => column.letter) : []) : "";
    };
    const refresh = () => { values.fold(); values.narrow(); scopes.show(); values.settle(); rows.forEach(refreshRow); showGroups(); showUnestablished(); };
    const setScope = (at) => {
      editors.forEach((editor) => editor.flush()); // what is being typed belongs to the columns it was typed for
      values.choose(at);
      refresh();
      host.scoped();
    };
    const touched = (element) => {
      showError(element, "");
      values.settle();
      refreshRow(element);
      values.automatic().forEach((path) => refreshRow(row.get(path)));
      rows.filter((each) => each.dataset.unless && each !== element).forEach(refreshRow);
      showGroups();
      host.changed();
    };

    /* --- Events --- */
    root.addEventListener("input", (event) => {
      if (event.target === find) { rows.forEach(refreshRow); showGroups(); return; }
      const element = event.target.closest("[data-path]");
      const control = element && event.target.closest("[data-control]");
      if (!control || editors.has(control)) return;
      const box = control.querySelector("[data-box]");
      if (event.target.matches(".range")) box.value = event.target.value;
      const value = event.target.matches("[type=radio]") ? event.target.value : box.value;
      values.write(element.dataset.path, value, control.dataset.control === "text" && !values.whole(element.dataset.path));
      touched(element);
    });
    const equip = (element) => element.querySelectorAll("[data-control]").forEach((control) => {
      const make = playground.editors[control.dataset.control];
      if (!make) return;
      editors.set(control, make(control, {
        path: element.dataset.path,
        write: (value) => { values.write(element.dataset.path, value, false); touched(element); },
        error: (sentence) => showError(element, sentence),
        tokens: (asked) => host.tokens(values.places()[0] || 0, asked),
      }));
    });
    const unpack = (group) => {
      if (!group.template) return;
      group.template.replaceWith(group.template.content);
      group.template = null;
      group.rows.forEach((element) => { equip(element); refreshRow(element); });
    };
    const open = (group) => { unpack(group); group.element.open = true; };
    const openFor = (element) => {
      const group = groups.find((each) => each.rows.includes(element));
      element.hidden = group.element.hidden = false;
      open(group);
    };
    groups.forEach((group) => {
      if (!group.template) group.rows.forEach(equip);
      group.element.querySelector("summary").addEventListener("click", () => unpack(group)); // before it opens
      group.element.addEventListener("toggle", () => { if (group.element.open) unpack(group); });
    });
    /* The browser's own search looks into closed groups as well. */
    document.addEventListener("keydown", (event) => {
      if (event.key === "F3" || ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "f")) groups.forEach(unpack);
    });
    root.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      const element = button && button.closest("[data-path]");
      if (button && "resetAll" in button.dataset) { resetAll(); return; }
      if (!element || !("reset" in button.dataset || "leaveOut" in button.dataset)) return;
      if ("leaveOut" in button.dataset) values.leaveOut(element.dataset.path); else values.reset(element.dataset.path);
      touched(element);
      const next = controlOf(element);
      if (next) next.focus({ preventScroll: true });
    });
    const resetAll = () => {
      host.resetting();
      values.resetAll();
      rows.forEach((each) => showError(each, ""));
      refresh();
      host.changed();
    };
    const adopt = () => {
      values.adopt();
      refresh();
      groups.forEach((group) => { if (group.rows.some((each) => values.isSet(each.dataset.path))) open(group); });
    };
    adopt();
    /* Laid out once, as it is now, and not within what else the page does while it loads. */
    document.addEventListener("DOMContentLoaded", () => setTimeout(() => { root.querySelector(".panel__scroll").dataset.ready = ""; }));

    return {
      refresh,
      /* Another document has been put into the form. */
      reload: () => { find.value = ""; rows.forEach((each) => showError(each, "")); adopt(); },
      /* What is still being typed becomes part of the document. */
      flush: () => editors.forEach((editor) => editor.flush()),
      setScope,
      scope: values.scope,
      /* The column that is edited, or the first of several. */
      column: () => values.places()[0] || 0,
      count: () => rows.filter((each) => values.isSetAt(each.dataset.path, null)).length,
      value: values.rawAt,
      touched: values.touched,
      changes: values.changes,
      chosen: values.chosen,
      automatic: values.automatic,
      initial: values.initial,
      switchedOff: values.switchedOff,
      leftOut: values.leftOut,
      /* {path, label} of those that a column takes, or that are set. */
      offered: () => rows.filter(({ dataset: { path } }) => values.isSet(path) || host.columns().some((column) => values.known(path, column)))
        .map((element) => ({ path: element.dataset.path, label: element.querySelector(".tip b").textContent })),
      rows: () => rows,
      /* For the table of all columns: every path, and a value of one column; null: not sent. */
      paths: () => rows.map((each) => each.dataset.path),
      entry: (path, at) => (support[path] || {})[host.columns()[at].api],
      set: (path, at, text) => {
        values.setAt(path, at, text);
        touched(row.get(path));
      },
      clearErrors: () => rows.forEach((each) => showError(each, "")),
      /* Show a row and go to its control. */
      focus: (path) => {
        const element = row.get(path);
        find.value = "";
        refresh();
        openFor(element);
        controlOf(element).focus();
        element.scrollIntoView({ block: "center" });
      },
      /* The control to focus, or null where the path has no row. */
      showError: (path, message) => {
        const element = row.get(path === "extra" ? "extra_body" : path);
        if (!element) return null;
        const before = element.querySelector("[data-error]").textContent;
        showError(element, before ? `${before} ${message}` : message);
        openFor(element);
        return controlOf(element);
      },
    };
  };
})();
