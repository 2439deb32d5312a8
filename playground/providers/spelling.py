"""The secrets of a target in all the ways in which they may stand in a text."""

import base64
import json
import re
from collections.abc import Mapping
from urllib.parse import quote

KEY, HEADER = "[key]", "[header]"
SHORTEST = 8  # characters; in an answer, a shorter secret may be any word
SUSPECT = 4  # characters of a secret, from its beginning, from which a text is held back
URL_SAFE = str.maketrans("+/", "-_")


def spellings(secret: str) -> set[str]:
    """The secret in the ways in which it may stand in a text."""
    raw = secret.encode()
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in secret)
    found = {
        secret,
        quote(secret, safe=""),
        quote(quote(secret, safe=""), safe=""),
        "".join(f"%{byte:02X}" for byte in raw),
        json.dumps(secret)[1:-1],
        secret.replace("/", "\\/"),
        escaped,
        escaped.upper().replace("\\U", "\\u"),
        raw.hex(),
        raw.hex().upper(),
    }
    for before in range(3):
        # What does not change with the bytes around it, for each place where it can begin.
        encoded = base64.b64encode(b"\0" * before + raw).decode()
        first, last = (0, 2, 3)[before], len(encoded) - (0, 3, 2)[(before + len(raw)) % 3]
        found |= {encoded[first:last], encoded[first:last].translate(URL_SAFE)}
    return {each for each in found if len(each) >= SHORTEST}


class Secrets:
    """Made once for a target, however many answers are searched for them."""

    def __init__(self, key: str, headers: Mapping[str, str]) -> None:
        secrets = {value: HEADER for value in headers.values() if len(value) >= SHORTEST}
        # `Authorization: Bearer …` as an extra header: the word behind the blank is the secret.
        secrets |= {word: HEADER for value in secrets for word in value.split() if len(word) >= 16}
        if len(key) >= SHORTEST:
            secrets[key] = KEY
        self.names = {each: name for secret, name in secrets.items() for each in spellings(secret)}
        longest_first = sorted(self.names, key=len, reverse=True)
        self.pattern = re.compile("|".join(map(re.escape, longest_first)))
        self.starts = re.compile("|".join(re.escape(each[:SUSPECT]) for each in self.names))
        self.longest = max(map(len, self.names), default=0)
        self.beginnings = frozenset(
            each[:length] for each in self.names for length in range(SUSPECT, len(each))
        )
