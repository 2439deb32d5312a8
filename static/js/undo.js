/* What can be taken back says so in a toast for ten seconds, also on the page that comes next. The
   server's answer carries {text, url} in the event `undoable`, and where the answer to the undo takes
   the place of an element, its id as `shown`; `fields` are posted. */
(() => {
  const playground = window.playground;
  const KEY = "undoable";
  const offer = ({ text, url, fields = {}, shown }) => playground.toast(text, async () => {
    const answer = await playground.post(url, fields).catch(() => null);
    if (!answer?.ok) { playground.failed("undo", `That could not be undone.${shown ? "" : " Look into the trash."}`); return; }
    playground.worked("undo");
    if (shown) {
      const there = document.getElementById(shown);
      if (there) htmx.swap(there, await answer.text(), { swapStyle: "outerHTML" }, { eventInfo: { target: there } });
      playground.announce(`Undone: ${text}`);
      return;
    }
    const undone = new CustomEvent("undone", { cancelable: true, detail: { html: await answer.text() } });
    if (document.dispatchEvent(undone)) location.reload();
  });
  document.addEventListener(KEY, (event) => {
    offer(event.detail);
    if (!event.detail.elt?.closest?.("[data-stays]")) {
      try { sessionStorage.setItem(KEY, JSON.stringify({ text: event.detail.text, url: event.detail.url, at: Date.now() })); } catch { /* private mode */ }
    }
  });
  let kept = null;
  try { kept = JSON.parse(sessionStorage.getItem(KEY)); sessionStorage.removeItem(KEY); } catch { /* private mode */ }
  if (kept && Date.now() - kept.at < 10_000) offer(kept);

  /* A link that was made is shown in its dialog. */
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.target.id !== "share-made") return;
    const dialog = event.target.closest("dialog");
    if (!dialog.open) dialog.showModal();
    dialog.querySelector("[data-copy]")?.focus();
  });
})();
