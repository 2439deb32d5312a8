/* The tokens of runs that have ended, asked for a page at a time and kept. Never asks twice. */
(() => {
  const playground = (window.playground = window.playground || {});
  const PAGE = 500; // tokens of a choice in one answer
  const LIVE = ["queued", "running"];

  const runs = new Map(); // id (text) → promise of {run, letter, …, choices: Map}, or of null
  const ask = async (ids, from, choice) => {
    const url = new URL(document.querySelector("[data-tokens-url]").dataset.tokensUrl, location.href);
    url.searchParams.set("runs", ids.join(","));
    url.searchParams.set("from", from);
    url.searchParams.set("count", PAGE);
    if (choice !== undefined) url.searchParams.set("choice", choice);
    const response = await fetch(url, { credentials: "same-origin" }).catch(() => { throw new Error("The probabilities could not be read: the server cannot be reached."); });
    if (response.status === 404) return { runs: [] };
    if (!response.ok) throw new Error(`The probabilities could not be read (${response.status}).`);
    return response.json();
  };
  const put = (kept, page) => {
    page.tokens.forEach((token, i) => { kept.tokens[page.from + i] = token; });
    if (page.next === null) kept.after = page.after;
  };
  const opened = (about) => {
    const choices = new Map(about.choices.map((page) => {
      const kept = { ...page, tokens: new Array(page.total), pages: new Map([[0, Promise.resolve()]]) };
      put(kept, page);
      return [page.index, kept];
    }));
    return { ...about, choices };
  };
  /* The first page of each; null for a run that is live or not there. Many runs are one question. */
  const load = (ids) => {
    const wanted = ids.map(String), missing = wanted.filter((id) => !runs.has(id));
    if (missing.length) {
      const answer = ask(missing, 0);
      missing.forEach((id) => runs.set(id, answer.then((found) => {
        const about = found.runs.find((each) => String(each.run) === id);
        if (!about || LIVE.includes(about.status)) { runs.delete(id); return null; }
        return opened(about);
      }, (error) => { runs.delete(id); throw error; })));
    }
    return Promise.all(wanted.map((id) => runs.get(id)));
  };
  /* The token, after its page has come; undefined behind the end. */
  const at = async (run, choice, position) => {
    const from = position - (position % PAGE);
    if (position < 0 || position >= choice.total) return undefined;
    if (choice.tokens[position]) return choice.tokens[position];
    if (!choice.pages.has(from)) {
      choice.pages.set(from, ask([run.run], from, choice.index).then((found) => {
        put(choice, found.runs[0].choices[0]);
      }).catch((error) => { choice.pages.delete(from); throw error; }));
    }
    await choice.pages.get(from);
    return choice.tokens[position];
  };
  /* What is known already, without asking. */
  const known = () => Promise.all([...runs.values()]).then((all) => all.filter(Boolean));

  playground.tokenData = { load, at, known, PAGE };
})();
