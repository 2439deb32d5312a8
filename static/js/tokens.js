/* Text as tokens and token ids as pieces, where a column's backend tells them. */
(() => {
  const playground = (window.playground = window.playground || {});
  const MOST = 300; // answers that are kept
  const PAUSE = 60_000; // ms without a question after a backend that could not be asked

  const known = new Map(); // question → promise of {tokens} or {error}
  const muted = new Map(); // connection and model → [until, the sentence]

  /* `asked`: {text} or {ids}. Never throws. */
  playground.tokens = (connection, model, asked) => {
    if (!connection) return Promise.resolve({ error: "There is no backend to ask." });
    const who = `${connection.id} ${model}`, key = `${who} ${JSON.stringify(asked)}`;
    const [until, error] = muted.get(who) || [0, ""];
    if (until > performance.now()) return Promise.resolve({ error });
    if (!known.has(key)) {
      const fields = asked.ids ? { ids: JSON.stringify(asked.ids), model } : { text: asked.text, model };
      const answer = playground.post(connection.tokens, fields)
        .then((response) => (response.ok ? response.json() : { error: "The tokens could not be asked for." }))
        .catch(() => ({ error: "The tokens could not be asked for." }))
        .then((found) => {
          if (found.error) { known.delete(key); muted.set(who, [performance.now() + PAUSE, found.error]); }
          return found;
        });
      known.set(key, answer);
      if (known.size > MOST) known.delete(known.keys().next().value);
    }
    return known.get(key);
  };
  const sizes = new Map(); // connection and model → promise of the context's size, or null
  playground.contextSize = (connection, model) => {
    if (!connection || !connection.context) return Promise.resolve(null);
    const who = `${connection.id} ${model}`;
    if (!sizes.has(who)) {
      const url = `${connection.context}?${new URLSearchParams({ model })}`;
      const answer = fetch(url, { headers: { "HX-Request": "true" }, credentials: "same-origin" })
        .then((response) => (response.ok ? response.json() : { context: null }))
        .catch(() => ({ context: null }))
        .then((found) => { if (!found.context) setTimeout(() => sizes.delete(who), PAUSE); return found.context; });
      sizes.set(who, answer);
    }
    return sizes.get(who);
  };
  /* What is left of the context behind a prompt and the longest answer; "" where nobody can tell. */
  playground.contextLeft = (size, prompt, most) => {
    if (!size) return "";
    const left = size - prompt - (most || 0), number = (value) => (value < 1000 ? String(value) : value.toLocaleString("en"));
    const after = most ? ` after max_tokens ${number(most)}` : "";
    return left >= 0 ? `${number(left)} of ${number(size)} left${after}` : `${number(-left)} over the context of ${number(size)}${after ? `, with max_tokens ${number(most)}` : ""}`;
  };
  /* A piece with what cannot be seen made visible. */
  playground.visible = (text) => text.replace(/\n/g, "\\n").replace(/\r/g, "\\r").replace(/\t/g, "\\t");
  playground.later = (act, ms) => {
    let timer = 0;
    return (...values) => { clearTimeout(timer); timer = setTimeout(() => act(...values), ms); };
  };
})();
