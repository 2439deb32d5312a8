// What is cut off or makes the page scroll sideways. What scrolls on purpose says so in its style.
() => {
  const root = document.documentElement, found = [];
  if (root.scrollWidth > root.clientWidth) found.push(`the page: ${root.scrollWidth} of ${root.clientWidth}`);
  for (const each of document.querySelectorAll("main *, header *")) {
    if (!each.checkVisibility({ opacityProperty: true }) || each.closest(".vh, [popover], dialog, svg")) continue;
    const rect = each.getBoundingClientRect();
    if (rect.width <= 1 || rect.right <= root.clientWidth + 1 && rect.left >= -1) continue;
    let scrolls = each;
    while (scrolls && getComputedStyle(scrolls).overflowX === "visible") scrolls = scrolls.parentElement;
    if (!scrolls || scrolls === document.body || scrolls === root) found.push(`${each.outerHTML.slice(0, 100)} ${rect.left.toFixed(0)} to ${rect.right.toFixed(0)}`);
  }
  return found;
}
