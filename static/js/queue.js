/* The page of a review queue: the cursor through the list, the pane of the run that it is on. After
   a rating or a skip the next run that waits is opened, unless a comment was begun. */
(() => {
  const playground = window.playground;
  const list = document.getElementById("found"), pane = document.getElementById("pane");
  if (!list) return;
  const rows = () => [...list.querySelectorAll("[data-row]")];
  const current = () => list.querySelector("[data-cursor]");
  let round = 0;

  /* A comment that was begun stays with its run: {item: text}. */
  const begun = new Map();
  const field = () => pane.querySelector("#comment-new");
  const keep = () => {
    const item = pane.querySelector("[data-pane]")?.dataset.item;
    if (!item || !field()) return;
    if (field().value.trim()) begun.set(item, field().value); else begun.delete(item);
  };
  /* What was reviewed just now, and is left already, can still be commented on. */
  const lead = (back) => {
    const place = pane.querySelector("[data-before]");
    if (!place || !back?.isConnected) return;
    const button = place.querySelector("button");
    button.textContent = `Comment on ${nameOf(back)} instead`;
    button.addEventListener("click", async () => { await open(document.getElementById(back.id)); field()?.focus(); });
    place.hidden = false;
  };
  const nameOf = (row) => row.querySelector("[data-name]").dataset.name;

  /* One's own rating of the run that is open is pressed; what was done last stands beside it. */
  const pads = document.querySelector(".pads");
  const press = () => pads.querySelectorAll("[data-act=rate]").forEach((pad) => pad.setAttribute("aria-pressed", String(pad.dataset.value === current()?.dataset.own)));
  const say = (row, words) => { pads.querySelector("[data-said]").textContent = row ? `${nameOf(row)}: ${words}` : ""; };

  const open = (row, focus = true, before = null) => {
    const left = current();
    if (left && left !== row) { delete left.dataset.cursor; left.querySelector(".run__link").removeAttribute("aria-current"); }
    row.dataset.cursor = "";
    press();
    row.querySelector(".run__link").setAttribute("aria-current", "true");
    if (focus) row.querySelector(".run__link").focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
    const mine = ++round; // whoever comes back to the run that is shown wants no other that is on its way
    if (pane.querySelector("[data-pane]")?.dataset.item === row.id) return undefined;
    const url = row.dataset.row;
    return fetch(url, { headers: { "HX-Request": "true" }, credentials: "same-origin" }).then((answer) => (answer.ok ? answer.text() : Promise.reject(answer))).then((html) => {
      if (mine !== round) return;
      keep();
      playground.worked("run");
      htmx.swap(pane, html, { swapStyle: "innerHTML" });
      if (begun.has(row.id) && field()) field().value = begun.get(row.id);
      lead(before);
      history.replaceState(null, "", row.querySelector(".run__link").getAttribute("href"));
    }).catch(() => { if (mine === round) playground.failed("run", "This run cannot be shown. It may not be there any more."); });
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
    if (row) open(row, true, current()); else playground.announce("All in this list are reviewed.");
  };

  list.addEventListener("click", (event) => {
    const link = event.target.closest(".run__link");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open(link.closest("[data-row]"));
  });
  document.addEventListener("triage:done", (event) => {
    const { do: what, value } = event.detail.fields;
    if (!["rate", "skip"].includes(what)) return;
    say(current(), what === "skip" ? "skipped" : `your ${value} is saved`);
    press();
    if (field()?.value.trim()) playground.announce(`${event.detail.said} Your comment is not sent yet: Ctrl+Enter in its field sends it, J goes on.`);
    else next();
  });
  document.addEventListener("triage:undone", (event) => {
    const row = rows().find((each) => each.dataset.key === event.detail.row);
    say(null);
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
