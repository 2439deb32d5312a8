/* The models that connections list, each asked once, and what a column says of the one it asks for. A column
   without a model gets the first of the list, unless somebody has typed there or is about to. */
(() => {
  const playground = (window.playground = window.playground || {});

  /* A press that leaves the field may be meant for what a new line would move away: first it has its click. */
  let pressed = false;
  document.addEventListener("pointerdown", () => { pressed = true; }, true);
  ["pointerup", "pointercancel"].forEach((name) => document.addEventListener(name, () => { pressed = false; }, true));
  const released = () => new Promise((go) => {
    const soon = () => setTimeout(go, 100);
    if (pressed) document.addEventListener("pointerup", soon, { once: true }); else soon();
  });

  /* `host`: connectionOf(column), changed(). */
  playground.modelLists = (host) => {
    const listed = new Map(); // {connection id: promise of {models} or {error}}
    const failed = new WeakSet(); // columns that say why there is no list
    const typed = new WeakSet(); // columns of the document whose model somebody has typed, or taken out
    const ask = (connection) => {
      if (!listed.has(connection.id)) {
        const asked = fetch(connection.models, { headers: { Accept: "application/json" }, credentials: "same-origin" })
          .then((response) => response.json())
          .catch(() => ({ error: "The list of models could not be loaded." }))
          .then((found) => { if (found.error) listed.delete(connection.id); return found; });
        listed.set(connection.id, asked);
      }
      return listed.get(connection.id);
    };
    const note = (element, text) => {
      const shown = element.querySelector("[data-column-note]");
      shown.textContent = text;
      shown.hidden = !text;
    };
    const show = async (element, column) => {
      const connection = host.connectionOf(column);
      if (!connection) return;
      const { error = "", models = [] } = await ask(connection);
      if (host.connectionOf(column) !== connection || !element.isConnected) return;
      element.querySelector("datalist").replaceChildren(...models.map((name) => new Option(name, name)));
      if (error) { note(element, error); failed.add(element); } else if (failed.delete(element)) note(element, "");
      const box = element.querySelector("[data-model]");
      if (column.model || !models.length || typed.has(column) || document.activeElement === box) return;
      column.model = box.value = models[0];
      host.changed();
    };
    /* A model that the connection does not list may be a slip, or meant: it is said, and sent as it is. */
    const doubt = async (element, column) => {
      const connection = host.connectionOf(column), wanted = () => (column.model || "").trim(), model = wanted();
      if (!connection || !model) { note(element, ""); return; }
      const [{ error, models = [] }] = await Promise.all([ask(connection), released()]);
      if (host.connectionOf(column) !== connection || wanted() !== model || !element.isConnected) return;
      if (error || !models.length) return;
      note(element, models.includes(model) ? "" : `“${model}” is not in the list of models of ${connection.name}.`);
    };
    return { show, doubt, note, write: (column, model) => { typed.add(column); column.model = model; }, forget: (column) => typed.delete(column) };
  };
})();
