/* The parameter panel: one row for each path of the table. It reads and writes the document that
   compose.js owns, for all columns or for one; what is unset is absent from the document. */
(() => {
  const playground = (window.playground = window.playground || {});
  const SVG = "http://www.w3.org/2000/svg";
  const TAKEN = ["accepted", "extension"];
  const MARK = { accepted: "", extension: "", forwarded: "-lim", coming_soon: "-lim", unestablished: "-lim", ignored: "-no", refused: "-no" };
  const SAID = { accepted: "accepted by", extension: "accepted by", forwarded: "passed on by", coming_soon: "announced by", unestablished: "not established for", ignored: "ignored by", refused: "refused by" };
  const EXTRA = "extra_body";
  const own = (object, key) => Object.prototype.hasOwnProperty.call(object, key);

  /* A raw value is what was typed, or JSON from a document that a program made. */
  const escaped = (text) => text.replace(/\\/g, "\\\\").replace(/\n/g, "\\n").replace(/\r/g, "\\r").replace(/\t/g, "\\t");
  const typed = (raw, widget) => {
    if (raw === undefined || raw === null) return "";
    if (typeof raw === "string") return raw;
    if (widget === "list" && Array.isArray(raw) && raw.every((item) => typeof item === "string")) return raw.map(escaped).join("\n");
    return typeof raw === "object" ? JSON.stringify(raw, null, 2) : String(raw);
  };
  const marker = (suffix, provider) => {
    const svg = document.createElementNS(SVG, "svg"), use = document.createElementNS(SVG, "use");
    const known = document.getElementById(`i-pm-${provider}`) ? provider : "other";
    svg.setAttribute("class", "pm");
    use.setAttribute("href", `#i-pm-${known}${suffix}`);
    svg.append(use);
    return svg;
  };
  const range = (entry) => {
    const { minimum: low, maximum: high } = entry;
    if (low !== undefined && high !== undefined) return `${entry.above ? "above " : ""}${low} to ${high}`;
    if (low !== undefined) return entry.above ? `above ${low}` : `${low} or more`;
    return high !== undefined ? `at most ${high}` : "";
  };
  const outside = (entry, text) => {
    const value = Number(text);
    if (text.trim() === "" || Number.isNaN(value)) return false;
    const below = entry.minimum !== undefined && (entry.above ? value <= entry.minimum : value < entry.minimum);
    return below || (entry.maximum !== undefined && value > entry.maximum);
  };

  /* `host`: document(), columns() [{letter, api, title, provider, values}], reset(position), changed(). */
  playground.panel = (root, support, host) => {
    const rows = [...root.querySelectorAll("[data-path]")];
    const row = new Map(rows.map((each) => [each.dataset.path, each]));
    const automatic = new Set(rows.filter((each) => each.dataset.initialWith).map((each) => each.dataset.path));
    const find = root.querySelector("[data-find]");
    let scope = null; // null: all columns

    /* --- Values --- */
    const common = () => host.document().values;
    const over = () => (scope === null ? null : host.columns()[scope].values);
    const raw = (path, at = scope) => {
      if (path === EXTRA) return host.document().extra || undefined;
      if (at !== null && own(host.columns()[at].values, path)) return host.columns()[at].values[path];
      return common()[path];
    };
    const isSet = (path, at = scope) => { const value = raw(path, at); return value !== undefined && value !== null; };
    const clear = (path) => {
      if (path === EXTRA) host.document().extra = "";
      else if (scope === null) delete common()[path];
      else if (isSet(path, null)) over()[path] = null;
      else delete over()[path];
    };
    const write = (path, text, keepEmpty) => {
      automatic.delete(path);
      if (text === "" && !keepEmpty) clear(path);
      else if (path === EXTRA) host.document().extra = text;
      else (over() || common())[path] = text;
    };
    const known = (path, column) => Boolean(support[path] && support[path][column.api]);
    const takes = (path, column) => known(path, column) && TAKEN.includes(support[path][column.api].status);

    /* What the playground sets by itself as long as nobody touched it: only where it is of use. */
    const settle = () => automatic.forEach((path) => {
      const wanted = isOn(row.get(path).dataset.initialWith) && host.columns().some((column) => takes(path, column));
      if (wanted) common()[path] = row.get(path).dataset.initial; else delete common()[path];
    });
    const isOn = (path) => [true, "true"].includes(common()[path]);
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
    const fillSlider = (slider) => {
      const part = (slider.value - slider.min) / (slider.max - slider.min || 1);
      slider.style.setProperty("--fill", `${100 * part}%`);
    };
    const showSlider = (slider, entries, text, fallback) => {
      const first = entries.find((entry) => entry && entry.high !== undefined);
      if (first) { slider.min = first.low; slider.max = first.high; slider.step = first.step; }
      if (document.activeElement !== slider || text === "") {
        const at = text !== "" && !Number.isNaN(Number(text)) ? text : fallback;
        slider.value = at === "" ? slider.min : at;
      }
      fillSlider(slider);
    };
    const showControl = (control, entries, value, text) => {
      const fallbacks = new Set(entries.filter(Boolean).map((entry) => entry.default || ""));
      const fallback = fallbacks.size === 1 ? [...fallbacks][0] : "";
      const slider = control.querySelector(".range"), box = control.querySelector("[data-box]");
      control.querySelectorAll("input[type=radio]").forEach((radio) => { radio.checked = radio.value === text; });
      if (box && box.matches("select") && text && ![...box.options].some((option) => option.value === text)) box.add(new Option(text, text));
      if (box && box.value !== text && !(document.activeElement === box && value !== undefined && value !== null)) box.value = text;
      if (box && box.matches("input")) box.placeholder = fallback;
      if (slider) showSlider(slider, entries, text, fallback);
    };
    const list = (titles) => titles.join(", ");
    const showMarks = (element, columns, entries) => {
      const seen = new Map(columns.map((column, i) => [column.title, [entries[i] ? entries[i].status : "unknown", column.provider]]));
      const marks = element.querySelector("[data-marks]");
      marks.replaceChildren(...[...seen.values()].map(([status, provider]) => marker(status in MARK ? MARK[status] : "-no", provider)));
      const said = new Map();
      seen.forEach(([status], title) => { const words = SAID[status] || "not sent to"; said.set(words, [...(said.get(words) || []), title]); });
      const text = [...said].map(([words, titles]) => `${words} ${list(titles)}`).join("; ");
      marks.setAttribute("aria-label", text.charAt(0).toUpperCase() + text.slice(1));
    };
    const notes = (columns, entries, set) => {
      const found = new Set();
      const missing = [...new Set(columns.filter((_, i) => !entries[i]).map((column) => column.title))];
      if (missing.length && set) found.add(`Not sent to ${list(missing)}.`);
      entries.forEach((entry) => { if (entry && entry.note && !TAKEN.includes(entry.status)) found.add(entry.note); });
      return [...found];
    };
    const facts = (columns, entries) => [...new Set(columns.map((column, i) => {
      const entry = entries[i];
      if (!entry) return "";
      const parts = [range(entry), entry.default !== undefined ? `default ${entry.default}` : ""].filter(Boolean).join(", ");
      const note = TAKEN.includes(entry.status) && entry.note ? ` ${entry.note}` : "";
      return parts || note ? `${column.title}: ${parts}${parts ? "." : ""}${note}` : "";
    }))].filter(Boolean).join(" ");

    const refreshRow = (element) => {
      const path = element.dataset.path, columns = inScope();
      const entries = columns.map((column) => support[path] && support[path][column.api]);
      const value = raw(path), set = isSet(path);
      const control = pick(element, entries), text = typed(value, control.dataset.control);
      const beyond = set && control.dataset.control === "number" ? columns.filter((_, i) => entries[i] && outside(entries[i], text)) : [];
      const overridden = scope !== null && path !== EXTRA && own(over(), path);
      const unknown = columns.length > 0 && !entries.some(Boolean);
      element.dataset.state = set ? (beyond.length || unknown ? "warn" : "set") : "unset";
      element.toggleAttribute("data-inherited", scope !== null && set && !overridden && path !== EXTRA);
      element.hidden = (unknown && !set && !overridden) || !matches(element);
      showControl(control, entries, value, text);
      showMarks(element, columns, entries);
      showState(element, path, set, overridden);
      const said = notes(columns, entries, set);
      if (set && text === "" && control.dataset.control === "text") said.push("Sent as empty text.");
      if (overridden && !set && isSet(path, null)) said.push("Not sent in this column.");
      if (path === EXTRA && scope !== null) said.push("The extra body goes to all columns.");
      new Set(beyond.map((column) => `${column.title} documents ${range(support[path][column.api])}.`)).forEach((each) => said.push(each));
      const note = element.querySelector("[data-note]");
      note.textContent = said.join(" ");
      note.hidden = !said.length;
      element.querySelector("[data-facts]").textContent = facts(columns, entries);
    };
    const showState = (element, path, set, overridden) => {
      const unsent = element.querySelector("[data-unsent]"), reset = element.querySelector("[data-reset]"), out = element.querySelector("[data-leave-out]");
      const letter = scope === null ? "" : host.columns()[scope].letter;
      reset.hidden = scope === null || path === EXTRA ? !set : !overridden;
      reset.setAttribute("aria-label", scope === null || path === EXTRA ? `Reset ${path}, do not send it` : `Reset ${path} to what all columns send`);
      out.hidden = scope === null || path === EXTRA || !set || !isSet(path, null);
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
      if (!element) return;
      const control = event.target.closest("[data-control]"), box = control.querySelector("[data-box]");
      if (event.target.matches(".range")) box.value = event.target.value;
      const value = event.target.matches("[type=radio]") ? event.target.value : box.value;
      write(element.dataset.path, value, control.dataset.control === "text");
      touched(element);
    });
    root.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      const element = button && button.closest("[data-path]");
      if (button && "resetAll" in button.dataset) { resetAll(); return; }
      if (!element || !("reset" in button.dataset || "leaveOut" in button.dataset)) return;
      const path = element.dataset.path;
      automatic.delete(path);
      if ("leaveOut" in button.dataset) over()[path] = null;
      else if (scope === null || path === EXTRA) clear(path);
      else delete over()[path];
      touched(element);
      const next = element.querySelector("[data-control]:not([hidden]) :is([data-box], input:checked)");
      if (next) next.focus({ preventScroll: true });
    });
    const resetAll = () => {
      if (scope !== null) host.reset(scope);
      else {
        host.document().values = {};
        host.document().extra = "";
        rows.filter((each) => each.dataset.initial).forEach((each) => {
          if (each.dataset.initialWith) automatic.add(each.dataset.path); else common()[each.dataset.path] = each.dataset.initial;
        });
      }
      rows.forEach((each) => showError(each, ""));
      refresh();
      host.changed();
    };

    /* A restored document: what nobody touched goes on following the columns. */
    const adopt = () => [...automatic].forEach((path) => {
      host.columns().forEach((column) => { if (column.values[path] === null && !takes(path, column)) delete column.values[path]; });
      const mine = host.columns().some((column) => own(column.values, path));
      const could = isOn(row.get(path).dataset.initialWith) && host.columns().some((column) => takes(path, column));
      if (mine || (could && !isSet(path, null)) || (isSet(path, null) && common()[path] !== "true" && common()[path] !== true)) automatic.delete(path);
    });
    adopt();
    refresh();
    root.querySelectorAll("[data-group]").forEach((group) => { if (group.querySelector("[data-state=set], [data-state=warn]")) group.open = true; });

    return {
      refresh,
      setScope,
      /* How many rows differ in this column. */
      changes: (at) => Object.keys(host.columns()[at].values).length,
      count: () => rows.filter((each) => isSet(each.dataset.path, null)).length,
      value: raw,
      /* What this column must not send although all columns do. */
      leftOut: (column) => [...automatic].filter((path) => left(path, column)),
      clearErrors: () => rows.forEach((each) => showError(each, "")),
      /* The control to focus, or null where the path has no row. */
      showError: (path, message) => {
        const element = row.get(path === "extra" ? EXTRA : path);
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
