// The text of one output, appended in blocks while it arrives.
(() => {
  const playground = (window.playground = window.playground || {});
  const FRAME_BLOCK = 2_000; // characters after which a block ends at the next line end
  const LONGEST_BLOCK = 6_000; // characters after which it ends anywhere: layout grows with the block
  const SHOWN = 200_000; // characters of one output that stay in the page; the rest is in the record
  const AT_ONCE = 30_000; // characters of one output that one frame takes: what comes at once would halt the page

  // Appends text to an element in blocks, so that a browser lays out only the last one.
  class Output {
    constructor(element) {
      this.element = element;
      this.pieces = []; // everything that came, for the check at the end
      this.waiting = []; // not in the page yet
      this.shown = 0; // characters in the page
      this.block = null;
      this.node = null; // the last text node of the block, where nothing was drawn around it since
      this.size = 0; // characters of the block
    }

    add(text) {
      this.pieces.push(text);
      this.waiting.push(text);
    }

    // Whether there is more for the next frame.
    draw() {
      if (!this.waiting.length) return false;
      let text = this.waiting.join("");
      this.waiting = [];
      if (text.length > SHOWN) text = this.cut(text);
      if (text.length > AT_ONCE) {
        const end = wordEnd(text, AT_ONCE);
        this.waiting.push(text.slice(end));
        text = text.slice(0, end);
      }
      for (const part of blocksOf(text, this.size)) {
        if (part.fresh || !this.block) this.open();
        this.write(part.text);
        this.size += part.text.length;
        this.shown += part.text.length;
      }
      while (this.shown > SHOWN && this.element.childElementCount > 1) this.drop();
      return this.waiting.length > 0;
    }

    // Only the end of a very long piece ever enters the page.
    cut(text) {
      this.element.replaceChildren();
      this.shown = this.size = 0;
      this.block = this.node = null;
      this.mark();
      return text.slice(-SHOWN);
    }

    drop() {
      const first = this.element.firstElementChild;
      this.shown -= first.textContent.length;
      first.remove();
      this.mark();
    }

    mark() {
      this.element.dataset.tail = "";
      if (this.element.previousElementSibling?.matches("[data-long]")) return;
      const note = document.createElement("p");
      note.className = "long small quiet";
      note.dataset.long = "";
      note.textContent = "The end of a very long text; all of it is kept.";
      this.element.before(note);
    }

    open() {
      this.block = document.createElement("span");
      this.block.className = "out__block";
      this.node = null;
      this.size = 0;
      this.element.append(this.block);
    }

    write(text) {
      if (playground.marks?.on) {
        this.block.append(playground.marks.fragment(text));
        this.node = null;
        return;
      }
      if (!this.node || this.node !== this.block.lastChild) {
        this.node = document.createTextNode("");
        this.block.append(this.node);
      }
      this.node.appendData(text);
    }

    get text() {
      return this.pieces.join("");
    }
  }

  // Parts of `text` and whether each begins a new block, for a block that holds `size` already.
  function* blocksOf(text, size) {
    let fresh = false;
    while (size + text.length > FRAME_BLOCK) {
      let end = text.indexOf("\n", Math.max(0, FRAME_BLOCK - size)) + 1;
      if (!end || size + end > LONGEST_BLOCK) {
        if (size + text.length <= LONGEST_BLOCK) break;
        end = wordEnd(text, Math.max(1, LONGEST_BLOCK - size));
      }
      yield { text: text.slice(0, end), fresh };
      text = text.slice(end);
      fresh = true;
      size = 0;
    }
    if (text) yield { text, fresh };
  }

  // At a blank near `end`, never between the halves of a character.
  function wordEnd(text, end) {
    const blank = text.lastIndexOf(" ", end);
    if (blank > end / 2) return blank + 1;
    const half = text.charCodeAt(end - 1);
    return half >= 0xd800 && half <= 0xdbff ? end + 1 : end;
  }

  playground.Output = Output;
})();
