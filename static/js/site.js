/* Every page: theme, text size and density, notices, what is said when a request fails. */
(() => {
  const root = document.documentElement;
  const playground = (window.playground = window.playground || {});
  const store = (key, value) => { try { localStorage.setItem(key, value); } catch { /* private mode */ } };
  const each = (selector, act) => document.querySelectorAll(selector).forEach(act);

  /* Theme, text size and density */
  const showTheme = () => {
    const theme = root.dataset.theme || "system";
    each("[data-theme-set]", (b) => b.setAttribute("aria-pressed", String(b.dataset.themeSet === theme)));
    each("[data-theme-toggle]", (b) => b.setAttribute("aria-label", "Theme: " + (theme === "system" ? "follow the system" : theme)));
    each("[data-mono-set]", (b) => b.setAttribute("aria-pressed", String(b.dataset.monoSet === root.dataset.mono)));
    each("[data-density-set]", (b) => b.setAttribute("aria-pressed", String(b.dataset.densitySet === (root.dataset.density || "usual"))));
  };
  const setTheme = (theme) => {
    if (theme === "system") delete root.dataset.theme; else root.dataset.theme = theme;
    store("theme", theme);
    showTheme();
  };
  const setMono = (size) => { root.dataset.mono = size; store("mono", size); showTheme(); };
  const setDensity = (density) => {
    if (density === "usual") delete root.dataset.density; else root.dataset.density = density;
    store("density", density);
    showTheme();
  };
  showTheme();

  /* The time zone, for the server, where it knows another one or none. Once the page stands: the
     first use of Intl takes 30 ms, and a cookie that is written makes the next reader wait. */
  const tellZone = () => {
    const zone = window.Temporal?.Now.timeZoneId() || Intl.DateTimeFormat().resolvedOptions().timeZone;
    const [prefix, secure] = location.protocol === "https:" ? ["__Secure-", "; secure"] : ["", ""];
    if (zone && zone !== document.body.dataset.zone) document.cookie = `${prefix}time_zone=${zone}; path=/; max-age=31536000; samesite=lax${secure}`;
  };
  window.addEventListener("load", () => setTimeout(tellZone));

  /* A time that is pointed at is told in full, in the language and form of the browser. */
  ["pointerover", "focusin"].forEach((kind) => document.addEventListener(kind, (event) => {
    const time = event.target.closest?.("time[datetime]"), at = new Date(time?.dateTime || NaN);
    if (time && !time.title && !Number.isNaN(at.valueOf())) time.title = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" }).format(at);
  }));

  /* Notices and the live regions. Text only, never markup. */
  playground.announce = (text, loud = false) => {
    document.getElementById(loud ? "announce-error" : "announce").textContent = text;
  };
  playground.notice = (text, link) => {
    const made = document.getElementById("notice-template").content.cloneNode(true);
    const said = made.querySelector("[data-text]");
    said.textContent = text;
    if (link) {
      const a = document.createElement("a");
      a.className = "link"; a.href = link.href; a.textContent = link.text; a.target = "_blank"; a.rel = "noopener";
      said.append(" ", a);
    }
    const shown = made.firstElementChild;
    document.getElementById("notice").replaceChildren(made);
    playground.announce(text, true);
    return shown;
  };

  /* A message, with a way back where there is one, for ten seconds; it waits while it is pointed at or has the focus. */
  const TOAST = 10_000;
  let toasted = null;
  playground.toast = (text, act) => {
    const holder = document.getElementById("toasts");
    const toast = document.getElementById("toast-template").content.firstElementChild.cloneNode(true);
    toast.querySelector("[data-text]").textContent = text;
    let timer = 0;
    const close = () => { clearTimeout(timer); toast.remove(); if (toasted === undo) toasted = null; };
    const undo = () => { close(); act(); };
    toast.querySelector("[data-undo]").hidden = !act;
    const wait = () => { clearTimeout(timer); timer = setTimeout(close, TOAST); };
    toast.querySelector("[data-undo]").addEventListener("click", undo);
    toast.querySelector("[data-close]").addEventListener("click", close);
    ["pointerenter", "focusin"].forEach((kind) => toast.addEventListener(kind, () => clearTimeout(timer)));
    ["pointerleave", "focusout"].forEach((kind) => toast.addEventListener(kind, wait));
    holder.replaceChildren(toast);
    toasted = act ? undo : null;
    wait();
    playground.announce(act ? `${text} Undo with U.` : text);
    return close;
  };
  document.addEventListener("keydown", (event) => {
    if (event.key !== "u" || !toasted || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select, dialog, [contenteditable]")) return;
    event.preventDefault();
    toasted();
  });

  /* A post outside of htmx, with the newest token. */
  playground.post = async (url, fields) => {
    const answer = await fetch(url, {
      method: "POST",
      headers: { "X-CSRFToken": token(), "HX-Request": "true" }, // an ended login is a 401, no page
      body: fields instanceof FormData ? fields : new URLSearchParams(fields),
      credentials: "same-origin",
    });
    if (answer.ok && !answer.redirected) over("", true);
    return answer;
  };

  /* What failed is over when the same is tried and works; what all requests suffer from, when another that changes
     something gets through. (A page may come from the browser's cache, and proves nothing.) */
  const over = (name, changed) => each("#notice [data-over]", (shown) => {
    if (shown.dataset.over === name || (changed && "general" in shown.dataset)) shown.remove();
  });
  /* For requests outside of htmx: `act` names what was tried. */
  playground.failed = (act, text) => { playground.notice(text).dataset.over = act; };
  playground.worked = (act) => over(act, false);

  /* Tabs that only show and hide: one tab stop, arrow keys move. */
  const choose = (tab, focus) => {
    const list = tab.closest("[role=tablist]");
    list.querySelectorAll("[role=tab]").forEach((each) => {
      each.setAttribute("aria-selected", String(each === tab));
      each.tabIndex = each === tab ? 0 : -1;
      document.getElementById(each.getAttribute("aria-controls")).hidden = each !== tab;
    });
    if (list.dataset.tabs) store(list.dataset.tabs, tab.dataset.name);
    if (focus) tab.focus();
  };
  playground.tabs = (from) => from.querySelectorAll("[data-tabs]").forEach((list) => {
    let name = "";
    try { name = localStorage.getItem(list.dataset.tabs); } catch { /* private mode */ }
    const found = [...list.children].find((tab) => tab.dataset.name === name);
    if (found) choose(found);
  });
  document.addEventListener("keydown", (event) => {
    const tab = event.target.closest("[data-tabs] [role=tab]");
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!tab || !step || event.altKey || event.ctrlKey || event.metaKey) return;
    const all = [...tab.parentElement.children];
    choose(all[(all.indexOf(tab) + step + all.length) % all.length], true);
  });

  const copy = async (button) => {
    const text = document.getElementById(button.dataset.copy).textContent;
    try { await navigator.clipboard.writeText(text); } catch {
      getSelection().selectAllChildren(document.getElementById(button.dataset.copy));
      playground.announce("Selected; copy it with Control C");
      return;
    }
    const label = button.querySelector("[data-copy-label]");
    label.textContent = "Copied";
    setTimeout(() => { label.textContent = "Copy"; }, 2_000);
    playground.announce("Copied");
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.themeSet) setTheme(button.dataset.themeSet);
    if ("themeToggle" in button.dataset) setTheme({ system: "light", light: "dark", dark: "system" }[root.dataset.theme || "system"]);
    if (button.dataset.monoSet) setMono(button.dataset.monoSet);
    if (button.dataset.densitySet) setDensity(button.dataset.densitySet);
    if ("dismiss" in button.dataset) button.closest("[data-notice]").remove();
    if (button.dataset.dialog) document.getElementById(button.dataset.dialog).showModal();
    if ("closeDialog" in button.dataset) button.closest("dialog").close();
    if (button.dataset.copy) copy(button);
    if (button.matches("[data-tabs] [role=tab]")) choose(button);
  });

  /* htmx: the token comes from the cookie, so that a login in another tab is enough to go on. */
  const token = () => {
    const name = document.body.dataset.csrfCookie + "=";
    const cookie = document.cookie.split("; ").find((each) => each.startsWith(name));
    return cookie ? cookie.slice(name.length) : "";
  };
  playground.token = token;
  document.addEventListener("htmx:configRequest", (event) => {
    const newest = event.detail.verb === "get" ? "" : token(); // reading a cookie can take 20 ms
    if (newest) event.detail.headers["X-CSRFToken"] = newest;
  });

  /* A refusal that names its own place is swapped there, and is no error. */
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr } = event.detail;
    if (xhr.status >= 400 && xhr.getResponseHeader("HX-Retarget")) {
      event.detail.shouldSwap = true;
      event.detail.isError = false;
    }
  });

  /* The head of a column carries the status of its run; Stop goes with it, and its focus to the output. */
  let stopped = null;
  document.addEventListener("htmx:oobBeforeSwap", ({ target }) => { if (target.matches(".col__head") && target.contains(document.activeElement)) stopped = target.closest("[data-run]"); });
  document.addEventListener("htmx:oobAfterSwap", () => {
    each(".col__head[data-status]", (head) => {
      const column = head.closest("[data-run]");
      if (column.dataset.status === head.dataset.status) return;
      column.dataset.status = head.dataset.status;
      column.querySelector(".col__body").removeAttribute("aria-busy");
    });
    if (stopped && document.activeElement === document.body) stopped.querySelector("[data-panel]:not([hidden])")?.focus({ preventScroll: true });
    stopped = null;
  });

  const SENTENCES = {
    403: "You may not do this. Nothing was changed.",
    404: "That is not there any more, or it is not yours to see.",
    413: "That is more than one request may carry. Nothing was sent; what you typed is still here.",
    502: "The server is being restarted. What you typed is still here; try again in a moment.",
    503: "The server is being restarted. What you typed is still here; try again in a moment.",
  };
  const nameOf = ({ verb, path }) => `${verb} ${path}`;
  document.addEventListener("htmx:afterRequest", ({ detail: { xhr, requestConfig } }) => {
    if (!(xhr.status >= 200 && xhr.status < 400) && xhr.status !== 422) return; // what the form refuses has been read, too
    over(nameOf(requestConfig), requestConfig.verb !== "get");
  });
  document.addEventListener("htmx:responseError", (event) => {
    const { xhr, requestConfig } = event.detail;
    const refused = (general, ...said) => {
      const shown = playground.notice(...said);
      shown.dataset.over = nameOf(requestConfig);
      if (general) shown.dataset.general = "";
    };
    const login = xhr.getResponseHeader("X-Login");
    if (login) {
      const href = login.split("?")[0];
      refused(true, "Your login has ended. What you typed is still here.", { href, text: "Log in again in a new tab, then repeat." });
      return;
    }
    if (xhr.getResponseHeader("X-Reason") === "database") {
      refused(true, "The database cannot be reached just now. What you typed is still here; try again in a moment.");
      return;
    }
    refused([502, 503].includes(xhr.status), SENTENCES[xhr.status] || `The server answered with an error (${xhr.status}). What you typed is still here.`);
  });
  /* The line goes when the server answers again, whatever it answers. */
  const LOOK_AGAIN = 2_000; // ms
  const unreachable = () => {
    const shown = playground.notice("The server cannot be reached. What you typed is still here; try again in a moment.");
    const again = async () => {
      if (!shown.isConnected) return;
      const answer = await fetch(new URL("healthz", document.querySelector(".wordmark").href), { cache: "no-store" }).catch(() => null);
      if (!answer || answer.status >= 500) { setTimeout(again, LOOK_AGAIN); return; } // a proxy in front may answer for it
      if (shown.isConnected) { shown.remove(); playground.announce("The server is there again."); }
    };
    setTimeout(again, LOOK_AGAIN);
  };
  document.addEventListener("htmx:sendError", unreachable);
  document.addEventListener("htmx:timeout", unreachable);
})();
