/* The compose page. The document (what is posted) is the state; the fields only show it. */
(() => {
  const { playground } = window;
  const bench = document.querySelector("[data-bench]");
  const form = document.getElementById("compose");
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const doc = read("document");
  const connections = read("connections");
  const $ = (selector, from = bench) => from.querySelector(selector);
  const $$ = (selector, from = bench) => [...from.querySelectorAll(selector)];
  const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

  /* --- Panel and columns share the document --- */
  const views = () => doc.columns.map((column, position) => {
    const connection = columns.connectionOf(column);
    return {
      letter: playground.letter(position),
      api: connection ? connection.apis[column.operation] : "",
      title: connection ? connection.title : "no backend",
      provider: connection ? connection.provider : "other",
      values: column.values,
      get source() { return column; },
    };
  });
  let panel = null;
  const changed = () => {
    if (panel) panel.refresh();
    columns.refresh();
    showPlan();
    edited();
  };
  doc.columns.forEach((column) => { column.values = column.values || {}; });
  const columns = playground.columns(form, connections, {
    document: () => doc,
    changes: (position) => (panel ? panel.changes(position) : 0),
    edit: (position) => { openPanel(); panel.setScope(position); },
    changed,
  });
  const params = document.getElementById("params");
  panel = playground.panel(params, read("support"), {
    document: () => doc,
    columns: views,
    reset: (position) => { doc.columns[position].values = {}; },
    changed: () => { columns.refresh(); showPlan(); edited(); },
  });
  const isSheet = () => getComputedStyle(params).position === "fixed" || getComputedStyle(params).display === "none";
  const openPanel = () => { if (isSheet() && !params.matches(":popover-open")) params.showPopover(); };

  /* --- Prompt --- */
  const prompt = document.getElementById("prompt");
  const showMeta = () => {
    const text = prompt.value;
    $("[data-count]").textContent = text ? plural(text.length, "character") : "";
    $("[data-ending]").textContent = text.endsWith(" ") ? "ends with a space" : text.endsWith("\n") ? "ends with a line break" : "";
  };
  prompt.addEventListener("input", () => { doc.prompt = prompt.value; showMeta(); fieldError("prompt", ""); edited(); });
  const tabs = $$("[data-mode]", form);
  const showMode = () => tabs.forEach((tab) => {
    const on = tab.dataset.mode === doc.mode;
    tab.setAttribute("aria-selected", String(on));
    tab.tabIndex = on ? 0 : -1;
    document.getElementById(tab.getAttribute("aria-controls")).hidden = !on;
  });
  const setMode = (mode) => { doc.mode = mode; showMode(); edited(); };
  tabs.forEach((tab, i) => {
    tab.addEventListener("click", () => setMode(tab.dataset.mode));
    tab.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
      const next = tabs[(i + 1) % tabs.length];
      setMode(next.dataset.mode);
      next.focus();
    });
  });

  /* --- Messages --- */
  const messages = $("[data-messages]");
  const buildMessage = (message, i) => {
    const element = document.getElementById("message-template").content.firstElementChild.cloneNode(true);
    const role = $("[data-role]", element), content = $("[data-content]", element);
    if (![...role.options].some((option) => option.value === message.role)) role.add(new Option(message.role, message.role));
    role.value = message.role;
    content.value = message.content;
    role.setAttribute("aria-label", `Role of message ${i + 1}`);
    content.setAttribute("aria-label", `Message ${i + 1}`);
    $("[data-remove-message]", element).setAttribute("aria-label", `Remove message ${i + 1}`);
    return element;
  };
  const renderMessages = () => messages.replaceChildren(...doc.messages.map(buildMessage));
  const messageAt = (target) => [...messages.children].indexOf(target.closest("[data-message]"));
  messages.addEventListener("input", (event) => {
    const message = doc.messages[messageAt(event.target)];
    if (event.target.matches("[data-role]")) message.role = event.target.value; else message.content = event.target.value;
    fieldError("messages", "");
    edited();
  });
  messages.addEventListener("click", (event) => {
    if (!event.target.closest("[data-remove-message]")) return;
    doc.messages.splice(messageAt(event.target), 1);
    renderMessages();
    (messages.lastElementChild ? $("[data-content]", messages.lastElementChild) : $("[data-add-message]")).focus();
    edited();
  });
  $("[data-add-message]").addEventListener("click", () => {
    const last = doc.messages[doc.messages.length - 1];
    doc.messages.push({ role: last && last.role === "user" ? "assistant" : "user", content: "" });
    renderMessages();
    $("[data-content]", messages.lastElementChild).focus();
    edited();
  });

  /* --- Labels and visibility --- */
  const labelInput = document.getElementById("labels"), labelBox = $("[data-labels]");
  const renderLabels = () => {
    $$("[data-label]", labelBox).forEach((chip) => chip.remove());
    doc.labels.forEach((name) => {
      const chip = document.getElementById("label-template").content.firstElementChild.cloneNode(true);
      const sign = name.indexOf("=") + 1;
      $(".chip__key", chip).textContent = name.slice(0, sign);
      $(".chip__value", chip).textContent = name.slice(sign);
      $(".chip__x", chip).setAttribute("aria-label", `Remove label ${name}`);
      $(".chip__x", chip).addEventListener("click", () => { doc.labels = doc.labels.filter((each) => each !== name); renderLabels(); labelInput.focus(); edited(); });
      labelBox.insertBefore(chip, labelInput);
    });
  };
  const addLabel = () => {
    const name = labelInput.value.trim().replace(/\s+/g, " ");
    labelInput.value = "";
    if (!name || doc.labels.some((each) => each.toLowerCase() === name.toLowerCase())) return;
    doc.labels.push(name);
    renderLabels();
    edited();
  };
  labelInput.addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229) return;
    if ((event.key === "Enter" && !event.ctrlKey && !event.metaKey) || event.key === ",") { event.preventDefault(); addLabel(); }
    if (event.key === "Backspace" && !labelInput.value && doc.labels.length) { doc.labels.pop(); renderLabels(); edited(); }
  });
  labelInput.addEventListener("input", () => fieldError("labels", ""));
  labelInput.addEventListener("blur", addLabel);
  form.addEventListener("change", (event) => { if (event.target.name === "visibility") { doc.visibility = event.target.value; edited(); } });

  /* --- What a press of Run means --- */
  const completions = () => doc.columns.reduce((sum, _, position) => sum + Math.max(1, Number(panel.value("n", position)) || 1), 0);
  const showPlan = () => {
    const refusal = document.getElementById("plan").dataset.refusal;
    const requests = doc.columns.length, all = completions();
    $("[data-plan]").textContent = refusal || plural(requests, "request");
    const of = requests > 1 ? `${plural(requests, "column")} = ${plural(requests, "request")}` : "";
    $("[data-plan-detail]").textContent = refusal ? "" : [of, all > requests ? plural(all, "completion") : ""].filter(Boolean).join(", ");
    if (!refusal && requests > 1) $("[data-plan]").textContent = "";
    $("[data-run-label]").textContent = requests > 1 ? `Run ${requests}` : "Run";
    const count = panel.count(), shown = $("[data-set-count]");
    shown.textContent = count;
    shown.hidden = !count;
  };

  /* --- Errors --- */
  const fieldError = (path, message) => {
    const error = $(`[data-error-for=${path}]`);
    error.textContent = message;
    error.hidden = !message;
    const control = { prompt, labels: labelInput }[path];
    if (control && message) control.setAttribute("aria-invalid", "true");
    else if (control) control.removeAttribute("aria-invalid");
    return control || $("[data-add-message]");
  };
  const clearErrors = () => {
    ["prompt", "messages", "labels"].forEach((path) => fieldError(path, ""));
    columns.clearErrors();
    panel.clearErrors();
  };
  const showErrors = (errors) => {
    const said = new Set();
    const own = errors.find(({ column, path }) => column !== null && path in doc.columns[column].values);
    panel.setScope(own ? own.column : null);
    const controls = errors.map(({ column, path, message }) => {
      if (["prompt", "messages", "labels"].includes(path)) return fieldError(path, message);
      if (["connection", "model", "operation"].includes(path)) return columns.showError(column || 0, path, message);
      const where = doc.columns.length > 1 && errors.filter((each) => each.path === path && each.message === message).length < doc.columns.length ? `${playground.letter(column || 0)}: ` : "";
      if (said.has(path + where + message)) return null;
      said.add(path + where + message);
      return panel.showError(path, where + message);
    });
    const first = controls.find(Boolean);
    playground.announce(`Nothing was sent. ${errors.map((each) => each.message).join(" ")}`, true);
    if (!first) return;
    if (params.contains(first)) openPanel();
    first.focus();
  };

  /* --- Run --- */
  let force = false;
  const posted = () => {
    const found = views().map((view) => {
      const values = { ...view.values };
      panel.leftOut(view).forEach((path) => { values[path] = null; });
      return { ...view.source, values };
    });
    return JSON.stringify({ ...doc, columns: found, force });
  };
  const stopping = () => "running" in form.dataset && !("edited" in form.dataset);
  document.addEventListener("submit", (event) => {
    if (event.target !== form) return;
    addLabel();
    const text = posted();
    force = false;
    if (stopping() || $("[data-run-button]").disabled || text.length > Number(form.dataset.limit)) {
      event.preventDefault();
      event.stopImmediatePropagation();
      if (stopping()) stop();
      else if (!$("[data-run-button]").disabled) playground.notice(`That is more than one request may carry (${Math.floor(form.dataset.limit / 2 ** 20)} MB). Nothing was sent.`);
      return;
    }
    clearErrors();
    document.getElementById("document-field").value = text;
    if (params.matches(":popover-open")) params.hidePopover();
  }, true);
  const run = () => { if (!$("[data-run-button]").disabled && !stopping()) form.requestSubmit(); };
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-force]")) { force = true; run(); }
    if (event.target.closest("[data-again]")) run();
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    const { target } = event.detail;
    if (target.id === "problems") {
      const errors = document.getElementById("errors");
      if (errors) showErrors(JSON.parse(errors.textContent));
    } else if (target.id === "outputs") {
      const outputs = document.getElementById("outputs");
      delete form.dataset.edited;
      setRunning($$(":is([data-status=queued], [data-status=running])[data-run]", outputs).length);
      if (outputs.getBoundingClientRect().top > innerHeight - 240) outputs.scrollIntoView({ block: "start" });
    }
  });

  /* --- Running and stop: stream.js says when --- */
  const setRunning = (running) => {
    if (running) form.dataset.running = running; else { delete form.dataset.running; delete form.dataset.edited; }
  };
  const edited = () => { if ("running" in form.dataset) form.dataset.edited = ""; };
  const stop = () => {
    const all = document.querySelector("[data-stop-all]");
    if (!all) return;
    all.requestSubmit();
    playground.announce("Stopping");
  };
  document.addEventListener("playground:running", (event) => setRunning(event.detail.running));
  document.addEventListener("playground:idle", () => setRunning(0));

  /* --- Keys: never while an input method composes --- */
  document.addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229 || event.defaultPrevented) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.altKey) { event.preventDefault(); if (!event.repeat) run(); }
    if (event.key === "Escape" && "running" in form.dataset && !document.querySelector(":popover-open, dialog[open]")) { event.preventDefault(); stop(); }
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest(".colswitch a");
    if (!link) return;
    event.preventDefault();
    $$("a", link.parentElement).forEach((each) => { if (each === link) each.setAttribute("aria-current", "true"); else each.removeAttribute("aria-current"); });
    document.querySelector(link.getAttribute("href")).scrollIntoView({ block: "nearest", inline: "start" });
  });

  /* --- Show the document --- */
  prompt.value = typeof doc.prompt === "string" ? doc.prompt : JSON.stringify(doc.prompt);
  $$("[name=visibility]", form).forEach((radio) => { radio.checked = radio.value === doc.visibility; });
  showMeta();
  showMode();
  renderMessages();
  renderLabels();
  columns.refresh();
  showPlan();
})();
