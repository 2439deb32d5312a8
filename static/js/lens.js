/* The lens: what every column might have said in one place, as aligned bars, and what samplers would
   leave of it. Nothing is sent to a backend; what was returned is drawn anew. */
(() => {
  const playground = (window.playground = window.playground || {});
  const { probability, tokenData } = playground;
  const ROWS = 24; // candidates that are shown
  const SETTINGS = { temperature: 1, top_k: 0, top_p: 1, min_p: 0 }; // as if there were no sampler
  const DASH = "–";

  const lens = () => document.getElementById("lens");
  const $ = (name) => lens().querySelector(`[data-lens-${name}]`);
  const columns = () => [...document.querySelectorAll("#outputs [data-run]")];
  const state = { open: false, position: 0, by: "", sampling: false, settings: { ...SETTINGS }, given: false, reference: null, all: [] };
  let turn = 0;

  /* --- Which token of each column --- */

  /* One entry a choice: {run, choice, letter}; a column without probabilities has no choice. */
  const gather = async () => {
    const shown = columns(), runs = await tokenData.load(shown.map((column) => column.dataset.run));
    return shown.flatMap((column, i) => {
      const letter = column.querySelector(".letter").textContent;
      const choices = runs[i] ? [...runs[i].choices.values()].filter((choice) => choice.total > choice.prompt) : [];
      if (!choices.length) return [{ column, letter, run: runs[i], choice: null }];
      return choices.map((choice) => ({ column, run: runs[i], choice, letter: choices.length > 1 ? `${letter}${choice.index + 1}` : letter }));
    });
  };
  const withTokens = () => state.all.filter((each) => each.choice);
  const reference = () => withTokens().find((each) => state.reference && each.run.run === state.reference.run && each.choice.index === state.reference.choice) || withTokens()[0];
  const length = (each) => each.choice.total - each.choice.prompt;
  const tokenOf = (each, number) => tokenData.at(each.run, each.choice, each.choice.prompt + number);
  const startOf = (each, token) => (token && token.start !== null ? token.start - each.choice.base : null);
  /* The token that holds the character at `offset`; by halves, for the list may be long. */
  const atOffset = async (each, offset) => {
    let low = 0, high = length(each) - 1, best = -1;
    while (low <= high) {
      const middle = (low + high) >> 1, start = startOf(each, await tokenOf(each, middle));
      if (start === null) { // not in the text: look at its neighbours one by one
        for (let i = low; i <= high; i++) { const at = startOf(each, await tokenOf(each, i)); if (at !== null && at <= offset) best = i; }
        break;
      }
      if (start <= offset) { best = middle; low = middle + 1; } else high = middle - 1;
    }
    if (best < 0) return -1;
    const token = await tokenOf(each, best);
    return token.end - each.choice.base > offset || (token.end === token.start && token.start - each.choice.base === offset) ? best : -1;
  };
  /* [{each, number, token, context}]: `context` says whether the same text stands before it. */
  const aligned = async () => {
    const mine = reference();
    if (!mine) return { cells: [], by: "number", cut: false };
    state.position = Math.max(0, Math.min(length(mine) - 1, state.position));
    const own = await tokenOf(mine, state.position), offset = startOf(mine, own);
    const numbered = await Promise.all(withTokens().map((each) => tokenOf(each, state.position)));
    const cut = withTokens().some((each, i) => numbered[i] && offset !== null && startOf(each, numbered[i]) !== offset);
    const by = state.by || (cut ? "place" : "number");
    const cells = await Promise.all(state.all.map(async (each) => {
      if (!each.choice) return { each, number: -1, token: null };
      const number = by === "number" || offset === null ? state.position : await atOffset(each, offset);
      const token = number < 0 ? null : await tokenOf(each, number);
      return { each, number, token: token || null };
    }));
    return { cells, by, cut, offset };
  };

  /* --- The table --- */
  const keyOf = (each) => (each.text ? `t${each.text}` : `b${(each.bytes || []).join(" ")}`);
  const element = (name, text, className) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  };
  const cellOf = (share, left, current) => {
    const cell = element("td"), box = element("div", undefined, "lens__cell");
    if (share === null) { cell.append(element("span", DASH, "quiet"), element("span", "not returned", "vh")); return cell; }
    const bar = playground.alternatives.bar(share), figures = element("span", probability.percent(share), "lens__p");
    if (current) { bar.classList.add("bar--accent"); cell.dataset.taken = ""; figures.append(element("span", ", taken", "vh")); }
    box.append(bar, figures);
    cell.append(box);
    if (left !== undefined) {
      const after = element("div", undefined, "lens__cell lens__cell--after");
      if (left === null) { after.append(element("span", "cut", "lens__cut")); cell.dataset.cut = ""; } else {
        const second = playground.alternatives.bar(left);
        second.classList.add("bar--accent");
        after.append(second, element("span", probability.percent(left), "lens__p"));
      }
      cell.append(after);
    }
    return cell;
  };
  const head = ({ each, number, token }) => {
    const cell = element("th"), title = element("span", undefined, "lens__col");
    cell.scope = "col";
    title.append(element("span", each.letter, "letter letter--sm"));
    if (token) title.append(element("bdi", playground.alternatives.named(token), "mono lens__token"), element("span", `${number + 1}/${length(each)}`, "quiet small nowrap"));
    cell.append(title);
    if (!each.choice) cell.append(element("span", each.run ? "no probabilities came back" : "has not ended", "quiet small lens__none"));
    else if (!token) cell.append(element("span", "has no token here", "quiet small lens__none"));
    return cell;
  };
  const foot = (name, values, help) => {
    const row = element("tr"), title = element("th", name);
    title.scope = "row";
    if (help) title.append(element("span", ` ${help}`, "quiet small"));
    row.append(title, ...values.map((value) => element("td", value, "num")));
    return row;
  };
  const table = (cells) => {
    const rows = new Map(); // key → {text, best, shares: Map}
    cells.forEach(({ token }, column) => (token ? token.top : []).forEach((each, index) => {
      const share = probability.share(each.logprob), key = keyOf(each);
      if (!rows.has(key)) rows.set(key, { each, best: 0, at: new Map() });
      const row = rows.get(key);
      row.best = Math.max(row.best, share || 0);
      if (!row.at.has(column)) row.at.set(column, { share, index });
    }));
    const sampled = cells.map(({ each, token }) => (state.sampling && token ? probability.sample(token.top, state.settings, each.run.order) : null));
    const ranked = [...rows.values()].sort((a, b) => b.best - a.best), shown = ranked.slice(0, ROWS);
    const made = element("table", undefined, "table lens__table"), top = element("thead"), body = element("tbody"), bottom = element("tfoot");
    const first = element("th", "Candidate");
    first.scope = "col";
    const line = element("tr");
    line.append(first, ...cells.map(head));
    top.append(line);
    shown.forEach(({ each, at }) => {
      const row = element("tr"), name = element("th", undefined, "mono");
      name.scope = "row";
      name.append(element("bdi", playground.alternatives.named(each)));
      row.append(name, ...cells.map(({ token }, column) => {
        const found = at.get(column);
        if (!found) return cellOf(null);
        return cellOf(found.share, sampled[column] ? sampled[column].shares[found.index] : undefined, found.index === token.taken);
      }));
      body.append(row);
    });
    bottom.append(foot("Rest", cells.map(({ token }, i) => {
      if (!token) return DASH;
      const rest = probability.percent(probability.rest(token.top));
      return sampled[i] ? `${rest} → ~${probability.percent(sampled[i].rest)}` : rest;
    }), "not returned"));
    bottom.append(foot("Entropy", cells.map(({ token }) => {
      const bits = token ? probability.entropy(token.top) : null;
      return bits === null ? DASH : `${probability.rest(token.top) > 0.001 ? "≥ " : ""}${bits.toFixed(2)} bit`;
    })));
    if (state.sampling) bottom.append(foot("Left", sampled.map((each, i) => (each ? `${each.left} of ${cells[i].token.top.length}` : DASH)), "of the returned"));
    made.append(top, body, bottom);
    made.setAttribute("aria-label", "Candidates of each column in one place");
    return { made, hidden: ranked.length - shown.length };
  };
  const orders = () => {
    const by = new Map();
    withTokens().forEach(({ run, letter }) => {
      const key = run.order.join(", ") + (run.order_of ? ` (${run.order_of})` : " (assumed)");
      by.set(key, [...(by.get(key) || []), letter]);
    });
    return [...by].map(([order, letters]) => `${withTokens().length > 1 ? `${letters.join(", ")}: ` : ""}${order}`).join("; ");
  };
  /* The last one that was asked for wins. */
  const draw = async () => {
    if (!state.open || !lens()) return;
    const mine = ++turn;
    try {
      state.all = await gather();
      const { cells, by, cut } = await aligned();
      if (mine !== turn || !lens()) return;
      state.cells = cells;
      show(by, cut);
    } catch (error) { if (mine === turn && lens()) $("how").textContent = error.message; }
  };
  const show = (by, cut) => {
    const mine = reference();
    if (!mine) {
      $("table").replaceChildren();
      $("how").textContent = "No column has returned token probabilities. Set logprobs under Output and run again.";
      ["range", "number"].forEach((name) => { $(name).disabled = true; });
      return;
    }
    if (!state.given) startSettings(mine);
    ["range", "number"].forEach((name) => {
      $(name).disabled = false;
      $(name).max = length(mine);
      $(name).value = state.position + 1;
    });
    $("of").textContent = `of ${length(mine)} in ${mine.letter}`;
    lens().querySelectorAll("[data-lens-by]").forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.lensBy === by)));
    $("how").textContent = by === "number"
      ? `Aligned by token number.${cut ? " The columns cut the text into different tokens here, so these are different places in it." : ""}`
      : `Aligned by place in the text: the token that holds the same character.${cut ? " The columns cut the text into different tokens here." : ""}`;
    refresh();
  };
  /* Without asking anything: also while a slider moves. */
  const refresh = () => {
    const { made, hidden } = table(state.cells);
    $("table").replaceChildren(made);
    fillAll();
    $("more").textContent = hidden > 0 ? `${hidden} less likely candidates are not shown.` : "";
    $("order").textContent = orders();
    $("reset").disabled = Object.keys(SETTINGS).every((name) => state.settings[name] === SETTINGS[name]);
  };

  /* --- Sliders --- */
  const startSettings = (mine) => {
    state.given = true;
    Object.keys(SETTINGS).forEach((name) => {
      const sent = mine.run.samplers[name];
      state.settings[name] = typeof sent === "number" ? sent : SETTINGS[name];
    });
    showSettings();
  };
  const fill = (input) => input.style.setProperty("--fill", `${(100 * (input.value - input.min)) / (input.max - input.min || 1)}%`);
  const fillAll = () => lens().querySelectorAll("[type=range]").forEach(fill);
  const showSettings = () => Object.entries(state.settings).forEach(([name, value]) => {
    lens().querySelectorAll(`[data-lens-set="${name}"]`).forEach((input) => { input.value = value; });
  });
  const set = (name, text, input) => {
    const value = Number(text);
    if (text.trim() === "" || !Number.isFinite(value)) return;
    state.settings[name] = value;
    lens().querySelectorAll(`[data-lens-set="${name}"]`).forEach((other) => { if (other !== input) other.value = value; });
    refresh();
  };

  /* --- Where --- */
  const go = (number) => { state.position = number; draw(); };
  const toggle = (open) => {
    state.open = open;
    lens().hidden = !open;
    document.querySelectorAll("[data-lens-toggle]").forEach((button) => button.setAttribute("aria-expanded", String(open)));
    return open ? draw() : Promise.resolve();
  };
  const point = ({ map, position }) => {
    if (!state.open || position < map.choice.prompt) return;
    state.reference = { run: map.run.run, choice: map.choice.index };
    go(position - map.choice.prompt);
  };
  ["playground:token", "playground:point"].forEach((name) => document.addEventListener(name, (event) => point(event.detail)));
  document.addEventListener("click", (event) => {
    if (!event.target.closest) return;
    const by = event.target.closest("[data-lens-by]");
    if (event.target.closest("[data-lens-toggle]")) toggle(!state.open).then(() => { if (state.open) lens()?.scrollIntoView({ block: "nearest" }); });
    else if (event.target.closest("[data-lens-close]")) { toggle(false); document.querySelector("[data-lens-toggle]").focus(); }
    else if (event.target.closest("[data-lens-reset]")) { Object.assign(state.settings, SETTINGS); showSettings(); refresh(); }
    else if (by) { state.by = by.dataset.lensBy; draw(); }
    const step = event.target.closest("[data-lens-step]");
    if (step) go(state.position + Number(step.dataset.lensStep));
  });
  document.addEventListener("input", (event) => {
    const { target } = event;
    if (!target.dataset) return;
    if ("lensSet" in target.dataset) set(target.dataset.lensSet, target.value, target);
    if (("lensRange" in target.dataset || "lensNumber" in target.dataset) && Number(target.value) >= 1) go(Number(target.value) - 1);
  });
  document.addEventListener("toggle", (event) => {
    if (!event.target.matches || !event.target.matches("[data-lens-sampling]")) return;
    state.sampling = event.target.open;
    if (state.open && state.cells) refresh();
  }, true);
  /* Other columns, or columns that have ended. */
  const again = (event) => {
    if (event.type === "htmx:afterSettle" && event.target.closest && event.target.closest("[data-panel]")) return;
    if (!lens()) return;
    if (lens().hidden === state.open) { state.given = false; toggle(state.open); } else draw();
  };
  document.addEventListener("htmx:afterSettle", again);
  document.addEventListener("htmx:oobAfterSwap", again);
})();
