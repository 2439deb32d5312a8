/* What stands in the form is saved on the server while one types, and when one leaves. */
(() => {
  const playground = (window.playground = window.playground || {});
  const PAUSE = 800; // ms without a key after which the form is saved
  const LONGEST = 5_000; // ms that somebody who types without a pause waits for it
  const RETRY = 5_000; // ms after an attempt that failed
  const LONG = 256 * 1024; // characters above which it waits longer, so that typing stays fluent
  const MOST_SENT = 3; // texts whose answer did not come, of which one may have arrived
  const BEACON = 60_000; // bytes that a page may still send while it goes away

  /* `state`: {page, version, saved_at, waiting, fresh, other} of views/drafts.py.
     `host`: document(), put(document), blank(), emptied() → this document without its input, write()
     the caret where one writes, undo(sentence, before), compose (address). */
  playground.drafts = (state, host) => {
    const menu = document.getElementById("drafts-menu"), said = menu.querySelector("[data-draft-state]");
    const holder = document.getElementById("draft-note");
    const text = () => JSON.stringify(host.document());
    let saved = text(), keep = Boolean(state.fresh), ran = null, busy = false, stopped = false, timer = 0, since = 0, touched = 0, left = false;
    let turn = Promise.resolve(); // requests follow each other, each over the version before
    let sent = []; // texts that went out and may have arrived, the last ones; no answer has come

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

    const save = () => {
      clearTimeout(timer);
      timer = since = 0;
      return (turn = turn.then(put));
    };
    const put = async () => {
      if (!pending()) return;
      const now = text(), marked = ran;
      went(now);
      busy = true;
      try {
        const response = await send(fields(now, state.version));
        if (response.status === 409) conflict(await response.json());
        else if (response.ok) arrived((await response.json()).version, now, marked);
        else missed([401, 403].includes(response.status) ? "Not saved: log in again" : response.status === 413 ? "Not saved: too big" : "Not saved");
      } catch { missed("Not saved: no connection"); }
      busy = false;
      if (pending() && !timer) again();
    };
    const missed = (words) => { tell(words); aside(); again(RETRY); };
    const went = (now) => { sent = [...sent, now].slice(-MOST_SENT); };
    const arrived = (version, now, marked) => {
      state.version = version;
      saved = now;
      sent = [];
      keep = false;
      if (ran === marked) ran = null;
      forget();
      tell(`Saved ${time(Date.now())}`);
    };
    const again = (pause = PAUSE) => {
      clearTimeout(timer);
      since = since || Date.now();
      touched = Date.now();
      timer = setTimeout(due, Math.max(0, Math.min(pause, since + LONGEST - Date.now())));
    };
    const due = () => {
      const rest = text().length > LONG ? Math.min(touched + 6 * PAUSE, since + LONGEST) - Date.now() : 0;
      if (rest > 0) timer = setTimeout(due, rest); else save();
    };
    /* The next page may be asked for before this is saved, and the server may be away: a copy waits in the tab. */
    const COPY = "playground-draft";
    const aside = () => {
      try { sessionStorage.setItem(COPY, JSON.stringify({ user: state.user, page: String(state.page), version: state.version, document: JSON.parse(text()), sent, keep, ran })); } catch { /* no room, or private mode */ }
    };
    const forget = () => { try { sessionStorage.removeItem(COPY); } catch { /* private mode */ } };
    const waiting = () => {
      let found = null;
      try { found = JSON.parse(sessionStorage.getItem(COPY)); } catch { /* private mode */ }
      if (!found || found.user !== state.user || state.fresh) return null;
      const here = String(state.page), unmarked = found.page === "" && found.ran === here; // the server has not heard of the run yet
      if (found.page !== here && !unmarked) return null;
      forget();
      if (unmarked) Object.assign(state, { page: "", version: state.working, waiting: "", other: false });
      return found;
    };
    const sorted = (value) => (value && typeof value === "object" && !Array.isArray(value) ? Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])])) : Array.isArray(value) ? value.map(sorted) : value);
    const alike = (one, other) => JSON.stringify(sorted({ ...one, force: false })) === JSON.stringify(sorted({ ...other, force: false }));
    /* What the server has is what this tab sent: no other tab was first. */
    const mine = (there) => sent.some((each) => alike(JSON.parse(each), there));
    /* Where another tab was first, the server puts this form among the kept drafts. */
    const leave = () => {
      const now = text(), marked = ran;
      if (!pending() && !(stopped && now !== saved)) return;
      went(now);
      aside();
      send({ ...fields(now, state.version + (busy ? 1 : 0)), leaving: "1" }, new Blob([now]).size < BEACON)
        .then(async (response) => { if (response.ok) arrived((await response.json()).version, now, marked); }).catch(() => {});
    };
    document.addEventListener("visibilitychange", () => { if (document.hidden) save(); });
    window.addEventListener("pagehide", leave);

    /* Two tabs: the second one decides, and what loses is kept. */
    const conflict = (there) => {
      if (there.document && mine(there.document)) { state.version = there.version; return; }
      const insist = () => { stopped = false; state.version = there.version; keep = true; saved = ""; save(); };
      if (!there.document) { insist(); return; }
      stopped = true;
      tell("Not saved: changed in another tab");
      note(`This form was changed in another tab at ${time(there.saved_at)}. What you see here is not saved.`,
        ["Take the other tab’s", () => {
          const before = JSON.parse(text());
          state.version = there.version;
          host.put(there.document);
          saved = text();
          stopped = false;
          host.undo("The form is as in the other tab.", before);
        }],
        ["Keep this one", insist]);
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
      left = true;
      const working = state.page === "" ? state.version : state.working;
      let version = working;
      for (let tries = 0; tries < 3; tries += 1) {
        const response = await send({ document: JSON.stringify(found), version, page: "", keep: "1", ran: "" }).catch(() => null);
        if (response && response.status === 409) { version = (await response.json()).version; continue; }
        if (!response || !response.ok) { left = false; again(); playground.failed("new", "The form could not be emptied: the server did not answer."); return; }
        break;
      }
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
    if (typed) sent = typed.sent;
    const foreign = differs && typed.version !== state.version && !mine(host.document());
    if (typed && !foreign) ({ keep, ran } = typed);
    if (differs && !foreign) host.put(typed.document);
    if (pending()) again();
    if (state.saved_at) tell(`Saved ${time(state.saved_at)}`);
    if (foreign) note("Another tab has changed this form. What you typed here is kept.", ["Put it back", () => replace(typed.document, "What you typed is back in the form.")]);
    else if (state.before) note(`Your draft of ${time(state.waiting)} is kept.`, ["Back to the draft", () => replace(state.before, "Your draft is back in the form.")]);
    else if (state.waiting) note(`Your draft of ${time(state.waiting)} is kept.`, ["Back to the draft", host.compose]);
    else if (state.other) note("The form holds what you changed after this run.", ["Show it as it was run", "?as-run"]);
    /* What the address asked for has been changed: from here on it is a draft, also after a reload. */
    const settle = () => {
      if (!state.fresh || !pending()) return;
      state.fresh = false;
      history.replaceState(history.state, "", location.pathname + location.hash);
    };
    return {
      touch: () => { if (stopped || left) return; settle(); again(); },
      /* What is replaced stays among the drafts. */
      keep: () => { keep = true; save(); },
      /* A run has begun from this form: its page goes on with it. */
      begun: (comparison) => {
        holder.replaceChildren();
        if (state.page === "") { ran = comparison; save(); return; } // so that a reload of its page goes on
        const at = text();
        turn = turn.then(() => { if (String(state.page) !== comparison) [state.page, state.version, saved, sent] = [comparison, 0, at, []]; });
      },
    };
  };
})();
