/* The best value of each metric among the columns, when all are done. */
(() => {
  const NAMES = ["first", "total", "speed", "cost"];
  const clear = (cell) => { cell.classList.remove("is-best"); const said = cell.querySelector(".vh"); if (said) said.remove(); };
  const put = (cell) => {
    if (cell.classList.contains("is-best")) return;
    const said = document.createElement("span");
    said.className = "vh";
    said.textContent = ", best";
    cell.classList.add("is-best");
    cell.append(said);
  };
  const look = () => {
    const columns = [...document.querySelectorAll("#outputs [data-run]")];
    const done = columns.every((column) => !["queued", "running"].includes(column.dataset.status));
    NAMES.forEach((name) => {
      const of = (column) => column.querySelector(`[data-metric="${name}"]`);
      const cells = columns.map(of).filter(Boolean);
      // A run that failed or was stopped is no faster than one that came to its end.
      const rivals = columns.filter((column) => column.dataset.status === "completed").map(of).filter((cell) => cell && cell.dataset.value !== undefined);
      // What looks the same is the same: nobody sees the digits behind.
      const value = (cell) => Number(cell.dataset.value) * ("more" in cell.dataset ? -1 : 1), shown = (cell) => cell.firstChild.textContent;
      const best = rivals.reduce((one, other) => (one && value(one) <= value(other) ? one : other), null);
      const differ = new Set(rivals.map(shown)).size > 1;
      cells.forEach((cell) => { if (done && differ && rivals.includes(cell) && shown(cell) === shown(best)) put(cell); else clear(cell); });
    });
  };
  document.addEventListener("htmx:afterSettle", look);
  document.addEventListener("htmx:oobAfterSwap", look);
  look();
})();
