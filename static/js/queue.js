/* The page of a review queue: the cursor through the list, the pane of the run that it is on. After
   a rating or a skip the next run that waits is opened. */
(() => {
  const playground = window.playground;
  const list = document.getElementById("found"), pane = document.getElementById("pane");
  if (!list) return;
  const rows = () => [...list.querySelectorAll("[data-row]")];
  const current = () => list.querySelector("[data-cursor]");
  let round = 0;

  const open = (row, focus = true) => {
    const before = current();
    if (before && before !== row) { delete before.dataset.cursor; before.querySelector(".run__link").removeAttribute("aria-current"); }
    row.dataset.cursor = "";
    row.querySelector(".run__link").setAttribute("aria-current", "true");
    if (focus) row.querySelector(".run__link").focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
    if (pane.querySelector("[data-pane]")?.dataset.item === row.id) return;
    const mine = ++round;
    const url = row.dataset.row;
    fetch(url, { headers: { "HX-Request": "true" }, credentials: "same-origin" }).then((answer) => (answer.ok ? answer.text() : Promise.reject(answer))).then((html) => {
      if (mine !== round) return;
      htmx.swap(pane, html, { swapStyle: "innerHTML" });
      history.replaceState(null, "", row.querySelector(".run__link").getAttribute("href"));
    }).catch(() => { if (mine === round) playground.notice("This run cannot be shown. It may not be there any more."); });
  };
  const move = (step) => {
    const all = rows(), at = all.indexOf(current());
    const row = all[Math.max(0, Math.min(all.length - 1, at < 0 ? 0 : at + step))];
    if (row) open(row);
  };
  /* Downwards from here, then from the top. */
  const next = () => {
    const all = rows(), at = all.indexOf(current());
    const row = [...all.slice(at + 1), ...all.slice(0, Math.max(at, 0))].find((each) => each.dataset.state === "waiting");
    if (row) open(row); else playground.announce("All in this list are reviewed.");
  };

  list.addEventListener("click", (event) => {
    const link = event.target.closest(".run__link");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open(link.closest("[data-row]"));
  });
  document.addEventListener("triage:done", (event) => {
    if (["rate", "skip"].includes(event.detail.fields.do)) next();
  });
  document.addEventListener("triage:undone", (event) => {
    const row = rows().find((each) => each.dataset.key === event.detail.row);
    if (row) open(row);
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
    if (event.key === "Escape" && pane.contains(event.target) && event.target.matches("textarea")) { current()?.querySelector(".run__link").focus(); return; }
    if (event.target.closest?.(playground.triage.typing) || document.querySelector("dialog[open]")) return;
    const step = { j: 1, k: -1 }[event.key];
    if (step) { event.preventDefault(); move(step); }
    if (event.key === "e") pane.querySelector("[data-edit]")?.click();
    if (event.key === "n") { event.preventDefault(); pane.querySelector("#comment-new")?.focus(); }
  });
  /* Ctrl+Enter sends the comment; the cursor goes back to the list. */
  pane.addEventListener("keydown", (event) => {
    const form = event.target.closest("[data-submit-keys]");
    if (!form || event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
    current()?.querySelector(".run__link").focus({ preventScroll: true });
  });

  const opened = pane.querySelector("[data-pane]")?.dataset.item;
  const first = opened && document.getElementById(opened);
  if (first) open(first);
})();
