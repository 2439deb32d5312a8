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
  /* A piece with what cannot be seen made visible. */
  playground.visible = (text) => text.replace(/\n/g, "\\n").replace(/\r/g, "\\r").replace(/\t/g, "\\t");
  playground.later = (act, ms) => {
    let timer = 0;
    return (...values) => { clearTimeout(timer); timer = setTimeout(() => act(...values), ms); };
  };
})();
