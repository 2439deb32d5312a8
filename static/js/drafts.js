/* What stands in the form is saved on the server while one types, and when one leaves. */
(() => {
  const playground = (window.playground = window.playground || {});
  const PAUSE = 800; // ms without a key after which the form is saved
  const LONGEST = 5_000; // ms that somebody who types without a pause waits for it
  const LONG = 256 * 1024; // characters above which it waits longer, so that typing stays fluent
  const BEACON = 60_000; // bytes that a page may still send while it goes away

  /* `state`: {page, version, saved_at, waiting, fresh, other} of views/drafts.py.
     `host`: document(), put(document), blank(), emptied() → this document without its input, write()
     the caret where one writes, undo(sentence, before), compose (address). */
  playground.drafts = (state, host) => {
    const menu = document.getElementById("drafts-menu"), said = menu.querySelector("[data-draft-state]");
    const holder = document.getElementById("draft-note");
    const text = () => JSON.stringify(host.document());
    let saved = text(), keep = Boolean(state.fresh), ran = null, busy = null, stopped = false, timer = 0, since = 0, left = false;

    const time = (stamp) => { const at = new Date(stamp); return at.toDateString() === new Date().toDateString() ? at.toTimeString().slice(0, 5) : at.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" }); };
    const tell = (words) => { said.textContent = words; };
    const note = (words, ...acts) => {
      const made = document.getElementById("draft-note-template").content.firstElementChild.cloneNode(true);
      made.querySelector("[data-text]").textContent = words;
      acts.forEach(([label, act]) => {
        const control = document.createElement(typeof act === "string" ? "a" : "button");
        control.className = "btn btn--sm";
        control.textContent = label;
        if (typeof act === "string") control.href = act; else { control.type = "button"; control.addEventListener("click", () => { holder.replaceChildren(); act(); }); }
        made.querySelector("[data-acts]").append(control);
      });
      holder.replaceChildren(made);
      playground.announce(words);
    };

    const send = (fields, keepalive = false) => {
      const body = new FormData();
      Object.entries(fields).forEach(([key, value]) => body.append(key, value));
      return fetch(menu.dataset.save, { method: "POST", headers: { "X-CSRFToken": playground.token(), "HX-Request": "true" }, body, credentials: "same-origin", keepalive });
    };
    const fields = (document, version) => ({ document, version, page: state.page, ...(keep ? { keep: "1" } : {}), ...(ran === null ? {} : { ran }) });
    const pending = () => !stopped && !left && (saved !== text() || ran !== null);

    /* One request at a time, each over the version before. */
    const save = async () => {
      clearTimeout(timer);
      since = 0;
      if (busy) { await busy; }
      if (!pending()) return;
      const now = text(), marked = ran;
      busy = (async () => {
        try {
          const response = await send(fields(now, state.version));
          if (response.status === 409) { conflict(await response.json()); return; }
          if (!response.ok) { tell([401, 403].includes(response.status) ? "Not saved: log in again" : response.status === 413 ? "Not saved: too big" : "Not saved"); return; }
          state.version = (await response.json()).version;
          saved = now;
          keep = false;
          if (ran === marked) ran = null;
          tell(`Saved ${time(Date.now())}`);
        } catch { tell("Not saved: no connection"); again(5_000); }
      })();
      await busy;
      busy = null;
      if (pending()) again();
    };
    const again = (pause) => {
      clearTimeout(timer);
      since = since || Date.now();
      const wait = pause || (saved.length > LONG ? 6 * PAUSE : PAUSE);
      timer = setTimeout(save, pause ? pause : Math.max(0, Math.min(wait, since + LONGEST - Date.now())));
    };
    /* The next page may be asked for before this is saved: a copy waits in the tab. */
    const COPY = "playground-draft";
    const aside = (now) => {
      try { sessionStorage.setItem(COPY, JSON.stringify({ user: state.user, page: state.page, version: state.version, document: JSON.parse(now) })); } catch { /* no room, or private mode */ }
    };
    const waiting = () => {
      let found = null;
      try { found = JSON.parse(sessionStorage.getItem(COPY)); sessionStorage.removeItem(COPY); } catch { /* private mode */ }
      return found && found.user === state.user && String(found.page) === String(state.page) && !state.fresh ? found : null;
    };
    const sorted = (value) => (value && typeof value === "object" && !Array.isArray(value) ? Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])])) : Array.isArray(value) ? value.map(sorted) : value);
    const alike = (one, other) => JSON.stringify(sorted({ ...one, force: false })) === JSON.stringify(sorted({ ...other, force: false }));
    let copy = null;
    /* Where another tab was first, the server puts this form among the kept drafts. */
    const leave = () => {
      const now = text();
      if (!pending() && !(stopped && now !== saved)) return;
      aside(now);
      const version = state.version + (busy ? 1 : 0);
      send({ ...fields(now, version), leaving: "1" }, now.length < BEACON).then(async (response) => { if (response.ok) { state.version = (await response.json()).version; saved = now; keep = false; ran = null; } }).catch(() => {});
    };
    document.addEventListener("visibilitychange", () => { if (document.hidden && !busy) save(); });
    window.addEventListener("pagehide", leave);

    /* Two tabs: the second one decides, and what loses is kept. */
    const conflict = (there) => {
      stopped = true;
      tell("Not saved: changed in another tab");
      /* What the other page sent while it left is what this one began with. */
      if (copy && there.document && alike(copy, there.document)) { stopped = false; state.version = there.version; again(); return; }
      const mine = () => { stopped = false; state.version = there.version; keep = true; saved = ""; save(); };
      if (!there.document) { mine(); return; }
      note(`This form was changed in another tab at ${time(there.saved_at)}. What you see here is not saved.`,
        ["Take the other tab’s", () => {
          const before = JSON.parse(text());
          state.version = there.version;
          host.put(there.document);
          saved = text();
          stopped = false;
          host.undo("The form is as in the other tab.", before);
        }],
        ["Keep this one", mine]);
    };

    /* --- Kept drafts, and an empty form --- */
    menu.addEventListener("toggle", (event) => {
      if (event.newState !== "open") return;
      htmx.ajax("GET", menu.dataset.url, { source: menu, target: "#drafts", swap: "outerHTML" });
    });
    menu.addEventListener("click", async (event) => {
      const button = event.target.closest("[data-draft]");
      if (!button) return;
      menu.hidePopover();
      const response = await playground.post(button.dataset.draft, {}).catch(() => null);
      const found = response && response.ok && !response.redirected ? await response.json() : null;
      if (!found || !found.document) { playground.failed("draft", "The draft could not be loaded."); return; }
      playground.worked("draft");
      replace(found.document, "The draft is back in the form.");
    });
    /* Another document in the place of this one, which stays among the drafts. */
    const replace = (found, sentence) => {
      const before = JSON.parse(text());
      host.put(found);
      keep = true;
      save();
      host.undo(sentence, before);
    };
    /* An empty input under the same settings, or an empty form. */
    const STAYS = "The prompt is empty; the settings stay.", EMPTIED = "playground-emptied";
    const renew = async (all) => {
      const [found, sentence] = all ? [host.blank(), "The form is empty."] : [host.emptied(), STAYS];
      menu.hidePopover();
      if (!document.getElementById("outputs").dataset.comparison) { replace(found, sentence); host.write(); return; }
      /* The page shows a run: an empty prompt has a page of its own. */
      const before = text();
      await save();
      const working = state.page === "" ? state.version : state.working;
      let version = working;
      for (let tries = 0; tries < 3; tries += 1) {
        const response = await send({ document: JSON.stringify(found), version, page: "", keep: "1", ran: "" }).catch(() => null);
        if (response && response.status === 409) { version = (await response.json()).version; continue; }
        if (!response || !response.ok) { playground.failed("new", "The form could not be emptied: the server did not answer."); return; }
        break;
      }
      left = true;
      try { sessionStorage.setItem(EMPTIED, JSON.stringify({ sentence, before: JSON.parse(before) })); } catch { /* no room, or private mode */ }
      location.assign(host.compose);
    };
    document.querySelectorAll("[data-new]").forEach((button) => button.addEventListener("click", () => renew(button.dataset.new === "all")));
    /* What was in the form before, on the page that New has led to. */
    const emptied = () => {
      let found = null;
      try { found = JSON.parse(sessionStorage.getItem(EMPTIED)); sessionStorage.removeItem(EMPTIED); } catch { /* private mode */ }
      if (found && state.page === "") host.undo(found.sentence, found.before);
    };
    emptied();

    const typed = waiting();
    const differs = typed && !alike(typed.document, host.document());
    if (typed && typed.version === state.version) copy = typed.document;
    if (copy && differs) { host.put(copy); again(); }
    if (state.saved_at) tell(`Saved ${time(state.saved_at)}`);
    if (differs && !copy) note("Another tab has changed this form. What you typed here is kept.", ["Put it back", () => replace(typed.document, "What you typed is back in the form.")]);
    else if (state.before) note(`Your draft of ${time(state.waiting)} is kept.`, ["Back to the draft", () => replace(state.before, "Your draft is back in the form.")]);
    else if (state.waiting) note(`Your draft of ${time(state.waiting)} is kept.`, ["Back to the draft", host.compose]);
    else if (state.other) note("The form holds what you changed after this run.", ["Show it as it was run", "?as-run"]);
    return {
      touch: () => { if (!stopped && !left) again(); },
      /* What is replaced stays among the drafts. */
      keep: () => { keep = true; save(); },
      /* A run has begun from this form: its page goes on with it. */
      begun: (comparison) => {
        holder.replaceChildren();
        if (state.page === "") { ran = comparison; save(); return; } // so that a reload of its page goes on
        if (String(state.page) === comparison) return;
        state.page = comparison;
        state.version = 0;
        saved = text();
      },
    };
  };
})();
