/* The reference page: filters while typing, as `?q=` does on the server. */
(() => {
  const form = document.querySelector("[data-reference]");
  const input = form.elements.q;
  const count = form.querySelector("[data-count]");
  const entries = [...document.querySelectorAll("[data-entry]")].map((element) => (
    { element, text: `${element.closest("[data-group]").querySelector("h2").textContent} ${element.textContent}`.toLowerCase() }
  ));

  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { element, text } of entries) {
      element.hidden = !words.every((word) => text.includes(word));
      shown += element.hidden ? 0 : 1;
    }
    for (const group of document.querySelectorAll("[data-group]")) {
      group.hidden = !group.querySelector("[data-entry]:not([hidden])");
    }
    document.querySelector("[data-none]").hidden = shown > 0;
    count.textContent = `${shown} of ${count.dataset.total}`;
  };

  const keep = () => {
    const url = new URL(location.href);
    if (input.value.trim()) url.searchParams.set("q", input.value); else url.searchParams.delete("q");
    history.replaceState(history.state, "", url);
  };

  form.querySelector("[data-submit]").hidden = true;
  form.addEventListener("submit", (event) => event.preventDefault());
  input.addEventListener("input", () => { show(); keep(); });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    input.focus();
  });
  /* A reload or the back button may have put other words into the field. */
  if (input.value !== input.defaultValue) show();
})();
