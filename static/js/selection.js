/* What is selected in a list of runs (history, review queue): boxes, ranges with Shift, `x`, `a`, all
   that match a search. It outlives paging and drawing; the bar says it and other modules act on it. */
(() => {
  const playground = (window.playground = window.playground || {});
  const bar = document.querySelector("[data-selection]");
  if (!bar) return;
  const { queue, thing = "run", search = "" } = bar.dataset, most = Number(bar.dataset.most) || 1000;
  const TYPING = "input:not([type=radio], [type=checkbox]), textarea, select, dialog, [contenteditable], [popover]";
  const number = (count) => count.toLocaleString("en").replaceAll(",", "\u202f");
  const plural = (count) => `${number(count)} ${thing}${count === 1 ? "" : "s"}`;
  const list = document.getElementById("found");

  /* `keys`: rows by name; `all`: every row of the search with this address. */
  let keys = new Set(), all = "", anchor = null;
  const STORE = `selection-${bar.dataset.key}`;
  try {
    const kept = JSON.parse(sessionStorage.getItem(STORE));
    if (kept) { keys = new Set(kept.keys); all = search && kept.all === search ? search : ""; }
  } catch { /* private mode */ }
  const keep = () => { try { sessionStorage.setItem(STORE, JSON.stringify({ keys: [...keys], all })); } catch { /* private mode, or full */ } };

  const rows = () => (list ? [...list.querySelectorAll("[data-row]")] : []);
  const keyOf = (row) => row.dataset.key || row.id.slice("row-".length);
  const boxOf = (row) => row.querySelector(".run__sel input");
  const current = () => list?.querySelector("[data-row][data-cursor]");
  const any = () => Boolean(all) || keys.size > 0;
  const total = () => { const count = document.getElementById("count"); return count ? count.dataset[`${thing}s`] : undefined; };

  const words = () => {
    if (all) return total() ? `All ${plural(Number(total()))}` : "All that match";
    const away = keys.size - rows().filter((row) => keys.has(keyOf(row))).length;
    return `${number(keys.size)} selected${away > 0 ? `, ${number(away)} not shown` : ""}`;
  };
  const draw = (aloud = false) => {
    const shown = rows();
    shown.forEach((row) => { const box = boxOf(row); if (box) box.checked = Boolean(all) || keys.has(keyOf(row)); });
    const on = shown.filter((row) => boxOf(row)?.checked).length;
    const whole = list?.querySelector("[data-select-page]");
    if (whole) { whole.checked = on > 0 && on === shown.length; whole.indeterminate = on > 0 && on < shown.length; }
    bar.hidden = !any();
    bar.querySelector("[data-count]").textContent = words();
    const more = bar.querySelector("[data-select-all]");
    if (more) {
      more.hidden = Boolean(all) || on < shown.length || (total() !== undefined && Number(total()) <= keys.size);
      more.textContent = total() ? `Select all ${number(Number(total()))} that match` : "Select all that match";
    }
    bar.querySelectorAll("[data-few]").forEach((button) => { button.hidden = Boolean(all); });
    if (aloud) playground.announce(any() ? words() : "Nothing is selected");
    keep();
  };
  /* A row that is taken out of "all" leaves the others that are shown. */
  const set = (some, on) => {
    if (all) { all = ""; keys = new Set(on ? [] : rows().map(keyOf)); }
    some.forEach((row) => { if (on) keys.add(keyOf(row)); else keys.delete(keyOf(row)); });
    const over = [...keys].slice(most);
    over.forEach((key) => keys.delete(key));
    if (over.length) playground.notice(`At most ${number(most)} rows can be selected one by one. Select all that match, or act on these first.`);
    draw(true);
  };
  const range = (to, on) => {
    const shown = rows(), from = shown.find((row) => keyOf(row) === anchor) || to;
    const [first, last] = [shown.indexOf(from), shown.indexOf(to)].sort((a, b) => a - b);
    set(shown.slice(first, last + 1), on);
    anchor = keyOf(to);
  };
  const clear = (aloud = true) => { keys = new Set(); all = ""; anchor = null; draw(aloud); };
  const page = () => { const shown = rows(); set(shown, !shown.every((row) => boxOf(row).checked)); };
  const everything = () => { if (!search) return; keys = new Set(); all = search; draw(true); };
  const toggle = (row, on = !boxOf(row).checked) => { set([row], on); anchor = keyOf(row); };

  list?.addEventListener("click", (event) => {
    if (event.target.matches("[data-select-page]")) { page(); return; }
    const box = event.target.closest(".run__sel input");
    if (!box) return;
    const row = box.closest("[data-row]");
    if (event.shiftKey && anchor) range(row, box.checked); else toggle(row, box.checked);
  });
  bar.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if ("clear" in button.dataset) { clear(); (current() || rows()[0])?.querySelector(".run__link").focus({ preventScroll: true }); }
    if ("selectAll" in button.dataset) { everything(); bar.querySelector("[data-clear]").focus(); }
  });
  document.addEventListener("htmx:oobAfterSwap", ({ detail }) => { if (detail.target?.id === "count") draw(); });
  document.addEventListener("rows:drawn", () => draw());
  addEventListener("pageshow", (event) => { if (event.persisted) draw(); });

  /* The selection as an address, for what goes on on another page. */
  const address = (action, extra = {}) => {
    const more = new URLSearchParams(extra).toString();
    if (all) return `${action}${all}${more ? `&${more}` : ""}`;
    const chosen = keys.size ? [...keys] : current() ? [keyOf(current())] : [];
    return chosen.length ? `${action}?rows=${chosen.join(",")}${more ? `&${more}` : ""}` : "";
  };
  bar.addEventListener("submit", (event) => {
    event.preventDefault();
    const { submitter } = event, action = submitter?.dataset.over || bar.getAttribute("action");
    location.assign(address(action, submitter?.name ? { [submitter.name]: submitter.value } : {}));
  });

  const act = {
    x: () => { const row = current(); if (row) toggle(row); return Boolean(row); },
    X: () => { const row = current(); if (row) range(row, true); return Boolean(row); },
    a: () => { if (!rows().length) return false; page(); return true; },
    A: () => { everything(); return Boolean(search); },
    c: () => { const to = all ? "" : address(bar.getAttribute("action")); if (to) location.assign(to); return Boolean(to); },
    Escape: () => { const was = any(); if (was) clear(); return was; },
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
    if (event.target.closest?.(TYPING) || document.querySelector("dialog[open], :popover-open")) return;
    if (act[event.key]?.()) event.preventDefault();
  });

  playground.selection = {
    any, clear, current, draw, keyOf, queue, rows, typing: TYPING, words,
    all: () => all,
    chosen: () => [...keys],
    compare: () => act.c(),
    /* Rows that went away are in no selection. */
    drop: (gone) => { gone.forEach((key) => keys.delete(key)); draw(); },
    /* The selected rows, or the one with the cursor. */
    targets: () => (keys.size ? [...keys] : current() ? [keyOf(current())] : []),
    /* Who is chosen, as fields of a request that can be about a search. */
    fields: () => (all ? { all: "1", ...Object.fromEntries(new URLSearchParams(all)) } : null),
  };
  draw();
})();
