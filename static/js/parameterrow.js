/* One row of the parameter panel: how it shows its value, its marks, its notes and its error. */
(() => {
  const playground = (window.playground = window.playground || {});
  const { range, outside, showMarks, notes, without, facts, remembered } = playground.support;

  playground.fillSlider = (slider) => {
    const part = (slider.value - slider.min) / (slider.max - slider.min || 1);
    slider.style.setProperty("--fill", `${100 * part}%`);
  };

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
  const showMemories = (element, columns) => {
    const said = columns.map((column) => [column.memories[element.dataset.path], column.model]).filter(([memory]) => memory);
    const text = [...new Set(said.map(([memory, model]) => remembered(memory, model)))].join(" ");
    element.querySelector("[data-memory]").hidden = !text;
    element.querySelector("[data-memory-text]").textContent = text;
  };
  const showNote = (element, sentences) => {
    const note = element.querySelector("[data-note]");
    note.textContent = sentences.join(" ");
    note.hidden = !sentences.length;
  };

  /* `values`: playground.values; `editors`: control → its editor; `hides(element)`: whether the search leaves it out. */
  playground.parameterRows = (values, support, host, editors, hides) => {
    const inScope = () => { const columns = host.columns(), scope = values.scope(); return scope === null ? columns : scope.map((at) => columns[at]); };
    const letters = () => values.scope().map((at) => host.columns()[at].letter);
    const sentAt = (path, at) => (values.isSetAt(path, at) ? values.brief(values.rawAt(path, at)) : "not sent");

    const showControl = (control, entries, value, differs) => {
      if (editors.has(control)) { editors.get(control).show(value); return; }
      const text = values.typed(value), fallbacks = new Set(entries.filter(Boolean).map((entry) => entry.default || ""));
      const fallback = fallbacks.size === 1 ? [...fallbacks][0] : "";
      const slider = control.querySelector(".range"), box = control.querySelector("[data-box]");
      control.querySelectorAll("input[type=radio]").forEach((radio) => { radio.checked = radio.value === text; });
      if (box && box.matches("select") && text && ![...box.options].some((option) => option.value === text)) box.add(new Option(text, text));
      if (box && box.value !== text && !(document.activeElement === box && value !== undefined && value !== null)) box.value = text;
      if (box && box.matches("input")) box.placeholder = differs ? "differs" : fallback;
      if (slider) showSlider(slider, entries, text, fallback);
    };
    const showState = (element, path) => {
      const scope = values.scope(), shared = scope === null || values.whole(path);
      const unsent = element.querySelector("[data-unsent]"), reset = element.querySelector("[data-reset]"), out = element.querySelector("[data-leave-out]");
      reset.hidden = shared ? !values.isSet(path) : !values.isOver(path);
      reset.setAttribute("aria-label", shared ? `Reset ${path}, do not send it` : `Reset ${path} to what all columns send`);
      out.hidden = shared || !values.isSet(path) || !values.isSetAt(path, null);
      const where = scope === null ? "any column" : `${scope.length > 1 ? "columns" : "column"} ${letters().join(", ")}`;
      out.setAttribute("aria-label", `Do not send ${path} in ${where}`);
      unsent.hidden = !(reset.hidden && out.hidden);
    };
    /* Columns that send neither this parameter nor one that means the same. */
    const unlimited = (element, columns, entries) => {
      const scope = values.scope(), paths = [element.dataset.path, ...(element.dataset.unless || "").split(" ").filter(Boolean)];
      const free = columns.map((_, i) => i).filter((i) => !paths.some((each) => values.isSetAt(each, scope === null ? i : scope[i])));
      return [free.map((i) => columns[i]), free.map((i) => entries[i])];
    };
    const said = (element, columns, entries, beyond) => {
      const path = element.dataset.path, scope = values.scope(), set = values.isSet(path), differs = values.mixed(path), apart = values.apart(path);
      const sentences = [...notes(columns, entries, set)];
      if (!set) sentences.push(without(...unlimited(element, columns, entries)));
      if (differs) sentences.push(`${scope.map((at) => `${host.columns()[at].letter}: ${sentAt(path, at)}`).join(", ")}.`);
      if (apart) sentences.push(`Own value in ${apart}.`);
      if (set && !differs && values.typed(values.raw(path)) === "" && element.querySelector("[data-control]:not([hidden])").dataset.control === "text") sentences.push("Sent as empty text.");
      if (values.isOver(path) && !set && values.isSetAt(path, null)) sentences.push(`Not sent in ${scope.length > 1 ? "these columns" : "this column"}.`);
      if (values.whole(path) && scope !== null) sentences.push("This goes to all columns.");
      if (set && values.automatic().includes(path) && element.dataset.follows) sentences.push(`Made from the ${element.dataset.follows}; change or reset it to send something else.`);
      sentences.push(...new Set(beyond.map((column) => `${column.title} documents ${range(support[path][column.api])}.`)));
      return sentences.filter(Boolean);
    };

    const refresh = (element) => {
      const path = element.dataset.path, columns = inScope();
      const entries = columns.map((column) => support[path] && support[path][column.api]);
      const set = values.isSet(path), overridden = values.isOver(path);
      const unknown = columns.length > 0 && !entries.some(Boolean);
      element.hidden = (unknown && !set && !overridden) || hides(element);
      if (!element.isConnected) return; // drawn when its group opens
      const value = values.raw(path), control = pick(element, entries);
      const beyond = set && control.dataset.control === "number" ? columns.filter((_, i) => entries[i] && outside(entries[i], values.typed(value))) : [];
      element.dataset.state = set ? (beyond.length || unknown ? "warn" : "set") : "unset";
      element.toggleAttribute("data-inherited", values.scope() !== null && set && !overridden && !values.whole(path));
      showControl(control, entries, value, values.mixed(path));
      showMarks(element, columns, entries);
      showMemories(element, columns);
      showState(element, path);
      showNote(element, said(element, columns, entries, beyond));
      element.querySelector("[data-facts]").textContent = facts(columns, entries);
    };
    const showError = (element, message) => {
      const error = element.querySelector("[data-error]");
      error.textContent = message;
      error.hidden = !message;
      element.toggleAttribute("data-wrong", Boolean(message));
      element.querySelectorAll("[data-box]").forEach((box) => { if (message) box.setAttribute("aria-invalid", "true"); else box.removeAttribute("aria-invalid"); });
    };
    /* What takes the focus. */
    const controlOf = (element) => element.querySelector("[data-control]:not([hidden]) :is([data-box], input:checked)");
    return { refresh, showError, controlOf };
  };
})();
