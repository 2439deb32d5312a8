"""Values as source text."""

import json
import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

WIDTH = 88  # characters; longer lists and objects go over several lines
# What no page or terminal shows as it is.
UNSEEN = re.compile(
    "[\x7f-\xa0\xad\u061c\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ud800-\udfff]"
)


def json_text(value: Any) -> str:
    """JSON in which everything that cannot be seen is an escape."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class Notation(NamedTuple):
    """How a language writes what JSON writes; the escapes in strings are JSON's everywhere."""

    scalar: Callable[[Any], str] = json_text
    indent: str = "  "
    comma: str = ""  # behind the last item

    def text(self, value: Any, depth: int = 0) -> str:
        if isinstance(value, Mapping):
            items = value.items()
            parts = [f"{self.scalar(name)}: {self.text(v, depth + 1)}" for name, v in items]
        elif isinstance(value, list | tuple):
            parts = [self.text(each, depth + 1) for each in value]
        else:
            return self.scalar(value)
        opening, closing = "{}" if isinstance(value, Mapping) else "[]"
        line = f"{opening}{', '.join(parts)}{closing}"
        if not parts or (len(line) + len(self.indent) * depth <= WIDTH and "\n" not in line):
            return line
        inner = ",\n".join(parts) + self.comma
        return f"{opening}\n{textwrap.indent(inner, self.indent)}\n{closing}"


JAVASCRIPT = Notation()
PYTHON = Notation(
    lambda each: json_text(each) if isinstance(each, str) else repr(each), "    ", ","
)


def imports(standard: list[str], others: str) -> str:
    lines = "".join(f"import {name}\n" for name in standard)
    return (f"{lines}\n" if lines else "") + f"{others}\n\n"
