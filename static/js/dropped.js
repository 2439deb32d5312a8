/* A text file dropped on a prompt or a message goes in where the cursor is. A table of rows is one of
   variables wherever it is dropped (variables.js). */
(() => {
  const { playground } = window;
  const MOST = 4 * 2 ** 20; // bytes of a file: more is no prompt
  const box = (target) => target.closest?.("#compose textarea:not([hidden])");
  const files = (event) => [...(event.dataTransfer?.items || [])].some((item) => item.kind === "file");
  const TABLE = /\.(csv|tsv|jsonl|ndjson)$/i;
  playground.forPrompt = (event) => Boolean(box(event.target)) && ![...event.dataTransfer.files].some((file) => TABLE.test(file.name));
  const mark = (area) => document.querySelectorAll("[data-dropping]").forEach((each) => { if (each !== area) delete each.dataset.dropping; });

  const read = async (file) => {
    if (file.size > MOST) throw new Error(`“${file.name}” has ${Math.ceil(file.size / 2 ** 20)} MB; a file of up to ${MOST / 2 ** 20} MB can be dropped here.`);
    const bytes = await file.arrayBuffer();
    try { return new TextDecoder("utf-8", { fatal: true }).decode(bytes); } catch { throw new Error(`“${file.name}” is not a text file in UTF-8.`); }
  };
  const put = (area, text) => {
    area.focus();
    const { selectionStart: start, selectionEnd: end } = area;
    // Through the editor where it can, so that Ctrl+Z takes it back.
    if (!document.execCommand("insertText", false, text)) {
      area.setRangeText(text, start, end, "end");
      area.dispatchEvent(new Event("input", { bubbles: true }));
    }
  };
  document.addEventListener("dragover", (event) => {
    const area = box(event.target);
    mark(area);
    if (!files(event)) return;
    event.preventDefault(); // else the browser would leave the page for the file
    event.dataTransfer.dropEffect = area ? "copy" : "none";
    if (area) area.dataset.dropping = "";
  });
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) mark(null); });
  document.addEventListener("drop", async (event) => {
    const area = box(event.target);
    mark(null);
    if (!files(event) || event.defaultPrevented) return;
    event.preventDefault();
    if (!area) return;
    try {
      for (const file of event.dataTransfer.files) put(area, await read(file));
      playground.announce("The file is in the prompt.");
    } catch (error) { playground.notice(error.message); }
  });
})();
