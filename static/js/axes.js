/* What multiplies a press of Run: repeats here, sweeps in the panel; and the plan that says, before
   it costs, what would be sent. The server counts: its plan is what it would send. */
(() => {
  const playground = (window.playground = window.playground || {});
  const MOST = 50; // repeats of a column
  const grouped = (count) => (count < 1000 ? String(count) : count.toLocaleString("en")); // Intl is slow to begin
  const plural = (count, word) => `${grouped(count)} ${word}${count === 1 ? "" : "s"}`;
  const repeatOf = (column) => Number(column.repeat) || 1;

  /* --- Repeat: for all columns, or for one of several --- */
  /* `host`: document(), changed(). */
  playground.repeats = (form, host) => {
    const holder = form.querySelector("[data-repeats]"), box = holder.querySelector("[data-repeat]");
    const scopes = holder.querySelector("[data-repeat-scopes]"), switcher = form.querySelector("[data-by-n]");
    let scope = null; // the index of a column; null: all of them
    const columns = () => host.document().columns;
    const meant = () => (scope === null ? columns() : columns().slice(scope, scope + 1));
    const same = () => { const all = new Set(meant().map(repeatOf)); return all.size === 1 ? [...all][0] : null; };
    const set = (count) => {
      const kept = Math.max(1, Math.min(MOST, Math.round(count) || 1));
      meant().forEach((column) => { if (kept > 1) column.repeat = kept; else delete column.repeat; });
      refresh();
      host.changed();
    };
    const showScopes = () => {
      if (scope !== null && scope >= columns().length) scope = null;
      scopes.hidden = columns().length < 2;
      if (scopes.hidden) scope = null;
      const focused = [...scopes.children].indexOf(document.activeElement);
      scopes.replaceChildren(...[["All", null], ...columns().map((_, i) => [playground.letter(i), i])].map(([text, at]) => {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = at === null || repeatOf(columns()[at]) === 1 ? text : `${text} ×${repeatOf(columns()[at])}`;
        button.setAttribute("aria-pressed", String(at === scope));
        if (at !== null) button.setAttribute("aria-label", `Repeat column ${text}`);
        button.addEventListener("click", () => { scope = at; refresh(); });
        return button;
      }));
      if (focused >= 0 && scopes.children[focused]) scopes.children[focused].focus();
    };
    const refresh = () => {
      showScopes();
      const count = same();
      if (document.activeElement !== box || box.value !== "") box.value = count === null ? "" : String(count);
      box.placeholder = count === null ? "–" : "";
      const most = Math.max(...columns().map(repeatOf), 1);
      switcher.closest("[data-by-n-part]").hidden = most < 2;
      switcher.checked = host.document().by_n === true;
    };
    holder.addEventListener("click", (event) => {
      const step = event.target.closest("[data-step]");
      if (step) set((same() || 1) + Number(step.dataset.step));
    });
    box.addEventListener("input", () => { if (/^\d+$/.test(box.value.trim())) set(Number(box.value)); });
    box.addEventListener("blur", refresh);
    box.addEventListener("keydown", (event) => {
      const step = { ArrowUp: 1, ArrowDown: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      set((same() || 1) + step);
    });
    switcher.addEventListener("change", () => { host.document().by_n = switcher.checked; host.changed(); });
    return { refresh, any: () => columns().some((column) => repeatOf(column) > 1) };
  };

  /* --- The plan --- */
  const factors = (column, rows) => [
    ...Object.entries(column.values).map(([path, texts]) => `${path} ${texts.length}`),
    ...(rows > 1 ? [plural(rows, "row")] : []),
    ...(column.repeats > 1 ? [`${column.repeats} repeats`] : []),
  ].join(" × ");
  const detailOf = (plan) => {
    const each = plan.columns.map((column) => factors(column, plan.rows)), same = new Set(each).size === 1;
    const count = plan.columns.length;
    if (same) return [...(count > 1 ? [`${count} columns`] : []), ...(each[0] ? [each[0]] : [])].join(" × ");
    return plan.columns.map((column, i) => `${playground.letter(i)} ${column.requests}`).join(" + ");
  };
  const swept = (raw) => typeof raw === "string" && /,|\.\./.test(raw);

  /* `host`: posted(), document(), rows() of the panel, multiplies() → whether variables or repeats may, refused(). */
  playground.plan = (form, host) => {
    const main = form.querySelector("[data-plan]"), detail = form.querySelector("[data-plan-detail]");
    const label = form.querySelector("[data-run-label]"), holder = document.getElementById("plan");
    let round = 0;
    const simple = () => {
      const { values, columns } = host.document();
      return !host.multiplies() && ![values, ...columns.map((column) => column.values)].some((each) => Object.values(each || {}).some(swept));
    };
    const noteSweeps = (columns) => {
      const found = new Map();
      columns.forEach(({ values }) => Object.entries(values).forEach(([path, texts]) => found.set(path, texts)));
      host.rows().forEach((element) => {
        const note = element.querySelector("[data-sweep]"), texts = found.get(element.dataset.path);
        if (!note) return;
        note.hidden = !texts;
        note.textContent = texts ? `${texts.length} values: ${texts.slice(0, 12).join(", ")}${texts.length > 12 ? ", …" : ""}` : "";
      });
    };
    const apply = (plan) => {
      noteSweeps(plan.columns);
      if (!plan.requests) {
        if (simple()) return; // what is missing is said where it is missing
        main.textContent = "";
        detail.textContent = plan.problem;
        label.textContent = "Run";
        return;
      }
      const total = plural(plan.requests, "request"), of = detailOf(plan);
      const completions = plan.completions > plan.requests ? plural(plan.completions, "completion") : "";
      const counted = [of && plan.requests > 1 ? `${of} = ${total}` : total, completions].filter(Boolean).join(", ");
      main.textContent = plan.cost || (of && plan.requests > 1 ? "" : total);
      detail.textContent = plan.cost || (of && plan.requests > 1) ? counted : completions;
      label.textContent = plan.requests > 1 ? `Run ${grouped(plan.requests)}` : "Run";
    };
    const ask = playground.later(async () => {
      const mine = ++round;
      if (host.refused()) return;
      try {
        const response = await playground.post(holder.dataset.url, { document: host.posted() });
        if (!response.ok || response.redirected) return;
        const plan = await response.json();
        if (mine !== round) return;
        apply(plan);
        holder.removeAttribute("aria-busy");
      } catch { /* said when the form is run */ }
    }, 300);
    let asked = "";
    return {
      /* After what the page can tell by itself has been shown. */
      show: () => {
        if (host.refused()) return;
        const text = host.posted();
        if (simple()) noteSweeps([]);
        if (simple() && !holder.hasAttribute("data-priced")) { round += 1; holder.removeAttribute("aria-busy"); asked = ""; return; }
        if (!simple()) { main.textContent = ""; detail.textContent = "counting…"; label.textContent = "Run"; }
        if (text !== asked) holder.setAttribute("aria-busy", "true");
        asked = text;
        ask();
      },
    };
  };
})();
