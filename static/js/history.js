/* The history: completion in the search box, the cursor through the list with its preview. */
(() => {
  const playground = (window.playground = window.playground || {});
  const form = document.querySelector("[data-search]");
  if (!form) return;
  const input = form.querySelector("#search"), offers = document.getElementById("offers");
  const typing = (target) => target.closest("input, textarea, select, dialog, [contenteditable]");

  /* Completion: a list below the box; the server knows the names and values. */
  let at = -1, timer = 0;
  const options = () => [...offers.children];
  const open = () => !offers.hidden;
  const close = () => {
    clearTimeout(timer);
    offers.hidden = true; at = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const choose = (index) => {
    at = index;
    options().forEach((each, n) => each.setAttribute("aria-selected", String(n === at)));
    if (at < 0) { input.removeAttribute("aria-activedescendant"); return; }
    input.setAttribute("aria-activedescendant", options()[at].id);
    options()[at].scrollIntoView({ block: "nearest" });
  };
  const ask = () => {
    const state = new URLSearchParams({ q: input.value, at: input.selectionStart });
    const asked = state.toString();
    fetch(`${form.dataset.complete}?${asked}`, { headers: { "HX-Request": "true" }, credentials: "same-origin" })
      .then((answer) => (answer.ok ? answer.text() : ""))
      .then((html) => {
        // An answer to what has been typed on since is of no use.
        const now = new URLSearchParams({ q: input.value, at: input.selectionStart }).toString();
        if (now !== asked || document.activeElement !== input) return;
        htmx.swap(offers, html, { swapStyle: "innerHTML" });
        if (!offers.children.length) { close(); return; }
        offers.hidden = false;
        input.setAttribute("aria-expanded", "true");
        choose(-1);
      })
      .catch(() => close());
  };
  const soon = () => { clearTimeout(timer); timer = setTimeout(ask, 80); };
  const insert = (text, start, end = input.selectionStart) => {
    const minus = input.value.slice(start).startsWith("-") ? "-" : "";
    const before = input.value.slice(0, start) + minus + text, after = input.value.slice(end).replace(/^[^\s]*/, "");
    input.value = before + after;
    input.setSelectionRange(before.length, before.length);
    input.focus();
  };
  const accept = (option) => {
    const more = "open" in option.dataset;
    insert(option.dataset.text + (more ? "" : " "), Number(option.dataset.start));
    close();
    soon();
  };
  input.addEventListener("input", soon);
  input.addEventListener("blur", () => setTimeout(close, 150));
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const last = options().length - 1;
    if (event.key === "ArrowDown" && !open()) { event.preventDefault(); ask(); }
    else if (event.key === "ArrowDown") { event.preventDefault(); choose(at >= last ? 0 : at + 1); }
    else if (event.key === "ArrowUp" && open()) { event.preventDefault(); choose(at <= 0 ? last : at - 1); }
    else if (event.key === "Escape" && open()) { event.preventDefault(); close(); }
    else if ((event.key === "Enter" || event.key === "Tab") && open() && at >= 0) { event.preventDefault(); accept(options()[at]); }
  });
  offers.addEventListener("mousedown", (event) => event.preventDefault()); // the box keeps the focus
  offers.addEventListener("click", (event) => {
    const option = event.target.closest("[role=option]");
    if (option) accept(option);
  });
  document.querySelectorAll("[data-filter]").forEach((button) => button.addEventListener("click", () => {
    button.closest("[popover]").hidePopover();
    const blank = input.value && !input.value.endsWith(" ") ? " " : "";
    input.value += blank;
    insert(button.dataset.filter, input.value.length, input.value.length);
    ask();
  }));

  /* The cursor: hover and focus show a row's preview, arrows and j/k move it. */
  const preview = document.getElementById("preview");
  const rows = () => [...document.querySelectorAll("[data-row]")];
  const wide = matchMedia("(min-width: 56.0625rem)");
  let current = null, hover = 0;
  const show = (row) => {
    if (row === current) return;
    if (current) delete current.dataset.cursor;
    current = row;
    row.dataset.cursor = "";
    if (wide.matches && row.dataset.row) htmx.ajax("GET", row.dataset.row, { source: preview, target: preview, swap: "innerHTML" });
  };
  const list = document.getElementById("found");
  if (!list) return; // the page of statistics has the box, and no rows
  list.addEventListener("pointerover", (event) => {
    const row = event.target.closest("[data-row]");
    clearTimeout(hover);
    if (row && event.pointerType === "mouse") hover = setTimeout(() => show(row), 150);
  });
  list.addEventListener("pointerleave", () => clearTimeout(hover));
  list.addEventListener("focusin", (event) => {
    const row = event.target.closest("[data-row]");
    if (row) show(row);
  });
  const move = (step) => {
    const all = rows(), next = current && all.includes(current) ? all.indexOf(current) + step : step > 0 ? 0 : all.length - 1;
    const row = all[Math.max(0, Math.min(all.length - 1, next))];
    if (row) row.querySelector(".run__link").focus();
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || typing(event.target)) return;
    if (event.key === "/") { event.preventDefault(); input.focus(); input.select(); return; }
    if (event.target.closest("[popover], [role=menu]")) return;
    const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
    const inList = event.target === document.body || event.target.closest("#found, #main") === event.target || list.contains(event.target);
    if (step && (inList || "jk".includes(event.key))) { event.preventDefault(); move(step); }
    if (event.key === "e" && current) preview.querySelector("[data-edit]")?.click();
    if (event.key === "n" && current) { event.preventDefault(); location.assign(`${preview.querySelector("[data-run-page]")?.getAttribute("href") || current.querySelector(".run__model").getAttribute("href")}#comment-new`); }
  });
  document.addEventListener("triage:redrawn", (event) => { current = event.detail.row; });

  /* Unfolded rows fold again. */
  list.addEventListener("htmx:beforeRequest", (event) => {
    const button = event.target.closest("[data-unfold]");
    const after = button && button.closest("[data-row]").nextElementSibling;
    if (after && after.matches(".unfolded")) { event.preventDefault(); after.remove(); button.setAttribute("aria-expanded", "false"); }
    else if (button) button.setAttribute("aria-expanded", "true");
  });
  playground.history = { show };
})();
