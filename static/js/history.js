/* The list of the history: the cursor with its preview, what comes below, and the way back to it. */
(() => {
  const playground = (window.playground = window.playground || {});
  const list = document.getElementById("found"), preview = document.getElementById("preview");
  if (!list || !preview) return;
  const { keyOf, rows, current, typing } = playground.selection;
  const wide = matchMedia("(min-width: 56.0625rem)");
  const trashed = "trashed" in document.querySelector("[data-selection]").dataset;

  const previewOf = (row) => `${list.dataset.previews}${row.dataset.row}/${keyOf(row).startsWith("run-") ? "?single=1" : ""}`;
  const show = (row) => {
    const before = current();
    if (row === before) return;
    if (before) delete before.dataset.cursor;
    row.dataset.cursor = "";
    look(row);
  };
  const look = (row) => { if (wide.matches && !trashed) htmx.ajax("GET", previewOf(row), { source: preview, target: preview, swap: "innerHTML" }); };
  ["triage:done", "triage:undone"].forEach((name) => document.addEventListener(name, () => { if (current()) look(current()); }));
  /* What a mouse does that moves; not a list that is scrolled below one that rests. */
  let hover = 0, at = "";
  list.addEventListener("pointermove", (event) => {
    const where = `${event.clientX} ${event.clientY}`;
    if (event.pointerType !== "mouse" || where === at) return;
    at = where;
    clearTimeout(hover);
    const row = event.target.closest("[data-row]");
    if (row && row !== current() && !document.querySelector(":popover-open")) hover = setTimeout(() => { if (row.isConnected) show(row); }, 150);
  });
  list.addEventListener("pointerleave", () => clearTimeout(hover));
  list.addEventListener("focusin", (event) => {
    const row = event.target.closest("[data-row]");
    if (row) { clearTimeout(hover); show(row); }
  });
  const move = (step) => {
    const all = rows(), index = all.indexOf(current());
    const row = all[Math.max(0, Math.min(all.length - 1, index < 0 ? (step > 0 ? 0 : all.length - 1) : index + step))];
    clearTimeout(hover);
    if (row) row.querySelector(".run__link").focus();
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented || event.target.closest?.(typing)) return;
    if (document.querySelector("dialog[open], :popover-open")) return;
    const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
    const inList = event.target === document.body || event.target.id === "main" || list.contains(event.target);
    if (step && (inList || "jk".includes(event.key))) { event.preventDefault(); move(step); }
  });

  const drawn = () => document.dispatchEvent(new CustomEvent("rows:drawn"));
  /* A day that goes on below has one heading. */
  const join = () => list.querySelectorAll("[data-day]").forEach((day) => {
    const next = day.nextElementSibling;
    if (!next?.matches("[data-day]") || next.getAttribute("aria-labelledby") !== day.getAttribute("aria-labelledby")) return;
    day.querySelector(".runs").append(...next.querySelector(".runs").children);
    next.remove();
  });
  let pages = 0;
  const more = () => list.querySelector("[data-more]");
  const below = (count) => {
    const link = more();
    if (!count || !link) return Promise.resolve();
    return htmx.ajax("GET", link.getAttribute("href"), { source: link, target: "#more", swap: "outerHTML" }).then(() => below(count - 1));
  };
  document.addEventListener("htmx:afterRequest", ({ detail }) => {
    if (!detail.successful) return;
    const asked = detail.requestConfig?.headers?.["HX-Target"];
    if (asked === "more") { pages += 1; join(); }
    if (asked === "more" || asked === "found" || list.contains(detail.target)) drawn();
  });

  /* The list anew, as long as it was, with the cursor where it was. */
  const stand = (key, focus) => {
    const row = key && document.getElementById(`row-${key}`);
    if (row?.dataset.row) { if (focus) row.querySelector(".run__link").focus({ preventScroll: true }); else show(row); row.scrollIntoView({ block: "nearest" }); }
  };
  const refresh = async () => {
    const key = current() && keyOf(current()), focused = list.contains(document.activeElement), long = pages;
    pages = 0;
    await htmx.ajax("GET", location.href, { source: "#found", target: "#found", swap: "innerHTML", select: "#found > *" });
    await below(long);
    stand(key, focused);
  };
  document.addEventListener("changed", refresh);
  document.addEventListener("undone", (event) => {
    event.preventDefault();
    htmx.swap(document.getElementById("bulk-said"), event.detail.html, { swapStyle: "innerHTML" });
    htmx.trigger(document.body, "changed");
  });

  /* Whoever comes back from a run finds the list as long as it was, and the cursor. */
  addEventListener("pagehide", () => {
    const cursor = current();
    history.replaceState({ ...history.state, list: { pages, key: cursor ? keyOf(cursor) : "" } }, "");
  });
  const kept = history.state?.list;
  drawn();
  if (kept?.key) below(kept.pages).then(() => { const row = document.getElementById(`row-${kept.key}`); if (row?.dataset.row) { row.querySelector(".run__link").focus({ preventScroll: true }); row.scrollIntoView({ block: "center" }); } });
  playground.history = { show, refresh };
})();
