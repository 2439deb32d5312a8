/* Prompt variables: a box for each {{name}} of the input, and rows of values out of a file. */
(() => {
  const playground = (window.playground = window.playground || {});
  const VARIABLE = /(\\*)\{\{[ \t]*([\p{L}_][\p{L}\p{N}_-]*)[ \t]*\}\}/gu; // as axes.py reads them
  const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

  const namesIn = (texts) => [...new Set(texts.flatMap((text) => [...text.matchAll(VARIABLE)].filter((found) => !found[1]).map((found) => found[2])))];
  const textsOf = (doc) => {
    if (doc.mode === "text") return [doc.prompt];
    if (doc.mode === "list") return doc.prompts;
    if (doc.mode !== "messages") return [];
    return doc.messages.flatMap(({ content }) => (Array.isArray(content) ? content.map((part) => (part && part.text) || "") : [content]));
  };
  /* The values that a box holds: lines, or blocks with lines of --- between. */
  const listed = (text) => {
    const blocks = text.split(/^---[ \t]*$/m);
    const found = blocks.length > 1 ? blocks.map((block) => block.replace(/^\n+|\n+$/g, "")).filter(Boolean) : text.split("\n").filter((line) => line.trim());
    return found.length ? found : [""];
  };

  /* `host`: document(), changed(), error(path, sentence). */
  playground.variables = (form, host) => {
    const row = form.querySelector("[data-variables]"), list = row.querySelector("[data-vars]");
    const template = document.getElementById("var-template").content.firstElementChild;
    const hint = row.querySelector("[data-vars-hint]"), chip = row.querySelector("[data-table-chip]"), file = row.querySelector("[data-table-file]");
    const choose = row.querySelector("[data-table-choose]");
    const boxes = () => (host.document().variables = host.document().variables || {});
    const table = () => (host.document().table = host.document().table || {});
    const used = () => namesIn(textsOf(host.document()).filter((text) => typeof text === "string"));

    const grow = (box) => { box.style.setProperty("height", "auto"); box.style.setProperty("height", `${box.scrollHeight}px`); };
    /* Also where its width changes: beside a word such as “not in the prompt”, or once it is shown. */
    const fitted = new ResizeObserver((seen) => requestAnimationFrame(() => seen.forEach(({ target }) => grow(target))));
    const build = (name) => {
      const element = template.cloneNode(true), box = element.querySelector("textarea");
      element.dataset.variable = name;
      element.querySelector("[data-name]").textContent = `{{${name}}}`;
      box.setAttribute("aria-label", `Value of ${name}`);
      box.value = boxes()[name] || "";
      fitted.observe(box);
      element.querySelector("[data-forget]").setAttribute("aria-label", `Forget ${name}`);
      return element;
    };
    const say = (element, names, wanted) => {
      const name = element.dataset.variable, text = boxes()[name], box = element.querySelector("textarea");
      const ofTable = (table().names || []).includes(name);
      const state = !wanted.includes(name) ? "unused" : ofTable ? "table" : text === undefined ? "undefined" : text === "" ? "empty" : "filled";
      const values = text ? listed(text).length : 0;
      element.dataset.var = state;
      box.hidden = state === "table";
      element.querySelector("[data-forget]").hidden = state !== "unused";
      element.querySelector("[data-said]").textContent = { unused: "not in the prompt", table: `from ${table().file || "the file"}`, undefined: "no value yet", empty: "empty", filled: values > 1 ? plural(values, "value") : "" }[state];
    };
    const refresh = () => {
      const wanted = used();
      Object.keys(boxes()).forEach((name) => { if (!wanted.includes(name) && !boxes()[name]) delete boxes()[name]; });
      const names = [...new Set([...wanted, ...Object.keys(boxes())])];
      const shown = [...list.children].map((element) => element.dataset.variable);
      if (names.join("\n") !== shown.join("\n")) {
        const before = new Map([...list.children].map((element) => [element.dataset.variable, element]));
        const focused = document.activeElement;
        list.replaceChildren(...names.map((name) => before.get(name) || build(name)));
        if (list.contains(focused)) focused.focus();
      }
      [...list.children].forEach((element) => say(element, names, wanted));
      list.hidden = !names.length;
      hint.hidden = Boolean(names.length);
      showTable(wanted);
    };
    const showTable = (wanted) => {
      const { names = [], rows = [], file: from } = table();
      const none = !rows.length, fits = names.filter((name) => wanted.includes(name));
      const other = names.filter((name) => !fits.includes(name)), note = row.querySelector("[data-table-note]");
      chip.hidden = none;
      note.hidden = none || !other.length;
      if (none) return;
      chip.dataset.var = fits.length ? "filled" : "unused";
      chip.querySelector("[data-said]").textContent = `${from || "File"}: ${plural(rows.length, "row")} of ${names.join(", ")}`;
      chip.title = other.length ? `Not in the prompt: ${other.join(", ")}` : "";
      note.textContent = other.length ? `Not in the prompt: ${other.join(", ")}.` : "";
    };

    list.addEventListener("input", (event) => {
      const element = event.target.closest("[data-variable]");
      boxes()[element.dataset.variable] = event.target.value;
      grow(event.target);
      host.error("variables", "");
      refresh();
      host.changed();
    });
    row.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      if ("forget" in button.dataset) {
        delete boxes()[button.closest("[data-variable]").dataset.variable];
        refresh();
        host.changed();
        choose.focus();
      }
      if ("tableDrop" in button.dataset) {
        host.document().table = {};
        refresh();
        host.changed();
        choose.focus();
        playground.announce("The rows of the file are removed");
      }
    });

    /* --- A file of rows --- */
    const read = async (given) => {
      host.error("variables", "");
      const fields = new FormData();
      fields.append("file", given);
      let found;
      try {
        const response = await playground.post(row.dataset.url, fields);
        found = [200, 422].includes(response.status) ? await response.json() : { error: `The server could not read the file (${response.status}).` };
      } catch { found = { error: "The server cannot be reached. Try again in a moment." }; }
      if (found.error) { host.error("variables", `${given.name}: ${found.error}`); playground.announce(found.error, true); return; }
      host.document().table = { file: given.name, names: found.names, rows: found.rows };
      refresh();
      host.changed();
      playground.announce(`${given.name}: ${plural(found.rows.length, "row")}`);
    };
    choose.addEventListener("click", () => file.click());
    file.addEventListener("change", () => { if (file.files.length) read(file.files[0]); file.value = ""; });
    const hasFile = (event) => event.dataTransfer && [...event.dataTransfer.types].includes("Files");
    form.addEventListener("dragover", (event) => { if (hasFile(event)) { event.preventDefault(); row.dataset.over = ""; } });
    form.addEventListener("dragleave", (event) => { if (!form.contains(event.relatedTarget)) delete row.dataset.over; });
    form.addEventListener("drop", (event) => {
      if (!hasFile(event)) return;
      delete row.dataset.over;
      if (playground.forPrompt(event)) return; // dropped.js puts it there
      event.preventDefault();
      read(event.dataTransfer.files[0]);
    });

    return {
      refresh,
      show: () => { list.replaceChildren(); refresh(); },
      /* Whether anything of it can multiply the requests. */
      any: () => used().length > 0,
      /* The text prompt with its variables filled in, where each has one value; else null. */
      filled: () => {
        const wanted = used(), ofTable = (table().names || []).filter((name) => wanted.includes(name));
        if (ofTable.length || wanted.some((name) => listed(boxes()[name] || "").length > 1)) return null;
        const value = (name) => listed(boxes()[name] || "")[0].replace(VARIABLE, "\\$&"); // what it holds is no template
        return host.document().prompt.replace(VARIABLE, (whole, escaped, name) => (escaped ? whole : value(name)));
      },
      get control() { return list.querySelector("[data-var=undefined] textarea") || list.querySelector("textarea:not([hidden])") || choose; },
    };
  };
})();
