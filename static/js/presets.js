/* Presets: parameters under a name, kept on the server. The list is HTML from the server. */
(() => {
  const playground = (window.playground = window.playground || {});
  const said = (raw) => { const text = typeof raw === "string" ? raw : JSON.stringify(raw); return text.length > 30 ? `${text.slice(0, 29)}…` : text; };
  const summary = ({ values, extra, headers }) => [...Object.entries(values).map(([path, raw]) => `${path} ${raw === null ? "not sent" : said(raw)}`), extra ? "extra body" : "", headers ? "headers" : ""].filter(Boolean).join(" · ");

  /* `host`: panel(), columns(), document(), settled(), undo(sentence, before), snapshot(). */
  playground.presets = (host) => {
    const dialog = document.getElementById("presets-dialog"), form = dialog.querySelector("[data-preset-save]");
    const name = form.elements.namedItem("name");
    let before = null; // the preset that a save replaces or a delete takes away
    let overtaken = false; // something was sent since the list was asked for: the answer to that says more

    /* What the form would set by itself and does not send: null in a preset. */
    const without = (values) => Object.fromEntries(host.panel().switchedOff(values).map((path) => [path, null]));
    const sent = () => ({ ...host.document().values, ...(host.panel().scope() ? host.columns()[host.panel().column()].values : {}) });
    const own = () => {
      const panel = host.panel(), initial = panel.initial(), automatic = new Set(panel.automatic()), values = sent();
      const kept = Object.entries(values).filter(([path, raw]) => raw !== null && raw !== undefined && !automatic.has(path) && String(raw) !== initial[path]);
      return { values: { ...Object.fromEntries(kept), ...without(values) }, extra: host.document().extra, headers: host.document().headers };
    };
    const stored = (element) => JSON.parse(element.querySelector("script").textContent);
    const targets = () => host.panel().scope() || host.columns().map((_, at) => at);
    const letters = (scope) => scope.map((at) => host.columns()[at].letter).join(", ");

    const show = () => {
      const scope = host.panel().scope(), settings = own(), text = summary(settings);
      form.elements.namedItem("settings").value = JSON.stringify(settings);
      const whose = scope ? `As column ${host.columns()[scope[0]].letter} sends them: ` : "";
      dialog.querySelector("[data-preset-summary]").textContent = text ? whose + text : "No parameter is set yet.";
      dialog.querySelector("[data-preset-target]").textContent = scope ? `Applied to column${scope.length > 1 ? "s" : ""} ${letters(scope)} only.` : "Applied to what all columns share. It replaces what is set; Undo brings it back.";
      dialog.querySelectorAll("[data-preset]").forEach((each) => { each.querySelector("[data-values]").textContent = summary(stored(each)) || "nothing set"; });
    };
    const load = () => { overtaken = false; return htmx.ajax("GET", dialog.dataset.url, { source: dialog, target: "#presets", swap: "outerHTML" }); };

    /* --- Apply --- */
    const unknown = (values) => {
      const panel = host.panel(), found = new Map();
      targets().forEach((at) => Object.keys(values).filter((path) => !panel.entry(path, at)).forEach((path) => {
        found.set(path, new Set([...(found.get(path) || []), host.columns()[at].title]));
      }));
      return [...found].map(([path, titles]) => `${path} is not sent to ${[...titles].join(", ")}.`).join(" ");
    };
    const given = (values) => Object.fromEntries(Object.entries(values).filter(([, raw]) => raw !== null));
    const apply = (title, settings) => {
      const panel = host.panel(), doc = host.document(), scope = panel.scope(), was = host.snapshot();
      const initial = panel.initial(), automatic = panel.automatic();
      const all = { ...initial, ...JSON.parse(JSON.stringify(settings.values)) }, wanted = given(all);
      if (scope === null) {
        const kept = Object.fromEntries(Object.entries(doc.values).filter(([path]) => automatic.includes(path)));
        doc.values = given({ ...kept, ...all });
        doc.extra = settings.extra || "";
        doc.headers = settings.headers || "";
      } else scope.forEach((at) => {
        const values = {};
        Object.keys({ ...doc.values, ...all }).filter((path) => !automatic.includes(path) || path in all).forEach((path) => {
          if (!(path in wanted)) { if (path in doc.values) values[path] = null; }
          else if (String(doc.values[path]) !== String(wanted[path])) values[path] = wanted[path];
        });
        doc.columns[at].values = values;
      });
      dialog.close();
      host.settled();
      const where = scope === null ? "" : ` to column${scope.length > 1 ? "s" : ""} ${letters(scope)}`;
      const parts = scope !== null && (settings.extra || settings.headers) ? " Its extra body and headers are for all columns and were left out." : "";
      host.undo([title + where + ".", unknown(given(settings.values)), parts.trim()].filter(Boolean).join(" "), was);
    };

    /* --- Save, rename, delete --- */
    const note = (text, undo) => {
      const made = document.getElementById("draft-note-template").content.firstElementChild.cloneNode(true);
      made.querySelector("[data-text]").textContent = text;
      made.setAttribute("aria-label", "Presets");
      if (undo) {
        const button = Object.assign(document.createElement("button"), { type: "button", className: "btn btn--sm", textContent: "Undo" });
        button.addEventListener("click", undo);
        made.querySelector("[data-acts]").append(button);
      }
      document.getElementById("presets").prepend(made);
      playground.announce(text);
    };
    const again = (preset) => htmx.ajax("POST", dialog.dataset.url, { source: dialog, target: "#presets", swap: "outerHTML", values: { name: preset.name, settings: JSON.stringify(preset.settings), shared: preset.shared ? "on" : "" } });
    const taken = (element) => ({ name: element.dataset.name, settings: stored(element), shared: "shared" in element.dataset });
    const mine = (element) => Boolean(element.querySelector("[data-delete-preset]"));
    dialog.addEventListener("submit", (event) => {
      const element = event.target.closest("[data-preset]");
      before = null;
      overtaken = true;
      if (event.target === form) {
        const same = [...dialog.querySelectorAll("[data-preset]")].find((each) => mine(each) && each.dataset.name.toLowerCase() === name.value.trim().replace(/\s+/g, " ").toLowerCase());
        before = { kind: "saved", preset: same ? taken(same) : null };
      } else if (event.target.matches("[data-delete-preset]")) before = { kind: "deleted", preset: taken(element) };
    }, true);
    document.addEventListener("htmx:beforeSwap", (event) => {
      if (overtaken && event.detail.requestConfig.elt === dialog && event.detail.requestConfig.verb === "get") event.detail.shouldSwap = false;
    });
    document.addEventListener("htmx:afterSwap", (event) => {
      const list = document.getElementById("presets");
      if (!list || !dialog.open || !dialog.contains(list) || event.detail.target.id !== "presets") return;
      show();
      const done = before, failed = list.querySelector("#presets-error");
      before = null;
      if (failed) {
        const box = list.querySelector("[data-rename-form]:not([hidden]) [name=name]") || name;
        box.setAttribute("aria-invalid", "true");
        box.focus();
      } else if (done && done.kind === "saved") {
        name.removeAttribute("aria-invalid");
        name.value = "";
        note(done.preset ? `“${done.preset.name}” holds these parameters now.` : "Saved.", done.preset && (() => again(done.preset)));
      } else if (done) {
        note(`“${done.preset.name}” is deleted.`, () => again(done.preset));
        (list.querySelector(".notice button") || name).focus();
      } else if (list.dataset.saved) {
        const row = list.querySelector(`[data-preset="${list.dataset.saved}"] [data-apply-preset]`);
        if (row && !list.contains(document.activeElement)) row.focus();
      }
    });
    playground.applyPreset = async (pk) => {
      await load();
      const element = dialog.querySelector(`[data-preset="${pk}"]`);
      if (element) apply(`“${element.dataset.name}” is applied`, stored(element));
      else playground.notice("This preset is not there any more.");
    };
    dialog.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      const element = button.closest("[data-preset]");
      if ("applyPreset" in button.dataset) apply(`“${element.dataset.name}” is applied`, stored(element));
      if ("presetNone" in button.dataset) apply("No parameter is set now", { values: without(sent()) });
      if ("rename" in button.dataset) {
        const box = element.querySelector("[data-rename-form]");
        box.hidden = !box.hidden;
        button.setAttribute("aria-expanded", String(!box.hidden));
        if (!box.hidden) box.elements.namedItem("name").select();
      }
    });
    document.querySelector("[data-presets]").addEventListener("click", () => {
      const sheet = document.getElementById("params");
      if (sheet.matches(":popover-open")) sheet.hidePopover();
      host.panel().flush();
      name.removeAttribute("aria-invalid");
      dialog.showModal();
      show();
      load();
    });
  };
})();
