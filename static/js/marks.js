/* White space, invisible characters and special tokens made visible. The marks are drawn by the style
   sheet: the text of the page stays exactly what it was, so selecting and copying give the real one. */
(() => {
  const playground = (window.playground = window.playground || {});
  const SIGNS = { " ": "·", "\n": "↵", "\t": "→", "\r": "␍", "\u00a0": "⍽", "\u3000": "□" };
  const NAMES = { "\u200b": "ZWSP", "\ufeff": "BOM", "\u00ad": "SHY", "\u200e": "LRM", "\u200f": "RLM", "\u2028": "LS", "\u2029": "PS" };
  // Not the joiner and the variation selectors: they make one sign of an emoji.
  const INVISIBLE = "[ \\n\\t\\r\\u00a0\\u3000\\u00ad\\ufeff\\u0001-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u1680\\u2000-\\u200b\\u200e\\u200f\\u2028-\\u202f\\u205f\\u2060-\\u206f]";
  const SPECIAL = "<\\|[^|<>\\s]{1,60}\\|>|</?s>|<(?:bos|eos|pad|unk|mask|start_of_turn|end_of_turn|begin_of_text|end_of_text)>|\\[/?INST\\]|<</?SYS>>";
  const FIND = new RegExp(`${SPECIAL}|${INVISIBLE}`, "gu");

  const mark = (found) => {
    const element = document.createElement("span");
    if (found.length > 1) {
      element.className = "special";
    } else {
      element.className = found in SIGNS ? "ws" : "ws ws--named";
      element.dataset.sign = SIGNS[found] || NAMES[found] || `U+${found.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
    }
    element.append(found);
    return element;
  };
  const fragment = (text) => {
    const made = document.createDocumentFragment();
    let from = 0;
    for (const match of text.matchAll(FIND)) {
      if (match.index > from) made.append(text.slice(from, match.index));
      made.append(mark(match[0]));
      from = match.index + match[0].length;
    }
    if (from < text.length) made.append(text.slice(from));
    return made;
  };
  const texts = (root) => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), found = [];
    while (walker.nextNode()) if (!walker.currentNode.parentElement.closest(".ws, .special")) found.push(walker.currentNode);
    return found;
  };

  playground.marks = {
    on: false,
    fragment,
    put: (root) => texts(root).forEach((node) => { if (node.data.search(FIND) >= 0) node.replaceWith(fragment(node.data)); }),
    take: (root) => {
      const parents = new Set();
      root.querySelectorAll(".ws, .special").forEach((element) => { parents.add(element.parentElement); element.replaceWith(...element.childNodes); });
      parents.forEach((parent) => parent.normalize());
    },
  };
})();
