/* What one row of the history can do, by its buttons, its menu and by keys: star, rate, hide, open, put
   into the form, duplicate, run again, delete. The buttons are made here from one template. */
(() => {
  const playground = window.playground;
  const list = document.getElementById("found"), menu = document.getElementById("menu-row"), rating = document.getElementById("menu-rate");
  if (!list || !menu) return;
  const { keyOf, rows, current, typing } = playground.selection, { act } = playground.triage;
  const trashed = "trashed" in document.querySelector("[data-selection]").dataset;
  const copy = (id) => document.getElementById(id).content.cloneNode(true);
  let row = null, about = null; // the row whose menu is open; the rows that are rated, null for what is selected

  const dress = (of) => {
    if (of.querySelector("[data-menu]")) return;
    const who = of.querySelector(".run__who");
    if (!trashed) {
      let rate = of.querySelector(".run__rate");
      if (!rate) { rate = document.createElement("div"); rate.className = "run__rate"; who.before(rate); }
      const stars = "starred" in of.dataset, mine = of.dataset.rating;
      rate.replaceChildren(copy("row-acts"));
      rate.querySelector("[data-star]").setAttribute("aria-pressed", String(stars));
      const button = rate.querySelector("[data-rate]");
      button.textContent = mine ? `${mine}/5` : "Rate";
      button.toggleAttribute("data-unrated", !mine);
      button.setAttribute("aria-label", mine ? `Rated ${mine} of 5; rate` : "Rate");
      if ("own" in of.dataset) {
        who.append(copy("row-lock"));
        who.querySelector("[data-lock]").setAttribute("aria-label", "private" in of.dataset ? "Private; show it to the team" : "The team sees it; make it private");
      }
    }
    who.append(copy("row-more"));
  };
  const dressAll = () => rows().forEach(dress);
  document.addEventListener("rows:drawn", dressAll);
  dressAll();

  const star = (of) => act({ do: "starred" in of.dataset ? "unstar" : "star", row: keyOf(of) });
  list.addEventListener("click", (event) => {
    const button = event.target.closest("[data-star], [data-rate], [data-lock], [data-menu], [data-unfold]");
    if (!button) return;
    row = button.closest("[data-row]");
    if ("unfold" in button.dataset) unfold(row);
    if ("star" in button.dataset) star(row);
    if ("lock" in button.dataset) act({ do: "visibility", row: keyOf(row) });
    if ("rate" in button.dataset) about = [keyOf(row)];
    if ("menu" in button.dataset) fill();
  });
  document.querySelector("[data-rate-selected]")?.addEventListener("click", () => { about = null; });
  rating.addEventListener("click", (event) => {
    const button = event.target.closest("[data-rating-value]");
    if (!button) return;
    rating.hidePopover();
    if (about) act({ do: "rate", row: about, value: button.dataset.ratingValue });
    else playground.triage.many("rate", button.dataset.ratingValue);
  });

  /* Where a row leads. */
  const single = (of) => keyOf(of).startsWith("run-");
  const open = (of) => of.querySelector(".run__link").getAttribute("href");
  const record = (of) => of.querySelector(".run__model").getAttribute("href");
  const form = (of, only = single(of)) => `${menu.dataset.compose}?from=${of.dataset.row}${only ? "&only=1" : ""}`;
  const again = (of) => htmx.ajax("POST", menu.dataset.again, { source: "#bulk", target: "#bulk-said", swap: "innerHTML", values: { row: keyOf(of) } });

  /* The runs of a comparison below its row, each a row of its own; from any of these back again. */
  const several = (of) => !single(of) && of.querySelectorAll("a.run__model, [data-unfold]").length > 1;
  const parentOf = (of) => of.closest(".unfolded")?.previousElementSibling || of;
  const below = (of) => (of.nextElementSibling?.matches(".unfolded") ? of.nextElementSibling : null);
  let unfolding = false;
  const unfold = async (of) => {
    const parent = parentOf(of);
    if (below(parent)) { below(parent).remove(); parent.querySelector(".run__link").focus(); playground.announce("Folded."); return; }
    if (!several(parent)) { playground.announce("This row is one run."); return; }
    if (unfolding) return;
    unfolding = true;
    try {
      await htmx.ajax("GET", `${menu.dataset.comparisons}${keyOf(parent).slice("comparison-".length)}/${location.search}`, { source: parent, target: parent, swap: "afterend" });
    } finally { unfolding = false; }
    document.dispatchEvent(new CustomEvent("rows:drawn"));
    below(parent)?.querySelector(".run__link").focus();
  };

  const fill = () => {
    const set = (name, href) => { const link = menu.querySelector(`[data-${name}]`); if (link) link.href = href; };
    if (trashed) return;
    set("open", open(row));
    set("run-page", record(row));
    set("edit", form(row, false));
    set("duplicate", form(row, true));
    set("export-row", `${menu.dataset.export}?rows=${keyOf(row)}`);
    const parent = parentOf(row), unfolds = menu.querySelector("[data-unfold-row]");
    unfolds.hidden = !several(parent) && !below(parent);
    unfolds.querySelector("span").textContent = below(parent) ? "Fold the runs" : "Show each run";
    const duplicate = menu.querySelector("[data-duplicate]");
    if (duplicate) { duplicate.hidden = !single(row) && !several(row); duplicate.querySelector("span").textContent = single(row) ? "Put this run alone into the form" : "Put its first run alone into the form"; }
    menu.querySelectorAll("[data-only-own]").forEach((each) => { each.hidden = !("own" in row.dataset); });
    menu.querySelector("[data-star-word]").textContent = "starred" in row.dataset ? "Take the star away" : "Star";
    menu.querySelector("[data-lock-word]").textContent = "private" in row.dataset ? "Show to the team" : "Make private";
  };
  menu.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    menu.hidePopover();
    const { ofRow } = button.dataset;
    if ("rerun" in button.dataset) again(row);
    else if ("unfoldRow" in button.dataset) unfold(row);
    else if (ofRow === "star") star(row);
    else if (ofRow === "label") { playground.history.show(row); playground.triage.label([keyOf(row)]); }
    else if (ofRow) act({ do: ofRow, row: keyOf(row) });
  });

  const items = () => [...menu.querySelectorAll(".menu__item")].filter((item) => !item.hidden);
  menu.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], all = items();
    if (!step) return;
    event.preventDefault();
    all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus();
  });
  menu.addEventListener("toggle", (event) => {
    if (event.newState !== "closed" || document.activeElement !== document.body) return;
    const back = row?.isConnected ? row : current(); // the list may have been drawn anew meanwhile
    back?.querySelector(".run__link").focus({ preventScroll: true });
  });

  const mayRun = Boolean(menu.querySelector("[data-rerun]"));
  const keys = {
    o: (of) => location.assign(record(of)),
    n: (of) => location.assign(`${record(of)}#comment-new`),
    e: (of) => mayRun && location.assign(form(of, false)),
    d: (of) => mayRun && location.assign(form(of, true)),
    f: unfold,
    R: (of) => mayRun && again(of),
    m: (of) => { of.querySelector("[data-menu]").click(); items()[0].focus(); },
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented || event.repeat) return;
    if (event.target.closest?.(typing) || document.querySelector("dialog[open], :popover-open") || (trashed && event.key !== "m")) return;
    const of = current();
    if (!of || !Object.hasOwn(keys, event.key) || (event.key === "R" && !event.shiftKey)) return; // the lock of capitals spends nothing
    event.preventDefault();
    keys[event.key](of);
  });
  /* The buttons of the preview are about the row with the cursor. */
  document.getElementById("preview").addEventListener("click", (event) => { if (event.target.closest("[data-rerun]") && current()) again(current()); });
})();
