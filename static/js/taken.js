/* "Use this one": the settings of a column of the form, or of a run that is shown, become those of the form. */
(() => {
  const playground = (window.playground = window.playground || {});

  /* `host`: document(), flush(), snapshot(), put(document), undo(sentence, before). */
  playground.taking = (host) => {
    const use = (found, letter) => {
      const before = host.snapshot();
      const { values, extra, headers, column } = JSON.parse(JSON.stringify(found));
      host.put({ ...before, values, extra, headers, columns: [{ ...column, values: {} }] });
      host.undo(`The form has the settings of column ${letter}.`, before);
    };
    const column = (position) => {
      host.flush();
      const doc = host.document(), { values, ...own } = doc.columns[position];
      const merged = Object.fromEntries(Object.entries({ ...doc.values, ...values }).filter(([, raw]) => raw !== null));
      use({ values: merged, extra: doc.extra, headers: doc.headers, column: own }, playground.letter(position));
    };
    const run = async (button) => {
      const article = button.closest("[data-run]"), letter = article.querySelector(".letter").textContent;
      const response = await fetch(button.dataset.use, { headers: { "HX-Request": "true" }, credentials: "same-origin" }).catch(() => null);
      if (!response || !response.ok) { playground.failed("settings", "The settings of this column could not be loaded."); return; }
      playground.worked("settings");
      const { values, extra, headers, columns: [one] } = await response.json();
      const id = (document.getElementById("outputs").dataset.columnIds || "").split(" ")[Number(article.dataset.column)];
      use({ values, extra, headers, column: { ...one, ...(id ? { id } : {}) } }, letter);
    };
    document.addEventListener("click", (event) => {
      const button = event.target.closest("[data-use]");
      if (button) run(button);
    });
    return { column };
  };
})();
