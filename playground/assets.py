"""Scripts and style sheets that pages load together, joined when static files are collected.

A page then asks for two files a set instead of fifty, and what is alike in them is packed once. A
developer writes plain files and lists them here in the order in which they are loaded; with DEBUG
each is loaded by itself.
"""

import os
from collections.abc import Iterator
from typing import Any

from django.core.files.base import ContentFile
from servestatic.compress import Compressor
from servestatic.storage import CompressedManifestStaticFilesStorage

SETS: dict[str, tuple[str, ...]] = {
    "base": (
        "css/playground.css",
        "js/site.js",
        "js/undo.js",
        "js/keys.js",
        "js/palette.js",
    ),
    "compose": (
        "css/grid.css",
        "css/columns.css",
        "css/compose.css",
        "css/limits.css",
        "js/json.js",
        "js/tokens.js",
        "js/support.js",
        "js/editors.js",
        "js/bias.js",
        "js/scopes.js",
        "js/values.js",
        "js/parameterrow.js",
        "js/panel.js",
        "js/side.js",
        "js/help.js",
        "js/models.js",
        "js/columns.js",
        "js/prompts.js",
        "js/messages.js",
        "js/labels.js",
        "js/dialogs.js",
        "js/variables.js",
        "js/axes.js",
        "js/overview.js",
        "js/presets.js",
        "js/drafts.js",
        "js/foreign.js",
        "js/growing.js",
        "js/first.js",
        "js/refused.js",
        "js/sending.js",
        "js/taken.js",
        "js/takenback.js",
        "js/composekeys.js",
        "js/compose.js",
        "js/dropped.js",
        "js/away.js",
        "js/left.js",
        "js/grid.js",
    ),
    # One run or several of them, live or recorded.
    "record": (
        "css/annotations.css",
        "css/views.css",
        "css/tokens.css",
        "js/annotations.js",
        "js/outputs.js",
        "js/marks.js",
        "js/views.js",
        "js/diff.js",
        "js/metrics.js",
        "js/replay.js",
        "js/watch.js",
        "js/probability.js",
        "js/tokendata.js",
        "js/alternatives.js",
        "js/heat.js",
        "js/part.js",
        "js/lens.js",
        "js/appending.js",
        "js/live.js",
        "js/trouble.js",
        "js/stream.js",
    ),
    "history": (
        "css/history.css",
        "css/review.css",
        "css/annotations.css",
        "js/search.js",
        "js/selection.js",
        "js/triage.js",
        "js/history.js",
        "js/rows.js",
    ),
    "queue": (
        "css/annotations.css",
        "css/review.css",
        "js/selection.js",
        "js/triage.js",
        "js/queue.js",
    ),
}


def joined(name: str) -> dict[str, tuple[str, ...]]:
    """The files of the set `name` by the file that they are joined in."""
    found = {}
    for kind in ("css", "js"):
        if parts := tuple(each for each in SETS[name] if each.endswith(f".{kind}")):
            found[f"{kind}/{name}.set.{kind}"] = parts
    return found


PARTS = {each for parts in SETS.values() for each in parts}
# Django's admin is seldom opened, and Brotli takes its time at every first start.
GZIP_ONLY = "admin/"


class Packer(Compressor):
    """Packs a file once: its name holds the hash of its content, and a packed file is whole."""

    def compress(self, path: str | os.PathLike[str]) -> list[str]:
        return [] if os.path.exists(f"{os.fspath(path)}.gz") else super().compress(path)

    @staticmethod
    def write_data(path: str, data: bytes, suffix: str, stat_result: os.stat_result) -> str:
        part = Compressor.write_data(path, data, f"{suffix}.part", stat_result)
        os.replace(part, path + suffix)
        return path + suffix


class Storage(CompressedManifestStaticFilesStorage):
    """Also joins the files of each set; packs only what pages ask for, by the name with a hash."""

    def post_process(
        self, paths: dict[str, Any], dry_run: bool = False, **options: Any
    ) -> Iterator[tuple[str, str | None, Any]]:
        if not dry_run:
            paths |= {name: (self, name) for name in self.join(paths)}
        yield from super().post_process(paths, dry_run=dry_run, **options)

    def join(self, paths: dict[str, Any]) -> Iterator[str]:
        for name, parts in ((n, p) for each in SETS for n, p in joined(each).items()):
            texts = []
            for part in parts:
                storage, path = paths[part]
                with storage.open(path) as file:
                    texts.append(f"/* {part} */\n{file.read().decode().rstrip()}\n")
            self.delete(name)
            self._save(name, ContentFile("".join(texts).encode()))
            yield name

    def create_compressor(self, **options: Any) -> Packer:
        return Packer(**options)

    def compress_files(self, paths: set[str]) -> Iterator[tuple[str, str]]:
        asked = {hashed for name, hashed in self.hashed_files.items() if name not in PARTS}
        own = {path for path in paths & asked if not path.startswith(GZIP_ONLY)}
        yield from super().compress_files(own)
        packer = self.create_compressor(use_brotli=False, quiet=True)
        for path in sorted((paths & asked) - own):
            if packer.should_compress(path):
                yield from ((path, each) for each in packer.compress(self.path(path)))
