/* Which columns the panel edits: all, one, or several (Ctrl or Cmd adds, Shift takes the range). */
(() => {
  const playground = (window.playground = window.playground || {});

  /* The next choice after a click on column `at`; null stands for what all columns share. */
  playground.chosen = (scope, at, last, { ctrlKey, metaKey, shiftKey }) => {
    if (shiftKey && last !== null && at !== null) {
      const [low, high] = [Math.min(last, at), Math.max(last, at)];
      return Array.from({ length: high - low + 1 }, (_, i) => low + i);
    }
    if ((ctrlKey || metaKey) && at !== null) {
      const found = new Set(scope || []);
      if (found.has(at)) found.delete(at); else found.add(at);
      return found.size ? [...found] : null;
    }
    return at;
  };

  /* `host`: columns() [{letter}], scope(), choose(null, position or positions). */
  playground.scopes = (root, host) => {
    const holder = root.querySelector("[data-scopes]"), row = root.querySelector("[data-scopes-row]");
    let last = null;
    holder.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      const at = button.dataset.at === "" ? null : Number(button.dataset.at);
      host.choose(playground.chosen(host.scope(), at, last, event));
      last = at;
    });
    /* Arrow keys with Shift widen the choice, as in a list. */
    holder.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const button = event.target.closest("button");
      if (!step || !button || event.altKey || event.ctrlKey || event.metaKey) return;
      const next = holder.children[[...holder.children].indexOf(button) + step];
      if (!next) return;
      event.preventDefault();
      next.focus();
      if (event.shiftKey && next.dataset.at !== "" && button.dataset.at !== "") host.choose([...new Set([...(host.scope() || []), Number(button.dataset.at), Number(next.dataset.at)])]);
    });
    const button = (text, at, scope) => {
      const made = document.createElement("button");
      made.type = "button";
      made.textContent = text;
      made.dataset.at = at === null ? "" : at;
      if (at !== null) made.setAttribute("aria-label", `Column ${text}`);
      made.setAttribute("aria-pressed", String(at === null ? scope === null : scope !== null && scope.includes(at)));
      return made;
    };
    let drawn = "";
    const show = () => {
      const columns = host.columns(), scope = host.scope();
      const now = JSON.stringify([columns.length, scope]);
      row.hidden = columns.length < 2;
      if (now === drawn) return;
      drawn = now;
      const focused = [...holder.children].indexOf(document.activeElement);
      holder.replaceChildren(...[["All", null], ...columns.map(({ letter }, at) => [letter, at])].map(([text, at]) => button(text, at, scope)));
      if (focused >= 0 && holder.children[focused]) holder.children[focused].focus();
    };
    return { show };
  };
})();
