/* The word diff of two outputs: the dialog, and going from change to change. */
(() => {
  const MOST = 100; // runs to choose from
  const dialog = document.getElementById("diff-dialog");
  const open = () => {
    const body = dialog.querySelector("[data-diff-body]");
    const ids = [...document.querySelectorAll("#outputs [data-run]")].slice(0, MOST).map((column) => column.dataset.run);
    body.replaceChildren();
    dialog.showModal();
    htmx.ajax("GET", `${dialog.dataset.url}?ids=${ids.join(",")}`, { source: body, target: body, swap: "innerHTML" })
      .then(() => { const select = body.querySelector("select"); if (select && dialog.open) select.focus(); });
  };
  const step = (by) => {
    const all = [...document.querySelectorAll("#difference [data-change]")];
    if (!all.length) return;
    const now = all.findIndex((change) => change.hasAttribute("aria-current"));
    const next = all[now < 0 ? (by > 0 ? 0 : all.length - 1) : (now + by + all.length) % all.length];
    all.forEach((change) => change.removeAttribute("aria-current"));
    next.setAttribute("aria-current", "true");
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "center" });
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if ("diff" in button.dataset) open();
    if (button.dataset.changeStep) step(Number(button.dataset.changeStep));
  });
  document.addEventListener("keydown", (event) => {
    const by = { j: 1, k: -1 }[event.key];
    if (!by || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("select, input, textarea")) return;
    if (!document.getElementById("difference") || (dialog && !dialog.open)) return;
    event.preventDefault();
    step(by);
  });
})();
