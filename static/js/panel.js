/* The parameter panel: one row for each path of the table. It reads and writes the document that
   compose.js owns, for all columns or for one; what is unset is absent from the document. */
(() => {
  const playground = (window.playground = window.playground || {});
  const { TAKEN, range, outside, showMarks, notes, facts, remembered } = playground.support;
  const WHOLE = { extra_body: "extra", headers: "headers" }; // rows that are one part of the document for all columns
  const own = (object, key) => Object.prototype.hasOwnProperty.call(object, key);

  /* A raw value is what was typed, or JSON from a document that a program made. */
  const typed = (raw) => {
    if (raw === undefined || raw === null) return "";
    if (typeof raw === "string") return raw;
    return typeof raw === "object" ? JSON.stringify(raw, null, 2) : String(raw);
  };
  playground.fillSlider = (slider) => {
    const part = (slider.value - slider.min) / (slider.max - slider.min || 1);
    slider.style.setProperty("--fill", `${100 * part}%`);
  };

  /* `host`: document(), columns() [{letter, api, title, provider, model, values, memories}],
     follow(part) → raw value or undefined, tokens(position, asked), reset(position), changed(). */
  playground.panel = (root, support, host) => {
    const rows = [...root.querySelectorAll("[data-path]")];
    const row = new Map(rows.map((each) => [each.dataset.path, each]));
    const byItself = rows.filter((each) => each.dataset.initialWith || each.dataset.follows).map((each) => each.dataset.path);
    const automatic = new Set(byItself);
    const editors = new Map(); // control → its editor
    const find = root.querySelector("[data-find]");
    let scope = null; // null: all columns

    /* --- Values --- */
    const common = () => host.document().values;
    const over = () => (scope === null ? null : host.columns()[scope].values);
    const raw = (path, at = scope) => {
      if (path in WHOLE) return host.document()[WHOLE[path]] || undefined;
      if (at !== null && own(host.columns()[at].values, path)) return host.columns()[at].values[path];
      return common()[path];
    };
    const isSet = (path, at = scope) => { const value = raw(path, at); return value !== undefined && value !== null; };
    const clear = (path) => {
      if (path in WHOLE) host.document()[WHOLE[path]] = "";
      else if (scope === null) delete common()[path];
      else if (isSet(path, null)) over()[path] = null;
      else delete over()[path];
    };
    const write = (path, text, keepEmpty) => {
      automatic.delete(path);
      if (text === "" && !keepEmpty) clear(path);
      else if (path in WHOLE) host.document()[WHOLE[path]] = text;
      else (over() || common())[path] = text;
    };
    const known = (path, column) => Boolean(support[path] && support[path][column.api]);
    const takes = (path, column) => known(path, column) && TAKEN.includes(support[path][column.api].status);

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
    const inScope = () => (scope === null ? host.columns() : [host.columns()[scope]]);
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
    const showControl = (control, entries, value, text) => {
      if (editors.has(control)) { editors.get(control).show(value); return; }
      const fallbacks = new Set(entries.filter(Boolean).map((entry) => entry.default || ""));
      const fallback = fallbacks.size === 1 ? [...fallbacks][0] : "";
      const slider = control.querySelector(".range"), box = control.querySelector("[data-box]");
      control.querySelectorAll("input[type=radio]").forEach((radio) => { radio.checked = radio.value === text; });
      if (box && box.matches("select") && text && ![...box.options].some((option) => option.value === text)) box.add(new Option(text, text));
      if (box && box.value !== text && !(document.activeElement === box && value !== undefined && value !== null)) box.value = text;
      if (box && box.matches("input")) box.placeholder = fallback;
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
      const value = raw(path), set = isSet(path);
      const control = pick(element, entries), text = typed(value);
      const beyond = set && control.dataset.control === "number" ? columns.filter((_, i) => entries[i] && outside(entries[i], text)) : [];
      const overridden = scope !== null && !(path in WHOLE) && own(over(), path);
      const unknown = columns.length > 0 && !entries.some(Boolean);
      element.dataset.state = set ? (beyond.length || unknown ? "warn" : "set") : "unset";
      element.toggleAttribute("data-inherited", scope !== null && set && !overridden && !(path in WHOLE));
      element.hidden = (unknown && !set && !overridden) || !matches(element);
      showControl(control, entries, value, text);
      showMarks(element, columns, entries);
      showMemories(element, columns);
      showState(element, path, set, overridden);
      const said = notes(columns, entries, set);
      if (set && text === "" && control.dataset.control === "text") said.push("Sent as empty text.");
      if (overridden && !set && isSet(path, null)) said.push("Not sent in this column.");
      if (path in WHOLE && scope !== null) said.push("This goes to all columns.");
      if (set && automatic.has(path) && element.dataset.follows) said.push(`Made from the ${element.dataset.follows}; change or reset it to send something else.`);
      new Set(beyond.map((column) => `${column.title} documents ${range(support[path][column.api])}.`)).forEach((each) => said.push(each));
      const note = element.querySelector("[data-note]");
      note.textContent = said.join(" ");
      note.hidden = !said.length;
      element.querySelector("[data-facts]").textContent = facts(columns, entries);
    };
    const showState = (element, path, set, overridden) => {
      const unsent = element.querySelector("[data-unsent]"), reset = element.querySelector("[data-reset]"), out = element.querySelector("[data-leave-out]");
      const letter = scope === null ? "" : host.columns()[scope].letter;
      reset.hidden = scope === null || path in WHOLE ? !set : !overridden;
      reset.setAttribute("aria-label", scope === null || path in WHOLE ? `Reset ${path}, do not send it` : `Reset ${path} to what all columns send`);
      out.hidden = scope === null || path in WHOLE || !set || !isSet(path, null);
      out.setAttribute("aria-label", `Do not send ${path} in ${letter ? `column ${letter}` : "any column"}`);
      unsent.hidden = !(reset.hidden && out.hidden);
    };

    /* --- All rows --- */
    const words = () => find.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const matches = (element) => words().every((word) => element.dataset.words.toLowerCase().includes(word));
    const showGroups = () => {
      root.querySelectorAll("[data-group]").forEach((group) => {
        const inside = [...group.querySelectorAll("[data-path]")];
        const set = inside.filter((each) => isSet(each.dataset.path)).length;
        group.querySelector("[data-group-count]").textContent = set ? `${set} set` : "";
        group.hidden = inside.every((each) => each.hidden);
        if (find.value && !group.hidden) group.open = true;
      });
      root.querySelector("[data-none]").hidden = rows.some((each) => !each.hidden);
      const total = rows.filter((each) => isSet(each.dataset.path)).length;
      const shown = root.querySelector("[data-set-total]");
      shown.textContent = `${total} set`;
      shown.hidden = !total;
    };
    const showScopes = () => {
      const columns = host.columns();
      if (scope !== null && scope >= columns.length) scope = null;
      root.querySelector("[data-scopes-row]").hidden = columns.length < 2;
      if (columns.length < 2) scope = null;
      const buttons = [["All", null], ...columns.map((column, i) => [column.letter, i])].map(([text, at]) => {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = text;
        if (at !== null) button.setAttribute("aria-label", `Column ${text}`);
        button.setAttribute("aria-pressed", String(at === scope));
        button.addEventListener("click", () => { setScope(at); });
        return button;
      });
      const holder = root.querySelector("[data-scopes]");
      const focused = [...holder.children].indexOf(document.activeElement);
      holder.replaceChildren(...buttons);
      if (focused >= 0 && buttons[focused]) buttons[focused].focus();
    };
    const refresh = () => { showScopes(); settle(); rows.forEach(refreshRow); showGroups(); };
    const setScope = (at) => { scope = at; refresh(); };
    const touched = (element) => {
      showError(element, "");
      settle();
      refreshRow(element);
      automatic.forEach((path) => refreshRow(row.get(path)));
      showGroups();
      host.changed();
    };

    /* --- Errors --- */
    const showError = (element, message) => {
      const error = element.querySelector("[data-error]");
      error.textContent = message;
      error.hidden = !message;
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
    rows.forEach((element) => element.querySelectorAll("[data-control]").forEach((control) => {
      const make = playground.editors[control.dataset.control];
      if (!make) return;
      editors.set(control, make(control, {
        path: element.dataset.path,
        write: (value) => { write(element.dataset.path, value, false); touched(element); },
        error: (sentence) => showError(element, sentence),
        tokens: (asked) => host.tokens(scope || 0, asked),
      }));
    }));
    root.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      const element = button && button.closest("[data-path]");
      if (button && "resetAll" in button.dataset) { resetAll(); return; }
      if (!element || !("reset" in button.dataset || "leaveOut" in button.dataset)) return;
      const path = element.dataset.path;
      automatic.delete(path);
      if ("leaveOut" in button.dataset) over()[path] = null;
      else if (scope === null || path in WHOLE) clear(path);
      else delete over()[path];
      touched(element);
      const next = element.querySelector("[data-control]:not([hidden]) :is([data-box], input:checked)");
      if (next) next.focus({ preventScroll: true });
    });
    const resetAll = () => {
      if (scope !== null) host.reset(scope);
      else {
        host.document().values = {};
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
      byItself.forEach((path) => automatic.add(path));
      byItself.forEach((path) => {
        host.columns().forEach((column) => { if (column.values[path] === null && !takes(path, column)) delete column.values[path]; });
        const mine = host.columns().some((column) => own(column.values, path)), value = meant(path);
        const could = value !== undefined && host.columns().some((column) => takes(path, column));
        const same = isSet(path, null) && (common()[path] === value || String(common()[path]) === value);
        if (mine || (could && !isSet(path, null)) || (isSet(path, null) && !same)) automatic.delete(path);
      });
      refresh();
      root.querySelectorAll("[data-group]").forEach((group) => { if (group.querySelector("[data-state=set], [data-state=warn]")) group.open = true; });
    };
    adopt();

    return {
      refresh,
      /* Another document has been put into the form. */
      reload: () => { rows.forEach((each) => showError(each, "")); adopt(); },
      /* What is still being typed becomes part of the document. */
      flush: () => editors.forEach((editor) => editor.flush()),
      /* Whether somebody has set anything, beside what a new form sends. */
      touched: () => rows.some((each) => isSet(each.dataset.path, null) && !automatic.has(each.dataset.path) && each.dataset.initial !== String(raw(each.dataset.path, null))),
      setScope,
      scope: () => scope,
      /* How many rows differ in this column. */
      changes: (at) => Object.keys(host.columns()[at].values).length,
      count: () => rows.filter((each) => isSet(each.dataset.path, null)).length,
      value: raw,
      /* What this column must not send although all columns do. */
      leftOut: (column) => [...automatic].filter((path) => left(path, column)),
      clearErrors: () => rows.forEach((each) => showError(each, "")),
      /* The control to focus, or null where the path has no row. */
      showError: (path, message) => {
        const element = row.get(path === "extra" ? "extra_body" : path);
        if (!element) return null;
        const before = element.querySelector("[data-error]").textContent;
        showError(element, before ? `${before} ${message}` : message);
        element.hidden = false;
        const group = element.closest("[data-group]");
        group.hidden = false;
        group.open = true;
        return element.querySelector("[data-control]:not([hidden]) :is([data-box], input:checked)");
      },
    };
  };
})();
