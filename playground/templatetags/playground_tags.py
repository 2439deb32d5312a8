"""What the templates need beyond Django's own: icons, figures, exact text."""

import json
import re
from collections.abc import Iterable
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from django import template
from django.conf import settings
from django.templatetags.static import static
from django.urls import get_script_prefix, reverse
from django.utils import timezone
from django.utils.html import conditional_escape, escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from playground import assets, panel, parameters
from playground.costs import dollars
from playground.models import Comparison, Run
from playground.models.teams import Membership, User

register = template.Library()

BLOCK = 20_000  # characters: what the browser lays out at once
SHOWN = 200_000  # characters of an output or a request that a page shows without being asked
MARK = 10**17  # stands for the number in an address
MARKS = {"local", "ogx", "pulze", "octoai"}
STATUS_WORDS = {
    "queued": ("clock", "Queued"),
    "running": ("spinner", "Running"),
    "completed": ("check", "Done"),
    "failed": ("alert", "Failed"),
    "cancelled": ("stop", "Stopped"),
    "interrupted": ("unplug", "Interrupted"),
}
ERROR_SENTENCES = {
    "auth": "The provider refused the key",
    "rate_limit": "The provider limits the rate of requests",
    "bad_request": "The provider refused the request",
    "not_found": "The provider does not know this model or address",
    "unavailable": "The provider is not available",
    "redirected": "The provider has moved",
    "connection": "The backend could not be reached",
    "timeout": "The backend took too long",
    "bad_content": "The answer is not a completion",
    "upstream_error": "The provider reported an error in its stream",
    "truncated": "The stream ended too early",
    "bad_json": "The answer is not valid JSON",
    "limit": "A limit does not allow it",
    "internal": "The playground could not carry the run out",
}


@register.simple_tag
def page_files(name: str) -> SafeString:
    """The style sheets and scripts of a set, joined; with DEBUG each by itself."""
    files = assets.SETS[name] if settings.DEBUG else assets.joined(name)
    sheet = '<link rel="stylesheet" href="{}">'
    script = '<script src="{}" defer></script>'
    return mark_safe(  # noqa: S308 (our own addresses)
        "\n  ".join(
            format_html(sheet if each.endswith(".css") else script, static(each)) for each in files
        )
    )


@lru_cache(maxsize=256)
def icon(name: str, size: str = "") -> SafeString:
    return format_html(
        '<svg class="icon{}" aria-hidden="true"><use href="#i-{}"/></svg>',
        f" icon--{size}" if size else "",
        name,
    )


class Icon(template.Node):
    def __init__(self, words: list[template.base.FilterExpression]) -> None:
        self.words = words

    def render(self, context: template.Context) -> SafeString:
        return icon(*(word.resolve(context) for word in self.words))


@register.tag("icon")
def icon_tag(parser: template.base.Parser, token: template.base.Token) -> template.Node:
    """`{% icon "stop" "sm" %}`; where nothing in it varies, it is text from then on."""
    words = [parser.compile_filter(each) for each in token.split_contents()[1:]]
    if any(isinstance(word.var, template.Variable) for word in words):
        return Icon(words)
    return template.base.TextNode(icon(*(str(word.var) for word in words)))


class Address(template.Node):
    def __init__(self, name: str, number: template.base.FilterExpression) -> None:
        self.name = name
        self.number = number

    def render(self, context: template.Context) -> SafeString:
        before, after = around(self.name, get_script_prefix())
        return mark_safe(f"{before}{int(self.number.resolve(context))}{after}")  # noqa: S308 (a number)


@register.tag
def address(parser: template.base.Parser, token: template.base.Token) -> Address:
    """`{% address "run" run.pk %}`: as `url` of a page with one number, which asks the list of all
    addresses each time. A column has two dozen."""
    _, name, number = token.split_contents()
    return Address(name.strip("\"'"), parser.compile_filter(number))


@lru_cache(maxsize=256)
def around(name: str, prefix: str) -> tuple[str, str]:
    """What stands before and after the number; `prefix`: under which all addresses are now."""
    before, after = escape(reverse(name, args=[MARK])).split(str(MARK))
    return before, after


@register.simple_tag
def only_here() -> str:
    """The port of our address where no other computer can open that; else ""."""
    ours = urlsplit(settings.PUBLIC_URL)
    return str(ours.port or 80) if ours.hostname in ("localhost", *settings.LOOPBACK) else ""


@register.simple_tag
def provider_mark(provider: str) -> SafeString:
    name = provider if provider in MARKS else "other"
    return format_html('<svg class="pm" aria-hidden="true"><use href="#i-pm-{}"/></svg>', name)


@register.simple_tag
def badge(status: str) -> SafeString:
    name, word = STATUS_WORDS.get(status, ("clock", status))
    return format_html(
        '<span class="badge" data-status="{}">{}<span data-badge>{}</span></span>',
        status,
        icon(name),
        word,
    )


@register.simple_tag
def version() -> str:
    return settings.VERSION


@register.filter
def status_word(status: str) -> str:
    return STATUS_WORDS.get(status, ("", status))[1]


@register.filter
def status_icon(status: str) -> str:
    return STATUS_WORDS.get(status, ("clock", ""))[0]


@register.filter
def called(comparison: Comparison, runs: Iterable[Run]) -> str:
    """`Run 3` or `Comparison 3`, by its runs at hand."""
    return comparison.called(len({(run.column, run.coordinates) for run in runs}) > 1)


@register.filter
def error_sentence(kind: str) -> str:
    return ERROR_SENTENCES.get(kind, "The run failed")


@register.simple_tag
def memberships(user: User) -> dict[str, Any]:
    """The teams of the top bar's menu: {"current": Membership or None, "all": [Membership…]}."""
    found: list[Membership] = list(user.memberships.select_related("team").order_by("pk"))
    current = [each for each in found if each.team_id == user.current_team_id] or found
    return {"current": current[0] if current else None, "all": found}


@register.filter
def backend(run: Run) -> str:
    return panel.title(run.provider, run.dialect)


@register.filter
def exact(text: str) -> SafeString:
    """Escaped so that it comes out as it is: browsers parse a bare CR as a line feed."""
    return mark_safe(conditional_escape(str(text)).replace("\r", "&#13;"))  # noqa: S308 (escaped first)


@register.filter
def breakable(path: str) -> SafeString:
    """A path that may be broken after its dots and underscores."""
    parts = re.split(r"(?<=[._])", path)
    return format_html_join(mark_safe("<wbr>"), "{}", ((part,) for part in parts))


@register.filter
def tail(text: str, everything: bool = False) -> str:
    """The end of a very long text."""
    return text if everything or len(text) <= SHOWN else text[-SHOWN:]


@register.filter
def is_long(text: str) -> bool:
    return len(text) > SHOWN


@register.filter
def blocks(text: str) -> list[str]:
    """Pieces that a browser can lay out one by one; cut after a line end or blank."""
    found = []
    start = 0
    while len(text) - start > BLOCK:
        window = text[start : start + BLOCK]
        cut = window.rfind("\n") + 1 or window.rfind(" ") + 1 or BLOCK
        found.append(window[:cut])
        start += cut
    return [*found, text[start:]]


@register.filter
def pretty(value: Any) -> str:
    """JSON to read, with escapes only for what no page can carry."""
    return parameters.Json("any").text(value)


@register.filter
def duration(ms: float | None) -> str:
    if ms is None:
        return ""
    if ms < 995:
        return f"{ms:.0f} ms"
    return f"{ms / 1000:.2f} s" if ms < 9_995 else f"{ms / 1000:.1f} s"


@register.filter
def seconds(value: timedelta | None) -> str:
    return duration(value.total_seconds() * 1000) if value is not None else ""


@register.filter
def speed(value: float | None) -> str:
    return f"{value:.1f} tok/s" if value is not None else ""


@register.filter
def tokens_in_out(run: Run) -> str:
    pair = (run.prompt_tokens, run.completion_tokens)
    said = ["?" if each is None else f"{each:,}" for each in pair]
    said[1:] = [f"~{run.pieces:,}"] if run.pieces else said[1:]
    return "–" if said == ["?", "?"] else " / ".join(said)


@register.filter
def thousands(value: int | None) -> str:
    return f"{value:,}" if value is not None else ""


@register.filter
def money(amount: Decimal | None) -> str:
    """US dollars; "" where it is not known."""
    return dollars(amount) if amount is not None else ""


@register.filter
def label_key(name: str) -> str:
    """`stage=` of `stage=draft`; "" of a bare name."""
    key, sign, _ = name.partition("=")
    return f"{key}{sign}" if sign else ""


@register.filter
def label_rest(name: str) -> str:
    key, sign, rest = name.partition("=")
    return rest if sign else key


@register.filter
def day_name(day: date) -> str:
    """ "Today", "Yesterday", or nothing: the date itself says it."""
    today = timezone.localdate()
    return {today: "Today", today - timedelta(days=1): "Yesterday"}.get(day, "")


@register.filter
def flat(value: dict[str, Any]) -> list[tuple[str, str]]:
    """Nested JSON as rows: [("prompt_tokens_details.cached_tokens", "0")…]."""
    rows: list[tuple[str, str]] = []
    for key, item in value.items():
        if isinstance(item, dict) and item:
            rows += [(f"{key}.{inner}", text) for inner, text in flat(item)]
        else:
            rows.append((key, item if isinstance(item, str) else json.dumps(item)))
    return rows


@register.simple_tag
def csrf_cookie() -> str:
    """The name of the cookie that holds the newest token."""
    return settings.CSRF_COOKIE_NAME
