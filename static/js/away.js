/* A long run that ends while the page is out of sight: said in the title, and as a notification for
   those who have allowed it. */
(() => {
  const LONG = 10_000; // ms of a run that is worth a notification
  const title = document.title;
  let began = 0;
  const count = () => document.querySelectorAll("[data-run]").length;
  const back = () => { if (!document.hidden) document.title = title; };
  document.addEventListener("visibilitychange", back);
  document.addEventListener("playground:running", () => {
    began ||= Date.now();
    if (document.hidden) document.title = `… ${title}`;
  });
  document.addEventListener("playground:idle", () => {
    const took = began ? Date.now() - began : 0, failed = document.querySelectorAll('[data-run][data-status="failed"]').length;
    began = 0;
    if (!document.hidden) return;
    const words = failed ? `${failed} of ${count()} failed` : count() > 1 ? `${count()} columns are done` : "The run is done";
    document.title = `${failed ? "✗" : "✓"} ${title}`;
    if (took < LONG || !("Notification" in window) || Notification.permission !== "granted") return;
    const note = new Notification("Playground", { body: words, tag: "run" });
    note.addEventListener("click", () => { window.focus(); note.close(); });
  });
  /* The permission is asked for only by the switch in the menu. */
  document.addEventListener("click", async (event) => {
    const item = event.target.closest("[data-notify]");
    if (!item) return;
    const answer = "Notification" in window ? await Notification.requestPermission() : "denied";
    window.playground.announce(answer === "granted" ? "You are told when a long run ends." : "The browser does not allow notifications here.", answer !== "granted");
    show();
  });
  const show = () => document.querySelectorAll("[data-notify]").forEach((item) => { item.hidden = !("Notification" in window) || Notification.permission !== "default"; });
  document.getElementById("menu-user")?.addEventListener("beforetoggle", show); // another process knows: not while the page loads
})();
