/* View code and paste of the compose page, and the doubts about the form as it stands. */
(() => {
  const playground = (window.playground = window.playground || {});

  /* `host`: posted() → the document as text, columns(), column() → which one is edited. */
  playground.codeDialog = (host) => {
    const dialog = document.getElementById("code-dialog"), body = dialog.querySelector("[data-code]"), letters = dialog.querySelector("[data-letters]");
    let column = 0;
    const load = () => htmx.ajax("POST", dialog.dataset.url, { source: body, target: body, swap: "innerHTML", values: { document: host.posted(), column } });
    const showLetters = () => {
      const columns = host.columns();
      letters.hidden = columns.length < 2;
      letters.replaceChildren(...columns.map(({ letter }, position) => {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = letter;
        button.setAttribute("aria-label", `Column ${letter}`);
        button.setAttribute("aria-pressed", String(position === column));
        button.addEventListener("click", () => { column = position; showLetters(); letters.children[position].focus(); load(); });
        return button;
      }));
    };
    document.querySelector("[data-view-code]").addEventListener("click", () => {
      column = Math.min(host.column(), host.columns().length - 1);
      body.replaceChildren();
      showLetters();
      dialog.showModal();
      load();
    });
    document.addEventListener("htmx:afterSwap", (event) => { if (event.detail.target === body) playground.tabs(body); });
  };

  /* `host`: document(), connection() → its id, put(document), wrong(path, sentence), undo. */
  playground.pasteDialog = (host) => {
    const dialog = document.getElementById("paste-dialog"), form = dialog.querySelector("form");
    const box = dialog.querySelector("textarea"), error = dialog.querySelector("[data-paste-error]"), apply = dialog.querySelector("[data-apply]");
    const notes = document.getElementById("pasted");
    const say = (text) => {
      error.textContent = text;
      error.hidden = !text;
      if (text) { box.setAttribute("aria-invalid", "true"); box.focus(); } else box.removeAttribute("aria-invalid");
    };
    const message = (each) => ({ ...each, role: String(each.role || "user"), content: each.content === null || each.content === undefined ? "" : each.content });
    /* Operation, model and connection belong to the first column, the rest to the form. */
    const merged = (doc, { operation, model, connection, messages, ...rest }) => {
      const [first, ...others] = doc.columns;
      const column = { ...first, operation, model: model || (connection === undefined && first ? first.model : ""), values: {} };
      if (connection !== undefined) column.connection = connection;
      return { ...doc, ...rest, ...(messages ? { messages: messages.map(message) } : {}), columns: [column, ...others] };
    };
    const showNotes = (lines) => {
      if (!lines.length) { notes.replaceChildren(); return; }
      const made = document.getElementById("note-template").content.firstElementChild.cloneNode(true);
      made.querySelector("[data-lines]").append(...lines.map((line) => { const item = document.createElement("li"); item.textContent = line; return item; }));
      notes.replaceChildren(made);
    };
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      say("");
      apply.disabled = true;
      let found;
      try {
        const response = await playground.post(form.action, { text: box.value, connection: host.connection() || "" });
        found = [200, 422].includes(response.status) ? await response.json() : { error: [401, 403].includes(response.status) ? "Your login has ended. Log in again in a new tab, then apply." : `The server answered with an error (${response.status}).` };
      } catch { found = { error: "The server cannot be reached. Try again in a moment." }; }
      apply.disabled = false;
      if (!dialog.open) return; // closed meanwhile: nothing is wanted, and the text is still there
      if (found.error) { say(found.error); return; }
      const before = JSON.parse(JSON.stringify(host.document()));
      host.put(merged(before, found.changes));
      Object.entries(found.wrong).forEach(([path, sentence]) => host.wrong(path, sentence));
      showNotes(found.notes);
      box.value = "";
      dialog.close();
      host.undo("The form is filled from what you pasted.", before, () => showNotes([]));
    });
    box.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.isComposing) { event.preventDefault(); form.requestSubmit(); }
    });
    box.addEventListener("input", () => { if (!error.hidden) say(""); });
    document.querySelector("[data-paste]").addEventListener("click", () => { say(""); dialog.showModal(); box.focus(); });
  };

  /* `host`: posted(), wanted() → whether there can be doubts. Quiet: a failure says nothing. */
  playground.doubts = (host) => {
    const holder = document.querySelector("[data-doubts]");
    let round = 0;
    return playground.later(async () => {
      const mine = ++round;
      if (!host.wanted()) { document.getElementById("doubts").replaceChildren(); return; }
      try {
        const response = await playground.post(holder.dataset.url, { document: host.posted() });
        if (!response.ok || response.redirected) return;
        const text = await response.text();
        const target = document.getElementById("doubts");
        if (mine === round) htmx.swap(target, text, { swapStyle: "outerHTML" }, { eventInfo: { target } });
      } catch { /* said when the form is run */ }
    }, 600);
  };
})();
