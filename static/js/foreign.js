/* An output that goes on from another prompt than the one in the form is not joined to it without a
   word: the page asks which of the two is meant. */
(() => {
  const playground = (window.playground = window.playground || {});

  /* ask(own) → "own", "here" or "" for neither; `own`: whether its prompt can be taken at all. */
  playground.foreign = (form) => {
    const box = form.querySelector("[data-foreign]");
    let answer = () => {}, from = null;
    const close = (chosen = "") => { box.hidden = true; answer(chosen); };
    const ask = (own) => {
      close();
      if (!box.contains(document.activeElement)) from = document.activeElement;
      box.querySelector("[data-answer=own]").hidden = !own;
      box.hidden = false;
      box.querySelector("[data-answer]:not([hidden])").focus();
      return new Promise((resolve) => { answer = resolve; });
    };
    const leave = () => { close(); if (from?.isConnected) from.focus(); };
    box.addEventListener("click", (event) => {
      const button = event.target.closest("[data-answer]");
      if (button?.dataset.answer) close(button.dataset.answer); else if (button) leave();
    });
    box.addEventListener("keydown", (event) => { if (event.key === "Escape") { event.preventDefault(); leave(); } });
    return { ask, close };
  };
})();
