/* What the server refused, said where it is mended: at the field, in its column, in the panel. */
(() => {
  const playground = (window.playground = window.playground || {});
  const INPUTS = ["prompt", "prompts", "ids", "messages", "labels", "variables"];
  const $ = (selector) => document.querySelector(selector);
  const $$ = (selector) => [...document.querySelectorAll(selector)];

  /* `host`: document(), control(path, message) of the input, columns, panel, side. */
  playground.refused = (host) => {
    const field = (path, message) => {
      const shown = $(`[data-error-for=${path}]`), control = host.control(path, message);
      shown.textContent = message;
      shown.hidden = !message;
      if (message) control.setAttribute("aria-invalid", "true"); else control.removeAttribute("aria-invalid");
      return control;
    };
    const clear = () => {
      INPUTS.forEach((path) => field(path, ""));
      host.columns.clearErrors();
      host.panel.clearErrors();
    };
    /* What a path holds, to see whether it is still what was refused. */
    const heldAt = (path) => {
      const doc = host.document(), whole = { extra_body: "extra" }[path] || path;
      const input = path === "variables" ? [doc.table, doc.prompt, doc.prompts, doc.messages] : [];
      return JSON.stringify([doc.mode, input, doc[whole], (doc.values || {})[path], doc.columns.map(({ id, values, ...column }) => [id, column[path], values[path]])]);
    };
    let refused = new Map(); // path → what it held when it was refused
    const forgive = () => {
      const list = $$("#problems [data-problem]");
      list.filter(({ dataset }) => refused.has(dataset.problem) && refused.get(dataset.problem) !== heldAt(dataset.problem)).forEach((line) => line.remove());
      if (list.length && !$("#problems li")) document.getElementById("problems").replaceChildren();
    };
    const show = (errors) => {
      refused = new Map(errors.map(({ path }) => [path, heldAt(path)]));
      const said = new Set(), { columns } = host.document();
      const own = errors.find(({ column, path }) => column !== null && path in columns[column].values);
      host.panel.setScope(own ? own.column : null);
      const controls = errors.map(({ column, path, message }) => {
        if (INPUTS.includes(path)) return field(path, message);
        if (["connection", "model", "operation"].includes(path)) return host.columns.showError(column || 0, path, message);
        const all = errors.filter((each) => each.path === path && each.message === message).length >= columns.length;
        const where = columns.length > 1 && !all ? `${playground.letter(column || 0)}: ` : "";
        if (said.has(path + where + message)) return null;
        said.add(path + where + message);
        return host.panel.showError(path, where + message);
      });
      const first = controls.find(Boolean);
      playground.announce(`Nothing was sent. ${errors.map((each) => each.message).join(" ")}`, true);
      if (!first) return;
      if (document.getElementById("params").contains(first)) host.side.open();
      first.focus();
    };
    document.addEventListener("htmx:afterSwap", (event) => {
      const errors = event.detail.target.id === "problems" && document.getElementById("errors");
      if (errors) show(JSON.parse(errors.textContent));
    });
    return { field, clear, forgive };
  };
})();
