/* The table of all columns' parameters: a row each, a cell for each column; cells are editable. */
(() => {
  const playground = (window.playground = window.playground || {});
  const PARTS = ["connection", "operation", "model"];
  const make = (name, text, more) => { const made = document.createElement(name); if (text !== undefined) made.textContent = text; return Object.assign(made, more); };
  const text = (raw) => (raw === undefined || raw === null ? "" : typeof raw === "string" ? raw : JSON.stringify(raw));
  const short = (raw) => { const found = text(raw).replace(/\s+/g, " "); return found.length > 40 ? `${found.slice(0, 39)}…` : found; };

  /* `host`: columns() [{letter, title, model, values, source}], connection(column) → its name,
     panel() → value, entry, set, paths, focus; edit(positions, path), go(position). */
  playground.overview = (host) => {
    const dialog = document.getElementById("overview-dialog"), holder = dialog.querySelector("[data-overview-table]");
    const only = dialog.querySelector("[data-only-differing]"), add = dialog.querySelector("[data-overview-add]");
    let added = new Set();

    const value = (path, at) => host.panel().value(path, at);
    const isOwn = (path, at) => Object.prototype.hasOwnProperty.call(host.columns()[at].values, path);
    const isPart = (path) => ["extra_body", "headers"].includes(path);
    const all = () => host.panel().paths().filter((path) => !isPart(path));
    /* An empty text is a value and is sent. */
    const sent = (raw) => raw !== undefined && raw !== null;
    const used = (path) => host.columns().some((_, at) => sent(value(path, at)) || isOwn(path, at));
    const differs = (values) => new Set(values.map((raw) => `${sent(raw)} ${text(raw)}`)).size > 1;
    const words = (raw) => short(raw) || (sent(raw) ? "empty text" : "not sent");

    const control = (path, at, letter) => {
      const entry = host.panel().entry(path, at), raw = value(path, at);
      if (!entry && !sent(raw)) return make("span", "–", { className: "nil", title: "This backend does not know it" });
      const name = `${path} of column ${letter}`;
      let made;
      if (entry && (entry.widget === "flag" || (entry.widget === "option" && (entry.choices || []).length))) {
        made = make("select");
        const choices = entry.widget === "flag" ? ["true", "false"] : entry.choices;
        const shown = entry.widget === "flag" ? { true: "on", false: "off" } : {};
        made.add(new Option("not sent", ""));
        [...new Set([...choices, text(raw)])].filter(Boolean).forEach((choice) => made.add(new Option(shown[choice] || choice, choice)));
        made.value = text(raw);
      } else if (!entry || entry.widget === "number" || entry.widget === "option") {
        made = make("input", undefined, { className: "input input--sm input--mono", value: text(raw), placeholder: "not sent", autocomplete: "off", spellcheck: false });
        if (entry && entry.widget === "number") made.inputMode = "decimal";
      } else {
        made = make("button", words(raw), { type: "button", className: `overview__open mono${sent(raw) ? "" : " nil"}` });
        made.dataset.goto = "";
      }
      made.setAttribute("aria-label", made.matches("button") ? `${name}: ${words(raw)}, edit` : name);
      made.dataset.path = path;
      made.dataset.at = at;
      if (!made.matches("select")) return made;
      const wrap = make("span", undefined, { className: "select select--sm" });
      wrap.append(made);
      return wrap;
    };
    /* What a row says of itself: whether its columns differ, which ones have their own value. */
    const mark = (row) => {
      const { path } = row.dataset, columns = host.columns();
      const values = PARTS.includes(path) ? columns.map((column) => column.source[path]) : columns.map((_, at) => value(path, at));
      row.toggleAttribute("data-differs", differs(values));
      row.querySelector("[data-said]").textContent = differs(values) ? ", differs" : "";
      if (PARTS.includes(path)) return;
      [...row.querySelectorAll("td")].forEach((cell, at) => {
        cell.toggleAttribute("data-own", isOwn(path, at));
        const entry = host.panel().entry(path, at), set = sent(value(path, at));
        cell.toggleAttribute("data-warn", set && !entry);
        cell.title = set && !entry ? `Not sent to ${columns[at].title}.` : "";
      });
    };
    const head = (path) => {
      const cell = make("th", undefined, { scope: "row" }), button = make("button", path, { type: "button", className: "link mono" });
      button.dataset.path = path;
      button.dataset.goto = "";
      cell.append(button, make("span", "", { className: "vh" }));
      cell.lastChild.dataset.said = "";
      return cell;
    };
    const row = (path) => {
      const made = make("tr");
      made.dataset.path = path;
      made.append(head(path), ...host.columns().map((column, at) => {
        const cell = make("td");
        if (PARTS.includes(path)) cell.append(make("span", path === "connection" ? host.connection(column.source) : column.source[path] || "–"));
        else cell.append(control(path, at, column.letter));
        return cell;
      }));
      mark(made);
      return made;
    };
    const render = () => {
      const table = make("table", undefined, { className: "table overview__table" }), top = make("thead"), line = make("tr"), body = make("tbody");
      line.append(make("td"), ...host.columns().map(({ letter }, at) => {
        const cell = make("th", undefined, { scope: "col" }), button = make("button", undefined, { type: "button", className: "overview__letter" });
        button.append(make("span", letter, { className: "letter" }));
        button.setAttribute("aria-label", `Go to column ${letter}`);
        button.dataset.column = at;
        cell.append(button);
        return cell;
      }));
      top.append(line);
      body.append(...PARTS.map(row), ...all().filter((path) => used(path) || added.has(path)).map(row));
      table.append(top, body);
      holder.replaceChildren(table);
      fold();
      offer();
    };
    /* What was just added stays, although nothing differs in it yet. */
    const fold = () => {
      const rows = [...holder.querySelectorAll("tbody tr")];
      rows.forEach((each) => { each.hidden = only.checked && !("differs" in each.dataset) && !added.has(each.dataset.path); });
      const none = rows.every((each) => each.hidden);
      holder.toggleAttribute("data-none", none);
    };
    const offer = () => {
      const shown = new Set([...holder.querySelectorAll("tbody tr")].map((each) => each.dataset.path));
      const known = (path) => host.columns().some((_, at) => host.panel().entry(path, at));
      add.replaceChildren(new Option("Choose", ""), ...all().filter((path) => !shown.has(path) && known(path)).map((path) => new Option(path, path)));
    };

    const write = ({ target }) => {
      const { path, at } = target.dataset;
      if (path === undefined || at === undefined) return;
      host.panel().set(path, Number(at), target.value === "" ? null : target.value);
      mark(target.closest("tr"));
    };
    holder.addEventListener("input", write);
    holder.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      const { path, at, column } = button.dataset;
      dialog.close();
      if (column !== undefined) host.go(Number(column));
      else if (PARTS.includes(path)) host.go(0, path);
      else host.edit(at === undefined ? null : Number(at), path);
    });
    /* Up and down go from column to column's row, as in a sheet. */
    holder.addEventListener("keydown", (event) => {
      const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (!step || !event.target.matches("input") || event.altKey) return;
      const rows = [...holder.querySelectorAll("tbody tr:not([hidden])")], at = rows.indexOf(event.target.closest("tr")) + step;
      const next = rows[at] && rows[at].querySelector(`[data-at="${event.target.dataset.at}"]`);
      if (next) { event.preventDefault(); next.focus(); if (next.select) next.select(); }
    });
    only.addEventListener("change", fold);
    add.addEventListener("change", () => {
      if (!add.value) return;
      const path = add.value;
      added.add(path);
      render();
      const first = [...holder.querySelectorAll("[data-at]")].find((each) => each.dataset.path === path);
      if (first) first.focus();
    });
    document.querySelector("[data-overview]").addEventListener("click", () => { added = new Set(); render(); dialog.showModal(); });
    return { render };
  };
})();
