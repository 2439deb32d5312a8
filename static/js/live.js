// One run of the page while it is live: its outputs, its figures, and whether they agree with the record.
(() => {
  const playground = (window.playground = window.playground || {});
  const { Output } = playground;

  class LiveRun {
    constructor(element) {
      this.element = element;
      this.run = element.dataset.run;
      this.seq = 0;
      this.outputs = new Map(); // "text 0" → Output
      this.cell = element.classList.contains("cell"); // of a grid: small, and fetched at its end
      this.body = element.querySelector(this.cell ? ".cell__body" : ".col__body");
      this.atEnd = true;
      this.began = performance.now() - Number(element.dataset.elapsed || 0); // its turn, or its press while it waits
      this.first = null; // ms until the first text, by the server's clock
      this.last = 0;
      this.chunks = 0;
      this.usage = null;
      this.sentAt = element.dataset.status === "running" ? this.began : 0; // when its turn came, by ours; a cell only
      if (!this.cell) this.body.addEventListener("scroll", () => this.scrolled(), { passive: true });
    }

    // Only the row that follows on the last one; a gap means that something was lost on the way.
    take(row) {
      if (row.seq <= this.seq) return true;
      if (row.seq > this.seq + 1) return false;
      this.seq = row.seq;
      this.element.dataset.seq = row.seq;
      for (const [kind, choice, data, at] of row.events) this.apply(kind, choice, data, at);
      return true;
    }

    apply(kind, choice, data, at) {
      if (this.element.dataset.status === "queued") this.status("running");
      if (kind === "text" || kind === "reasoning") {
        this.output(kind, choice).add(data);
        this.chunks += at.length;
        if (this.first === null) {
          this.first = at[0][0];
          this.began = Math.min(this.began, performance.now() - this.first);
        }
        this.last = at[at.length - 1][0];
      } else if (kind === "usage") {
        this.usage = data;
      } else if (kind === "finish") {
        this.metric("finish", data);
      }
    }

    output(kind, choice) {
      const key = `${kind} ${choice}`;
      if (!this.outputs.has(key)) this.outputs.set(key, new Output(this.place(kind, choice)));
      return this.outputs.get(key);
    }

    place(kind, choice) {
      const found = this.body.querySelector(`.out[data-${kind === "text" ? "choice" : kind}="${choice}"]`);
      if (found) return found;
      const element = document.createElement("div");
      element.className = kind === "text" ? "out" : "out out--reasoning";
      element.dir = "auto";
      element.dataset[kind === "text" ? "choice" : kind] = choice;
      const later = [...this.body.querySelectorAll(".out[data-choice]")].find(
        (other) => Number(other.dataset.choice) > choice || (kind !== "text" && Number(other.dataset.choice) === choice),
      );
      this.body.insertBefore(kind === "text" ? element : folded(element), later ?? this.body.querySelector("[data-endings]"));
      return element;
    }

    draw() {
      return [...this.outputs.values()].map((output) => output.draw()).includes(true);
    }

    async drawAll() {
      while (this.draw()) {
        this.keepUp();
        await nextFrame();
      }
      this.keepUp();
    }

    keepUp() {
      if (this.atEnd) this.body.scrollTop = this.body.scrollHeight;
    }

    scrolled() {
      this.atEnd = this.body.scrollTop + this.body.clientHeight >= this.body.scrollHeight - 24;
      const jump = this.element.querySelector(".jump");
      if (this.atEnd) jump?.remove();
      else if (!jump) this.offerJump();
    }

    offerJump() {
      const jump = document.createElement("button");
      jump.type = "button";
      jump.className = "btn btn--sm jump";
      jump.textContent = "To the end";
      jump.addEventListener("click", () => {
        this.body.scrollTop = this.body.scrollHeight;
        this.body.focus();
      });
      this.body.after(jump);
    }

    status(status) {
      this.element.dataset.status = status;
      const badge = this.element.querySelector(".badge");
      if (badge) badge.dataset.status = status;
      if (status === "running") this.began = performance.now();
    }

    // It may not be followed any more; what has come stays in the page.
    lost() {
      this.draw();
      this.status("lost");
      const badge = this.element.querySelector("[data-badge]");
      if (badge) badge.textContent = "Not shown any more";
      this.body.removeAttribute("aria-busy");
      this.element.querySelector("[data-stop]")?.remove();
    }

    metric(name, text) {
      const cell = this.element.querySelector(`[data-metric="${name}"]`);
      if (!cell || cell.textContent === text) return;
      cell.textContent = text;
      cell.classList.remove("nil");
    }

    // Timers run by our clock, everything measured comes from the server's.
    // `before`: how many runs of its connection wait before it, below 0 for one that is sent.
    tell(before = 0) {
      const badge = this.element.querySelector("[data-badge]");
      const queued = this.element.dataset.status === "queued";
      const elapsed = performance.now() - this.began;
      if (this.cell && this.first === null) {
        if (badge && !("stopping" in this.element.dataset)) badge.textContent = this.turn(before);
        return;
      }
      const stopping = "stopping" in this.element.dataset;
      if (badge && stopping) badge.textContent = "Stopping";
      if (this.first === null) {
        if (badge && !stopping) badge.textContent = `${queued ? "Queued" : "Waiting"} ${seconds(elapsed)}`;
        this.metric(queued ? "wait" : "total", seconds(elapsed));
        if (queued) this.element.querySelector(".waited")?.removeAttribute("hidden");
        return;
      }
      if (badge && !stopping) badge.textContent = seconds(elapsed);
      this.metric("first", duration(this.first));
      this.metric("total", seconds(elapsed));
      const tokens = this.usage?.completion_tokens ?? this.chunks;
      this.metric("tokens", `${this.usage?.prompt_tokens ?? "?"} / ${this.usage ? "" : "~"}${tokens}`);
      if (this.chunks > 1 && this.last > this.first) {
        this.metric("speed", `~${(((this.chunks - 1) * 1000) / (this.last - this.first)).toFixed(1)} tok/s`);
      }
    }

    turn(before) {
      if (before > 0) return `Waits, ${before} before it`;
      if (before === 0) return "Next";
      this.sentAt ||= performance.now();
      return `Sent ${seconds(performance.now() - this.sentAt)}`;
    }

    // Whether the page holds exactly what the record holds.
    async agrees(end) {
      const texts = [...this.outputs].filter(([key]) => key.startsWith("text "));
      const written = new Map(texts.map(([key, output]) => [Number(key.slice(5)), output.text]));
      if (end.choices.some((choice) => choice.length && !written.has(choice.index))) return false;
      if ([...written.keys()].some((index) => !end.choices.some((choice) => choice.index === index))) return false;
      for (const choice of end.choices) {
        if (!(await sameText(written.get(choice.index) ?? "", choice))) return false;
      }
      return true;
    }
  }

  function folded(element) {
    const details = document.createElement("details");
    details.className = "reasoning";
    details.open = true;
    const summary = document.createElement("summary");
    summary.textContent = "Reasoning";
    details.append(summary, element);
    return details;
  }

  // Without a secure context there is no digest: then the record is fetched, to be sure.
  async function sameText(text, choice) {
    if (!choice.length) return text === "";
    if (!crypto.subtle) return false;
    const bytes = new TextEncoder().encode(text);
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    const hex = [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return hex === choice.sha256;
  }

  function seconds(ms) {
    return `${(ms / 1000).toFixed(1)} s`;
  }

  function duration(ms) {
    return ms < 995 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(2)} s`;
  }

  function nextFrame() {
    return new Promise((go) => (document.hidden ? setTimeout(go, 16) : requestAnimationFrame(go)));
  }

  playground.LiveRun = LiveRun;
})();
