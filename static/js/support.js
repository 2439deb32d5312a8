/* What the backends do with a parameter, as marks and sentences of its row. */
(() => {
  const playground = (window.playground = window.playground || {});
  const SVG = "http://www.w3.org/2000/svg";
  const TAKEN = ["accepted", "extension"];
  const MARK = { accepted: "", extension: "", forwarded: "-lim", coming_soon: "-lim", unestablished: "-lim", ignored: "-no", refused: "-no" };
  const SAID = { accepted: "accepted by", extension: "accepted by", forwarded: "passed on by", coming_soon: "announced by", unestablished: "not established for", ignored: "ignored by", refused: "refused by" };
  const list = (titles) => titles.join(", ");

  const marker = (suffix, provider) => {
    const svg = document.createElementNS(SVG, "svg"), use = document.createElementNS(SVG, "use");
    const known = document.getElementById(`i-pm-${provider}`) ? provider : "other";
    svg.setAttribute("class", "pm");
    use.setAttribute("href", `#i-pm-${known}${suffix}`);
    svg.append(use);
    return svg;
  };
  const range = (entry) => {
    const { minimum: low, maximum: high } = entry;
    if (low !== undefined && high !== undefined) return `${entry.above ? "above " : ""}${low} to ${high}`;
    if (low !== undefined) return entry.above ? `above ${low}` : `${low} or more`;
    return high !== undefined ? `at most ${high}` : "";
  };
  const outside = (entry, text) => {
    const value = Number(text);
    if (text.trim() === "" || Number.isNaN(value)) return false;
    const below = entry.minimum !== undefined && (entry.above ? value <= entry.minimum : value < entry.minimum);
    return below || (entry.maximum !== undefined && value > entry.maximum);
  };
  const showMarks = (element, columns, entries) => {
    const seen = new Map(columns.map((column, i) => [column.title, [entries[i] ? entries[i].status : "unknown", column.provider]]));
    const marks = element.querySelector("[data-marks]");
    marks.replaceChildren(...[...seen.values()].map(([status, provider]) => marker(status in MARK ? MARK[status] : "-no", provider)));
    const said = new Map();
    seen.forEach(([status], title) => { const words = SAID[status] || "not sent to"; said.set(words, [...(said.get(words) || []), title]); });
    const text = [...said].map(([words, titles]) => `${words} ${list(titles)}`).join("; ");
    marks.setAttribute("aria-label", text.charAt(0).toUpperCase() + text.slice(1));
  };
  const notes = (columns, entries, set) => {
    const found = new Set();
    const missing = [...new Set(columns.filter((_, i) => !entries[i]).map((column) => column.title))];
    if (missing.length && set) found.add(`Not sent to ${list(missing)}.`);
    entries.forEach((entry) => { if (entry && entry.note && ![...TAKEN, "unestablished"].includes(entry.status)) found.add(entry.note); });
    return [...found];
  };
  /* Of a parameter that is not sent: what holds then, where the table says it. */
  const without = (columns, entries) => {
    const found = new Map();
    columns.forEach((column, i) => { if (entries[i] && entries[i].unset) found.set(entries[i].unset, new Set([...(found.get(entries[i].unset) || []), column.title])); });
    if (found.size === 1) return `Without it: ${[...found.keys()][0]}.`;
    return found.size ? `Without it: ${[...found].map(([unset, titles]) => `${unset} (${list([...titles])})`).join("; ")}.` : "";
  };
  /* Said once for all rows; `letters`: of the columns whose backend it is, none where all are. */
  const unestablished = (letters) => `${letters.length ? `Column${letters.length > 1 ? "s" : ""} ${list(letters)}: which` : "Which"} parameters the backend takes is not established. It may ignore or refuse what it does not know.`;
  const facts = (columns, entries) => [...new Set(columns.map((column, i) => {
    const entry = entries[i];
    if (!entry) return "";
    const parts = [range(entry), entry.default !== undefined ? `default ${entry.default}` : ""].filter(Boolean).join(", ");
    const note = TAKEN.includes(entry.status) && entry.note ? ` ${entry.note}` : "";
    return parts || note ? `${column.title}: ${parts}${parts ? "." : ""}${note}` : "";
  }))].filter(Boolean).join(" ");
  /* What a column's model did with it before. */
  const remembered = (memory, model) => `${memory.kind === "refused" ? "Refused" : "Ignored"} by ${model || "this backend"} on ${memory.seen}: ${memory.sentence}`;

  playground.support = { TAKEN, range, outside, showMarks, notes, without, unestablished, facts, remembered };
})();
