/* The keys of the compose page, never while an input method composes. */
(() => {
  const playground = (window.playground = window.playground || {});
  const $$ = (selector, from = document) => [...from.querySelectorAll(selector)];
  const inOutputs = () => document.activeElement.closest("#outputs [data-run]");

  /* `host`: columns, growing(), side, sending. */
  playground.composeKeys = (form, host) => {
    const { columns, side, sending } = host;
    const onceFor = {
      KeyC: () => columns.add(),
      KeyP: () => side.find(),
      KeyW: () => columns.remove(columns.current()),
      KeyZ: () => host.growing().undo(),
      KeyA: () => host.growing().append(),
      KeyG: () => host.growing().preview(),
      Enter: () => runHere(),
      NumpadEnter: () => runHere(),
    };
    const runHere = () => {
      const article = inOutputs();
      if (article) sending.again(article); else sending.runColumn(columns.current());
    };
    const toColumn = (at) => {
      const bodies = $$("#outputs .col__body");
      if (!inOutputs() || !bodies[at]) { columns.focus(at); return; }
      bodies[at].focus();
      bodies[at].scrollIntoView({ block: "nearest", inline: "start" });
    };
    /* Alt keys, by where they are on the keyboard; true where one was meant. */
    const alt = ({ code, repeat, shiftKey }) => {
      if (shiftKey) return false;
      const digit = /^Digit([1-9])$/.exec(code);
      if (digit) toColumn(Number(digit[1]) - 1);
      else if (code in onceFor && !repeat) onceFor[code]();
      return Boolean(digit) || code in onceFor;
    };
    document.addEventListener("keydown", (event) => {
      if (event.isComposing || event.keyCode === 229 || event.defaultPrevented || document.querySelector("dialog[open]")) return;
      if (event.altKey && !event.ctrlKey && !event.metaKey && !event.getModifierState("AltGraph") && alt(event)) { event.preventDefault(); return; }
      const meant = event.ctrlKey || event.metaKey || (event.shiftKey && form.contains(event.target));
      if (event.key === "Enter" && meant && !event.altKey) { event.preventDefault(); if (!event.repeat) sending.run(); }
      if (event.key === "Escape" && "running" in form.dataset && !document.querySelector(":popover-open")) { event.preventDefault(); sending.stop(); }
    });
    document.addEventListener("click", (event) => {
      const link = event.target.closest(".colswitch a");
      if (!link) return;
      event.preventDefault();
      $$("a", link.parentElement).forEach((each) => { if (each === link) each.setAttribute("aria-current", "true"); else each.removeAttribute("aria-current"); });
      document.querySelector(link.getAttribute("href")).scrollIntoView({ block: "nearest", inline: "start" });
    });
  };
})();
