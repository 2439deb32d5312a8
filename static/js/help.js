/* What a parameter means, from its field: F1 shows it below the row, F1 or Esc hides it, and so does leaving the row.
   The "?" beside the name shows the same to a pointer, and is no tab stop of its own. */
(() => {
  const params = document.getElementById("params");
  const show = (tip, shown) => { tip.toggleAttribute("data-open", shown); if (shown) tip.scrollIntoView({ block: "nearest" }); };
  const tipAt = (target) => target.closest?.("[data-path]")?.querySelector(".tip");
  params.addEventListener("keydown", (event) => {
    const tip = tipAt(event.target), open = tip?.hasAttribute("data-open");
    if (!tip || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.key !== "F1" && !(event.key === "Escape" && open)) return;
    event.preventDefault();
    show(tip, !open);
  });
  params.addEventListener("focusout", (event) => {
    const tip = tipAt(event.target);
    if (tip && tipAt(event.relatedTarget || document.body) !== tip) show(tip, false);
  });
})();
