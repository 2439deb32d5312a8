"""Text as the search sees it: one tokenizer for both databases and for what is typed.

Folded text is NFKC and casefolded. A word is a run of letters and digits of it. Scripts without
blanks between words (Chinese, Japanese, Korean, Thai and their neighbours) are cut into single
characters and pairs, so that any part of them is found; what pairs cannot tell is checked
literally.
"""

import re
import unicodedata
from collections.abc import Iterator

LONGEST_WORD = 60  # characters; the rest of a longer one is not looked up
SHORTEST_BEGINNING = 3  # characters; what begins with fewer is nearly everything
BEGINS = "*"  # ends what is looked up as the beginning of a word; no character of a word
# Thai to Khmer, kana, bopomofo, Han with its extensions, Hangul.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3100-\u312f\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD = re.compile(r"[^\W_]+")
_PART = re.compile(f"[{UNSPACED}]+|[^{UNSPACED}]+")
_UNSPACED = re.compile(f"[{UNSPACED}]")


def fold(text: str) -> str:
    """NFKC and without case; what is equal here is equal for the search."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def words_of(folded: str) -> list[str]:
    """The distinct words of a folded text, to be stored."""
    if folded.isascii():  # nearly all: nothing to cut into characters
        return list(dict.fromkeys([word[:LONGEST_WORD] for word in _WORD.findall(folded)]))
    return list(dict.fromkeys(_words(folded, singles=True)))


def words_to_find(folded: str) -> list[str]:
    """The distinct words that a text must hold to hold this one."""
    return list(dict.fromkeys(_words(folded, singles=False)))


def is_plain(folded: str) -> bool:
    """Whether looking up its one word says all: there is nothing to check literally."""
    return words_to_find(folded) == [folded]


def beginning(folded: str) -> str:
    """The same word, to be looked up as the beginning of words; "" for what cannot be one."""
    if len(folded) < SHORTEST_BEGINNING or not is_plain(folded) or _UNSPACED.search(folded):
        return ""
    return folded + BEGINS


def _words(folded: str, singles: bool) -> Iterator[str]:
    for match in _WORD.finditer(folded):
        word = match.group()
        if word.isascii() or not _UNSPACED.search(word):
            yield word[:LONGEST_WORD]
            continue
        for part in _PART.findall(word):
            if not _UNSPACED.match(part):
                yield part[:LONGEST_WORD]
                continue
            if singles or len(part) == 1:
                yield from part
            yield from (part[at : at + 2] for at in range(len(part) - 1))
