/* The input of the form: text, a list of prompts, token ids. Messages are in messages.js. */
(() => {
  const playground = (window.playground = window.playground || {});
  const MOST_COUNTED = 30; // prompts whose tokens are counted
  const MOST_PIECES = 256; // ids whose pieces are shown; a backend may be asked for each of them
  const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
  const ending = (text) => (text.endsWith(" ") ? "ends with a space" : text.endsWith("\n") ? "ends with a line break" : text.endsWith("\t") ? "ends with a tab" : "");

  /* Token ids as the server reads them: JSON, or numbers with blanks or commas, one list a line. */
  const idsOf = (text) => {
    const trimmed = text.trim();
    let found = [];
    if (trimmed.startsWith("[")) {
      try { found = JSON.parse(trimmed); } catch { return null; }
    } else {
      found = trimmed.split(/\r\n|\n|\r/).filter((line) => line.trim()).map((line) => line.trim().replace(/^,+|,+$/g, "").split(/[\s,]+/).map((one) => (/^\d+$/.test(one) ? Number(one) : one)));
    }
    const lists = found.length && found.every(Array.isArray) ? found : [found];
    return lists.every((each) => each.length && each.every((id) => Number.isInteger(id) && id >= 0)) ? lists : null;
  };

  /* `host`: document(), first() → {connection, model, title}, changed(), replan() where the number
     of prompts changes too, error(path, sentence). */
  playground.prompts = (form, host) => {
    const $ = (selector) => form.querySelector(selector);
    const text = document.getElementById("prompt"), list = $("[data-prompts]"), ids = document.getElementById("ids");
    const ask = (asked) => { const { connection, model } = host.first(); return playground.tokens(connection, model, asked); };
    const current = () => host.document();

    /* --- Tabs --- */
    const tabs = [...form.querySelectorAll("[data-mode]")];
    const showMode = () => tabs.forEach((tab) => {
      const on = tab.dataset.mode === current().mode;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
      document.getElementById(tab.getAttribute("aria-controls")).hidden = !on;
    });
    const setMode = (mode) => { current().mode = mode; showMode(); refresh(); host.replan(); };
    tabs.forEach((tab, i) => {
      /* A click and Enter lead to where one types; on glass a focus would bring up the keys. Arrows stay on the tabs. */
      tab.addEventListener("click", () => {
        setMode(tab.dataset.mode);
        if (matchMedia("(hover: hover)").matches) document.getElementById(tab.getAttribute("aria-controls")).querySelector("textarea")?.focus();
      });
      tab.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
        const next = tabs[(i + step + tabs.length) % tabs.length];
        setMode(next.dataset.mode);
        next.focus();
      });
    });

    /* --- Text --- */
    const tokens = $("[data-count-tokens]");
    let counted = null; // tokens of the prompt, where the backend tells them
    const most = () => {
      const values = { ...current().values, ...((current().columns[0] || {}).values || {}) };
      const found = ["max_tokens", "max_completion_tokens"].map((path) => Number(values[path])).find((value) => value > 0);
      return Number.isInteger(found) ? found : 0;
    };
    const showCount = async () => {
      const at = counted, { connection, model } = host.first();
      tokens.textContent = counted === null ? "" : plural(counted, "token");
      delete tokens.dataset.over;
      if (counted === null) return;
      const size = await playground.contextSize(connection, model), left = playground.contextLeft(size, at, most());
      if (counted !== at || !left) return;
      tokens.textContent = `${plural(at, "token")}, ${left}`;
      if (left.includes(" over ")) tokens.dataset.over = "";
    };
    const countText = playground.later(async () => {
      const asked = text.value;
      if (!asked || current().mode !== "text") return;
      const found = await ask({ text: asked });
      if (text.value !== asked) return;
      counted = found.tokens ? found.tokens.length : null;
      showCount();
    }, 500);
    const showText = () => {
      $("[data-count]").textContent = text.value ? plural(text.value.length, "character") : "";
      const said = ending(text.value), hint = $("[data-ending]");
      hint.hidden = !said;
      hint.querySelector("span").textContent = said;
      if (!text.value) { counted = null; tokens.textContent = ""; }
      countText();
    };
    text.addEventListener("input", () => { current().prompt = text.value; showText(); host.error("prompt", ""); host.changed(); });

    /* --- A list of prompts --- */
    const template = document.getElementById("prompt-template").content.firstElementChild;
    const build = (prompt, i) => {
      const element = template.cloneNode(true), box = element.querySelector("textarea");
      element.querySelector("[data-name]").textContent = `Prompt ${i + 1}`;
      box.value = prompt;
      box.setAttribute("aria-label", `Prompt ${i + 1}`);
      const remove = element.querySelector("[data-remove-prompt]");
      remove.setAttribute("aria-label", `Remove prompt ${i + 1}`);
      remove.hidden = current().prompts.length < 2;
      element.querySelector("[data-facts]").textContent = ending(prompt);
      return element;
    };
    const renderList = () => { list.replaceChildren(...current().prompts.map(build)); countList(); };
    const countList = playground.later(() => {
      if (current().mode !== "list") return;
      [...list.children].slice(0, MOST_COUNTED).forEach(async (element) => {
        const box = element.querySelector("textarea"), asked = box.value;
        const found = asked ? await ask({ text: asked }) : {};
        if (box.value !== asked) return;
        element.querySelector("[data-facts]").textContent = [found.tokens ? plural(found.tokens.length, "token") : "", ending(asked)].filter(Boolean).join(", ");
      });
    }, 500);
    const at = (target) => [...list.children].indexOf(target.closest("[data-prompt]"));
    list.addEventListener("input", (event) => {
      current().prompts[at(event.target)] = event.target.value;
      event.target.closest("[data-prompt]").querySelector("[data-facts]").textContent = ending(event.target.value);
      host.error("prompts", "");
      countList();
      host.changed();
    });
    list.addEventListener("click", (event) => {
      if (!event.target.closest("[data-remove-prompt]")) return;
      const position = at(event.target);
      current().prompts.splice(position, 1);
      renderList();
      list.children[Math.min(position, list.children.length - 1)].querySelector("textarea").focus();
      host.replan();
    });
    $("[data-add-prompt]").addEventListener("click", () => {
      current().prompts.push("");
      renderList();
      list.lastElementChild.querySelector("textarea").focus();
      host.replan();
    });

    /* --- Token ids --- */
    const note = $("[data-ids-note]"), shown = $("[data-ids]");
    const piece = ([id, said]) => {
      const element = document.createElement("span"), small = document.createElement("small");
      small.textContent = id;
      element.append(playground.visible(said), small);
      return element;
    };
    const row = (found) => {
      const element = document.createElement("div");
      element.className = "ids";
      element.append(...found.map(piece));
      return element;
    };
    const showIds = playground.later(async () => {
      const asked = ids.value, lists = asked.trim() ? idsOf(asked) : [];
      if (current().mode !== "ids") return;
      if (!lists || !lists.length) {
        shown.replaceChildren();
        note.textContent = lists ? "Write whole numbers with blanks or commas between, one prompt a line." : "Only whole numbers are token ids.";
        return;
      }
      const all = lists.flat(), part = all.slice(0, MOST_PIECES);
      const found = await ask({ ids: part });
      if (ids.value !== asked) return;
      const pieces = new Map(found.tokens || []);
      let left = MOST_PIECES;
      const rows = lists.map((each) => { const taken = each.slice(0, Math.max(0, left)); left -= each.length; return taken; }).filter((each) => each.length);
      shown.replaceChildren(...(found.tokens ? rows.map((each) => row(each.map((id) => [id, pieces.get(id) || ""]))) : []));
      const many = plural(all.length, "token") + (lists.length > 1 ? ` in ${lists.length} prompts` : "");
      const last = pieces.get(all[all.length - 1]) || "";
      const said = [`${many}.`, found.error || `Read with the tokenizer of ${host.first().model || host.first().title}.`, all.length > MOST_PIECES && !found.error ? `The first ${MOST_PIECES} are shown.` : "", all.length <= MOST_PIECES && ending(last) ? `The last one ${ending(last)}.` : ""];
      note.textContent = said.filter(Boolean).join(" ");
    }, 400);
    ids.addEventListener("input", () => { current().ids = ids.value; host.error("ids", ""); showIds(); host.replan(); });

    const refresh = () => {
      if (current().mode === "text") showText();
      if (current().mode === "list") countList();
      if (current().mode === "ids") showIds();
    };
    let who = "";
    return {
      controls: { prompt: text, ids, get prompts() { return list.querySelector("textarea"); } },
      /* Everything again from the document. */
      show: () => {
        text.value = typeof current().prompt === "string" ? current().prompt : JSON.stringify(current().prompt);
        ids.value = current().ids || "";
        renderList();
        showMode();
        refresh();
      },
      /* The columns have changed: another backend counts otherwise. */
      recount: () => {
        const { connection, model } = host.first(), now = `${connection && connection.id} ${model}`;
        if (now === who) showCount();
        if (now !== who) { who = now; tokens.textContent = ""; refresh(); }
      },
      /* How many prompts one request carries. */
      count: () => ({ list: current().prompts.length, ids: (idsOf(ids.value) || [[]]).length })[current().mode] || 1,
      /* Whether there is something to send. */
      filled: () => ({ text: true, messages: true, list: current().prompts.some(Boolean), ids: Boolean(ids.value.trim()) })[current().mode],
    };
  };
})();
