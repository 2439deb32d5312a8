// Chosen things that look, without the page's own colours, like those beside them.
(() => {
  const look = (node) => ["", "::after"].map((part) => {
    const style = getComputedStyle(node, part);
    return part ? style.backgroundColor : [style.backgroundColor, style.color].join();
  }).join();
  const chosen = document.querySelectorAll(
    '[aria-pressed="true"], [aria-selected="true"], .topnav [aria-current], .seg > label:has(:checked)');
  return [...chosen].filter((node) => node.checkVisibility()).flatMap((node) =>
    [...node.parentElement.children]
      .filter((other) => other !== node && other.className === node.className && other.checkVisibility())
      .filter((other) => look(other) === look(node))
      .map((other) => `${node.textContent.trim()} and ${other.textContent.trim()}`));
})()
