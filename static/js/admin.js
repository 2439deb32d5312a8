/* Every page of the admin site: names for what Django leaves without one. */
(() => {
  for (const each of document.querySelectorAll("th.original:empty")) {
    const name = document.createElement("span");
    name.className = "vh";
    name.textContent = "Stored";
    each.append(name);
  }
  const heading = (cell) => cell.closest("table")?.tHead?.rows[0]?.cells[cell.cellIndex]?.textContent.trim();
  const rowLabel = (field) => field.closest(".form-row")?.querySelector("label, legend")?.textContent.trim();
  const name = (root) => {
    for (const field of root.querySelectorAll("input:not([type=hidden]), select, textarea")) {
      if (field.labels?.length || field.hasAttribute("aria-label")) continue;
      const cell = field.closest("td");
      const said = (cell && heading(cell)) || rowLabel(field);
      if (said) field.setAttribute("aria-label", said.replace(/[:?]$/, ""));
    }
  };
  document.getElementById("searchbar")?.setAttribute("aria-label", "Search");
  name(document);
  document.addEventListener("formset:added", (event) => name(event.target));
  window.addEventListener("load", () => {
    for (const each of document.querySelectorAll(".help-tooltip[aria-label]")) each.setAttribute("role", "img");
    name(document);
  });
})();

/* The form of a connection: the address that a service documents, and only what concerns it. */
(() => {
  const choice = document.querySelector("select[data-providers]");
  if (!choice) return;
  const facts = JSON.parse(choice.dataset.providers);
  const address = document.getElementById("id_base_url");
  const local = document.getElementById("id_reaches_local");
  const row = (name) => document.querySelector(`.form-row.field-${name}`);
  const help = document.getElementById("id_provider_helptext");
  const documented = new Set(Object.values(facts).map((each) => each.address));
  const PRIVATE = /^https?:\/\/(localhost|127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|\[::1\]|\[f[cd])/i;

  const show = () => {
    row("dialect")?.toggleAttribute("hidden", choice.value !== "local");
    if (help) help.firstElementChild.textContent = facts[choice.value].help;
  };
  const mark = () => { if (local && PRIVATE.test(address.value)) local.checked = true; };

  choice.addEventListener("change", () => {
    const typed = address.value.trim();
    if (!typed || documented.has(typed)) {
      address.value = facts[choice.value].address;
      if (local) local.checked = false;
      mark();
    }
    show();
  });
  address.addEventListener("change", mark);
  if (!address.value) {
    address.value = facts[choice.value].address;
    mark();
  }
  show();
})();
