/* The search box of runs (history, statistics): completion, the menu of filters. */
(() => {
  const form = document.querySelector("[data-search]");
  if (!form) return;
  const input = form.querySelector("#search"), offers = document.getElementById("offers");

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
  /* What was offered was for where the caret was. */
  const moved = () => { if (open()) { close(); soon(); } };
  input.addEventListener("input", soon);
  input.addEventListener("click", moved);
  input.addEventListener("blur", () => setTimeout(close, 150));
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const last = options().length - 1;
    if (event.key === "ArrowDown" && !open()) { event.preventDefault(); ask(); }
    else if (event.key === "ArrowDown") { event.preventDefault(); choose(at >= last ? 0 : at + 1); }
    else if (event.key === "ArrowUp" && open()) { event.preventDefault(); choose(at <= 0 ? last : at - 1); }
    else if (event.key === "Escape" && open()) { event.preventDefault(); close(); }
    else if (["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) moved();
    else if ((event.key === "Enter" || event.key === "Tab") && open() && at >= 0) { event.preventDefault(); accept(options()[at]); }
  });
  offers.addEventListener("mousedown", (event) => event.preventDefault()); // the box keeps the focus
  offers.addEventListener("click", (event) => {
    const option = event.target.closest("[role=option]");
    if (option) accept(option);
  });
  document.getElementById("menu-filters")?.addEventListener("click", (event) => {
    const button = event.target.closest("[data-filter]");
    if (!button) return;
    button.closest("[popover]").hidePopover();
    const blank = input.value && !input.value.endsWith(" ") ? " " : "";
    input.value += blank;
    insert(button.dataset.filter, input.value.length, input.value.length);
    ask();
  });
})();
