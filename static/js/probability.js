/* What follows from the log probabilities of candidates. Pure functions: nothing here touches the page.

   A candidate is {text, logprob}. A log probability of −9000 or less is minus infinity (vLLM writes
   −9999); null is unknown. Servers cut the list, so there is a rest: the share that was not returned. */
(() => {
  const playground = (window.playground = window.playground || {});
  const NEVER = -9000;
  const HEAT = [0.8, 0.5, 0.3, 0.15, 0.05]; // from here up a token is of level 0, 1, 2, 3, 4; below of 5

  /* 0 to 1; null where it is unknown. */
  const share = (logprob) => {
    if (logprob === null || logprob === undefined) return null;
    return logprob <= NEVER ? 0 : Math.min(1, Math.exp(logprob));
  };
  const heat = (probability) => {
    if (probability === null) return null;
    const level = HEAT.findIndex((least) => probability >= least);
    return level < 0 ? HEAT.length : level;
  };
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const known = (candidates) => candidates.map((each) => share(each.logprob)).filter((each) => each !== null);
  /* What the candidates leave to all the tokens that were not returned. */
  const rest = (candidates) => Math.max(0, 1 - sum(known(candidates)));
  const bits = (p) => (p > 0 ? -p * Math.log2(p) : 0);
  /* In bits, with the rest as one candidate: the entropy of the whole list is this or more. Null where
     no probability is known. */
  const entropy = (candidates) => {
    const found = known(candidates);
    return found.length ? sum(found.map(bits)) + bits(rest(candidates)) : null;
  };
  const percent = (p) => {
    if (p === null || p === undefined) return "–";
    if (p === 0) return "0\u202f%";
    if (p < 0.0001) return "<\u202f0.01\u202f%";
    const value = 100 * p;
    return `${value >= 9.95 ? value.toFixed(1) : value.toFixed(value < 0.995 ? 2 : 1)}\u202f%`;
  };

  /* --- Samplers --- */

  /* Works on a list of {weight, count}, most likely first: `count` equal tokens of this weight each.
     The candidates count 1; the rest is taken as the fewest equal tokens that it can be, for none of
     them is likelier than the last candidate. Each sampler sees what the one before it left. */
  const total = (list) => sum(list.map((each) => each.weight * each.count));
  const SAMPLERS = {
    temperature: (list, t) => {
      if (t === 1) return list;
      if (t <= 0) return list.slice(0, 1).map((each) => ({ ...each, count: 1 }));
      const most = list.length ? list[0].weight : 1;
      return list.map((each) => ({ ...each, weight: (each.weight / most) ** (1 / t) }));
    },
    top_k: (list, k) => {
      if (k <= 0) return list;
      let room = Math.floor(k);
      return list.map((each) => { const count = Math.min(each.count, room); room -= count; return { ...each, count }; }).filter((each) => each.count);
    },
    /* The fewest tokens that reach the share p together; the one that reaches it stays. */
    top_p: (list, p) => {
      if (p >= 1) return list;
      const all = total(list), kept = [];
      let reached = 0;
      for (const each of list) {
        if (kept.length && reached >= p - 1e-9) break;
        const one = each.weight / all;
        const wanted = one > 0 ? Math.max(1, Math.ceil((p - reached) / one - 1e-9)) : 1;
        const count = Math.min(each.count, wanted);
        kept.push({ ...each, count });
        reached += count * one;
      }
      return kept;
    },
    min_p: (list, p) => (p <= 0 || !list.length ? list : list.filter((each, i) => i === 0 || each.weight >= p * list[0].weight - 1e-12)),
  };
  /* What is left of each candidate: {shares: [0…1 or null where it was cut], rest, left: how many candidates}.
     `settings`: {temperature, top_k, top_p, min_p}, what is missing is off; `order`: their names. */
  const sample = (candidates, settings, order) => {
    const ranked = candidates
      .map((each, index) => ({ index, weight: share(each.logprob) || 0, count: 1 }))
      .filter((each) => each.weight > 0)
      .sort((a, b) => b.weight - a.weight);
    const missing = rest(candidates), least = ranked.length ? ranked[ranked.length - 1].weight : 1;
    let list = ranked;
    if (missing > 1e-6) {
      const count = Math.max(1, Math.ceil(missing / least - 1e-9));
      list = [...ranked, { index: -1, weight: missing / count, count }];
    }
    for (const name of order) if (settings[name] !== undefined && settings[name] !== null) list = SAMPLERS[name](list, settings[name]);
    const all = total(list), shares = candidates.map(() => null);
    let left = 0, tail = 0;
    for (const each of list) {
      const part = all > 0 ? (each.weight * each.count) / all : 0;
      if (each.index < 0) tail = part; else { shares[each.index] = part; left += 1; }
    }
    return { shares, rest: tail, left };
  };

  playground.probability = { share, heat, rest, entropy, percent, sample, HEAT, NEVER };
})();
