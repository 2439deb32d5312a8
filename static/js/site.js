/* Every page: theme and text size, notices, what is said when a request fails. */
(() => {
  const root = document.documentElement;
  const playground = (window.playground = window.playground || {});
  const store = (key, value) => { try { localStorage.setItem(key, value); } catch { /* private mode */ } };
  const each = (selector, act) => document.querySelectorAll(selector).forEach(act);

  /* Theme and text size */
  const showTheme = () => {
    const theme = root.dataset.theme || "system";
    each("[data-theme-set]", (b) => b.setAttribute("aria-pressed", String(b.dataset.themeSet === theme)));
    each("[data-theme-toggle]", (b) => b.setAttribute("aria-label", "Theme: " + (theme === "system" ? "follow the system" : theme)));
    each("[data-mono-set]", (b) => b.setAttribute("aria-pressed", String(b.dataset.monoSet === root.dataset.mono)));
  };
  const setTheme = (theme) => {
    if (theme === "system") delete root.dataset.theme; else root.dataset.theme = theme;
    store("theme", theme);
    showTheme();
  };
  const setMono = (size) => { root.dataset.mono = size; store("mono", size); showTheme(); };
  showTheme();

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
    document.getElementById("notice").replaceChildren(made);
    playground.announce(text, true);
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.themeSet) setTheme(button.dataset.themeSet);
    if ("themeToggle" in button.dataset) setTheme({ system: "light", light: "dark", dark: "system" }[root.dataset.theme || "system"]);
    if (button.dataset.monoSet) setMono(button.dataset.monoSet);
    if ("dismiss" in button.dataset) button.closest("[data-notice]").remove();
  });

  /* htmx: the token comes from the cookie, so that a login in another tab is enough to go on. */
  document.addEventListener("htmx:configRequest", (event) => {
    const name = document.body.dataset.csrfCookie + "=";
    const cookie = document.cookie.split("; ").find((each) => each.startsWith(name));
    if (cookie) event.detail.headers["X-CSRFToken"] = cookie.slice(name.length);
  });

  /* A refusal that names its own place is swapped there, and is no error. */
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr } = event.detail;
    if (xhr.status >= 400 && xhr.getResponseHeader("HX-Retarget")) {
      event.detail.shouldSwap = true;
      event.detail.isError = false;
    }
  });

  /* The head of a column carries the status of its run. */
  document.addEventListener("htmx:oobAfterSwap", () => each(".col__head[data-status]", (head) => {
    const column = head.closest("[data-run]");
    if (column.dataset.status === head.dataset.status) return;
    column.dataset.status = head.dataset.status;
    column.querySelector(".col__body").removeAttribute("aria-busy");
  }));

  const SENTENCES = {
    403: "You may not do this. Nothing was changed.",
    404: "That is not there any more, or it is not yours to see.",
    413: "That is more than one request may carry. Nothing was sent; what you typed is still here.",
    502: "The server is being restarted. What you typed is still here; try again in a moment.",
    503: "The server is being restarted. What you typed is still here; try again in a moment.",
  };
  document.addEventListener("htmx:responseError", (event) => {
    const { xhr } = event.detail;
    const login = xhr.getResponseHeader("X-Login");
    if (login) {
      const href = login.split("?")[0];
      playground.notice("Your login has ended. What you typed is still here.", { href, text: "Log in again in a new tab, then repeat." });
      return;
    }
    playground.notice(SENTENCES[xhr.status] || `The server answered with an error (${xhr.status}). What you typed is still here.`);
  });
  const unreachable = () => playground.notice("The server cannot be reached. What you typed is still here; try again in a moment.");
  document.addEventListener("htmx:sendError", unreachable);
  document.addEventListener("htmx:timeout", unreachable);
})();
