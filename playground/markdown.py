"""Markdown of a model as HTML that cannot harm: no HTML of its own, no images, links that say where
they lead. The only place where an output becomes markup."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import nh3
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

LONGEST = 100_000  # characters that are rendered; what a page lays out and a parser reads at once
LEVELS = 20  # of quotes and lists in each other
TAGS = {
    "p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "code",
    "ul", "ol", "li", "em", "strong", "s", "a", "span",
    "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
ATTRIBUTES: dict[str, set[str]] = {"*": set(), "a": {"href", "target"}, "ol": {"start"}}
CLASSES = {"span": {"md__host", "md__image"}}
SCHEMES = {"http", "https", "mailto"}


class _Renderer(RendererHTML):
    """Links with the host that they lead to; images as links."""

    def link_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        env.setdefault("links", []).append(str(tokens[idx].attrGet("href") or ""))
        tokens[idx].attrSet("target", "_blank")
        return str(self.renderToken(tokens, idx, options, env))

    def link_close(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        links = env.get("links") or [""]
        return f"</a>{_host(links.pop())}"

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[idx]
        source = str(token.attrGet("src") or "")
        alt = self.renderInlineAsText(token.children or [], options, env)
        said = (
            f'<span class="md__image">Image, not loaded: {escape(alt or "without a name")}</span>'
        )
        if env.get("links"):  # no link in a link
            return said
        return f'<a href="{escape(source)}" target="_blank">{said}</a>{_host(source)}'


def _host(address: str) -> str:
    try:
        parts = urlsplit(address)
        host = parts.path if parts.scheme == "mailto" else parts.hostname or ""
    except ValueError:
        host = ""
    return f' <span class="md__host">{escape(host)}</span>' if host else ""


def _made() -> MarkdownIt:
    reader = MarkdownIt(
        "commonmark",
        {"html": False, "maxNesting": LEVELS},
        renderer_cls=_Renderer,
    )
    return reader.enable(["table", "strikethrough"])


_READER = _made()


def rendered(text: str) -> SafeString:
    """The first `LONGEST` characters as HTML."""
    env: dict[str, Any] = {}
    html = _READER.render(text[:LONGEST], env)
    clean = nh3.clean(
        html,
        tags=TAGS,
        attributes=ATTRIBUTES,
        allowed_classes=CLASSES,
        url_schemes=SCHEMES,
        url_relative="deny",  # a path would lead into the playground itself
        link_rel="noopener noreferrer",
    )
    return mark_safe(clean)  # noqa: S308 (cleaned just above)
