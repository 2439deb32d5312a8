/* Keys of every page: the sheet of shortcuts, jumps, the way to the search. What a key does that
   belongs to one page is in that page's script; the list of all is playground/keymap.py. */
(() => {
  const playground = (window.playground = window.playground || {});
  const SOON = 1_200; // ms between the two keys of a jump
  const WRITES = "textarea, select, [contenteditable], input:not([type=radio], [type=checkbox], [type=range], [type=button], [type=submit])";

  /* A key that is one character: never while one types, nor with a modifier, nor under a dialog. */
  playground.single = (event) => !(event.defaultPrevented || event.isComposing || event.keyCode === 229 || event.ctrlKey || event.metaKey || event.altKey)
    && !event.target.closest?.(WRITES) && !document.querySelector("dialog[open]");
  const press = (name) => document.querySelector(`[data-command="${name}"]`)?.click();
  const jump = (index) => { const link = document.querySelectorAll(".topnav a")[index]; if (link) link.click(); };
  const search = () => document.querySelector("main [data-find], main input[type=search]");

  /* The list of keys comes when it is first wanted; the palette reads its commands from it too. */
  playground.sheet = () => {
    const sheet = document.querySelector("#keys .keysheet");
    if (sheet && !sheet.firstElementChild) htmx.trigger(sheet, "wanted");
    return sheet;
  };
  document.addEventListener("click", (event) => { if (event.target.closest("[data-dialog=keys]")) playground.sheet(); });

  let began = 0;
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "b" && document.querySelector("[data-command=fold]")) {
      event.preventDefault();
      press("fold");
      return;
    }
    if (!playground.single(event)) return;
    const soon = Date.now() - began < SOON;
    began = 0;
    if (soon && "chrs".includes(event.key)) { event.preventDefault(); event.stopImmediatePropagation(); jump("chrs".indexOf(event.key)); return; }
    if (event.key === "g" && !document.querySelector("[data-ballot]")) began = Date.now();
    if (event.key === "?") { event.preventDefault(); document.getElementById("keys")?.showModal(); playground.sheet(); }
    if (event.key === "/" && search()) {
      event.preventDefault();
      const box = search();
      if (!box.checkVisibility()) document.querySelector("[data-command=fold]")?.click();
      box.focus();
      box.select();
    }
  }, true);
})();
