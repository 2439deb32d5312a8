/* The values of the parameters, for all columns or for some: what is unset is absent from the document, and null in a column
   is what that column does not send. */
(() => {
  const playground = (window.playground = window.playground || {});
  const { TAKEN } = playground.support;
  const WHOLE = { extra_body: "extra", headers: "headers" }; // rows that are one part of the document for all columns
  const own = (object, key) => Object.prototype.hasOwnProperty.call(object, key);

  /* A raw value is what was typed, or JSON from a document that a program made. */
  const typed = (raw) => {
    if (raw === undefined || raw === null) return "";
    if (typeof raw === "string") return raw;
    return typeof raw === "object" ? JSON.stringify(raw, null, 2) : String(raw);
  };
  const brief = (raw) => { const text = typed(raw).replace(/\s+/g, " "); return text.length > 24 ? `${text.slice(0, 23)}…` : text || "empty"; };

  /* `rows`: elements with data-path; `host` as the panel's. */
  playground.values = (rows, support, host) => {
    const row = new Map(rows.map((each) => [each.dataset.path, each]));
    const byItself = rows.filter((each) => each.dataset.initialWith || each.dataset.follows).map((each) => each.dataset.path);
    const automatic = new Set(byItself);
    let scope = null; // null: what all columns share, else the positions of the columns that are edited

    const common = () => host.document().values;
    const over = () => scope.map((at) => host.columns()[at].values);
    const rawAt = (path, at) => {
      if (path in WHOLE) return host.document()[WHOLE[path]] || undefined;
      if (at !== null && own(host.columns()[at].values, path)) return host.columns()[at].values[path];
      return common()[path];
    };
    const there = (value) => value !== undefined && value !== null;
    const isSetAt = (path, at) => there(rawAt(path, at));
    /* In the edited columns: undefined where they differ. */
    const places = () => scope || [null];
    const mixed = (path) => new Set(places().map((at) => JSON.stringify(isSetAt(path, at) ? rawAt(path, at) : null))).size > 1;
    const raw = (path) => (mixed(path) ? undefined : rawAt(path, places()[0]));
    const isSet = (path) => places().some((at) => isSetAt(path, at));
    const isOver = (path) => scope !== null && !(path in WHOLE) && over().some((values) => own(values, path));
    const everywhere = () => scope !== null && scope.length === host.columns().length;
    const settleAt = (path, at, text) => {
      const values = host.columns()[at].values;
      if (text !== null) values[path] = text;
      else if (isSetAt(path, null)) values[path] = null;
      else delete values[path];
    };
    /* `text` null: not sent. What goes to every column becomes what all of them share. */
    const put = (path, text) => {
      if (path in WHOLE) host.document()[WHOLE[path]] = text === null ? "" : text;
      else if (scope !== null && !everywhere()) scope.forEach((at) => settleAt(path, at, text));
      else {
        if (scope !== null) over().forEach((values) => delete values[path]);
        if (text === null) delete common()[path]; else common()[path] = text;
      }
    };
    const write = (path, text, keepEmpty) => {
      automatic.delete(path);
      put(path, text === "" && !keepEmpty ? null : text);
    };
    const known = (path, column) => Boolean(support[path] && support[path][column.api]);
    const takes = (path, column) => known(path, column) && TAKEN.includes(support[path][column.api].status);

    /* What the only column has of its own is what the form shows and resets. */
    const fold = () => {
      const [only, ...rest] = host.columns();
      if (!only || rest.length) return;
      Object.entries(only.values).forEach(([path, value]) => {
        automatic.delete(path);
        if (there(value)) common()[path] = value; else delete common()[path];
        delete only.values[path];
      });
    };
    /* What single columns send otherwise than the row of all says. */
    const apart = (path) => scope !== null || path in WHOLE ? "" : host.columns()
      .map((column, at) => own(column.values, path) ? `${column.letter}: ${isSetAt(path, at) ? brief(rawAt(path, at)) : "not sent"}` : "")
      .filter(Boolean).join(", ");

    /* What the playground sets by itself as long as nobody touched it: only where it is of use. */
    const isOn = (path) => [true, "true"].includes(common()[path]);
    const meant = (path) => {
      const { follows, initial, initialWith } = row.get(path).dataset;
      return follows ? host.follow(follows) : isOn(initialWith) ? initial : undefined;
    };
    const settle = () => automatic.forEach((path) => {
      const value = meant(path);
      if (value !== undefined && host.columns().some((column) => takes(path, column))) common()[path] = value;
      else delete common()[path];
    });
    const left = (path, column) => automatic.has(path) && own(common(), path) && !takes(path, column);

    /* A restored document: what nobody touched goes on following the columns. */
    const adopt = () => {
      fold();
      byItself.forEach((path) => automatic.add(path));
      byItself.forEach((path) => {
        host.columns().forEach((column) => { if (column.values[path] === null && !takes(path, column)) delete column.values[path]; });
        const mine = host.columns().some((column) => own(column.values, path)), value = meant(path);
        const could = value !== undefined && host.columns().some((column) => takes(path, column));
        const same = isSetAt(path, null) && (common()[path] === value || String(common()[path]) === value);
        if (mine || (could && !isSetAt(path, null)) || (isSetAt(path, null) && !same)) automatic.delete(path);
      });
    };
    /* What all columns share is no longer sent; of a column, its own value goes. */
    const reset = (path) => {
      automatic.delete(path);
      if (scope === null || path in WHOLE) put(path, null);
      else over().forEach((values) => delete values[path]);
    };
    const leaveOut = (path) => {
      automatic.delete(path);
      scope.forEach((at) => settleAt(path, at, null));
    };
    const resetAll = () => {
      if (scope !== null) { scope.forEach((at) => host.reset(at)); return; }
      host.document().values = {};
      host.columns().forEach((_, at) => host.reset(at));
      Object.values(WHOLE).forEach((part) => { host.document()[part] = ""; });
      byItself.forEach((path) => automatic.add(path));
      Object.assign(common(), initial());
    };
    /* What a new form sends. */
    const initial = () => Object.fromEntries(rows.filter((each) => each.dataset.initial && !each.dataset.initialWith).map((each) => [each.dataset.path, each.dataset.initial]));
    /* What a new form sends and these values do not: somebody has switched it off. */
    const switchedOff = (sent) => rows.map((each) => each.dataset).filter(({ path, initial: begins, initialWith }) => begins && !there(sent[path])
      && (!initialWith || (String(sent[initialWith]) === "true" && !automatic.has(path)))).map(({ path }) => path);
    /* For one column, whatever is edited; `text` null: not sent. */
    const setAt = (path, at, text) => {
      automatic.delete(path);
      if (path in WHOLE) host.document()[WHOLE[path]] = text === null ? "" : text; else settleAt(path, at, text);
    };
    /* Not beyond the columns that are there. */
    const narrow = () => {
      const count = host.columns().length;
      if (scope !== null) scope = count < 2 ? null : scope.filter((at) => at < count);
      if (scope !== null && !scope.length) scope = null;
    };

    return {
      typed, brief, places, rawAt, isSetAt, mixed, raw, isSet, isOver, known, apart, write, setAt, fold, settle, adopt, reset, leaveOut, resetAll, initial, switchedOff, narrow,
      scope: () => scope,
      choose: (at) => { scope = at === null ? null : [...new Set([].concat(at))].sort((a, b) => a - b); },
      whole: (path) => path in WHOLE,
      automatic: () => [...automatic],
      /* Whether somebody has set anything, beside what a new form sends. */
      touched: () => rows.some(({ dataset: { path, initial: begins } }) => isSetAt(path, null) && !automatic.has(path) && begins !== String(rawAt(path, null))),
      /* What this column sends otherwise than all: ["temperature 0.2"]. */
      changes: (at) => Object.entries(host.columns()[at].values).map(([path, value]) => `${path} ${there(value) ? brief(value) : "not sent"}`),
      /* What somebody has set for all columns, as a preset keeps it. */
      chosen: () => Object.fromEntries(Object.entries(common()).filter(([path, value]) => there(value) && !automatic.has(path))),
      /* What this column must not send although all columns do. */
      leftOut: (column) => [...automatic].filter((path) => left(path, column)),
    };
  };
})();
