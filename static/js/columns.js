/* The columns of the form: connection, operation and model of each, their order, which are chosen. */
(() => {
  const playground = (window.playground = window.playground || {});

  const LONGEST = 24; // characters of a setting that stands in its column's row

  playground.letter = (position) => {
    let number = position + 1, letters = "";
    while (number) { letters = String.fromCharCode(65 + ((number - 1) % 26)) + letters; number = Math.floor((number - 1) / 26); }
    return letters;
  };
  /* What a run is found by when its column has moved. */
  const identify = (columns) => {
    const taken = new Set();
    columns.forEach((column, position) => {
      if (typeof column.id !== "string" || !column.id || taken.has(column.id)) column.id = taken.has(`c${position}`) ? fresh() : `c${position}`;
      taken.add(column.id);
    });
  };
  const fresh = () => `x${crypto.getRandomValues(new Uint32Array(2)).join("-")}`;
  /* A copy shares nothing with the column that it is a copy of. */
  const copied = (column) => ({ ...JSON.parse(JSON.stringify(column)), id: fresh() });

  /* `host`: document(), changes(position), edit(position), memory(column), changed(), scope(),
     choose(null, position or positions), run(position), use(position), moved(text, before). */
  playground.columns = (root, connections, host) => {
    const list = root.querySelector("[data-columns]"), acts = root.querySelector("[data-columns-acts]");
    const template = document.getElementById("column-template");
    const menu = document.getElementById("column-menu");
    const byId = new Map(connections.map((connection) => [String(connection.id), connection]));
    const data = () => host.document().columns;
    const connectionOf = (column) => byId.get(String(column.connection));
    const models = playground.modelLists({ connectionOf, changed: () => host.changed() });
    let current = 0, last = null, menuAt = 0, dragged = null;

    const label = (element, selector, text) => element.querySelector(selector).setAttribute("aria-label", text);
    const build = (column, position) => {
      const element = template.content.firstElementChild.cloneNode(true);
      const select = element.querySelector("[data-connection]"), model = element.querySelector("[data-model]");
      const letter = playground.letter(position);
      if (!connectionOf(column)) select.add(new Option("Choose a connection", ""));
      connections.forEach((connection) => select.add(new Option(connection.name, connection.id)));
      select.value = connectionOf(column) ? column.connection : "";
      model.value = column.model || "";
      element.querySelector("[data-column-note]").id = `column-note-${position}`;
      model.setAttribute("aria-describedby", `column-note-${position}`);
      element.querySelector("datalist").id = `models-${position}`;
      model.setAttribute("list", `models-${position}`);
      element.setAttribute("aria-label", `Column ${letter}`);
      element.querySelector("[data-letter]").textContent = letter;
      label(element, "[data-pick]", `Edit column ${letter}`);
      label(element, "[data-run-column]", `Run column ${letter}`);
      label(element, "[data-column-menu]", `More about column ${letter}`);
      label(element, "[data-remove-column]", `Remove column ${letter}`);
      element.dataset.column = position;
      return element;
    };
    const update = (element, column, position) => {
      const several = data().length > 1, scope = host.scope();
      element.querySelectorAll("[data-operation]").forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.operation === column.operation)));
      const changes = host.changes(position), changed = element.querySelector("[data-changed]");
      changed.hidden = !changes.length;
      changed.textContent = changes.length === 1 && changes[0].length <= LONGEST ? changes[0] : `${changes.length} changed`;
      changed.title = changes.join("\n");
      changed.setAttribute("aria-label", `${changes.length} changed in column ${playground.letter(position)}, edit: ${changes.join(", ")}`);
      element.querySelectorAll("[data-remove-column], [data-run-column], [data-grip]").forEach((each) => { each.hidden = !several; });
      const pick = element.querySelector("[data-pick]"), chosen = scope !== null && scope.includes(position);
      pick.disabled = !several;
      pick.setAttribute("aria-pressed", String(chosen));
      element.toggleAttribute("data-chosen", chosen);
      const memory = host.memory(column), note = element.querySelector("[data-column-memory]");
      note.hidden = !memory;
      note.querySelector("span").textContent = memory ? `On ${memory.seen}: ${memory.sentence}` : "";
    };
    const showActs = () => {
      const count = data().length, scope = host.scope();
      acts.hidden = count < 2;
      acts.querySelector("[data-select-all]").setAttribute("aria-pressed", String(scope !== null && scope.length === count));
      acts.querySelector("[data-selected]").textContent = scope !== null && scope.length > 1 ? `${scope.length} of ${count} are edited together` : "";
    };
    const refresh = () => {
      data().forEach((column, position) => { if (list.children[position]) update(list.children[position], column, position); });
      showActs();
    };
    const render = () => {
      identify(data());
      list.replaceChildren(...data().map(build));
      current = Math.min(current, data().length - 1);
      refresh();
      data().forEach((column, position) => { if (!column.model) models.show(list.children[position], column); });
    };
    const at = (target) => { const element = target.closest("[data-column]"); return element && list.contains(element) && [element, data()[Number(element.dataset.column)], Number(element.dataset.column)]; };
    const focus = (position, selector = "[data-connection]") => {
      const element = list.children[position];
      if (!element) return;
      current = position;
      element.querySelector(selector).focus();
      element.scrollIntoView({ block: "nearest" });
    };

    /* --- What a column can be told --- */
    const snapshot = () => JSON.parse(JSON.stringify(host.document()));
    const add = () => {
      const before = data()[data().length - 1], first = connections[0];
      if (!before && !first) return;
      data().push(before ? copied(before) : { connection: first.id, operation: "completions", model: first.model, values: {}, id: fresh() });
      settle(data().length - 1);
    };
    const duplicate = (position) => { data().splice(position + 1, 0, copied(data()[position])); settle(position + 1); };
    const settle = (position) => { host.choose(null); render(); host.changed(); focus(position); };
    const move = (from, to, selector) => {
      if (to < 0 || to >= data().length || from === to) return;
      const [column] = data().splice(from, 1);
      data().splice(to, 0, column);
      host.choose(null);
      render();
      host.changed();
      focus(to, selector);
      playground.announce(`Column ${playground.letter(from)} is ${playground.letter(to)} now.`);
    };
    const remove = (position) => {
      if (data().length < 2) return;
      const before = snapshot();
      data().splice(position, 1);
      host.choose(null);
      render();
      host.changed();
      focus(Math.min(position, data().length - 1));
      host.undo(`Column ${playground.letter(position)} is removed.`, before);
    };
    const reset = (position) => {
      const before = snapshot();
      data()[position].values = {};
      host.settled();
      host.undo(`Column ${playground.letter(position)} sends what all columns send.`, before);
    };
    const doings = {
      duplicate,
      up: (position) => move(position, position - 1, "[data-column-menu]"),
      down: (position) => move(position, position + 1, "[data-column-menu]"),
      use: (position) => host.use(position),
      reset,
      remove,
    };

    list.addEventListener("change", (event) => {
      const [element, column] = at(event.target) || [];
      if (event.target.matches("[data-model]")) models.doubt(element, column);
      if (!event.target.matches("[data-connection]")) return;
      column.connection = Number(event.target.value);
      const connection = connectionOf(column);
      column.model = connection ? connection.model : "";
      element.querySelector("[data-model]").value = column.model;
      models.note(element, "");
      models.forget(column);
      models.show(element, column);
      showError(element, "");
      host.changed();
    });
    list.addEventListener("input", (event) => {
      if (!event.target.matches("[data-model]")) return;
      const [element, column] = at(event.target);
      models.write(column, event.target.value);
      models.note(element, "");
      showError(element, "");
      host.changed();
    });
    list.addEventListener("focusin", (event) => {
      const found = at(event.target);
      if (!found) return;
      current = found[2];
      if (event.target.matches("[data-model]")) models.show(found[0], found[1]);
    });
    list.addEventListener("focusout", (event) => {
      const found = event.target.matches("[data-model]") && at(event.target);
      if (found && !found[1].model) setTimeout(() => models.show(found[0], found[1])); // once the focus is elsewhere
    });
    root.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      if ("addColumn" in button.dataset) add();
      if ("selectAll" in button.dataset) host.choose(button.getAttribute("aria-pressed") === "true" ? null : data().map((_, position) => position));
      if (button.dataset.do) { menu.hidePopover(); doings[button.dataset.do](menuAt); return; }
      const found = at(button);
      if (!found) return;
      const [element, column, position] = found;
      if (button.dataset.operation) { column.operation = button.dataset.operation; delete column.before; showError(element, ""); host.changed(); }
      if ("changed" in button.dataset) host.edit(position);
      if ("runColumn" in button.dataset) host.run(position);
      if ("pick" in button.dataset) pick(position, event);
      if ("columnMenu" in button.dataset) openMenu(position);
      if ("removeColumn" in button.dataset) remove(position);
    });
    /* The letters are checkboxes: each click adds or takes one; Shift takes the range. */
    const pick = (position, event) => {
      host.choose(playground.chosen(host.scope(), position, last, { ctrlKey: !event.shiftKey, shiftKey: event.shiftKey }));
      last = position;
      current = position;
    };
    const openMenu = (position) => {
      menuAt = position;
      const count = data().length, item = (name) => menu.querySelector(`[data-do=${name}]`);
      menu.setAttribute("aria-label", `Column ${playground.letter(position)}`);
      item("up").disabled = position === 0;
      item("down").disabled = position === count - 1;
      item("use").disabled = count < 2 && !host.changes(position);
      item("reset").disabled = !host.changes(position);
      item("remove").disabled = count < 2;
    };
    list.addEventListener("keydown", (event) => {
      const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      const found = step && event.altKey && !event.getModifierState("AltGraph") && !event.ctrlKey && !event.metaKey && at(event.target);
      if (!found) return;
      event.preventDefault();
      const selector = ["[data-pick]", "[data-column-menu]", "[data-model]"].find((each) => event.target.matches(each));
      move(found[2], found[2] + step, selector);
    });

    /* --- Drag by the grip; the place where it would land is marked --- */
    const mark = (element, after) => {
      [...list.children].forEach((each) => { delete each.dataset.drop; });
      if (element) element.dataset.drop = after ? "after" : "before";
    };
    const target = (event) => {
      const found = at(event.target);
      if (!found) return null;
      const box = found[0].getBoundingClientRect();
      return [...found, event.clientY > box.top + box.height / 2];
    };
    list.addEventListener("dragstart", (event) => {
      const found = event.target.closest && event.target.closest("[data-grip]") && at(event.target);
      if (!found) return;
      dragged = found[2];
      event.dataTransfer.effectAllowed = "move";
      event.dataTransfer.setData("text/plain", `Column ${playground.letter(dragged)}`);
      event.dataTransfer.setDragImage(found[0], 0, 0);
      found[0].dataset.dragged = "";
    });
    list.addEventListener("dragover", (event) => {
      const found = dragged !== null && target(event);
      if (!found) return;
      event.preventDefault();
      mark(found[0], found[3]);
    });
    list.addEventListener("drop", (event) => {
      const found = dragged !== null && target(event);
      if (!found) return;
      event.preventDefault();
      const to = found[2] + (found[3] ? 1 : 0);
      move(dragged, to > dragged ? to - 1 : to, "[data-pick]");
    });
    list.addEventListener("dragend", () => {
      dragged = null;
      mark(null);
      [...list.children].forEach((each) => { delete each.dataset.dragged; });
    });

    const showError = (element, message) => {
      const error = element.querySelector("[data-column-error]");
      error.textContent = message;
      error.hidden = !message;
      if (!message) element.querySelectorAll("[aria-invalid]").forEach((each) => each.removeAttribute("aria-invalid"));
    };

    render();
    return {
      refresh,
      render,
      connectionOf,
      /* Say where this column's model is none that its connection lists. */
      doubt: (position) => { if (list.children[position]) models.doubt(list.children[position], data()[position]); },
      add,
      remove,
      focus,
      current: () => Math.max(0, Math.min(current, data().length - 1)),
      become: (position) => { current = position; },
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
