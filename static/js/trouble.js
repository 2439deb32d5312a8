// What stands in the way of live output, and the notice that says so above the outputs.
(() => {
  const playground = (window.playground = window.playground || {});
  const AFTER = 3_000; // ms without a connection after which the page says so

  class Trouble {
    constructor() {
      this.over();
    }

    over() {
      this.lostAt = 0;
      this.hindrance = ""; // what the server says stands in the way
      this.reason = ""; // why there is no connection, where the server can still be asked
      this.answers = true; // whether it can
      document.getElementById("live-trouble")?.remove();
    }

    // There is no connection from now on, or has been none before.
    since() {
      this.lostAt ||= performance.now();
    }

    // A server without its database refuses sockets, and can still say so.
    async ask(url) {
      try {
        const answer = await fetch(url);
        this.reason = (await answer.json()).problems[0] ?? "";
        this.answers = true;
      } catch {
        this.reason = "";
        this.answers = false;
      }
    }

    get words() {
      if (!this.lostAt || performance.now() - this.lostAt <= AFTER) return this.hindrance;
      if (this.reason) return `${this.reason} The live connection is tried again. What is running goes on, and what arrives is kept.`;
      if (!this.answers) return "The server cannot be reached; it is tried again. What is shown here is saved. Whether the run goes on is seen then.";
      return (
        "The live connection failed; it is tried again. The server is there, so your run goes on and is kept: reload to see it. " +
        "If this stays, a proxy may block websockets, or PUBLIC_URL may not be this address."
      );
    }

    show(outputs) {
      const text = this.words;
      let notice = document.getElementById("live-trouble");
      if (!text) {
        notice?.remove();
      } else if (!notice) {
        notice = document.createElement("p");
        notice.id = "live-trouble";
        notice.className = "notice notice--warn notice--sm";
        notice.setAttribute("role", "status");
        notice.textContent = text;
        outputs?.querySelector(".outputs__bar")?.after(notice);
      } else if (notice.textContent !== text) {
        notice.textContent = text;
      }
    }
  }

  playground.trouble = new Trouble();
})();
