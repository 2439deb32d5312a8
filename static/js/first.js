/* What a newcomer sees: hints that can be dismissed, and sample prompts while the prompt is empty. */
(() => {
  const playground = (window.playground = window.playground || {});
  const KEY = "tour";
  const seen = () => { try { return localStorage.getItem(KEY) === "seen"; } catch { return false; } };
  const tour = document.querySelector("[data-tour]");
  if (tour) {
    tour.hidden = seen();
    tour.querySelector("[data-tour-close]").addEventListener("click", () => {
      try { localStorage.setItem(KEY, "seen"); } catch { /* private mode */ }
      tour.remove();
      document.getElementById("prompt").focus();
    });
  }

  /* `host`: document(), put(document), snapshot(), undo(sentence, before). */
  playground.samples = (form, host) => {
    const holder = form.querySelector("[data-samples]"), all = JSON.parse(document.getElementById("samples").textContent);
    const text = document.getElementById("prompt");
    const show = () => { holder.hidden = Boolean(text.value); };
    holder.addEventListener("click", (event) => {
      const button = event.target.closest("[data-sample]");
      if (!button) return;
      const { title, words, prompt, values } = all[Number(button.dataset.sample)], before = host.snapshot();
      host.put({ ...before, mode: "text", prompt, values: { ...before.values, ...values } });
      text.focus();
      host.undo(`“${title}” is in the form. ${words}`, before);
    });
    text.addEventListener("input", show);
    return { show };
  };
})();
