/* The columns of the form: connection, operation and model of each. */
(() => {
  const playground = (window.playground = window.playground || {});

  playground.letter = (position) => {
    let number = position + 1, letters = "";
    while (number) { letters = String.fromCharCode(65 + ((number - 1) % 26)) + letters; number = Math.floor((number - 1) / 26); }
    return letters;
  };

  /* `host`: document(), changes(position), edit(position), changed(). */
  playground.columns = (root, connections, host) => {
    const list = root.querySelector("[data-columns]");
    const template = document.getElementById("column-template");
    const byId = new Map(connections.map((connection) => [String(connection.id), connection]));
    const listed = new Map(); // {connection id: promise of {models} or {error}}
    const data = () => host.document().columns;
    const connectionOf = (column) => byId.get(String(column.connection));

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
    const showModels = async (element, column, choose) => {
      const connection = connectionOf(column);
      if (!connection) return;
      const found = await ask(connection);
      if (connectionOf(column) !== connection || !element.isConnected) return;
      const models = found.models || [];
      element.querySelector("datalist").replaceChildren(...models.map((name) => new Option(name, name)));
      const note = element.querySelector("[data-column-note]");
      note.textContent = found.error || "";
      note.hidden = !found.error;
      if (choose && !column.model && models.length) {
        column.model = models[0];
        element.querySelector("[data-model]").value = models[0];
        host.changed();
      }
    };

    const build = (column, position) => {
      const element = template.content.firstElementChild.cloneNode(true);
      const select = element.querySelector("[data-connection]"), model = element.querySelector("[data-model]");
      const letter = playground.letter(position);
      if (!connectionOf(column)) select.add(new Option("Choose a connection", ""));
      connections.forEach((connection) => select.add(new Option(connection.name, connection.id)));
      select.value = connectionOf(column) ? column.connection : "";
      model.value = column.model || "";
      element.querySelector("datalist").id = `models-${position}`;
      model.setAttribute("list", `models-${position}`);
      element.setAttribute("aria-label", `Column ${letter}`);
      element.querySelector("[data-letter]").textContent = letter;
      element.querySelector("[data-remove-column]").setAttribute("aria-label", `Remove column ${letter}`);
      element.dataset.column = position;
      return element;
    };
    const update = (element, column, position) => {
      element.querySelectorAll("[data-operation]").forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.operation === column.operation)));
      const changes = host.changes(position), changed = element.querySelector("[data-changed]");
      changed.hidden = !changes;
      changed.textContent = `${changes} changed`;
      changed.setAttribute("aria-label", `${changes} changed in column ${playground.letter(position)}, edit`);
      element.querySelector("[data-remove-column]").hidden = data().length < 2;
      const memory = host.memory(column), note = element.querySelector("[data-column-memory]");
      note.hidden = !memory;
      note.querySelector("span").textContent = memory ? `On ${memory.seen}: ${memory.sentence}` : "";
    };
    const refresh = () => data().forEach((column, position) => { if (list.children[position]) update(list.children[position], column, position); });
    const render = () => { list.replaceChildren(...data().map(build)); refresh(); };
    const at = (target) => { const element = target.closest("[data-column]"); return element && [element, data()[Number(element.dataset.column)], Number(element.dataset.column)]; };

    list.addEventListener("change", (event) => {
      if (!event.target.matches("[data-connection]")) return;
      const [element, column] = at(event.target);
      column.connection = Number(event.target.value);
      const connection = connectionOf(column);
      column.model = connection ? connection.model : "";
      element.querySelector("[data-model]").value = column.model;
      showModels(element, column, true);
      showError(element, "");
      host.changed();
    });
    list.addEventListener("input", (event) => {
      if (!event.target.matches("[data-model]")) return;
      const [element, column] = at(event.target);
      column.model = event.target.value;
      showError(element, "");
      host.changed();
    });
    list.addEventListener("focusin", (event) => {
      if (!event.target.matches("[data-model]")) return;
      const [element, column] = at(event.target);
      showModels(element, column, true);
    });
    root.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      if ("addColumn" in button.dataset) add();
      const found = at(button);
      if (!found) return;
      const [element, column, position] = found;
      if (button.dataset.operation) { column.operation = button.dataset.operation; showError(element, ""); host.changed(); }
      if ("changed" in button.dataset) host.edit(position);
      if ("removeColumn" in button.dataset) remove(position);
    });
    const add = () => {
      const last = data()[data().length - 1];
      const first = connections[0];
      if (!last && !first) return;
      data().push(last ? { ...last, values: { ...last.values } } : { connection: first.id, operation: "completions", model: first.model, values: {} });
      render();
      host.changed();
      list.lastElementChild.querySelector("[data-connection]").focus();
    };
    const remove = (position) => {
      data().splice(position, 1);
      render();
      host.changed();
      list.children[Math.min(position, data().length - 1)].querySelector("[data-connection]").focus();
    };
    const showError = (element, message) => {
      const error = element.querySelector("[data-column-error]");
      error.textContent = message;
      error.hidden = !message;
      if (!message) element.querySelectorAll("[aria-invalid]").forEach((each) => each.removeAttribute("aria-invalid"));
    };

    render();
    data().forEach((column, position) => { if (!column.model) showModels(list.children[position], column, true); });
    return {
      refresh,
      render,
      connectionOf,
      clearErrors: () => [...list.children].forEach((element) => showError(element, "")),
      /* The control to focus. */
      showError: (position, path, message) => {
        const element = list.children[position];
        const control = element && element.querySelector({ connection: "[data-connection]", model: "[data-model]", operation: "[data-operation]" }[path] || "[data-model]");
        if (!control) return null;
        showError(element, message);
        if (path !== "operation") control.setAttribute("aria-invalid", "true");
        return control;
      },
    };
  };
})();
