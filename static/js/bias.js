/* The editor of `logit_bias`: a row for each token, by its id or by text that the backend turns into
   tokens. The value is the text of a JSON object; what is none can be written as JSON. */
(() => {
  const playground = (window.playground = window.playground || {});
  const editors = (playground.editors = playground.editors || {});
  const isNumber = (text) => /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(String(text).trim());

  /* [[key, value]…], or null where the text is not an object of numbers. */
  const pairsOf = (raw) => {
    if (raw === undefined || raw === null || raw === "") return [];
    let value = raw;
    if (typeof raw === "string") {
      if (playground.jsonProblem(raw, "object")) return null;
      value = JSON.parse(raw);
    }
    if (Array.isArray(value) || typeof value !== "object") return null;
    const pairs = Object.entries(value);
    return pairs.every(([, bias]) => typeof bias === "number") ? pairs.map(([key, bias]) => [key, String(bias)]) : null;
  };
  const textOf = (pairs) => `{${pairs.map(([key, bias]) => `${JSON.stringify(key)}: ${isNumber(bias) ? Number(bias) : JSON.stringify(bias)}`).join(", ")}}`;

  editors.bias = (control, context) => {
    const $ = (name) => control.querySelector(`[data-bias-${name}]`);
    const rows = $("rows"), tools = $("tools"), json = $("json"), note = $("note"), toggle = $("raw"), box = control.querySelector("[data-box]");
    const template = document.getElementById("bias-template").content.firstElementChild;
    const pieces = new Map(); // id → the text it stands for
    let pairs = [], said = "", raw = false;

    const say = (text) => { note.textContent = text; };
    const save = () => { said = pairs.length ? textOf(pairs) : ""; context.write(said); };
    const setRaw = (on) => {
      raw = on;
      toggle.setAttribute("aria-pressed", String(on));
      rows.hidden = tools.hidden = on;
      json.hidden = !on;
    };
    const showPiece = (element, key) => {
      const piece = pieces.get(key);
      element.querySelector("[data-piece]").textContent = piece === undefined ? key : `“${playground.visible(piece)}”`;
      element.querySelector("[data-id]").textContent = piece === undefined ? "" : key;
    };
    const build = ([key, bias], position) => {
      const element = template.cloneNode(true), slider = element.querySelector(".range"), value = element.querySelector("[data-bias]");
      const set = (text) => { pairs[position][1] = text; playground.fillSlider(slider); save(); };
      slider.value = value.value = bias;
      playground.fillSlider(slider);
      slider.setAttribute("aria-label", `Bias of token ${key}, slider`);
      value.setAttribute("aria-label", `Bias of token ${key}`);
      slider.addEventListener("input", () => { value.value = slider.value; value.removeAttribute("aria-invalid"); set(slider.value); });
      value.addEventListener("input", () => {
        const good = isNumber(value.value) && Math.abs(Number(value.value)) <= 100;
        if (good) slider.value = value.value;
        set(value.value);
        value.toggleAttribute("aria-invalid", !good);
        if (!good) value.setAttribute("aria-invalid", "true");
        context.error(good ? "" : `The bias of ${key} must be a number from -100 to 100.`);
      });
      const remove = element.querySelector("[data-remove]");
      remove.setAttribute("aria-label", `Remove token ${key}`);
      remove.addEventListener("click", () => { pairs.splice(position, 1); save(); render(); say(""); box.focus(); });
      element.dataset.key = key;
      showPiece(element, key);
      return element;
    };
    const render = () => {
      rows.replaceChildren(...pairs.map(build));
      const unknown = pairs.map(([key]) => key).filter((key) => /^\d+$/.test(key) && !pieces.has(key));
      if (unknown.length) learn(unknown);
    };
    const learn = async (keys) => {
      const found = await context.tokens({ ids: keys.map(Number) });
      (found.tokens || []).forEach(([id, piece]) => pieces.set(String(id), piece));
      [...rows.children].forEach((element) => showPiece(element, element.dataset.key));
    };
    const insert = (keys) => {
      const first = pairs.length;
      keys.filter((key) => !pairs.some(([other]) => other === key)).forEach((key) => pairs.push([key, "0"]));
      save();
      render();
      const row = rows.children[Math.min(first, pairs.length - 1)];
      if (row) row.querySelector("[data-bias]").select();
    };
    const add = async () => {
      const text = box.value;
      if (!text.trim()) { box.focus(); return; }
      say("");
      if (/^\s*\d+\s*$/.test(text)) { box.value = ""; insert([text.trim()]); return; }
      const found = await context.tokens({ text });
      if (found.error) { say(`${found.error} Type the token's id.`); return; }
      found.tokens.forEach(([id, piece]) => pieces.set(String(id), piece));
      box.value = "";
      const ids = [...new Set(found.tokens.map(([id]) => String(id)))];
      say(found.tokens.length > 1 ? `“${text}” is ${found.tokens.length} tokens; each has a row.` : "");
      insert(ids);
    };
    $("add").addEventListener("click", add);
    box.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.isComposing && !event.ctrlKey && !event.metaKey) { event.preventDefault(); add(); }
    });
    json.addEventListener("input", () => { said = json.value; context.write(json.value); });
    json.addEventListener("input", playground.later(() => context.error(playground.jsonProblem(json.value)), 400));
    toggle.addEventListener("click", () => {
      if (!raw) { json.value = pairs.length ? textOf(pairs) : ""; setRaw(true); json.focus(); return; }
      const found = pairsOf(json.value);
      if (found === null) { context.error(playground.jsonProblem(json.value, "object") || "Only an object of numbers can be shown as rows."); return; }
      pairs = found;
      setRaw(false);
      render();
      box.focus();
    });
    return {
      flush: () => {},
      show: (value) => {
        const text = value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);
        if (text === said && (text || !pairs.length)) return;
        said = text;
        const found = pairsOf(value);
        pairs = found || [];
        if (found === null) json.value = text;
        else if (raw && !control.contains(document.activeElement)) json.value = text;
        if (found === null) setRaw(true);
        render();
      },
    };
  };
})();
