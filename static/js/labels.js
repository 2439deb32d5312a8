/* The labels of the run, as chips. */
(() => {
  const playground = (window.playground = window.playground || {});

  /* `host`: document(), changed(), error(path, sentence). */
  playground.labels = (form, host) => {
    const input = document.getElementById("labels"), box = form.querySelector("[data-labels]");
    const template = document.getElementById("label-template").content.firstElementChild;
    const data = () => host.document().labels;
    const build = (name) => {
      const chip = template.cloneNode(true), sign = name.indexOf("=") + 1, remove = chip.querySelector(".chip__x");
      chip.querySelector(".chip__key").textContent = name.slice(0, sign);
      chip.querySelector(".chip__value").textContent = name.slice(sign);
      remove.setAttribute("aria-label", `Remove label ${name}`);
      remove.addEventListener("click", () => { host.document().labels = data().filter((each) => each !== name); input.focus(); render(); host.changed(); });
      return chip;
    };
    const render = () => {
      box.querySelectorAll("[data-label]").forEach((chip) => chip.remove());
      input.before(...data().map(build));
    };
    const add = () => {
      const name = input.value.trim().replace(/\s+/g, " ");
      input.value = "";
      if (!name || data().some((each) => each.toLowerCase() === name.toLowerCase())) return;
      data().push(name);
      render();
      host.changed();
    };
    input.addEventListener("keydown", (event) => {
      if (event.isComposing || event.keyCode === 229) return;
      if ((event.key === "Enter" && !event.ctrlKey && !event.metaKey) || event.key === ",") { event.preventDefault(); add(); }
      if (event.key === "Backspace" && !input.value && data().length) { data().pop(); render(); host.changed(); }
    });
    input.addEventListener("input", () => host.error("labels", ""));
    input.addEventListener("blur", add);
    /* Labels as Pulze takes them: a bare name is true. */
    const asPulze = () => {
      if (!data().length) return undefined;
      const pairs = data().map((name) => { const sign = name.indexOf("="); return sign < 0 ? [name, "true"] : [name.slice(0, sign), name.slice(sign + 1)]; });
      return JSON.stringify(Object.fromEntries(pairs));
    };
    return { show: render, flush: add, control: input, asPulze };
  };
})();
