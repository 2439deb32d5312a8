/* The grid: cells that have ended are fetched in batches, and a cell opens to its full column.
   stream.js follows the runs and says which cells have ended. */
(() => {
  const { playground } = window;
  const BATCH = 100; // cells in one request
  const PAUSE = 250; // ms in which ends are gathered

  /* --- Ends --- */
  const ended = new Set();
  const isLive = (cell) => ["queued", "running"].includes(cell.dataset.status);
  const fetchEnded = playground.later(() => {
    const grid = document.querySelector("[data-grid]");
    if (!grid) { ended.clear(); return; }
    const cells = [], piles = new Map();
    [...ended].slice(0, BATCH).forEach((run) => {
      ended.delete(run);
      const cell = document.getElementById(`cell-${run}`);
      if (!cell) return;
      const pile = cell.closest("[data-pile]");
      const open = [...pile.querySelectorAll(".cell")].some((each) => isLive(each) && each !== cell && !ended.has(each.dataset.run) && !cells.includes(each.dataset.run));
      if (pile.querySelectorAll(".cell").length > 1 && !open) piles.set(pile, run); else cells.push(run);
    });
    const fetched = cells.filter((run) => !piles.has(document.getElementById(`cell-${run}`).closest("[data-pile]")));
    if (fetched.length || piles.size) {
      const query = new URLSearchParams({ cells: fetched.join(","), stacks: [...piles.values()].join(",") });
      htmx.ajax("GET", `${grid.dataset.cells}?${query}`, { source: grid, swap: "none" });
    }
    if (ended.size) fetchEnded();
  }, PAUSE);
  document.addEventListener("playground:ended", (event) => {
    event.detail.runs.forEach((run) => ended.add(String(run)));
    fetchEnded();
  });

  /* Two repeats that end one shortly after the other: when the last swap has come, they are grouped. */
  document.addEventListener("htmx:oobAfterSwap", ({ target }) => {
    const pile = target.matches && target.matches(".cell") && target.closest("[data-pile]");
    if (!pile || "asked" in pile.dataset) return;
    const cells = [...pile.querySelectorAll(".cell")];
    if (cells.length < 2 || cells.some(isLive)) return;
    pile.dataset.asked = "";
    ended.add(cells[0].dataset.run);
    fetchEnded();
  });

  /* --- Open a cell --- */
  const dialog = document.getElementById("cell-dialog");
  let held = null, asked = "", pile = null; // the live cell whose run the dialog follows meanwhile; what it was opened for; where that stands
  const shown = () => dialog.querySelector("[data-run]"); // a newer run of the cell, once it has run again
  const open = async (link) => {
    const cell = link.closest(".cell");
    document.getElementById("cell-dialog-title").textContent = link.getAttribute("aria-label").replace(/^Open /, "");
    dialog.querySelector("[data-cell-page]").href = link.href;
    if (cell && isLive(cell)) { held = cell; cell.dataset.held = cell.dataset.run; delete cell.dataset.run; }
    dialog.showModal();
    asked = link.getAttribute("href");
    pile = link.closest("[data-pile]");
    await htmx.ajax("GET", asked, { target: "#cell-dialog-body", swap: "innerHTML" });
  };
  /* What comes when the dialog is closed again would follow the run in the place of its cell. */
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    if (detail.target.id === "cell-dialog-body" && !(dialog.open && detail.requestConfig.path === asked)) detail.shouldSwap = false;
  });
  document.addEventListener("htmx:afterSettle", () => { if (dialog?.open && shown()) dialog.querySelector("[data-cell-page]").href = shown().dataset.url; });
  /* A pile is called by its first run. */
  const replace = async (before, now) => {
    const grid = document.querySelector("[data-grid]");
    if (pile.id === `pile-${before}`) pile.id = `pile-${now}`;
    await htmx.ajax("GET", `${grid.dataset.cells}?stacks=${now}`, { source: grid, swap: "none" });
    if (document.activeElement === document.body) document.querySelector(`[data-open-cell][href$="/runs/${now}/"]`)?.focus();
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-open-cell]");
    if (!link || !dialog || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    open(link);
  });
  if (dialog) dialog.addEventListener("close", () => {
    const [before] = asked.match(/\d+(?=\/$)/), now = shown()?.dataset.run;
    document.getElementById("cell-dialog-body").replaceChildren();
    if (now && now !== before) { held = null; replace(before, now); return; }
    if (!held) return;
    const run = held.dataset.held;
    held = null;
    ended.add(run); // its text went on meanwhile
    fetchEnded();
  });
})();
