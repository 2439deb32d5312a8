"""A word that must not turn up, and the search for it in whatever form it may have taken."""

import base64
import json
import re
import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote


def forms(secret: str) -> dict[str, bytes]:
    """{name of the form: bytes}: plain, base64 at each offset, for a URL, JSON escapes, hex."""
    raw = secret.encode()
    escapes = "".join(f"\\u{ord(letter):04x}" for letter in secret)
    found = {
        "plain": raw,
        "utf-16": secret.encode("utf-16-le"),
        "URL": quote(secret, safe="").encode(),
        "URL, twice": quote(quote(secret, safe=""), safe="").encode(),
        "URL, every byte": "".join(f"%{byte:02x}" for byte in raw).encode(),
        "JSON": json.dumps(secret)[1:-1].encode(),
        "JSON, slash escaped": json.dumps(secret)[1:-1].replace("/", "\\/").encode(),
        "JSON, all escaped": escapes.encode(),
        "hex": raw.hex().encode(),
        "hex, HTML": secret.replace("+", "&#43;").replace("/", "&#x2F;").encode(),
    }
    for offset in range(3):
        # The characters that do not depend on the bytes before and behind.
        text = base64.b64encode(b"?" * offset + raw)
        inner = text[(offset * 8 + 5) // 6 : (offset + len(raw)) * 8 // 6]
        found[f"base64, offset {offset}"] = inner
        found[f"base64 for URLs, offset {offset}"] = inner.translate(bytes.maketrans(b"+/", b"-_"))
    return found


class Search:
    """Collects places, then looks for canaries in all of them; upper and lower case alike."""

    def __init__(self) -> None:
        self.places: dict[str, list[bytes]] = {}

    def add(self, name: str, content: str | bytes) -> None:
        data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        self.places.setdefault(name, []).append(data.lower())

    def add_folder(self, folder: Path) -> None:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.is_symlink():
                self.add(f"file {path.relative_to(folder.parent)}", path.read_bytes())

    def add_database(self, path: Path) -> None:
        """Each value of each row as it is, and unpacked where it is compressed."""
        database = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=20)
        try:
            tables = [row[0] for row in database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table'")]  # fmt: skip
            for table in tables:
                for row in database.execute(f'SELECT * FROM "{table}"'):
                    for value in row:
                        if isinstance(value, bytes):
                            self.add(f"table {table}", b"".join(unpacked(value)))
                        else:
                            self.add(f"table {table}", str(value))
        finally:
            database.close()

    def find(self, *secrets: str) -> list[str]:
        wanted = {
            form: {forms(secret)[form].lower() for secret in secrets} for form in forms(secrets[0])
        }
        found = []
        for place, parts in self.places.items():
            content = b"\n".join(parts)
            found += [
                f"{form} in {place}"
                for form, each in wanted.items()
                if any(data in content for data in each)
            ]
        return found


def unpacked(value: bytes) -> Iterator[bytes]:
    yield value
    try:
        yield zlib.decompress(value)
    except zlib.error:
        return


def words_of(page: str) -> str:
    """A page's text without its markup: a word whose letters stand in elements of their own."""
    return re.sub(r"<[^>]*>", "", page)
