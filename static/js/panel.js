/* The parameter panel: one row for each path of the table. It reads and writes the document that
   compose.js owns, for all columns or for one; what is unset is absent from the document. */
(() => {
  const playground = (window.playground = window.playground || {});
  const { TAKEN, range, outside, showMarks, notes, without, unestablished, facts, remembered } = playground.support;
  const WHOLE = { extra_body: "extra", headers: "headers" }; // rows that are one part of the document for all columns
  const own = (object, key) => Object.prototype.hasOwnProperty.call(object, key);

  /* A raw value is what was typed, or JSON from a document that a program made. */
  const typed = (raw) => {
    if (raw === undefined || raw === null) return "";
    if (typeof raw === "string") return raw;
    return typeof raw === "object" ? JSON.stringify(raw, null, 2) : String(raw);
  };
  const brief = (raw) => { const text = typed(raw).replace(/\s+/g, " "); return text.length > 24 ? `${text.slice(0, 23)}…` : text || "empty"; };
  playground.fillSlider = (slider) => {
    const part = (slider.value - slider.min) / (slider.max - slider.min || 1);
    slider.style.setProperty("--fill", `${100 * part}%`);
  };

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
    const byItself = rows.filter((each) => each.dataset.initialWith || each.dataset.follows).map((each) => each.dataset.path);
    const automatic = new Set(byItself);
    const editors = new Map(); // control → its editor
    const find = root.querySelector("[data-find]");
    let scope = null; // null: what all columns share, else the positions of the columns that are edited

    /* --- Values --- */
    const common = () => host.document().values;
    const over = () => scope.map((at) => host.columns()[at].values);
    const rawAt = (path, at) => {
      if (path in WHOLE) return host.document()[WHOLE[path]] || undefined;
      if (at !== null && own(host.columns()[at].values, path)) return host.columns()[at].values[path];
      return common()[path];
    };
    const there = (value) => value !== undefined && value !== null;
    const isSetAt = (path, at) => there(rawAt(path, at));
    /* In the edited columns: undefined where they differ. */
    const places = () => scope || [null];
    const mixed = (path) => new Set(places().map((at) => JSON.stringify(isSetAt(path, at) ? rawAt(path, at) : null))).size > 1;
    const raw = (path) => (mixed(path) ? undefined : rawAt(path, places()[0]));
    const isSet = (path) => places().some((at) => isSetAt(path, at));
    const isOver = (path) => scope !== null && !(path in WHOLE) && over().some((values) => own(values, path));
    const everywhere = () => scope !== null && scope.length === host.columns().length;
    const settleAt = (path, at, text) => {
      const values = host.columns()[at].values;
      if (text !== null) values[path] = text;
      else if (isSetAt(path, null)) values[path] = null;
      else delete values[path];
    };
    /* `text` null: not sent. What goes to every column becomes what all of them share. */
    const put = (path, text) => {
      if (path in WHOLE) host.document()[WHOLE[path]] = text === null ? "" : text;
      else if (scope !== null && !everywhere()) scope.forEach((at) => settleAt(path, at, text));
      else {
        if (scope !== null) over().forEach((values) => delete values[path]);
        if (text === null) delete common()[path]; else common()[path] = text;
      }
    };
    const write = (path, text, keepEmpty) => {
      automatic.delete(path);
      put(path, text === "" && !keepEmpty ? null : text);
    };
    const known = (path, column) => Boolean(support[path] && support[path][column.api]);
    const takes = (path, column) => known(path, column) && TAKEN.includes(support[path][column.api].status);

    /* What the only column has of its own is what the form shows and resets. */
    const fold = () => {
      const [only, ...rest] = host.columns();
      if (!only || rest.length) return;
      Object.entries(only.values).forEach(([path, value]) => {
        automatic.delete(path);
        if (there(value)) common()[path] = value; else delete common()[path];
        delete only.values[path];
      });
    };
    /* What single columns send otherwise than the row of all says. */
    const apart = (path) => scope !== null || path in WHOLE ? "" : host.columns()
      .map((column, at) => own(column.values, path) ? `${column.letter}: ${isSetAt(path, at) ? brief(rawAt(path, at)) : "not sent"}` : "")
      .filter(Boolean).join(", ");

    /* What the playground sets by itself as long as nobody touched it: only where it is of use. */
    const isOn = (path) => [true, "true"].includes(common()[path]);
    const meant = (path) => {
      const { follows, initial, initialWith } = row.get(path).dataset;
      return follows ? host.follow(follows) : isOn(initialWith) ? initial : undefined;
    };
    const settle = () => automatic.forEach((path) => {
      const value = meant(path);
      if (value !== undefined && host.columns().some((column) => takes(path, column))) common()[path] = value;
      else delete common()[path];
    });
    const left = (path, column) => automatic.has(path) && own(common(), path) && !takes(path, column);

    /* --- One row --- */
    const inScope = () => { const columns = host.columns(); return scope === null ? columns : scope.map((at) => columns[at]); };
    const pick = (element, entries) => {
      const controls = [...element.querySelectorAll("[data-control]")];
      const widgets = new Set(entries.filter(Boolean).map((entry) => entry.widget));
      const wanted = widgets.size > 1 ? "text" : [...widgets][0];
      const shown = controls.find((each) => each.dataset.control === wanted) || controls[0];
      controls.forEach((each) => { each.hidden = each !== shown; });
      element.querySelector("label").htmlFor = shown.querySelector("[data-box], [type=radio]").id;
      return shown;
    };
    const showSlider = (slider, entries, text, fallback) => {
      const first = entries.find((entry) => entry && entry.high !== undefined);
      if (first) { slider.min = first.low; slider.max = first.high; slider.step = first.step; }
      if (document.activeElement !== slider || text === "") {
        const at = text !== "" && !Number.isNaN(Number(text)) ? text : fallback;
        slider.value = at === "" ? slider.min : at;
      }
      playground.fillSlider(slider);
    };
    const showControl = (control, entries, value, text, differs) => {
      if (editors.has(control)) { editors.get(control).show(value); return; }
      const fallbacks = new Set(entries.filter(Boolean).map((entry) => entry.default || ""));
      const fallback = fallbacks.size === 1 ? [...fallbacks][0] : "";
      const slider = control.querySelector(".range"), box = control.querySelector("[data-box]");
      control.querySelectorAll("input[type=radio]").forEach((radio) => { radio.checked = radio.value === text; });
      if (box && box.matches("select") && text && ![...box.options].some((option) => option.value === text)) box.add(new Option(text, text));
      if (box && box.value !== text && !(document.activeElement === box && value !== undefined && value !== null)) box.value = text;
      if (box && box.matches("input")) box.placeholder = differs ? "differs" : fallback;
      if (slider) showSlider(slider, entries, text, fallback);
    };
    const showMemories = (element, columns) => {
      const said = columns.map((column) => [column.memories[element.dataset.path], column.model]).filter(([memory]) => memory);
      const text = [...new Set(said.map(([memory, model]) => remembered(memory, model)))].join(" ");
      element.querySelector("[data-memory]").hidden = !text;
      element.querySelector("[data-memory-text]").textContent = text;
    };

    const refreshRow = (element) => {
      const path = element.dataset.path, columns = inScope();
      const entries = columns.map((column) => support[path] && support[path][column.api]);
      const set = isSet(path), overridden = isOver(path);
      const unknown = columns.length > 0 && !entries.some(Boolean);
      element.hidden = (unknown && !set && !overridden) || !matches(element);
      if (!element.isConnected) return; // drawn when its group opens
      const value = raw(path);
      const control = pick(element, entries), text = typed(value);
      const beyond = set && control.dataset.control === "number" ? columns.filter((_, i) => entries[i] && outside(entries[i], text)) : [];
      const differs = mixed(path);
      element.dataset.state = set ? (beyond.length || unknown ? "warn" : "set") : "unset";
      element.toggleAttribute("data-inherited", scope !== null && set && !overridden && !(path in WHOLE));
      showControl(control, entries, value, text, differs);
      showMarks(element, columns, entries);
      showMemories(element, columns);
      showState(element, path, set, overridden);
      const said = notes(columns, entries, set);
      if (!set) said.push(...[without(...unlimited(element, columns, entries))].filter(Boolean));
      if (differs) said.push(`${scope.map((at) => `${host.columns()[at].letter}: ${isSetAt(path, at) ? brief(rawAt(path, at)) : "not sent"}`).join(", ")}.`);
      if (apart(path)) said.push(`Own value in ${apart(path)}.`);
      if (set && !differs && text === "" && control.dataset.control === "text") said.push("Sent as empty text.");
      if (overridden && !set && isSetAt(path, null)) said.push(`Not sent in ${scope.length > 1 ? "these columns" : "this column"}.`);
      if (path in WHOLE && scope !== null) said.push("This goes to all columns.");
      if (set && automatic.has(path) && element.dataset.follows) said.push(`Made from the ${element.dataset.follows}; change or reset it to send something else.`);
      new Set(beyond.map((column) => `${column.title} documents ${range(support[path][column.api])}.`)).forEach((each) => said.push(each));
      const note = element.querySelector("[data-note]");
      note.textContent = said.join(" ");
      note.hidden = !said.length;
      element.querySelector("[data-facts]").textContent = facts(columns, entries);
    };
    /* Columns that send neither this parameter nor one that means the same. */
    const unlimited = (element, columns, entries) => {
      const paths = [element.dataset.path, ...(element.dataset.unless || "").split(" ").filter(Boolean)];
      const free = columns.map((_, i) => i).filter((i) => !paths.some((each) => isSetAt(each, scope === null ? i : scope[i])));
      return [free.map((i) => columns[i]), free.map((i) => entries[i])];
    };
    const showState = (element, path, set, overridden) => {
      const unsent = element.querySelector("[data-unsent]"), reset = element.querySelector("[data-reset]"), out = element.querySelector("[data-leave-out]");
      const letters = scope === null ? "" : scope.map((at) => host.columns()[at].letter).join(", ");
      const shared = scope === null || path in WHOLE;
      reset.hidden = shared ? !set : !overridden;
      reset.setAttribute("aria-label", shared ? `Reset ${path}, do not send it` : `Reset ${path} to what all columns send`);
      out.hidden = shared || !set || !isSetAt(path, null);
      out.setAttribute("aria-label", `Do not send ${path} in ${!letters ? "any column" : scope.length > 1 ? `columns ${letters}` : `column ${letters}`}`);
      unsent.hidden = !(reset.hidden && out.hidden);
    };

    /* --- All rows --- */
    const words = () => find.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const matches = (element) => words().every((word) => element.dataset.words.toLowerCase().includes(word));
    const showGroups = () => {
      groups.forEach((group) => {
        const { element, rows: inside } = group, set = inside.filter((each) => isSet(each.dataset.path)).length;
        element.querySelector("[data-group-count]").textContent = set ? `${set} set` : "";
        element.hidden = inside.every((each) => each.hidden);
        if (find.value && !element.hidden) open(group);
      });
      root.querySelector("[data-none]").hidden = rows.some((each) => !each.hidden);
      const total = rows.filter((each) => isSet(each.dataset.path)).length;
      const shown = root.querySelector("[data-set-total]");
      shown.textContent = `${total} set`;
      shown.hidden = !total;
    };
    const scopes = playground.scopes(root, { columns: host.columns, scope: () => scope, choose: (at) => setScope(at) });
    const showScopes = () => {
      const count = host.columns().length;
      if (scope !== null) scope = count < 2 ? null : scope.filter((at) => at < count);
      if (scope !== null && !scope.length) scope = null;
      scopes.show();
    };
    const unsure = new Set(Object.values(support).flatMap((entries) => Object.keys(entries).filter((api) => entries[api].status === "unestablished")));
    const showUnestablished = () => {
      const columns = host.columns(), found = columns.filter((column) => unsure.has(column.api));
      const place = root.querySelector("[data-unestablished]");
      place.hidden = !found.length;
      place.textContent = found.length ? unestablished(found.length < columns.length ? found.map((column) => column.letter) : []) : "";
    };
    const refresh = () => { fold(); showScopes(); settle(); rows.forEach(refreshRow); showGroups(); showUnestablished(); };
    const setScope = (at) => {
      editors.forEach((editor) => editor.flush()); // what is being typed belongs to the columns it was typed for
      scope = at === null ? null : [...new Set([].concat(at))].sort((a, b) => a - b);
      refresh();
      host.scoped();
    };
    const touched = (element) => {
      showError(element, "");
      settle();
      refreshRow(element);
      automatic.forEach((path) => refreshRow(row.get(path)));
      rows.filter((each) => each.dataset.unless && each !== element).forEach(refreshRow);
      showGroups();
      host.changed();
    };

    /* --- Errors --- */
    const showError = (element, message) => {
      const error = element.querySelector("[data-error]");
      error.textContent = message;
      error.hidden = !message;
      element.toggleAttribute("data-wrong", Boolean(message));
      element.querySelectorAll("[data-box]").forEach((box) => { if (message) box.setAttribute("aria-invalid", "true"); else box.removeAttribute("aria-invalid"); });
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
      write(element.dataset.path, value, control.dataset.control === "text" && !(element.dataset.path in WHOLE));
      touched(element);
    });
    const equip = (element) => element.querySelectorAll("[data-control]").forEach((control) => {
      const make = playground.editors[control.dataset.control];
      if (!make) return;
      editors.set(control, make(control, {
        path: element.dataset.path,
        write: (value) => { write(element.dataset.path, value, false); touched(element); },
        error: (sentence) => showError(element, sentence),
        tokens: (asked) => host.tokens(places()[0] || 0, asked),
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
      const path = element.dataset.path;
      automatic.delete(path);
      if ("leaveOut" in button.dataset) scope.forEach((at) => settleAt(path, at, null));
      else if (scope === null || path in WHOLE) put(path, null);
      else over().forEach((values) => delete values[path]);
      touched(element);
      const next = element.querySelector("[data-control]:not([hidden]) :is([data-box], input:checked)");
      if (next) next.focus({ preventScroll: true });
    });
    const resetAll = () => {
      host.resetting();
      if (scope !== null) scope.forEach((at) => host.reset(at));
      else {
        host.document().values = {};
        host.columns().forEach((_, at) => host.reset(at));
        Object.values(WHOLE).forEach((part) => { host.document()[part] = ""; });
        byItself.forEach((path) => automatic.add(path));
        rows.filter((each) => each.dataset.initial).forEach((each) => {
          if (!each.dataset.initialWith) common()[each.dataset.path] = each.dataset.initial;
        });
      }
      rows.forEach((each) => showError(each, ""));
      refresh();
      host.changed();
    };

    /* A restored document: what nobody touched goes on following the columns. */
    const adopt = () => {
      fold();
      byItself.forEach((path) => automatic.add(path));
      byItself.forEach((path) => {
        host.columns().forEach((column) => { if (column.values[path] === null && !takes(path, column)) delete column.values[path]; });
        const mine = host.columns().some((column) => own(column.values, path)), value = meant(path);
        const could = value !== undefined && host.columns().some((column) => takes(path, column));
        const same = isSetAt(path, null) && (common()[path] === value || String(common()[path]) === value);
        if (mine || (could && !isSetAt(path, null)) || (isSetAt(path, null) && !same)) automatic.delete(path);
      });
      refresh();
      groups.forEach((group) => { if (group.rows.some((each) => isSet(each.dataset.path))) open(group); });
    };
    adopt();
    /* Laid out once, as it is now, and not within what else the page does while it loads. */
    document.addEventListener("DOMContentLoaded", () => setTimeout(() => { root.querySelector(".panel__scroll").dataset.ready = ""; }));

    return {
      refresh,
      /* Another document has been put into the form. */
      reload: () => { rows.forEach((each) => showError(each, "")); adopt(); },
      /* What is still being typed becomes part of the document. */
      flush: () => editors.forEach((editor) => editor.flush()),
      /* Whether somebody has set anything, beside what a new form sends. */
      touched: () => rows.some((each) => isSetAt(each.dataset.path, null) && !automatic.has(each.dataset.path) && each.dataset.initial !== String(rawAt(each.dataset.path, null))),
      setScope,
      scope: () => scope,
      /* The column that is edited, or the first of several. */
      column: () => places()[0] || 0,
      /* What this column sends otherwise than all: ["temperature 0.2"]. */
      changes: (at) => Object.entries(host.columns()[at].values).map(([path, value]) => `${path} ${there(value) ? brief(value) : "not sent"}`),
      count: () => rows.filter((each) => isSetAt(each.dataset.path, null)).length,
      value: rawAt,
      /* {path, label} of those that a column takes, or that are set. */
      offered: () => rows.filter(({ dataset: { path } }) => isSet(path) || host.columns().some((column) => known(path, column)))
        .map((element) => ({ path: element.dataset.path, label: element.querySelector(".tip b").textContent })),
      rows: () => rows,
      /* For the table of all columns: every path, and a value of one column; null: not sent. */
      paths: () => rows.map((each) => each.dataset.path),
      entry: (path, at) => (support[path] || {})[host.columns()[at].api],
      set: (path, at, text) => {
        automatic.delete(path);
        if (path in WHOLE) host.document()[WHOLE[path]] = text === null ? "" : text; else settleAt(path, at, text);
        touched(row.get(path));
      },
      /* What somebody has set for all columns, as a preset keeps it. */
      chosen: () => Object.fromEntries(Object.entries(common()).filter(([path, value]) => there(value) && !automatic.has(path))),
      automatic: () => [...automatic],
      initial: () => Object.fromEntries(rows.filter((each) => each.dataset.initial && !each.dataset.initialWith).map((each) => [each.dataset.path, each.dataset.initial])),
      /* What this column must not send although all columns do. */
      leftOut: (column) => [...automatic].filter((path) => left(path, column)),
      clearErrors: () => rows.forEach((each) => showError(each, "")),
      /* Show a row and go to its control. */
      focus: (path) => {
        const element = row.get(path);
        find.value = "";
        refresh();
        openFor(element);
        element.querySelector("[data-control]:not([hidden]) :is([data-box], input:checked)").focus();
        element.scrollIntoView({ block: "center" });
      },
      /* The control to focus, or null where the path has no row. */
      showError: (path, message) => {
        const element = row.get(path === "extra" ? "extra_body" : path);
        if (!element) return null;
        const before = element.querySelector("[data-error]").textContent;
        showError(element, before ? `${before} ${message}` : message);
        openFor(element);
        return element.querySelector("[data-control]:not([hidden]) :is([data-box], input:checked)");
      },
    };
  };
})();
