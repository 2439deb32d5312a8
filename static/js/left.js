/* What is left of the limits, beside the run button. The server says it; it is asked again when the columns change and when runs
   begin or end. */
(() => {
  const left = document.getElementById("left"), form = document.getElementById("compose");
  if (!left || !form) return;
  const SETTLE = 300, SOON = 5000; // milliseconds
  let timer = 0, number = 0, shown = "";

  const chosen = () => [...new Set([...form.querySelectorAll("select[data-connection]")].map((select) => select.value).filter(Boolean))];
  const part = ({ text, level, renewal, limit }) => {
    const element = document.createElement("span");
    element.className = "left__part";
    element.title = limit;
    if (level) element.dataset.level = level;
    element.textContent = renewal ? `${text}, ${renewal}` : text;
    return element;
  };
  const draw = (parts) => {
    const text = JSON.stringify(parts);
    if (text === shown) return; // nothing new: a reader of the screen is not disturbed
    shown = text;
    left.replaceChildren(...parts.map(part));
    left.hidden = !parts.length;
  };
  const ask = async () => {
    clearTimeout(timer);
    const mine = ++number;
    const query = new URLSearchParams(chosen().map((id) => ["connection", id]));
    try {
      const response = await fetch(`${left.dataset.url}?${query}`, { headers: { Accept: "application/json" }, credentials: "same-origin" });
      if (!response.ok || response.redirected) return;
      const found = await response.json();
      if (mine !== number) return;
      draw(found.left);
      if (found.changes && !document.hidden) soon(SOON);
    } catch { /* without a network the last figures stay; the next press says what is wrong */ }
  };
  const soon = (wait = SETTLE) => { clearTimeout(timer); timer = setTimeout(ask, wait); };

  form.addEventListener("change", (event) => { if (event.target.matches("select[data-connection]")) soon(); });
  const list = form.querySelector("[data-columns]");
  if (list) new MutationObserver(() => soon()).observe(list, { childList: true });
  ["playground:running", "playground:idle"].forEach((name) => document.addEventListener(name, () => soon()));
  document.addEventListener("htmx:afterSwap", (event) => { if (["outputs", "problems"].includes(event.detail.target.id)) soon(); });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) soon(); });
  ask();
})();
