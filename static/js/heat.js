/* The heat map: every token with its probability, as one list box: one tab stop, arrow keys move.
   Drawn a slice a frame, so that thousands of tokens hold nothing up. */
(() => {
  const playground = (window.playground = window.playground || {});
  const { probability, tokenData } = playground;
  const SLICE = 3; // ms of drawing in one frame; laying it out costs more
  const BLOCK = 100, WORDS = 200, LONGEST = 600; // tokens after which a block ends at a line end, before a word, anywhere
  const PAGE_STEP = 20; // tokens
  const NAMES = { "\n": "line end", "\r": "carriage return", "\t": "tab", " ": "space" };
  const SIGNS = { "\n": "↵", "\r": "␍", "\t": "⇥" };

  const maps = new Map(); // [data-tokens] → {box, run, choice, column, chosen, elements}
  const frame = () => new Promise((go) => (document.hidden ? setTimeout(go, 16) : requestAnimationFrame(go)));
  const hex = (bytes) => (bytes || []).map((byte) => byte.toString(16).toUpperCase().padStart(2, "0")).join(" ");
  /* A text with blanks and line ends as signs. */
  const signs = (text) => text.replace(/ /g, "␣").replace(/[\n\r\t]/g, (found) => SIGNS[found]);

  /* --- One token --- */
  const quiet = (text, name) => {
    const sign = document.createElement("i");
    sign.textContent = text;
    sign.setAttribute("aria-hidden", "true");
    if (name) sign.className = name;
    return sign;
  };
  const fillToken = (span, token) => {
    if (token.inside && !token.text) span.append(quiet("·"));
    else if (!token.text) span.append(quiet(token.bytes && token.bytes.length ? hex(token.bytes) : "∅"));
    else {
      for (const part of token.text.split(/([\n\r\t])/)) {
        if (part in SIGNS) span.append(quiet(SIGNS[part]));
        if (part) span.append(part);
      }
    }
  };
  /* What a blank or a part of a character is called; others are called what they show. */
  const spelled = (token) => {
    if (token.text.trim()) return token.text;
    if (token.text) return [...token.text].map((each) => NAMES[each] || "blank").join(", ");
    return token.inside ? "part of the character before" : hex(token.bytes) || "no text";
  };
  const name = (span, token) => {
    if (token.text.trim()) span.removeAttribute("aria-label"); else span.setAttribute("aria-label", spelled(token));
  };
  const element = (token, position) => {
    const span = document.createElement("span"), level = probability.heat(probability.share(token.logprob));
    span.className = "tok";
    span.setAttribute("role", "option");
    span.setAttribute("aria-selected", "false");
    span.dataset.i = position;
    if (level) span.dataset.heat = level;
    if (level === null) span.classList.add("tok--unknown");
    if (token.prompt) span.classList.add("tok--prompt");
    if (token.start === null) span.classList.add("tok--outside");
    fillToken(span, token);
    name(span, token);
    return span;
  };
  const plain = (text) => {
    const span = document.createElement("span");
    span.className = "tok__gap";
    span.textContent = text;
    return span;
  };

  /* --- The whole map --- */
  const fill = async (map) => {
    const { box } = map;
    let block = null, size = 0, began = performance.now();
    box.replaceChildren(); // what was drawn before a page of tokens could not be had
    box.setAttribute("aria-busy", "true");
    const open = () => {
      block = document.createElement("span");
      block.className = "tokens__block";
      box.append(block);
      size = 0;
    };
    open();
    for (let position = 0; position < map.choice.total; position++) {
      let token = map.choice.tokens[position];
      if (!token) token = await tokenData.at(map.run, map.choice, position);
      if (performance.now() - began > SLICE) {
        await frame();
        if (!box.isConnected) return;
        began = performance.now();
      }
      if (size >= LONGEST || (size >= WORDS && /^\s/.test(token.text))) open();
      if (token.before) block.append(plain(token.before));
      const span = element(token, position);
      map.elements[position] = span;
      block.append(span);
      size += 1;
      if (size >= BLOCK && token.text.endsWith("\n")) open();
    }
    if (map.choice.after) block.append(plain(map.choice.after));
    box.removeAttribute("aria-busy");
    box.dispatchEvent(new CustomEvent("playground:heat", { bubbles: true }));
  };
  const note = (box, text) => {
    const place = box.closest("[data-heat-map]").querySelector("[data-heat-note]");
    place.textContent = text;
    place.hidden = !text;
  };
  const start = async (box) => {
    const holder = box.closest("[data-heat-map]"), column = box.closest("[data-run]");
    const map = { box, column, chosen: -1, elements: [], run: null, choice: null };
    maps.set(box, map);
    try {
      const [run] = await tokenData.load([holder.dataset.heatRun]);
      const choice = run && run.choices.get(Number(holder.dataset.choice));
      if (!choice || !choice.total) { holder.hidden = true; return; }
      Object.assign(map, { run, choice });
      const lost = choice.unplaced;
      note(box, lost ? `${lost} of ${choice.total} tokens ${lost === 1 ? "is" : "are"} not in the text of the output; ${lost === 1 ? "it is" : "they are"} outlined.` : "");
      await fill(map);
    } catch (error) {
      box.removeAttribute("aria-busy");
      note(box, error.message);
      maps.delete(box);
    }
  };

  /* --- The chosen token --- */
  const number = (map, position) => {
    const { prompt, total } = map.choice;
    return position < prompt ? `prompt ${position + 1}/${prompt}` : `${position - prompt + 1}/${total - prompt}`;
  };
  const spoken = (map, position) => {
    const token = map.choice.tokens[position], share = probability.share(token.logprob);
    return `${spelled(token)}, ${share === null ? "probability unknown" : probability.percent(share)}, token ${number(map, position)}`;
  };
  const choose = (map, position, reveal = true) => {
    const span = map.elements[position];
    if (!span) return;
    const before = map.elements[map.chosen];
    if (before) { before.setAttribute("aria-selected", "false"); before.removeAttribute("id"); name(before, map.choice.tokens[map.chosen]); }
    map.chosen = position;
    span.id = `${map.box.id}-chosen`;
    span.setAttribute("aria-selected", "true");
    span.setAttribute("aria-label", spoken(map, position));
    map.box.setAttribute("aria-activedescendant", span.id);
    if (reveal) span.scrollIntoView({ block: "nearest", inline: "nearest" });
    map.box.dispatchEvent(new CustomEvent("playground:token", { bubbles: true, detail: { map, position } }));
  };
  /* The token above or below: the nearest one in the next line. */
  const vertical = (map, step) => {
    const here = map.elements[map.chosen].getBoundingClientRect(), middle = here.left + here.width / 2;
    let best = -1, gap = Infinity, line = null;
    for (let i = map.chosen + step; map.elements[i]; i += step) {
      const rects = map.elements[i].getClientRects(), rect = rects[step > 0 ? 0 : rects.length - 1];
      if (!rect || Math.abs(rect.top - (step > 0 ? here.bottom - here.height : here.top)) < here.height / 2) continue;
      if (line === null) line = rect.top;
      if (Math.abs(rect.top - line) > here.height / 2) break;
      const away = Math.abs(rect.left + rect.width / 2 - middle);
      if (away < gap) { gap = away; best = i; }
    }
    return best < 0 ? map.chosen : best;
  };
  const moved = (map, key) => {
    const last = map.elements.length - 1, at = map.chosen;
    const forward = getComputedStyle(map.box).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
    if (at < 0 && /^(Arrow|Home|End|Page)/.test(key)) return key === "End" ? last : Math.min(map.choice.prompt, last);
    if (key === "ArrowRight" || key === "ArrowLeft") return at + (key === forward ? 1 : -1);
    if (key === "ArrowDown" || key === "ArrowUp") return vertical(map, key === "ArrowDown" ? 1 : -1);
    return { Home: 0, End: last, PageDown: Math.min(last, at + PAGE_STEP), PageUp: Math.max(0, at - PAGE_STEP) }[key];
  };
  const move = (map, key) => {
    const next = moved(map, key);
    if (next === undefined) return false;
    choose(map, Math.max(0, Math.min(map.elements.length - 1, next)));
    return true;
  };

  document.addEventListener("keydown", (event) => {
    const map = event.target.matches && event.target.matches("[data-tokens]") ? maps.get(event.target) : null;
    if (!map || !map.elements.length || event.ctrlKey || event.metaKey || event.altKey) return;
    if (move(map, event.key)) event.preventDefault();
    else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      if (map.chosen < 0) choose(map, Math.min(map.choice.prompt, map.elements.length - 1));
      playground.alternatives.open(map, true);
    }
  });
  const under = (event) => {
    const span = event.target.closest && event.target.closest("[data-tokens] .tok[data-i]");
    const map = span && maps.get(span.closest("[data-tokens]"));
    return map && map.choice ? { map, position: Number(span.dataset.i) } : null;
  };
  document.addEventListener("click", (event) => {
    const found = under(event);
    if (!found || getSelection().toString()) return;
    choose(found.map, found.position, false);
    found.map.box.focus({ preventScroll: true });
    playground.alternatives.open(found.map, false);
  });
  document.addEventListener("pointerover", (event) => {
    const found = under(event);
    if (found) found.map.box.dispatchEvent(new CustomEvent("playground:point", { bubbles: true, detail: found }));
  });

  const look = () => {
    for (const [box] of maps) if (!box.isConnected) maps.delete(box);
    document.querySelectorAll("[data-tokens]").forEach((box) => { if (!maps.has(box)) start(box); });
  };
  document.addEventListener("htmx:afterSettle", look);
  document.addEventListener("htmx:oobAfterSwap", look);

  playground.heat = { maps, choose, move, number, signs, hex, look };
})();
