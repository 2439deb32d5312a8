// What is too small for a finger (WCAG 2.2, 2.5.8): under 24 CSS px either way, and so near to another
// target that a circle of 24 px around its middle meets it. Links in a sentence are excepted.
(within = "body") => {
  const LEAST = 24, found = [];
  const inSentence = (element) => element.matches("a") && getComputedStyle(element).display === "inline"
    && element.parentElement.textContent.trim().length > element.textContent.trim().length;
  const shown = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && !element.closest("[inert]");
  const rectOf = (element) => {
    const own = element.getBoundingClientRect(), label = element.labels?.[0];
    if (label && (own.width < LEAST || own.height < LEAST)) {
      const wide = label.getBoundingClientRect();
      if (wide.width >= own.width && wide.height >= own.height) return wide;
    }
    return own;
  };
  const all = [...document.querySelector(within).querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [role=tab], [role=button]")]
    .filter((each) => shown(each) && !each.matches(".skip") && !inSentence(each))
    .map((each) => ({ each, rect: rectOf(each) })).filter(({ rect }) => rect.width > 1 && rect.height > 1);
  const small = ({ rect }) => rect.width < LEAST - 0.01 || rect.height < LEAST - 0.01;
  for (const target of all.filter(small)) {
    const x = (target.rect.left + target.rect.right) / 2, y = (target.rect.top + target.rect.bottom) / 2;
    const near = all.find((other) => {
      if (other === target || other.each.contains(target.each) || target.each.contains(other.each) || other.rect === target.rect) return false;
      const label = target.each.labels?.[0];
      if (label && label === other.each.labels?.[0]) return false;
      if (small(other)) {
        const ox = (other.rect.left + other.rect.right) / 2, oy = (other.rect.top + other.rect.bottom) / 2;
        return Math.hypot(ox - x, oy - y) < LEAST;
      }
      const dx = Math.max(other.rect.left - x, 0, x - other.rect.right), dy = Math.max(other.rect.top - y, 0, y - other.rect.bottom);
      return Math.hypot(dx, dy) < LEAST / 2;
    });
    if (near) found.push(`${target.each.outerHTML.slice(0, 120)} ${target.rect.width.toFixed(1)} × ${target.rect.height.toFixed(1)}, near ${near.each.outerHTML.slice(0, 80)}`);
  }
  return found;
}
