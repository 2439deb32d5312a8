/* Where columns part: what all of them say alike is greyed, and the place of the first difference is
   marked in each. Drawn over the text, never in it, so that a stream goes on undisturbed and copying
   gives the real text. Offsets are those of whole characters as people see them. */
(() => {
  const playground = (window.playground = window.playground || {});
  const { announce } = playground;
  const KEY = "part", PAUSE = 150; // ms between two looks while text flows
  const SHOWN = 40; // characters that are said of each column
  const marks = "highlights" in CSS && typeof Highlight === "function";
  /* Made when first needed: the first use of Intl takes 20 ms. */
  let segmenter = null;
  const segments = () => {
    if (!segmenter && typeof Intl.Segmenter === "function") segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });
    return segmenter;
  };
  const stored = () => { try { return localStorage.getItem(KEY) !== "off"; } catch { return true; } };
  let on = stored(), found = null;

  /* --- Pure: texts in, offset out --- */
  const alike = (texts) => {
    const [first] = texts, most = Math.min(...texts.map((text) => text.length));
    let end = most;
    for (const text of texts) {
      if (text.startsWith(first.slice(0, end))) continue;
      let low = 0, high = end; // binary: the texts may be long
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (text.startsWith(first.slice(0, middle))) low = middle; else high = middle - 1;
      }
      end = low;
    }
    return end;
  };
  /* The last boundary between characters at or before `at`, from a safe place a little before it. */
  const boundary = (text, at) => {
    if (at >= text.length) return text.length;
    const back = Math.max(text.lastIndexOf("\n", at - 1), text.lastIndexOf(" ", at - 1), at - 400, 0);
    const half = text.charCodeAt(back);
    const from = half >= 0xdc00 && half <= 0xdfff ? back - 1 : back;
    if (!segments()) { const code = text.charCodeAt(at); return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at; }
    let last = from;
    for (const each of segments().segment(text.slice(from, at + 64))) {
      if (from + each.index > at) break;
      last = from + each.index;
    }
    return last;
  };
  /* {at, all}: units that all texts begin with; `all`: they say the same and nothing more. `open`: some
     of them still grow, so that one that has ended its text so far may go on alike. */
  const parting = (texts, open = []) => {
    if (texts.length < 2) return null;
    const raw = alike(texts);
    const at = Math.min(...texts.map((text) => boundary(text, raw)));
    const same = texts.every((text) => text.length === raw);
    const waits = texts.some((text, i) => text.length === raw && open[i]);
    return { at, all: same, waits };
  };

  /* --- The texts of the page --- */
  const columns = () => [...document.querySelectorAll("#outputs [data-run]")];
  const outOf = (column) => column.querySelector('.out[data-choice="0"]');
  const live = (column) => ["queued", "running"].includes(column.dataset.status);
  const compared = () => columns().map((column) => ({ column, out: outOf(column) })).filter(({ column, out }) => (
    out && !("tail" in out.dataset) && (out.textContent || (!live(column) && column.dataset.status === "completed"))
  )).map((each) => ({ ...each, text: each.out.textContent, open: live(each.column) }));
  const place = (out, at) => {
    const walker = document.createTreeWalker(out, NodeFilter.SHOW_TEXT);
    let left = at, last = null;
    while (walker.nextNode()) {
      const node = walker.currentNode;
      if (left < node.length || (left === node.length && !last && left === 0)) return [node, left];
      left -= node.length;
      last = node;
    }
    return last ? [last, last.length] : [out, 0];
  };
  const range = (out, from, to) => {
    const made = document.createRange();
    made.setStart(...place(out, from));
    made.setEnd(...place(out, to));
    return made;
  };

  /* --- Drawing --- */
  const clear = () => {
    document.querySelectorAll(".part--over").forEach((mark) => mark.remove());
    if (marks) CSS.highlights.delete("common");
  };
  const drawMark = ({ out, text }, at) => {
    const body = out.closest(".col__body");
    if (!body || !out.getClientRects().length) return;
    const end = Math.min(text.length, at + 1), spot = range(out, at, end);
    const rect = [...spot.getClientRects()].at(at < text.length ? 0 : -1) || spot.getBoundingClientRect();
    const frame = body.getBoundingClientRect(), mark = document.createElement("span");
    mark.className = "part part--over";
    mark.setAttribute("aria-hidden", "true");
    const rtl = getComputedStyle(out).direction === "rtl";
    const left = at < text.length ? (rtl ? rect.right : rect.left) : rtl ? rect.left : rect.right;
    mark.style.setProperty("left", `${left - frame.left + body.scrollLeft - body.clientLeft - 2}px`);
    mark.style.setProperty("top", `${rect.top - frame.top + body.scrollTop - body.clientTop}px`);
    mark.style.setProperty("height", `${rect.height || 18}px`);
    body.append(mark);
  };
  const tokenMarks = () => {
    document.querySelectorAll(".tok--part").forEach((tok) => tok.classList.remove("tok--part"));
    if (!on || !found || found.all || found.waits || !playground.heat) return;
    for (const map of playground.heat.maps.values()) {
      if (!map.choice || map.choice.index !== 0) continue;
      const index = map.choice.tokens.findIndex((token) => token && !token.prompt && token.start !== null && token.end > found.at);
      if (map.elements[index]) map.elements[index].classList.add("tok--part");
    }
  };
  const said = () => {
    if (!found || (found.all && !found.at)) return ""; // or there is no text at all
    if (found.waits) return "no difference so far";
    return found.all ? "all say the same" : `at character ${found.at + 1}`;
  };
  const show = () => {
    document.querySelectorAll("[data-part-toggle]").forEach((button) => button.setAttribute("aria-pressed", String(on)));
    document.querySelectorAll("[data-part-said]").forEach((place) => { place.textContent = on ? said() : ""; });
    document.querySelectorAll("[data-part-jump]").forEach((button) => { button.hidden = button.disabled = !found || found.all || found.waits; });
  };
  let seen = null;
  const draw = () => {
    const all = compared();
    found = parting(all.map((each) => each.text), all.map((each) => each.open));
    clear();
    show();
    tokenMarks();
    seen = all;
    if (!on || !found || (!found.at && found.waits)) return;
    if (marks && found.at && !matchMedia("(forced-colors: active)").matches) { // there it would stand out
      const ranges = all.filter(({ out }) => out.getClientRects().length).map(({ out }) => range(out, 0, found.at));
      CSS.highlights.set("common", new Highlight(...ranges));
    }
    if (!found.all && !found.waits) all.forEach((each) => drawMark(each, found.at));
  };
  let timer = 0;
  const soon = () => { if (!timer) timer = setTimeout(() => { timer = 0; draw(); }, PAUSE); };

  /* --- Jump and toggle --- */
  const jump = () => {
    draw();
    if (!found || found.all || found.waits) { announce(said() || "There is nothing to compare"); return; }
    if (!on) toggle();
    const all = compared();
    all.forEach(({ out }) => {
      const body = out.closest(".col__body"), tok = body.closest("[data-run]").querySelector(".tok--part");
      if (tok && tok.getClientRects().length) { tok.scrollIntoView({ block: "center", inline: "nearest" }); return; }
      const mark = body.querySelector(".part--over");
      if (mark) body.scrollTop = Math.max(0, mark.offsetTop - body.clientHeight / 3);
    });
    const outputs = document.getElementById("outputs"), first = all[0] && all[0].column;
    if (first && (first.getBoundingClientRect().top > innerHeight * 0.7 || first.getBoundingClientRect().bottom < 80)) outputs.scrollIntoView({ block: "start" });
    const words = all.map(({ column, text }) => `${column.querySelector(".letter").textContent}: ${text.slice(found.at, found.at + SHOWN).trim().split("\n")[0] || "ends"}`);
    announce(`Columns part at character ${found.at + 1}. ${words.join(". ")}`);
  };
  const toggle = () => {
    on = !on;
    try { localStorage.setItem(KEY, on ? "on" : "off"); } catch { /* private mode */ }
    draw();
  };
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-part-jump]")) jump();
    if (event.target.closest("[data-part-toggle]")) toggle();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "d" || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
    if (event.target.closest("input, textarea, select, dialog, [contenteditable]") || columns().length < 2) return;
    event.preventDefault();
    jump();
  });

  /* Text that flows, columns that come and end, another view, another width. */
  /* Once columns have parted, text at their ends changes nothing. */
  const settled = (changes) => found && !found.all && !found.waits && seen
    && !changes.some((change) => change.removedNodes.length)
    && changes.every((change) => seen.some(({ out }) => out.contains(change.target)));
  const OUTPUTS = "[data-run], .columns, #outputs, .out[data-choice]";
  /* In an output, or an output or column that comes or goes; figures beside them change all the time. */
  const texts = (change) => {
    const target = change.target.nodeType === 1 ? change.target : change.target.parentElement;
    if (target?.closest(".out[data-choice]")) return true;
    return [...change.addedNodes, ...change.removedNodes].some((node) => node.nodeType === 1 && (node.matches(OUTPUTS) || node.querySelector(OUTPUTS)));
  };
  new MutationObserver((changes) => {
    const meant = changes.filter(texts);
    if (meant.length && !settled(meant)) soon();
  })
    .observe(document.getElementById("main"), { childList: true, characterData: true, subtree: true });
  new ResizeObserver(soon).observe(document.getElementById("main"));
  ["playground:view", "playground:heat", "htmx:afterSettle", "htmx:oobAfterSwap"].forEach((name) => document.addEventListener(name, soon));
  soon(); // not while the page loads: where text stands is only known once all is laid out

  playground.parting = parting;
})();
