/* Outputs of a list of prompts: which prompt and which choice each one is, also while it streams. */
(() => {
  const name = (element) => {
    const body = element.closest("[data-per-prompt]");
    if (!body || element.dataset.title) return;
    const n = Number(body.dataset.perPrompt), index = Number(element.dataset.choice);
    element.dataset.title = `Prompt ${Math.floor(index / n) + 1}${n > 1 ? `, choice ${(index % n) + 1}` : ""}`;
  };
  const look = (root) => { if (root.querySelectorAll) root.querySelectorAll("[data-per-prompt] .out[data-choice]").forEach(name); };
  new MutationObserver((changes) => changes.forEach((change) => change.addedNodes.forEach((node) => {
    if (node.nodeType !== 1) return;
    if (node.matches(".out[data-choice]")) name(node);
    look(node);
  }))).observe(document.getElementById("main"), { childList: true, subtree: true });
  look(document);
})();
