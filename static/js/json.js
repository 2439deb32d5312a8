/* What is wrong with a JSON text, in one sentence that names the line; "" where nothing is.
   The browser's own parser names no line everywhere and says nothing of keys that occur twice. */
(() => {
  const playground = (window.playground = window.playground || {});
  const DEEPEST = 100;
  const PYTHON = { True: "true", False: "false", None: "null", undefined: "null" };
  const SPACE = /[ \t\r\n]*/y, NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y, WORD = /[A-Za-z_$][\w$.-]*/y;
  const TOKEN = /"(?:[^"\\\n]|\\.)*"?|[^\s,:{}[\]]+|./y;

  class Wrong extends Error {}

  class Reader {
    constructor(text) { this.text = text; this.at = 0; }
    fail(at, sentence) { throw new Wrong(`Line ${this.line(at)}: ${sentence}`); }
    line(at) { return this.text.slice(0, at).split("\n").length; }
    match(pattern) { pattern.lastIndex = this.at; const found = pattern.exec(this.text); return found ? found[0] : ""; }
    next() { this.at += this.match(SPACE).length; return this.text[this.at]; }
    token() { const found = this.match(TOKEN); return `“${found.length > 24 ? `${found.slice(0, 24)}…` : found}”`; }

    value(depth) {
      const char = this.next();
      if (depth > DEEPEST) this.fail(this.at, `the JSON is nested too deeply: at most ${DEEPEST} levels.`);
      if (char === undefined) this.fail(this.at, "it ends too early; a value is missing.");
      if (char === "{") return this.object(depth);
      if (char === "[") return this.list(depth);
      if (char === '"') return this.string();
      if (/[-+.\d]/.test(char)) return this.number();
      return this.word(char);
    }

    word(char) {
      const word = this.match(WORD);
      if (["true", "false", "null"].includes(word)) { this.at += word.length; return; }
      if (["NaN", "Infinity"].includes(word)) this.fail(this.at, `JSON has no ${word}; type a finite number.`);
      if (word in PYTHON) this.fail(this.at, `write ${PYTHON[word]}, not ${word}.`);
      if (word) this.fail(this.at, `put “${word}” in double quotes.`);
      if (char === "'") this.fail(this.at, "use double quotes, not single ones.");
      if ("}],".includes(char)) this.fail(this.at, `a value is missing before “${char}”.`);
      this.fail(this.at, `${this.token()} is not JSON.`);
    }

    number() {
      const found = this.match(NUMBER), rest = this.text.slice(this.at + found.length).match(/^[\w.+-]*/)[0];
      if (!found || rest) this.fail(this.at, `${this.token()} is not a number as JSON writes it.`);
      this.at += found.length;
    }

    string() {
      const from = this.at;
      for (this.at += 1; ; this.at += 1) {
        const char = this.text[this.at];
        if (char === '"') { this.at += 1; return this.text.slice(from + 1, this.at - 1); }
        if (char === undefined || char === "\n") { const end = this.at; this.at = from; this.fail(from, `a quote is missing at the end of ${end - from > 24 ? `“${this.text.slice(from, from + 24)}…”` : `“${this.text.slice(from, end)}”`}.`); }
        if (char < " ") this.fail(this.at, "write a tab inside quotes as \\t.");
        if (char === "\\") {
          if (!/^(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/.test(this.text.slice(this.at + 1, this.at + 6))) this.fail(this.at, `“${this.text.slice(this.at, this.at + 2)}” is no escape; write \\\\ for a backslash.`);
          this.at += 1;
        }
      }
    }

    list(depth) {
      const opened = this.at;
      this.at += 1;
      if (this.next() === "]") { this.at += 1; return; }
      for (;;) { this.value(depth + 1); if (this.close("]", opened)) return; }
    }

    object(depth) {
      const opened = this.at, keys = new Set();
      this.at += 1;
      if (this.next() === "}") { this.at += 1; return; }
      for (;;) {
        const char = this.next(), at = this.at;
        if (char === undefined) this.unclosed("}", opened);
        if (char !== '"') this.fail(at, char === "," ? "there is one comma too many." : `a key in double quotes is expected, not ${this.token()}.`);
        const key = this.string();
        if (keys.has(key)) this.fail(at, `the key “${key}” occurs twice; remove one.`);
        keys.add(key);
        if (this.next() !== ":") this.fail(at, `a colon is missing after “"${key}"”.`);
        this.at += 1;
        this.value(depth + 1);
        if (this.close("}", opened)) return;
      }
    }

    /* After an item: its closing mark, or a comma with something behind it. */
    close(mark, opened) {
      const char = this.next();
      if (char === mark) { this.at += 1; return true; }
      if (char === undefined) this.unclosed(mark, opened);
      if ("}]".includes(char)) this.fail(this.at, `“${char}” is here, but a “${mark}” is missing before it.`);
      if (char !== ",") this.fail(this.at, `a comma is missing before ${this.token()}.`);
      const comma = this.at;
      this.at += 1;
      if ("}]".includes(this.next() || " ")) this.fail(comma, `remove the comma before “${this.text[this.at]}”.`);
      return false;
    }

    unclosed(mark, opened) { this.fail(opened, `the “${mark === "}" ? "{" : "["}” is never closed; a “${mark}” is missing.`); }
  }

  playground.jsonProblem = (text, shape = "any") => {
    if (!text.trim()) return "";
    const reader = new Reader(text), first = text.trim()[0];
    if (shape === "object" && first !== "{") return "Type a JSON object, in { }.";
    if (shape === "array" && first !== "[") return "Type a JSON list, in [ ].";
    try {
      reader.value(1);
      if (reader.next() !== undefined) reader.fail(reader.at, `remove what comes after the end: ${reader.token()}.`);
    } catch (error) {
      if (error instanceof Wrong) return error.message;
      throw error;
    }
    return "";
  };
})();
