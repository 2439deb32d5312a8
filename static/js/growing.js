/* The prompt grows by what the model wrote: append an output and go on, take the last piece back,
   see the next tokens as a ghost before they are taken. */
(() => {
  const playground = (window.playground = window.playground || {});
  const AHEAD = 16; // tokens of a preview
  const LOOK = 300; // ms between two looks at a preview that is not there yet
  const LONGEST = 60_000; // ms after which a preview is given up

  /* `host`: document(), current() → position, put(prompt), replace(prompt) with a way back, filled() →
     the prompt with its variables or null, multiplies(), previewed(position, tokens, label) → what is
     posted, goOn(). */
  playground.growing = (form, host) => {
    const text = document.getElementById("prompt"), back = form.querySelector("[data-undo-generation]");
    const ghost = form.querySelector("[data-ghost]"), said = ghost.querySelector("[data-ghost-text]"), fault = ghost.querySelector("[data-ghost-fault]");
    const foreign = playground.foreign(form);
    const grown = []; // {at, text}: pieces that were appended, the newest last; `at` is -1 where one was edited
    let known = ""; // the prompt in which they stand
    const plain = () => host.document().mode === "text";
    const lines = (words) => words.replace(/\r\n?/g, "\n");
    /* In another prompt there is none of them, and what was looked ahead from here does not go on from there. */
    const show = () => {
      foreign.close();
      if (text.value !== known) { grown.length = 0; known = text.value; close(); }
      showBack();
    };
    const write = (words) => { known = lines(words); host.put(words); }; // a text box ends its lines in one way
    /* Where the pieces are after an edit, which ends at the caret. */
    const follow = () => {
      const now = text.value, most = Math.min(now.length, known.length), rest = now.slice(text.selectionEnd);
      const last = known.endsWith(rest) && rest.length <= most ? rest.length : 0;
      let first = 0;
      while (first < most - last && now[first] === known[first]) first += 1;
      const end = known.length - last, by = now.length - known.length;
      grown.forEach((piece) => {
        if (piece.at >= end) piece.at += by; else if (piece.at + piece.text.length > first) piece.at = -1;
      });
      known = now;
    };
    const showBack = () => { back.hidden = !grown.length || !plain(); };
    const extend = (piece) => {
      grown.push({ at: text.value.length, text: lines(piece) });
      write(text.value + piece);
      text.focus();
      text.setSelectionRange(text.value.length, text.value.length);
      text.scrollTop = text.scrollHeight;
      showBack();
    };
    const undo = () => {
      const last = grown.at(-1);
      if (!last || !plain()) { playground.announce("No generation is in the prompt."); return; }
      const now = text.value, { at } = last;
      grown.pop();
      showBack();
      if (at < 0) { playground.announce("The last generation was edited; it stays.", true); return; }
      write(now.slice(0, at) + now.slice(at + last.text.length));
      text.focus();
      text.setSelectionRange(at, at);
      playground.announce("The last generation is taken back.");
    };

    /* --- Append an output and go on --- */
    const continuation = async (article) => {
      const response = await fetch(`${article.dataset.url}continuation/`, { credentials: "same-origin" }).catch(() => null);
      if (response?.ok) { playground.worked("append"); return response.json(); }
      playground.failed("append", "The output could not be read. Nothing was appended; try again in a moment.");
      return null;
    };
    const chosen = () => document.activeElement.closest("#outputs [data-run]")
      || [...document.querySelectorAll("#outputs [data-run]:not([data-status=queued], [data-status=running])")].find((each) => each.querySelector(".out")?.textContent);
    const append = async (article) => {
      if (!plain()) { playground.announce("Only a text prompt can go on from an output; use Continue for messages.", true); return; }
      if (!article) { playground.announce("There is no output to append.", true); return; }
      const found = await continuation(article);
      if (!found) return;
      if (!found.output) { playground.announce("There is no output to append.", true); return; }
      close();
      if (await settled(found)) host.goOn();
    };
    /* Whether the output now stands in the form behind a prompt that somebody has meant for it. */
    const settled = async ({ prompt, output }) => {
      const now = lines(host.filled() ?? "\0"), own = prompt === null ? null : lines(prompt);
      if (own !== null && now === own + lines(output)) return true; // it was appended before, and was not sent
      if (now !== own) {
        const meant = await foreign.ask(own !== null);
        if (!meant) return false;
        if (meant === "own") host.replace(prompt);
      }
      extend(output);
      playground.announce("The output is in the prompt; it goes on.");
      return true;
    };

    /* --- The ghost --- */
    let turn = 0, shown = "";
    const close = () => { turn += 1; shown = ""; ghost.hidden = true; };
    const draw = (words, busy = false) => {
      said.textContent = words;
      said.hidden = !words;
      fault.hidden = Boolean(words);
      ghost.hidden = false;
      ghost.toggleAttribute("data-busy", busy);
      ghost.toggleAttribute("data-failed", !words);
      ghost.querySelector("[data-ghost-again]").textContent = words ? "Another" : "Try again";
      ghost.querySelectorAll("[data-take]").forEach((each) => { each.hidden = !busy && !shown; each.disabled = busy; });
    };
    /* {title, words, status}: what went wrong, in the provider's own words where it has any. */
    const drawFault = (found) => {
      ["title", "words", "status"].forEach((part) => { const place = fault.querySelector(`[data-${part}]`); place.textContent = found[part] || ""; place.hidden = !found[part]; });
      draw("");
      playground.announce([found.title, found.words].filter(Boolean).join(" "), true);
    };
    const textAt = (from, selector) => from.querySelector(selector)?.textContent.trim() || "";
    const refusal = (page, status) => ({
      title: textAt(page, "h2") || `No preview (${status}).`,
      words: [...page.querySelectorAll("li")].map((line) => line.textContent.trim().replace(/\s+/g, " ")).join("\n"),
    });
    const faultOf = (article) => {
      const notice = article.querySelector("[data-endings] .notice");
      return notice && { title: textAt(notice, "h4, strong"), words: textAt(notice, "pre"), status: textAt(notice, "[data-status-said]") };
    };
    const preview = async () => {
      if (!plain() || !text.value) { playground.announce("Write a text prompt first.", true); return; }
      if (host.multiplies()) { playground.notice("A preview is one request. Take variables and lists of values out of the form first."); return; }
      const own = ++turn, position = host.current();
      shown = "";
      draw("looking ahead…", true);
      const fail = (found) => { if (own === turn) drawFault(found); };
      try {
        const response = await playground.post(form.action, { document: host.previewed(position, AHEAD, ghost.dataset.label) });
        const made = new DOMParser().parseFromString(await response.text(), "text/html");
        const run = made.querySelector("[data-run]");
        if (!response.ok || !run) { fail(refusal(made, response.status)); return; }
        const piece = await ended(run.dataset.run, own);
        if (own !== turn) return;
        if (piece.fault && !piece.text) { fail(piece.fault); return; }
        shown = piece.text;
        if (!shown) { draw("The model has nothing to add."); playground.announce("The model has nothing to add.", true); return; }
        draw(shown);
        playground.announce(`Preview: ${shown}. Tab takes it, Control and right arrow one word, Alt G another.`);
      } catch { fail({ title: "The server cannot be reached." }); }
    };
    const ended = async (run, own) => {
      for (const begun = Date.now(); Date.now() - begun < LONGEST;) {
        await new Promise((resolve) => setTimeout(resolve, LOOK));
        if (own !== turn) { playground.post(`${form.dataset.runs}${run}/stop/`, {}).catch(() => {}); return { text: "" }; }
        const response = await fetch(`${form.dataset.runs}?ids=${run}`, { headers: { "HX-Request": "true" }, credentials: "same-origin" });
        const article = new DOMParser().parseFromString(await response.text(), "text/html").querySelector("[data-run]");
        if (!response.ok || !article) return { text: "", fault: { title: "The preview is not there any more." } };
        if (!["queued", "running"].includes(article.dataset.status)) {
          return { text: article.querySelector('.out[data-choice="0"]')?.textContent || "", fault: faultOf(article) };
        }
      }
      return { text: "", fault: { title: "The preview took too long." } };
    };
    const word = () => (/^\s*\S+/.exec(shown) || [shown])[0];
    const take = (piece) => {
      const rest = shown.slice(piece.length);
      extend(piece);
      shown = rest;
      if (rest) draw(rest); else close();
    };

    form.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      if (button === back) undo();
      if ("ghostAsk" in button.dataset) { text.focus(); preview(); } // whose keys take it
      if ("ghostClose" in button.dataset) { close(); text.focus(); }
      if (button.dataset.take === "all") take(shown);
      if (button.dataset.take === "word") take(word());
    });
    document.addEventListener("click", (event) => {
      const button = event.target.closest("[data-append]");
      if (button) append(button.closest("[data-run]") || chosen());
    });
    text.addEventListener("keydown", (event) => {
      if (ghost.hidden || event.isComposing || event.altKey || event.metaKey || event.shiftKey) return;
      if (event.key === "Escape") { event.preventDefault(); event.stopPropagation(); close(); }
      if (!shown) return;
      if (event.key === "Tab" && !event.ctrlKey) { event.preventDefault(); take(shown); }
      if (event.key === "ArrowRight" && event.ctrlKey) { event.preventDefault(); take(word()); }
    });
    text.addEventListener("input", () => { follow(); if (!ghost.hidden) close(); foreign.close(); });
    return { undo, append: () => append(chosen()), preview, show };
  };
})();
