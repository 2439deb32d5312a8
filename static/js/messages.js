/* Chat messages: role and text, the tool calls of an assistant, the id that a tool answers. */
(() => {
  const playground = (window.playground = window.playground || {});
  const pretty = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));
  const EXAMPLE = '[\n  {\n    "id": "call_1",\n    "type": "function",\n    "function": {"name": "", "arguments": "{}"}\n  }\n]';

  /* `host`: document(), changed(), error(path, sentence). */
  playground.messages = (form, host) => {
    const list = form.querySelector("[data-messages]");
    const template = document.getElementById("message-template").content.firstElementChild;
    const add = form.querySelector("[data-add-message]");
    const data = () => host.document().messages;
    const $ = (element, name) => element.querySelector(`[data-${name}]`);

    const showParts = (element, message) => {
      const calls = message.tool_calls !== undefined && message.tool_calls !== "";
      $(element, "calls-part").hidden = !("callsOpen" in element.dataset) && !calls;
      $(element, "add-calls").hidden = message.role !== "assistant" || !$(element, "calls-part").hidden;
      $(element, "id-part").hidden = message.role !== "tool" && !message.tool_call_id;
      $(element, "name-part").hidden = !message.name;
    };
    const build = (message, i) => {
      const element = template.cloneNode(true), role = $(element, "role"), content = $(element, "content"), number = i + 1;
      if (![...role.options].some((option) => option.value === message.role)) role.add(new Option(message.role, message.role));
      role.value = message.role;
      content.value = pretty(message.content);
      if (typeof message.content !== "string") element.dataset.parts = "";
      $(element, "calls").value = message.tool_calls ? pretty(message.tool_calls) : "";
      $(element, "call-id").value = message.tool_call_id || "";
      $(element, "call-name").value = message.name || "";
      role.setAttribute("aria-label", `Role of message ${number}`);
      content.setAttribute("aria-label", `Message ${number}`);
      $(element, "calls").setAttribute("aria-label", `Tool calls of message ${number}, JSON`);
      $(element, "calls").setAttribute("aria-describedby", `calls-error-${number}`);
      $(element, "calls-error").id = `calls-error-${number}`;
      $(element, "call-id").setAttribute("aria-label", `Id of the tool call that message ${number} answers`);
      $(element, "call-name").setAttribute("aria-label", `Name in message ${number}`);
      $(element, "remove-message").setAttribute("aria-label", `Remove message ${number}`);
      showParts(element, message);
      return element;
    };
    const none = form.querySelector("[data-no-message]");
    const render = () => { list.replaceChildren(...data().map(build)); none.hidden = data().length > 0; };
    const at = (target) => [...list.children].indexOf(target.closest("[data-message]"));

    const callsError = (box, sentence) => {
      const error = $(box.closest("[data-message]"), "calls-error");
      error.textContent = sentence;
      error.hidden = !sentence;
      if (sentence) box.setAttribute("aria-invalid", "true"); else box.removeAttribute("aria-invalid");
    };
    const check = playground.later((box) => callsError(box, playground.jsonProblem(box.value, "array")), 400);
    /* Content that came as parts stays a list as long as it is one. */
    const contentOf = (element, text) => {
      if (!("parts" in element.dataset)) return text;
      try { const found = JSON.parse(text); return Array.isArray(found) ? found : text; } catch { return text; }
    };
    const put = (message, name, text) => { if (text) message[name] = text; else delete message[name]; };

    list.addEventListener("input", ({ target }) => {
      const message = data()[at(target)], element = target.closest("[data-message]");
      if (target.matches("[data-role]")) message.role = target.value;
      if (target.matches("[data-content]")) message.content = contentOf(element, target.value);
      if (target.matches("[data-calls]")) { put(message, "tool_calls", target.value); callsError(target, ""); check(target); }
      if (target.matches("[data-call-id]")) put(message, "tool_call_id", target.value);
      if (target.matches("[data-call-name]")) put(message, "name", target.value);
      if (target.matches("[data-role]")) showParts(element, message);
      host.error("messages", "");
      host.changed();
    });
    list.addEventListener("click", ({ target }) => {
      const element = target.closest("[data-message]");
      if (target.closest("[data-add-calls]")) {
        element.dataset.callsOpen = "";
        const box = $(element, "calls"), message = data()[at(target)];
        box.value = message.tool_calls = EXAMPLE;
        showParts(element, message);
        box.focus();
        host.changed();
      }
      if (!target.closest("[data-remove-message]")) return;
      const position = at(target);
      data().splice(position, 1);
      render();
      const next = list.children[Math.min(position, list.children.length - 1)];
      (next ? $(next, "content") : add).focus();
      host.changed();
    });
    add.addEventListener("click", () => {
      const last = data()[data().length - 1];
      data().push({ role: last && last.role === "user" ? "assistant" : "user", content: "" });
      render();
      $(list.lastElementChild, "content").focus();
      host.changed();
    });
    /* The message that a refusal names, else the last one. What is wrong with calls, their own check takes back. */
    let marked = add;
    const control = (said) => {
      const [, number, calls] = /^Message (\d+)(, tool calls)?/.exec(said) || [];
      const element = list.children[number - 1] || list.lastElementChild;
      if (said) marked = element ? $(element, calls ? "calls" : "content") : add;
      return said || !marked.matches("[data-calls]") ? marked : add;
    };

    /* --- Chat: a column of completions goes there while the input is messages; `before` is what it was --- */
    const said = form.querySelector("[data-went-to-chat]");
    const say = () => {
      const { columns, mode } = host.document();
      const gone = columns.flatMap((column, position) => (mode === "messages" && column.before ? [playground.letter(position)] : []));
      said.hidden = !gone.length;
      if (columns.length === 1) said.textContent = "The column is on Chat now, for messages go there. With Text it is on Completion again.";
      else said.textContent = gone.length > 1 ? `Columns ${gone.slice(0, -1).join(", ")} and ${gone.at(-1)} are on Chat now, for messages go there. With Text they are on Completion again.` : `Column ${gone[0]} is on Chat now, for messages go there. With Text it is on Completion again.`;
    };
    /* Whether a column has changed. */
    const settle = () => {
      const { columns, mode } = host.document();
      const wrong = columns.filter((column) => (mode === "messages" ? column.operation === "completions" : column.before));
      wrong.forEach((column) => {
        if (mode === "messages") { column.before = column.operation; column.operation = "chat"; } else { column.operation = column.before; delete column.before; }
      });
      say();
      if (wrong.length && mode === "messages") playground.announce(said.textContent);
      return wrong.length > 0;
    };
    return { show: () => { render(); say(); }, say, settle, control };
  };
})();
