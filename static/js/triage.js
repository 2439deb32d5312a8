/* Triage by keyboard in the history and in a review queue: 1 to 5 rate, l label, v visibility, x
   select, c compare, u undo. The row with the cursor is `[data-row][data-cursor]`; what is selected
   are its checkboxes. Undo posts what the server said would take the action back. */
(() => {
  const playground = (window.playground = window.playground || {});
  const selection = document.querySelector("[data-selection]");
  if (!selection) return;
  const dialog = document.getElementById("label-dialog"), labelForm = dialog.querySelector("[data-label-form]");
  const labelInput = labelForm.querySelector("input"), labelError = labelForm.querySelector("[data-label-error]");
  const TYPING = "input:not([type=radio], [type=checkbox]), textarea, select, dialog, [contenteditable], [popover]";
  const queue = selection.dataset.queue || "";

  const current = () => document.querySelector("[data-row][data-cursor]");
  const boxes = () => [...document.querySelectorAll("[data-select]")];
  const chosen = () => boxes().filter((box) => box.checked).map((box) => box.value);
  /* The selected rows, or the one with the cursor. */
  const targets = () => { const keys = chosen(); return keys.length ? keys : current() ? [current().dataset.key] : []; };

  /* What is selected stays selected while rows are drawn anew. */
  const show = () => {
    const count = chosen().length;
    selection.hidden = !count;
    selection.querySelector("[data-count]").textContent = `${count} selected`;
    selection.querySelector("[data-compare]").disabled = count < 1;
  };
  document.addEventListener("change", (event) => { if (event.target.matches("[data-select]")) show(); });
  const clear = () => { boxes().forEach((box) => { box.checked = false; }); show(); };
  selection.querySelector("[data-clear]").addEventListener("click", clear);
  show(); // a reload may keep checkboxes

  /* What can be taken back, newest last; it survives a reload of this page. */
  const KEY = `triage:${location.pathname}`;
  let done = [];
  try { done = JSON.parse(sessionStorage.getItem(KEY)) || []; } catch { /* private mode */ }
  const keep = () => { done = done.slice(-100); try { sessionStorage.setItem(KEY, JSON.stringify(done)); } catch { /* private mode */ } };

  const place = (rows) => Object.entries(rows).forEach(([id, html]) => {
    const old = document.getElementById(id);
    if (!old) return;
    const { cursor } = old.dataset, focused = old.contains(document.activeElement), ticked = old.querySelector("[data-select]")?.checked;
    htmx.swap(old, html, { swapStyle: "outerHTML" });
    const fresh = document.getElementById(id);
    if (cursor !== undefined) { fresh.dataset.cursor = ""; document.dispatchEvent(new CustomEvent("triage:redrawn", { detail: { row: fresh } })); }
    const box = fresh.querySelector("[data-select]");
    if (box && ticked) box.checked = true;
    if (focused) fresh.querySelector(".run__link").focus({ preventScroll: true });
  });

  const post = async (fields) => {
    const body = new FormData();
    Object.entries({ ...(queue ? { queue } : {}), ...fields }).forEach(([name, value]) => (Array.isArray(value) ? value : [value]).forEach((each) => body.append(name, each)));
    let answer;
    try { answer = await playground.post(selection.dataset.triage, body); } catch { throw new Error("The server cannot be reached. Nothing was changed."); }
    const said = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(said.error || (answer.status === 404 ? "That is not there any more, or it is not yours to see." : answer.headers.get("X-Login") ? "Your login has ended. Log in again in a new tab, then repeat." : `The server answered with an error (${answer.status}).`));
    place(said.rows);
    return said;
  };
  /* One after the other, so that an undo never overtakes what it takes back. */
  let line = Promise.resolve();
  const inTurn = (work) => { line = line.then(work, work); return line; };
  const act = (fields, quiet = false) => inTurn(async () => {
    try {
      const said = await post(fields);
      if (said.undo.length) { done.push({ undo: said.undo, said: said.said, row: [].concat(fields.row)[0] }); keep(); }
      playground.announce(said.said);
      document.dispatchEvent(new CustomEvent("triage:done", { detail: { fields, said: said.said } }));
      htmx.trigger(document.body, "reviewed");
      return true;
    } catch (error) {
      if (quiet) throw error;
      playground.notice(error.message);
      return false;
    }
  });
  const undo = () => inTurn(async () => {
    const last = done.pop();
    if (!last) { playground.announce("There is nothing to undo."); return; }
    try {
      for (const fields of last.undo) await post(fields);
      keep();
      playground.announce(`Undone: ${last.said}`);
      document.dispatchEvent(new CustomEvent("triage:undone", { detail: last }));
      htmx.trigger(document.body, "reviewed");
    } catch (error) {
      done.push(last);
      playground.notice(error.message);
    }
  });

  /* The label, in a dialog with completion. */
  let about = [];
  const askLabel = () => {
    about = targets();
    if (!about.length) return;
    labelInput.value = "";
    labelError.hidden = true;
    labelInput.removeAttribute("aria-invalid");
    labelForm.querySelector("[data-label-what]").textContent = about.length > 1 ? `${about.length} rows` : "this row";
    dialog.showModal();
    labelInput.focus();
  };
  labelForm.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await act({ do: "label", row: about, value: labelInput.value }, true);
      dialog.close();
    } catch (error) {
      labelError.textContent = error.message;
      labelError.hidden = false;
      labelInput.setAttribute("aria-invalid", "true");
      labelInput.focus();
    }
  });
  dialog.querySelector("[data-close-dialog]").addEventListener("click", () => dialog.close());

  const compare = () => {
    const keys = targets();
    if (keys.length) location.assign(`${selection.getAttribute("action")}?rows=${keys.join(",")}`);
  };
  const select = () => {
    const box = current()?.querySelector("[data-select]");
    if (box) { box.checked = !box.checked; show(); playground.announce(box.checked ? "Selected" : "Not selected"); }
    return Boolean(box);
  };
  const one = (name, value = "") => (current() ? act({ do: name, row: current().dataset.key, value }) : undefined);
  const many = (name, value = "") => (targets().length ? act({ do: name, row: targets(), value }) : undefined);
  const acts = {
    rate: (value) => one("rate", value),
    label: askLabel,
    visibility: () => many("visibility"),
    skip: () => queue && one("skip"),
    assign: () => queue && many("assign", "me"),
    undo,
    compare,
    select,
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-act]");
    if (button) acts[button.dataset.act](button.dataset.value);
  });

  const KEYS = { l: "label", v: "visibility", x: "select", c: "compare", u: "undo", s: "skip", t: "assign" };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
    if (event.target.closest?.(TYPING) || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape" && chosen().length) { clear(); return; }
    const rating = /^[1-5]$/.test(event.key), name = rating ? "rate" : KEYS[event.key];
    if (!name || ((name === "skip" || name === "assign") && !queue)) return;
    event.preventDefault();
    acts[name](rating ? event.key : undefined);
  });
  playground.triage = { act, undo, typing: TYPING };
})();
