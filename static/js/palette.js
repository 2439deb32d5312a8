/* The command palette: pages and commands that the page has, and what the server finds. Its list of
   commands is the sheet of shortcuts; a command is offered where an element carries its name. */
(() => {
  const { playground } = window;
  const dialog = document.getElementById("palette");
  if (!dialog) return;
  const PAUSE = 150; // ms without a key after which the server is asked
  const SMALL = new Set(["a", "an", "the", "my", "to", "of"]); // as keymap.SMALL: nothing is found by them
  const input = dialog.querySelector("input"), list = document.getElementById("palette-list"), none = dialog.querySelector("[data-nothing]");
  let asked = 0, timer = 0, before = null, under = null; // `under`: a sheet or menu, which a dialog closes

  const icon = (name) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", "svg"), use = document.createElementNS("http://www.w3.org/2000/svg", "use");
    made.setAttribute("class", "icon");
    made.setAttribute("aria-hidden", "true");
    use.setAttribute("href", `#i-${name}`);
    made.append(use);
    return made;
  };
  const option = (words, mark, end, act, also = "") => {
    const made = document.createElement("div"), said = document.createElement("span");
    made.className = "menu__item";
    made.setAttribute("role", "option");
    made.dataset.also = also; // other words by which it is found
    said.className = "palette__words";
    said.textContent = words;
    made.append(icon(mark), said, ...(end ? [end] : []));
    made.addEventListener("click", () => { under = null; dialog.close(); act(); });
    return made;
  };
  const usable = (element) => element && !element.disabled && !element.closest("[hidden]");
  const commands = () => [...document.querySelectorAll("#keys [data-name]")].flatMap((row) => {
    const control = document.querySelector(`[data-command="${row.dataset.name}"]`), keys = row.querySelector(".keys");
    return usable(control) ? [option(row.querySelector("dt").textContent, row.dataset.icon, keys && keys.cloneNode(true), () => control.click(), row.dataset.also)] : [];
  });
  const row = (name) => document.querySelector(`#keys [data-name="${name}"]`);
  const pages = () => [...document.querySelectorAll("a[data-command]")].filter((link) => !row(link.dataset.command)) // until the sheet is there
    .map((link) => option(link.firstChild.nodeType === Node.TEXT_NODE ? link.firstChild.textContent.trim() : link.textContent.trim(), "arrow-right", null, () => link.click()));

  /* What the page has by many names; it is offered once something is typed. */
  const named = () => (playground.offered?.() || []).map(({ words, icon: mark, act, also }) => {
    const made = option(words, mark, null, act, also);
    made.dataset.typed = "";
    return made;
  });

  const options = () => [...list.querySelectorAll("[role=option]:not([hidden])")];
  const mark = (chosen) => {
    options().forEach((each) => each.setAttribute("aria-selected", String(each === chosen)));
    if (!chosen) { input.removeAttribute("aria-activedescendant"); return; }
    input.setAttribute("aria-activedescendant", chosen.id);
    chosen.scrollIntoView({ block: "nearest" });
  };
  const name = () => [...list.querySelectorAll("[role=option]")].forEach((each, at) => { each.id = `palette-${at}`; each.setAttribute("aria-selected", "false"); });
  const narrow = () => {
    const typed = input.value.toLowerCase().split(/\s+/).filter(Boolean), large = typed.filter((word) => !SMALL.has(word));
    const words = large.length ? large : typed; // "the" may become "theme"
    const count = (text) => words.filter((word) => text.includes(word)).length;
    const rank = (each) => {
      const called = each.querySelector(".palette__words").textContent.toLowerCase();
      return { each, named: count(called), found: count(`${called} ${each.dataset.also}`), at: Number(each.dataset.at) };
    };
    /* What the most words find is offered, so that a word that finds nothing hides nothing; first what is called so, then what is called so too. */
    const local = list.querySelector("[data-local]"), ranked = [...local.children].map(rank), most = Math.max(...ranked.map(({ found }) => found));
    ranked.sort((one, other) => other.named - one.named || one.at - other.at).forEach(({ each, found }) => { each.hidden = words.length ? found < most || !found : "typed" in each.dataset; local.append(each); });
    name();
    mark(options()[0]);
    none.hidden = options().length > 0;
  };
  const ask = async () => {
    const turn = ++asked, holder = list.querySelector("[data-found]");
    let html = "";
    try {
      const response = await fetch(`${dialog.dataset.url}?${new URLSearchParams({ q: input.value })}`, { headers: { "HX-Request": "true" }, credentials: "same-origin" });
      if (response.ok) html = await response.text();
    } catch { /* what the page has itself is offered all the same */ }
    if (turn !== asked || !dialog.open) return;
    htmx.swap(holder, html, { swapStyle: "innerHTML" }, { eventInfo: { target: holder } });
    const chosen = list.querySelector("[aria-selected=true]:not([hidden])");
    name();
    mark(chosen || options()[0]);
    none.hidden = options().length > 0;
  };

  const open = () => {
    before = document.activeElement;
    under = before.closest(":popover-open");
    const local = document.createElement("div"), found = document.createElement("div");
    local.dataset.local = found.dataset.found = "";
    [local, found].forEach((each) => each.setAttribute("role", "presentation"));
    const fill = () => { local.replaceChildren(...commands(), ...pages(), ...named()); [...local.children].forEach((each, at) => { each.dataset.at = at; }); name(); };
    list.replaceChildren(local, found);
    fill();
    const sheet = playground.sheet();
    if (!sheet.firstElementChild) sheet.addEventListener("htmx:afterSwap", () => { fill(); narrow(); }, { once: true });
    input.value = "";
    name();
    dialog.showModal();
    narrow();
    ask();
  };
  dialog.addEventListener("close", () => {
    const now = document.activeElement; // still in here where what had the focus is hidden
    if (!before?.isConnected || (now !== document.body && !dialog.contains(now))) return;
    under?.showPopover();
    if (before.checkVisibility()) before.focus();
    else document.querySelector(`[popovertarget="${before.closest("[popover]")?.id}"]:not([popovertargetaction])`)?.focus();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
    else if (event.target.closest("a[role=option]")) dialog.close();
  });
  input.addEventListener("input", () => { narrow(); clearTimeout(timer); timer = setTimeout(ask, PAUSE); });
  input.addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229) return;
    const all = options(), at = all.findIndex((each) => each.getAttribute("aria-selected") === "true");
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: Math.min(at + 8, all.length - 1), PageUp: Math.max(at - 8, 0) }[event.key];
    if (next !== undefined && all.length) { event.preventDefault(); mark(all[(next + all.length) % all.length]); }
    if (event.key === "Enter" && all[at]) { event.preventDefault(); all[at].click(); }
  });
  document.addEventListener("click", (event) => { if (event.target.closest("[data-palette]")) open(); });
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.key.toLowerCase() !== "k") return;
    event.preventDefault();
    if (dialog.open) dialog.close();
    else if (!document.querySelector("dialog[open]")) open();
  }, true);
})();
