/* Triage in the history and in a review queue: 1 to 5 rate, l label, s star, v visibility, Delete,
   u undo. The row with the cursor is `[data-row][data-cursor]`; what is selected, is in selection.js.
   Undo posts what the server said would take the action back. Large selections go to the bulk view,
   which works on behind the page. */
(() => {
  const playground = (window.playground = window.playground || {});
  const { selection } = playground, bar = document.querySelector("[data-selection]");
  if (!selection) return;
  const dialog = document.getElementById("label-dialog"), labelForm = dialog.querySelector("[data-label-form]");
  const labelInput = labelForm.querySelector("input"), labelError = labelForm.querySelector("[data-label-error]");
  const { current, keyOf, queue } = selection, trashed = "trashed" in bar.dataset;
  const said = document.getElementById("bulk-said");

  /* What can be taken back, newest last; it survives a reload of this page. */
  const KEY = `triage:${location.pathname}`;
  let done = [];
  try { done = JSON.parse(sessionStorage.getItem(KEY)) || []; } catch { /* private mode */ }
  const keep = () => { done = done.slice(-100); try { sessionStorage.setItem(KEY, JSON.stringify(done)); } catch { /* private mode */ } };

  const drawn = () => document.dispatchEvent(new CustomEvent("rows:drawn"));
  const place = (rows) => Object.entries(rows).forEach(([id, html]) => {
    const old = document.getElementById(id);
    if (!old) return;
    const { cursor } = old.dataset, focused = old.contains(document.activeElement);
    htmx.swap(old, html, { swapStyle: "outerHTML" });
    const fresh = document.getElementById(id);
    if (cursor !== undefined) fresh.dataset.cursor = "";
    drawn();
    if (focused) fresh.querySelector(".run__link").focus({ preventScroll: true });
  });
  /* A row that went away leaves its place, so that an undo puts it there again. */
  const take = (ids, rows) => {
    const leaving = ids.filter((id) => trashed || !(id in rows)).map((id) => document.getElementById(id)).filter((row) => row?.dataset.row);
    if (!leaving.length) return;
    const cursor = leaving.find((row) => "cursor" in row.dataset), focused = leaving.some((row) => row.contains(document.activeElement));
    const all = selection.rows(), at = all.indexOf(cursor || leaving[0]);
    const next = [...all.slice(at), ...all.slice(0, at).reverse()].find((row) => !leaving.includes(row));
    selection.drop(leaving.map(keyOf));
    leaving.forEach((row) => { if (row.nextElementSibling?.matches(".unfolded")) row.nextElementSibling.remove(); const mark = document.createElement("li"); mark.id = row.id; mark.hidden = true; row.replaceWith(mark); });
    if (next && (cursor || focused)) next.querySelector(".run__link").focus({ preventScroll: true });
  };
  /* Rows that are not on this page any more, after a reload. */
  const missing = (rows) => Object.keys(rows).length > 0 && !Object.keys(rows).some((id) => document.getElementById(id));

  const sentence = (answer, found) => found.error || (answer.status === 404 ? "That is not there any more, or it is not yours to see." : answer.headers.get("X-Login") ? "Your login has ended. Log in again in a new tab, then repeat." : `The server answered with an error (${answer.status}).`);
  const post = async (fields) => {
    const body = new FormData();
    Object.entries({ ...(queue ? { queue } : { q: new URLSearchParams(location.search).get("q") || "" }), ...fields }).forEach(([name, value]) => (Array.isArray(value) ? value : [value]).forEach((each) => body.append(name, each)));
    let answer;
    try { answer = await playground.post(bar.dataset.triage, body); } catch { throw new Error("The server cannot be reached. Nothing was changed."); }
    if (answer.ok) playground.worked("triage");
    const found = await answer.json().catch(() => ({}));
    if (!answer.ok) throw Object.assign(new Error(sentence(answer, found)), { behind: found.behind });
    place(found.rows);
    take(found.gone || [], found.rows);
    return found;
  };
  /* All that match, or more rows than one request may touch: a job, whose progress is shown. */
  const behind = (fields) => {
    const { row, ...rest } = fields;
    return htmx.ajax("POST", bar.dataset.bulk, { source: "#bulk", target: "#bulk-said", swap: "innerHTML", values: { ...rest, ...(selection.fields() || { rows: [].concat(row).join(",") }) } });
  };
  const SHOWN = ["trash", "visibility"]; // changes what others see
  /* One after the other, so that an undo never overtakes what it takes back. */
  let line = Promise.resolve();
  const inTurn = (work) => { line = line.then(work, work); return line; };
  let untoast = null;
  const act = (fields, quiet = false) => inTurn(async () => {
    try {
      const found = await post(fields), entry = { undo: found.undo, said: found.said, row: [].concat(fields.row)[0] };
      if (found.undo.length) { done.push(entry); keep(); }
      untoast?.(); // `u` takes back the last thing
      playground.announce(found.said);
      if (SHOWN.includes(fields.do)) untoast = playground.toast(found.said, () => undo(entry));
      document.dispatchEvent(new CustomEvent("triage:done", { detail: { fields, said: found.said } }));
      htmx.trigger(document.body, "reviewed");
      return true;
    } catch (error) {
      if (error.behind) { await behind(fields); return false; }
      if (quiet) throw error;
      playground.failed("triage", error.message);
      return false;
    }
  });
  const undo = (entry) => inTurn(async () => {
    const job = entry ? null : said.querySelector("[data-undo-job]"); // the last thing, as long as it is shown
    if (job) { job.click(); return; }
    const at = entry ? done.indexOf(entry) : done.length - 1;
    const [last] = at < 0 ? [] : done.splice(at, 1);
    if (!last) { playground.announce("There is nothing to undo."); return; }
    try {
      let away = false;
      for (const fields of last.undo) { const found = await post(fields); away = away || missing(found.rows) || (trashed && fields.do === "trash"); }
      keep();
      playground.announce(`Undone: ${last.said}`);
      if (away) htmx.trigger(document.body, "changed");
      document.dispatchEvent(new CustomEvent("triage:undone", { detail: last }));
      htmx.trigger(document.body, "reviewed");
    } catch (error) {
      done.push(last);
      playground.failed("triage", error.message);
    }
  });

  /* The label, in a dialog with completion. */
  let about = [], all = false;
  const askLabel = (rows) => {
    about = rows || selection.targets();
    all = !rows && Boolean(selection.all());
    if (!about.length && !all) return;
    labelInput.value = "";
    labelError.hidden = true;
    document.getElementById("bulk-error").replaceChildren();
    labelInput.removeAttribute("aria-invalid");
    labelForm.querySelector("[data-label-what]").textContent = all ? selection.words().toLowerCase() : about.length > 1 ? `${about.length} rows` : "this row";
    dialog.showModal();
    labelInput.focus();
  };
  labelForm.addEventListener("submit", async (event) => {
    event.preventDefault();
    const fields = { do: event.submitter?.value || "label", row: about, value: labelInput.value };
    try {
      if (all) { await behind(fields); return; } // a refusal stays in the dialog
      if (await act(fields, true)) dialog.close();
    } catch (error) {
      labelError.textContent = error.message;
      labelError.hidden = false;
      labelInput.setAttribute("aria-invalid", "true");
      labelInput.focus();
    }
  });
  dialog.querySelector("[data-close-dialog]").addEventListener("click", () => dialog.close());
  document.addEventListener("htmx:afterRequest", ({ detail }) => {
    if (detail.requestConfig?.path !== bar.dataset.bulk || detail.xhr.status >= 400) return;
    dialog.close();
    if (["trash", "restore", "purge"].includes(detail.requestConfig.parameters.do)) selection.clear(false);
  });

  /* In a queue only the run that is shown: a second key before the next one is there would be about it, unseen. */
  const shown = () => !queue || document.querySelector("[data-pane]")?.dataset.item === current().id;
  const one = (name, value = "") => {
    if (!current()) return undefined;
    if (shown()) return act({ do: name, row: keyOf(current()), value });
    return playground.announce("The next run is not there yet.");
  };
  const many = (name, value = "") => {
    if (selection.all()) return inTurn(() => behind({ do: name, value }));
    const row = selection.targets();
    return row.length ? act({ do: name, row, value }) : undefined;
  };
  /* Stars are set; where all of the rows that are shown have one, they are taken away. */
  const star = () => {
    const wanted = selection.all() ? [] : selection.targets(), shown = selection.rows().filter((row) => wanted.includes(keyOf(row)));
    const off = shown.length > 0 && shown.length === wanted.length && shown.every((row) => "starred" in row.dataset);
    return many(off ? "unstar" : "star");
  };
  const acts = {
    rate: (value) => one("rate", value),
    label: () => askLabel(),
    star: () => (queue ? undefined : star()),
    /* All that match have no "other one of the first". */
    visibility: (value) => (value === undefined && selection.all() ? bar.querySelector("[popovertarget=menu-visibility]").click() : many("visibility", value)),
    trash: () => !trashed && document.querySelector("[data-act=trash]") && many("trash"),
    restore: () => trashed && many("restore"),
    purge: () => trashed && confirm(`Delete ${selection.words().replace(" selected", "")} for ever? Shared links end too. This cannot be undone.`) && inTurn(() => behind({ do: "purge", row: selection.targets() })),
    skip: () => queue && one("skip"),
    assign: () => queue && many("assign", "me"),
    undo: () => undo(),
    compare: () => selection.compare(),
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-act]");
    if (!button) return;
    button.closest("[popover]")?.hidePopover();
    acts[button.dataset.act](button.dataset.value);
  });

  const KEYS = { l: "label", v: "visibility", u: "undo", s: queue ? "skip" : "star", t: "assign", Delete: "trash" };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
    if (event.target.closest?.(selection.typing) || document.querySelector("dialog[open], :popover-open")) return;
    const rating = /^[1-5]$/.test(event.key), name = rating ? "rate" : KEYS[event.key];
    if (!name || (name === "assign" && !queue) || (trashed && name !== "undo")) return;
    event.preventDefault();
    acts[name](rating ? event.key : undefined);
  });
  /* What a job said is put away once it has ended. */
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && !said.querySelector("[hx-trigger]")) said.replaceChildren(); });
  playground.triage = { act, many, undo, label: askLabel, typing: selection.typing };
})();
