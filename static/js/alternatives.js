/* What might have stood in the place of a token: a popover with bars, and going on from one of them. */
(() => {
  const playground = (window.playground = window.playground || {});
  const { probability, tokenData } = playground;
  const SVG = "http://www.w3.org/2000/svg";
  const GAP = 6; // px between the token and the popover
  const WHY = {
    half: "This is only a part of a character, and half a character cannot be sent as text.",
    end: "This has no text of its own, such as the end of the answer.",
  };
  const pop = () => document.getElementById("alternatives");
  const $ = (name) => pop().querySelector(`[data-pop-${name}]`);
  let open = null; // {map, position, chosen}

  const bar = (share) => {
    const svg = document.createElementNS(SVG, "svg"), rect = document.createElementNS(SVG, "rect");
    svg.setAttribute("class", "bar");
    svg.setAttribute("aria-hidden", "true");
    rect.setAttribute("width", `${(100 * (share || 0)).toFixed(2)}%`);
    rect.setAttribute("height", "100%");
    rect.setAttribute("rx", "2");
    svg.append(rect);
    return svg;
  };
  const named = (each) => (each.text ? playground.heat.signs(each.text) : playground.heat.hex(each.bytes) || "∅");

  /* --- What is shown --- */
  const row = (each, index, token, offered) => {
    const item = document.createElement("li"), button = document.createElement(offered ? "button" : "div");
    const text = document.createElement("span"), share = document.createElement("span");
    button.className = "alt";
    if (offered) { button.type = "button"; button.dataset.alternative = index; }
    if (index === token.taken) button.setAttribute("aria-current", "true");
    text.className = "alt__tok";
    const signs = document.createElement("bdi");
    signs.textContent = named(each);
    text.append(signs);
    share.className = "alt__p";
    share.textContent = probability.percent(probability.share(each.logprob));
    button.append(text, bar(probability.share(each.logprob)), share);
    item.append(button);
    return item;
  };
  /* The letters of other columns that took this one in the same place. */
  const letters = async (list, at) => {
    const { map, position } = at, mine = map.choice.tokens[position];
    if (mine.start === null || mine.prompt) return;
    for (const run of await tokenData.known()) {
      const choice = run.choices.get(0), other = choice && choice.tokens[position - map.choice.prompt + choice.prompt];
      if (open !== at || run === map.run || !other || !other.text || other.start - choice.base !== mine.start - map.choice.base) continue;
      const index = mine.top.findIndex((each) => each.text === other.text), place = list.children[index];
      if (!place || !document.querySelector(`[data-run="${run.run}"]`)) continue;
      const mark = document.createElement("span"), said = document.createElement("span");
      mark.className = "letter letter--sm";
      mark.setAttribute("aria-hidden", "true");
      mark.textContent = run.letter;
      said.className = "vh";
      said.textContent = `, taken by column ${run.letter}`;
      place.querySelector(".alt__tok").append(mark, said);
    }
  };
  const reason = (map, token) => {
    if (!map.run.may_continue) return null;
    if (map.run.refusal) return map.run.refusal;
    return token.start === null ? "This token is not in the text of the output, so nothing can be continued from it." : "";
  };
  const show = () => {
    const { map, position } = open, token = map.choice.tokens[position], why = reason(map, token);
    $("token").textContent = token.text ? playground.heat.signs(token.text) : token.inside ? "(part of a character)" : playground.heat.hex(token.bytes) || "∅";
    $("place").textContent = playground.heat.number(map, position);
    const known = token.top.some((each) => each.logprob !== null);
    $("list").replaceChildren(...(known ? token.top.map((each, index) => row(each, index, token, why === "")) : []));
    $("list").hidden = !known;
    const entropy = probability.entropy(token.top), rest = probability.rest(token.top);
    $("shown").textContent = known ? `${probability.percent(1 - rest)} shown` : "No probability came for this token.";
    $("entropy").textContent = entropy === null ? "" : `entropy ${rest > 0.001 ? "≥ " : ""}${entropy.toFixed(2)} bit`;
    $("note").textContent = why || "";
    $("note").hidden = !why;
    $("continue").hidden = true;
    $("error").hidden = true;
    open.chosen = -1;
    letters($("list"), open);
    place();
  };
  const pick = (index) => {
    const { map, position } = open, token = map.choice.tokens[position], each = token.top[index];
    open.chosen = index;
    pop().querySelectorAll("[data-alternative]").forEach((button) => { button.classList.toggle("is-chosen", Number(button.dataset.alternative) === index); });
    const refused = each.why ? WHY[each.why] : "";
    const before = position - (token.prompt ? 0 : map.choice.prompt);
    const kept = token.prompt ? "the prompt up to here" : before ? `the prompt and the first ${before === 1 ? "token" : `${before} tokens`} of this answer` : "the prompt";
    $("what").textContent = refused || `Starts 1 run with the same settings: ${kept}, then “${named(each)}”. ${map.run.note}`.trim();
    $("go").hidden = Boolean(refused);
    $("go").disabled = false;
    $("continue").hidden = false;
    $("error").hidden = true;
    place();
    (refused ? $("what") : $("go")).focus({ preventScroll: true });
  };
  const go = async () => {
    const { map, position, chosen } = open;
    $("go").disabled = true;
    let said = "The server cannot be reached. Nothing was sent; try again in a moment.";
    try {
      const response = await playground.post(`${map.column.dataset.url}branch/`, { choice: map.choice.index, token: position, alternative: chosen });
      const found = await response.json().catch(() => ({}));
      if (found.url) { location.assign(found.url); return; }
      said = found.error || `The server answered with an error (${response.status}). Nothing was sent.`;
    } catch { /* said below */ }
    $("error").textContent = said;
    $("error").hidden = false;
    $("go").disabled = false;
    playground.announce(said, true);
  };

  /* --- Where it stands, and the focus --- */
  const place = () => {
    if (!open) return;
    const span = open.map.elements[open.position];
    if (!span || !span.isConnected || !span.getClientRects().length) return close(false);
    const rects = span.getClientRects(), rect = rects[0], box = pop().getBoundingClientRect();
    const below = rects[rects.length - 1].bottom + GAP, above = rect.top - GAP - box.height;
    const top = below + box.height <= innerHeight - GAP || above < GAP ? Math.min(below, innerHeight - box.height - GAP) : above;
    const left = Math.max(GAP, Math.min(rect.left - 12, document.documentElement.clientWidth - box.width - GAP));
    pop().style.setProperty("left", `${left}px`);
    pop().style.setProperty("top", `${Math.max(GAP, top)}px`);
  };
  const close = (focus) => {
    if (!open) return;
    const { map } = open, inside = pop().contains(document.activeElement);
    open = null;
    if (pop() && pop().matches(":popover-open")) pop().hidePopover();
    if ((focus || inside) && map.box.isConnected) map.box.focus({ preventScroll: true });
  };
  const enter = () => {
    const current = pop().querySelector("button.alt[aria-current]") || pop().querySelector("button.alt") || pop().querySelector("[data-pop-close]");
    current.focus({ preventScroll: true });
  };
  const opening = (map, focus) => {
    open = { map, position: map.chosen, chosen: -1 };
    const holder = map.box.closest("dialog") || document.getElementById("main"); // what is outside of an open dialog cannot be used
    if (pop().parentElement !== holder) holder.append(pop());
    if (!pop().matches(":popover-open")) pop().showPopover();
    show();
    if (focus) enter();
  };

  document.addEventListener("playground:token", (event) => {
    if (!open || event.detail.map !== open.map || event.detail.position === open.position) return;
    const inside = pop().contains(document.activeElement);
    open.position = event.detail.position;
    show();
    if (inside) enter();
  });
  document.addEventListener("keydown", (event) => {
    if (!open) return;
    if (event.key === "Escape") { event.preventDefault(); event.stopImmediatePropagation(); close(true); return; }
    if (!pop().contains(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
    const buttons = [...pop().querySelectorAll("button.alt")], at = buttons.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && buttons.length) {
      event.preventDefault();
      buttons[at < 0 ? 0 : (at + step + buttons.length) % buttons.length].focus({ preventScroll: true });
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      event.preventDefault();
      playground.heat.move(open.map, event.key);
    } else if (event.key === "Tab") { // it stays inside until Esc
      const all = [...pop().querySelectorAll("button:not([disabled]):not([hidden])")].filter((each) => each.getClientRects().length);
      const next = all.indexOf(document.activeElement) + (event.shiftKey ? -1 : 1);
      event.preventDefault();
      all[(next + all.length) % all.length].focus({ preventScroll: true });
    }
  }, true);
  document.addEventListener("click", (event) => {
    if (!open) return;
    const alternative = event.target.closest("[data-alternative]");
    if (alternative) pick(Number(alternative.dataset.alternative));
    else if (event.target.closest("[data-pop-go]")) go();
    else if (event.target.closest("[data-pop-close]")) close(true);
    else if (!pop().contains(event.target) && !event.target.closest(".tok")) close(false);
  });
  const gone = () => { if (open && !open.map.box.isConnected) close(false); };
  document.addEventListener("htmx:afterSettle", gone);
  document.addEventListener("htmx:oobAfterSwap", gone);
  addEventListener("resize", place);
  document.addEventListener("scroll", (event) => { if (open && !pop().contains(event.target)) requestAnimationFrame(place); }, true);
  document.addEventListener("playground:view", () => close(false));
  document.addEventListener("close", (event) => { if (open && event.target.contains(open.map.box)) close(false); }, true); // its dialog

  playground.alternatives = { open: opening, close, bar, named };
})();
