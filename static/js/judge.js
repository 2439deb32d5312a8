/* Judging by keyboard: 1 the first from the left, 2 the second and so on, 0 or = a tie, - or b all
   bad, s skip, u undo, g an output names its model, n a note (Escape leaves it). By the character typed; off while typing, in dialogs and with a modifier. */
(() => {
  const ALSO = { "=": "0", b: "-" };
  let busy = false, left = null;
  const form = () => document.querySelector("[data-ballot]");
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
    if (event.key === "Escape" && event.target.id === "ballot-note") { event.target.blur(); return; }
    if (event.target.closest?.("input, textarea, select, dialog, [contenteditable], [popover]") || document.querySelector("dialog[open]")) return;
    const key = ALSO[event.key] || event.key, note = document.getElementById("ballot-note");
    if (key === "n" && note) { event.preventDefault(); note.focus(); return; }
    if (!/^[0-9sug-]$/.test(key)) return;
    const button = form()?.querySelector(`[name=vote][value="${key}"]`);
    if (!button || button.disabled) return;
    event.preventDefault();
    if (!busy) button.click(); // a second key before the next pair is there would vote on it unseen
  });
  document.addEventListener("htmx:beforeRequest", (event) => { if (event.target.closest?.("[data-ballot]")) busy = true; });
  /* Where a button had the focus, Tab goes on from the head of the next pair; what votes for none keeps it. */
  document.addEventListener("htmx:beforeSwap", (event) => { left = event.target.id === "ballot" && event.target.contains(document.activeElement) ? document.activeElement : null; });
  document.addEventListener("htmx:afterRequest", () => { busy = false; });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.target.id !== "ballot" && !event.target.querySelector?.("#ballot")) return;
    const head = document.querySelector("[data-ballot-title]");
    const aside = document.querySelector("[data-ballot-aside]");
    if (head) window.playground.announce([head, aside].map((each) => each?.textContent.trim()).filter(Boolean).join(". "));
    if (left && document.activeElement === document.body) (left.value === "g" ? form()?.querySelector("[name=vote][value=g]") : head)?.focus({ preventScroll: true });
    document.querySelector(".review [data-ballot-top]")?.scrollIntoView({ block: "nearest" });
  });
})();
