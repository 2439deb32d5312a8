/* The panel at the side: folded, which the browser remembers, a sheet on narrow screens; its search. */
(() => {
  const playground = (window.playground = window.playground || {});
  const FIRST = "[data-path]:not([hidden]) [data-control]:not([hidden]) :is([data-box], input:checked)";

  playground.side = (bench, params) => {
    const button = bench.querySelector("[data-fold]"), search = params.querySelector("[data-find]");
    const isSheet = () => getComputedStyle(params).position === "fixed";
    const fold = (folded) => {
      bench.toggleAttribute("data-folded", folded);
      button.setAttribute("aria-expanded", String(!folded));
      try { localStorage.setItem("fold", folded ? "1" : ""); } catch { /* private mode */ }
    };
    const open = () => {
      if (!isSheet()) { if (bench.hasAttribute("data-folded")) fold(false); } else if (!params.matches(":popover-open")) params.showPopover();
    };
    const find = () => { open(); search.focus(); search.select(); };
    try { fold(localStorage.getItem("fold") === "1"); } catch { /* private mode */ }
    button.addEventListener("click", () => { if (isSheet()) params.togglePopover(); else fold(!bench.hasAttribute("data-folded")); });
    /* The palette presses what is around the search; a click in the search itself only puts the caret. */
    search.parentElement.addEventListener("click", (event) => { if (event.target === search.parentElement) find(); });
    search.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      params.querySelector(FIRST)?.focus();
    });
    return { open, find };
  };

  /* What the palette finds by its name: the parameters that the columns take. */
  playground.parametersIn = (side, panel) => () => panel.offered().map(({ path, label }) => ({
    words: `Parameter ${path}`, also: label, icon: "sliders", act: () => { side.open(); panel.focus(path); },
  }));
})();
