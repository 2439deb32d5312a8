/* Keys at a run: 1 to 5 rate, s stars, l labels, c comments, v visibility; e puts it into the form, d
   it alone, Shift+R runs it again. Single keys are off while
   typing, in dialogs, and with a modifier. */
(() => {
  const typing = "input:not([type=radio], [type=checkbox]), textarea, select, dialog, [contenteditable], [popover]";
  /* The column or row that has the focus; on the page of one run, that run. */
  const current = (from) => from.closest("[data-run]") || (document.querySelectorAll("[data-marks]").length === 1 ? document : null);
  const rate = (scope, value) => {
    const radio = scope.querySelector(`[data-marks] input[value="${value}"]`);
    if (!radio) return false;
    if (radio.checked) scope.querySelector("[data-unrate]")?.click(); else radio.click();
    return true;
  };
  const focus = (element) => { element?.focus(); return Boolean(element); };
  const press = (element) => { element?.click(); return Boolean(element); };
  const act = {
    s: (scope) => press(scope.querySelector("[data-star]")),
    l: (scope) => focus(scope.querySelector(".labels__add input[name=label]")),
    c: () => focus(document.getElementById("comment-new")),
    v: () => press(document.querySelector("[data-lock]")),
    e: () => press(document.querySelector("[data-key=e]")),
    d: () => press(document.querySelector("[data-key=d]")),
    R: () => press(document.querySelector("[data-key=R]")),
  };
  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented || event.repeat) return;
    if (target.closest?.(typing) || document.querySelector("dialog[open]")) return;
    const scope = current(target);
    if (!scope || (key === "R" && !event.shiftKey)) return; // the lock of capitals spends nothing
    const done = /^[1-5]$/.test(key) ? rate(scope, key) : act[key]?.(scope);
    if (done) event.preventDefault();
  });

  /* Who comes by the link of the comments comes to write one, and single keys would do something
     else. On glass a focus would bring up the keys. */
  const commenting = () => { if (location.hash === "#comments" && matchMedia("(hover: hover)").matches) focus(document.getElementById("comment-new")); };
  window.addEventListener("load", () => requestAnimationFrame(commenting)); // the browser goes to the place first, and takes the focus away

  /* After a label was added, the next one can be typed. */
  document.addEventListener("htmx:afterRequest", (event) => {
    if (!event.detail.elt?.matches?.(".labels__add") || !event.detail.successful) return;
    const { id } = event.detail.target;
    setTimeout(() => document.querySelector(`#${id} .labels__add input[name=label]`)?.focus());
  });

  /* A comment that was begun stays with its run while another one is edited or deleted. */
  let begun = null; // {text, of: where it would go}
  const writing = () => document.getElementById("comment-new");
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    const field = writing();
    if (detail.target.id !== "comments" || !field) return;
    begun = detail.requestConfig.elt.contains(field) ? null : { text: field.value, of: field.form.action };
  });
  document.addEventListener("htmx:afterSettle", () => {
    const field = writing();
    if (!begun || !field) return;
    if (!field.value && field.form.action === begun.of) field.value = begun.text;
    begun = null;
  });

  /* What had the focus is gone with what it took away, or with the comment that was edited: the next of its
     kind has it, the comment, or the field for a new one. */
  const AWAY = "[name=remove], [name=delete]";
  let gone = null; // {id of what is drawn again, at: which of its kind, edited: the id of a comment}
  document.addEventListener("htmx:beforeSwap", ({ detail: { target } }) => {
    const now = document.activeElement, edited = now.closest(".comment__edit")?.closest(".comment").id;
    gone = target.contains(now) && (edited || now.matches(AWAY)) ? { id: target.id, edited, at: [...target.querySelectorAll(AWAY)].indexOf(now) } : null;
  });
  document.addEventListener("htmx:afterSettle", () => {
    const place = gone && document.getElementById(gone.id);
    if (!place || document.activeElement !== document.body) return;
    const all = [...place.querySelectorAll(AWAY)], field = matchMedia("(hover: hover)").matches ? "input:not([type=hidden]), textarea" : "[hidden]";
    const next = gone.edited ? place.querySelector(`#${gone.edited} .comment__acts a`) : all[Math.min(gone.at, all.length - 1)];
    focus(next || place.querySelector(field));
    gone = null;
  });

  /* Ctrl+Enter sends the comment that is being written. */
  document.addEventListener("keydown", (event) => {
    const form = event.target.closest?.("[data-submit-keys]");
    if (!form || event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
})();
