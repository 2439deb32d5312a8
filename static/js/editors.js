/* Editors of the panel for values that are more than one box: a list as chips, JSON that is checked
   while it is typed, a choice that may be JSON. Each is made with its control and a context
   {path, write(raw, keepEmpty), error(sentence), tokens(asked)} and gives {show(value), flush()}. */
(() => {
  const playground = (window.playground = window.playground || {});
  const editors = (playground.editors = playground.editors || {});
  const CODES = { n: "\n", r: "\r", t: "\t", "\\": "\\" };
  const pretty = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

  /* --- A list of texts as chips --- */
  const escaped = (text) => text.replace(/\\/g, "\\\\").replace(/\n/g, "\\n").replace(/\r/g, "\\r").replace(/\t/g, "\\t");
  const shown = (text) => escaped(text).replace(/^ +| +$/g, (spaces) => "␣".repeat(spaces.length));
  const meant = (line) => line.replace(/\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([\s\S]?))/g, (whole, x, u, U, char) => {
    const code = parseInt(x || u || U || "", 16);
    if (code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff)) return String.fromCodePoint(code);
    if (!(char in CODES)) throw new Error(`“${whole}” is not a known escape: use \\n, \\t, \\r, \\xHH or \\uHHHH, and \\\\ for a backslash.`);
    return CODES[char];
  });
  const linesOf = (raw) => (Array.isArray(raw) ? raw.map(escaped) : String(raw ?? "").split(/\r\n|\n|\r/).filter(Boolean));

  editors.list = (control, context) => {
    const chips = control.querySelector("[data-chips]"), box = control.querySelector("[data-box]");
    const template = document.getElementById("chip-template").content.firstElementChild;
    let items = [], said = "[]";

    const build = (text, position) => {
      const chip = template.cloneNode(true), edit = chip.querySelector("[data-edit]"), remove = chip.querySelector(".chip__x");
      edit.textContent = shown(text);
      edit.setAttribute("aria-label", `Edit ${shown(text)}`);
      edit.addEventListener("click", () => { commit(); drop(position); box.value = escaped(text); box.focus(); });
      remove.setAttribute("aria-label", `Remove ${shown(text)}`);
      remove.addEventListener("click", () => { drop(position); box.focus(); playground.announce(`Removed ${shown(text)}`); });
      return chip;
    };
    const render = () => {
      chips.querySelectorAll(".chip").forEach((chip) => chip.remove());
      box.before(...items.map(build));
      control.querySelectorAll("[data-offer]").forEach((offer) => { offer.hidden = items.includes(offer.dataset.offer); });
    };
    const save = () => { said = JSON.stringify(items); render(); context.write(items.length ? items : ""); };
    const drop = (position) => { items = items.filter((_, i) => i !== position); save(); };
    /* What stands in the box becomes chips; a line that cannot stays there, and the field says why. */
    const commit = () => {
      const left = [], made = [];
      let problem = "";
      box.value.split(/\r\n|\n|\r/).filter(Boolean).forEach((line) => {
        try { made.push(meant(line)); } catch (error) { left.push(line); problem = error.message; }
      });
      box.value = left.join("\n");
      if (made.length) { items = [...items, ...made]; save(); }
      if (problem) {
        said = JSON.stringify([...items.map(escaped), ...left].join("\n"));
        context.write(JSON.parse(said));
        context.error(problem);
      }
    };
    box.addEventListener("keydown", (event) => {
      if (event.isComposing || event.keyCode === 229 || event.ctrlKey || event.metaKey) return;
      if (event.key === "Enter") { event.preventDefault(); commit(); }
      if (event.key === "Backspace" && !box.value && items.length) { event.preventDefault(); playground.announce(`Removed ${shown(items[items.length - 1])}`); drop(items.length - 1); }
    });
    box.addEventListener("input", () => { context.error(""); if (/[\r\n]/.test(box.value)) commit(); });
    box.addEventListener("blur", commit);
    /* A press on a chip must not end the typing first: that would draw the chips anew under it. */
    control.addEventListener("mousedown", (event) => { if (event.target !== box) event.preventDefault(); });
    chips.addEventListener("click", (event) => { if (event.target === chips) box.focus(); });
    control.addEventListener("click", (event) => {
      const offer = event.target.closest("[data-offer]");
      if (!offer) return;
      items = [...items, offer.dataset.offer];
      save();
      box.focus();
    });
    return {
      flush: commit,
      show: (raw) => {
        const text = JSON.stringify(raw ?? []);
        if (text === said) return;
        said = text;
        items = [];
        box.value = "";
        const left = [];
        linesOf(raw).forEach((line) => { try { items.push(meant(line)); } catch { left.push(line); } });
        box.value = left.join("\n");
        render();
      },
    };
  };

  /* --- JSON --- */
  const checked = (box, context, shape) => {
    const check = () => context.error(playground.jsonProblem(box.value, shape()));
    const later = playground.later(check, 400);
    box.addEventListener("input", later);
    box.addEventListener("blur", () => { if (box.value) check(); });
    return check;
  };

  editors.json = (control, context) => {
    const box = control.querySelector("[data-box]");
    box.addEventListener("input", () => context.write(box.value));
    checked(box, context, () => control.dataset.shape || "any");
    return {
      flush: () => {},
      show: (raw) => {
        const text = raw === undefined || raw === null ? "" : pretty(raw);
        if (box.value !== text && !(document.activeElement === box && text)) box.value = text;
      },
    };
  };

  /* --- One of some words, a function by its name, or any JSON --- */
  editors.choice = (control, context) => {
    const select = control.querySelector("[data-box]"), name = control.querySelector("[data-choice-name]"), json = control.querySelector("[data-choice-json]");
    const wrap = (text) => (context.path === "function_call" ? { name: text } : { type: "function", function: { name: text } });
    const named = (value) => {
      const found = value && (context.path === "function_call" ? value.name : value.function && value.function.name);
      return typeof found === "string" && JSON.stringify(wrap(found)) === JSON.stringify(value) ? found : null;
    };
    const reveal = () => { name.hidden = select.value !== "{function}"; json.hidden = select.value !== "{json}"; };
    let said = ""; // what stands in the document because it was chosen here
    const write = () => {
      if (select.value === "{function}") said = name.value ? JSON.stringify(wrap(name.value)) : "";
      else said = select.value === "{json}" ? json.value : select.value;
      context.write(said);
    };
    select.addEventListener("input", () => { reveal(); write(); if (!name.hidden) name.focus(); else if (!json.hidden) json.focus(); });
    name.addEventListener("input", write);
    json.addEventListener("input", write);
    checked(json, context, () => (/^\s*[{[]/.test(json.value) ? "any" : "text"));
    const own = (text) => [...select.options].some((option) => option.value === text && !text.startsWith("{"));
    return {
      flush: () => {},
      show: (raw) => {
        const text = raw === undefined || raw === null ? "" : pretty(raw);
        if (text === said) return;
        said = text;
        name.value = json.value = "";
        let value = text;
        try { value = JSON.parse(text); } catch { /* typed text */ }
        if (!text || own(text)) select.value = text;
        else if (named(value) !== null) { select.value = "{function}"; name.value = named(value); }
        else { select.value = "{json}"; json.value = text; }
        reveal();
      },
    };
  };
})();
